import { isDamaged } from "../../core/errors.js";
import type { EventRecord, StoredEvent } from "../../core/event/event.js";
import { decodeMessage } from "../../core/event/message.js";
import type { DeadLetterId, ErasureId, EventId, WorkspaceId } from "../../core/ids.js";
import type { DeadLetter, Naming } from "../../core/ports/event-store.js";
import type { Services } from "../services.js";
import { refusalsOf, type JudgeServices } from "./judge.js";

export type ForgetServices = JudgeServices & {
  readonly events: Pick<Services["events"], "find" | "drop" | "removeLetters">;
};

/** What is to be deleted. */
export interface Going {
  readonly events: ReadonlySet<EventId>;
  /** Those of the events that are damaged. */
  readonly damaged: ReadonlySet<EventId>;
  readonly letters: ReadonlySet<DeadLetterId>;
}

interface Growing extends Going {
  readonly events: Set<EventId>;
  readonly damaged: Set<EventId>;
  readonly letters: Set<DeadLetterId>;
}

/**
 * Those of them that are of somebody who was erased, by the erasure that refuses them. Each is judged by what itself says, whoever else
 * stands under the same event id.
 */
export async function findErased(
  services: ForgetServices,
  workspace: WorkspaceId,
  found: readonly Naming[],
): Promise<ReadonlyMap<ErasureId, Going>> {
  const named = found.flatMap((naming) => {
    const event = eventIn(naming);
    return event === null ? [] : [{ naming, event }];
  });
  const refusals = await refusalsOf(
    services,
    workspace,
    named.map(({ event }) => event),
  );
  const going = new Map<ErasureId, Growing>();
  for (const [n, { naming }] of named.entries()) {
    const refusal = refusals[n] ?? null;
    if (refusal === null) continue;
    const one = going.get(refusal.erasureId) ?? { events: new Set(), damaged: new Set(), letters: new Set() };
    going.set(refusal.erasureId, one);
    if (naming.kind === "event") one.events.add(naming.event.eventId);
    else if (naming.kind === "letter") {
      one.letters.add(naming.letter.deadLetterId);
      const killed = await killedBy(services, workspace, naming.letter);
      if (killed !== null) one.events.add(killed.eventId);
      if (killed?.isDamaged === true) one.damaged.add(killed.eventId);
    }
  }
  return going;
}

/** Deletes it, and answers how much of it was there. */
export async function forget(
  { events }: Pick<ForgetServices, "events">,
  workspace: WorkspaceId,
  going: Pick<Going, "events" | "letters">,
): Promise<{ readonly events: number; readonly letters: number }> {
  // The letters first: an event that is dropped takes its letters with it, uncounted.
  const letters = going.letters.size === 0 ? 0 : await events.removeLetters(workspace, [...going.letters]);
  return { letters, events: going.events.size === 0 ? 0 : await events.drop(workspace, [...going.events], "erased") };
}

function eventIn(naming: Naming): EventRecord | null {
  if (naming.kind === "event") return naming.event;
  if (naming.kind === "damaged") return null;
  const decoded = decodeMessage(naming.letter.message);
  return decoded.kind === "event" ? decoded.event : null;
}

/**
 * The stored event that died as this letter, if it is the same person's; another body may stand under the same Idempotency-Key. Of a damaged
 * one nobody can tell, or ever use it, and nothing else may lead to it: it goes.
 */
async function killedBy(
  services: ForgetServices,
  workspace: WorkspaceId,
  { eventId, killsEvent }: DeadLetter,
): Promise<{ readonly eventId: EventId; readonly isDamaged: boolean } | null> {
  if (!killsEvent || eventId === null) return null;
  const stored = await findOrDamaged(services, workspace, eventId);
  if (stored === "damaged") return { eventId, isDamaged: true };
  if (stored === null || stored.status === "folded" || stored.status === "dropped") return null;
  const [refusal] = await refusalsOf(services, workspace, [stored]);
  return refusal === null ? null : { eventId, isDamaged: false };
}

async function findOrDamaged(
  { events }: ForgetServices,
  workspace: WorkspaceId,
  eventId: EventId,
): Promise<StoredEvent | "damaged" | null> {
  try {
    return await events.find(workspace, eventId);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    return "damaged";
  }
}
