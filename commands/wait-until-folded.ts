import type { Identifier } from "../core/event/event.js";
import { isUuid, type EventId, type WorkspaceId } from "../core/ids.js";
import { isSettled } from "./read-event.js";
import { admitKnown } from "./read-profile.js";
import type { Services } from "./services.js";

/** So many of a profile's last changes are looked at for events that are still to be folded. */
const CHANGES_LOOKED_AT = 10;

/** Resolves when all the identifiers are known and the events that made them so are folded, or when the seconds are over. */
export async function waitUntilFolded(
  services: Pick<Services, "catalog" | "identity" | "events" | "waiting">,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
  seconds: number,
): Promise<void> {
  if (seconds === 0) return;
  const known = await admitKnown(services, workspace, asked);
  const stored = known.map((one) => one.stored);
  await services.waiting.until(
    workspace,
    () => areFolded(services, workspace, stored),
    (isDone) => isDone,
    seconds,
  );
}

async function areFolded(
  { identity, events }: Pick<Services, "identity" | "events">,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
): Promise<boolean> {
  const refs = await identity.lookup(workspace, identifiers);
  if (refs.includes(null)) return false;
  for (const profileId of new Set(refs.map((ref) => ref!.profileId))) {
    const changes = await identity.history(workspace, profileId, { limit: CHANGES_LOOKED_AT, before: null });
    for (const { source } of changes.map(({ evidence }) => evidence)) {
      const event = isUuid(source) ? await events.find(workspace, source as EventId) : null;
      if (event !== null && !isSettled(event)) return false;
    }
  }
  return true;
}
