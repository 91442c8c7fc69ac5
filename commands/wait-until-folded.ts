import { isDamaged } from "../core/errors.js";
import { createPause } from "../core/event-loop.js";
import type { Identifier, StoredEvent } from "../core/event/event.js";
import { isUuid, type EventId, type WorkspaceId } from "../core/ids.js";
import { isSettled } from "./read-event.js";
import { admitKnown } from "./search/look-up.js";
import type { LookWithBytes, Services } from "./services.js";

/** So many of a profile's last changes are looked at for events that are still to be folded. */
const CHANGES_LOOKED_AT = 10;
/** Of a larger profile those of the asked identifiers: the last of all its changes are not found without reading all. */
const SIZE_MAX = 1_000;

/** Resolves when all the identifiers are known and the events that made them so are folded, or when the seconds are over. */
export async function waitUntilFolded(
  services: Pick<Services, "catalog" | "identity" | "events" | "waiting" | "limits">,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
  seconds: number,
  lookWithBytes: LookWithBytes,
): Promise<void> {
  if (seconds === 0) return;
  const known = await admitKnown(services, workspace, asked);
  const stored = known.map((one) => one.stored);
  await services.waiting.until(
    workspace,
    (left) => areFolded(services, workspace, stored, lookWithBytes, left),
    (isDone) => isDone,
    seconds,
  );
}

async function areFolded(
  services: Pick<Services, "identity" | "events" | "limits">,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
  lookWithBytes: LookWithBytes,
  left: () => number,
): Promise<boolean> {
  const { identity, events, limits } = services;
  const refs = await identity.lookup(workspace, identifiers);
  if (refs.includes(null)) return false;
  const isOwn = refs.some((ref) => ref!.size > SIZE_MAX);
  const sources = new Set<EventId>();
  for (const id of new Set(refs.map((ref) => (isOwn ? ref!.uid : ref!.profileId)))) {
    const changes = await identity.history(workspace, id, { limit: CHANGES_LOOKED_AT, before: null, isOwn });
    for (const { source } of changes.map(({ evidence }) => evidence))
      if (isUuid(source)) sources.add(source as EventId);
  }
  if (sources.size === 0) return true;
  const pause = createPause();
  // One turn for all of them, of which it holds one at a time: with a turn for each it would wait for minutes beside other reads.
  const look = async (): Promise<boolean> => {
    for (const eventId of sources) {
      if (left() === 0) return false;
      const event = await find(events, workspace, eventId);
      if (event !== null && !(await isSettled(services, workspace, event))) return false;
      await pause();
    }
    return true;
  };
  return lookWithBytes(limits.payloadBytesMax, look, left());
}

/** Null also for one that is damaged: it never folds, so nobody waits for it. */
const find = (events: Services["events"], workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null> =>
  events.find(workspace, eventId).catch((error: unknown) => {
    if (!isDamaged(error)) throw error;
    return null;
  });
