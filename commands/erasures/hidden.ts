import type { StoredEvent } from "../../core/event/event.js";
import { decodeMessage } from "../../core/event/message.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { DeadLetter } from "../../core/ports/event-store.js";
import type { Services } from "../services.js";
import { refusalsOf, type JudgeServices } from "./judge.js";

export type HidingServices = JudgeServices & Pick<Services, "events">;

/**
 * As they may be shown, in order: what is of somebody who was erased as it will be once it is dropped, because from the answer to an
 * erasure on nothing shows the person. Costs one flag where nobody was ever erased.
 */
export async function hideErased(
  services: JudgeServices,
  workspace: WorkspaceId,
  events: readonly StoredEvent[],
): Promise<readonly StoredEvent[]> {
  const { erasures } = services;
  const shown = events.filter(({ status }) => status !== "dropped");
  if (shown.length === 0 || !(await erasures.hasErasures(workspace))) return events;
  const facets = [...new Set(shown.flatMap(({ facet }) => facet ?? []))];
  const living = facets.length === 0 ? null : await erasures.livingUids(workspace, facets);
  const unlinked = shown.filter(({ facet }) => facet === null);
  const refusals = await refusalsOf(services, workspace, unlinked);
  const refused = new Set(unlinked.filter((_, n) => refusals[n] !== null));
  return events.map((event) => {
    if (event.status === "dropped") return event;
    const isErased = event.facet === null ? refused.has(event) : !living!.has(event.facet);
    return isErased ? asDropped(event) : event;
  });
}

/** What is left of an event when it is dropped. */
export const asDropped = (event: StoredEvent): StoredEvent => ({
  ...event,
  timestamp: "",
  effectiveTs: "",
  folds: false,
  identifiers: [],
  dropped: [],
  scoped: false,
  notes: null,
  payload: NOTHING,
  facet: null,
  profileIdThen: null,
  status: "dropped",
  reason: "erased",
});
const NOTHING = Buffer.from("null");

/** Without the letters of somebody who was erased, in order. */
export async function withoutErasedLetters(
  services: JudgeServices,
  workspace: WorkspaceId,
  letters: readonly DeadLetter[],
): Promise<readonly DeadLetter[]> {
  if (letters.length === 0 || !(await services.erasures.hasErasures(workspace))) return letters;
  const named = letters.flatMap((letter) => {
    const decoded = decodeMessage(letter.message);
    return decoded.kind === "event" ? [{ letter, event: decoded.event }] : [];
  });
  const refusals = await refusalsOf(
    services,
    workspace,
    named.map(({ event }) => event),
  );
  const erased = new Set(named.filter((_, n) => refusals[n] !== null).map(({ letter }) => letter));
  return letters.filter((letter) => !erased.has(letter));
}
