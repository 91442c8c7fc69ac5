import { instantOf } from "../../../core/event/time.js";
import type { EventRecord } from "../../../core/event/event.js";
import { newId, type EventId, type TallyId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import type { Tallied, TallyPage, TallyStore } from "../../../core/ports/tally-store.js";
import { aFold, anEvent, aUidOf } from "../../support/builders.js";

/** What counts stands with the events of the same place. */
export interface TallyPlace {
  readonly events: EventStore;
  readonly tallies: TallyStore;
  close(): Promise<void>;
}

export const talliesOf = (events: EventStore, tallies: TallyStore): TallyPlace => ({
  events,
  tallies,
  close: async () => {
    await tallies.close();
    await events.close();
  },
});

export const START = Date.UTC(2026, 0, 1);
export const ALL: TallyPage = { limit: 1_000, before: null, since: null, hasAmounts: true };
export const newTally = (): TallyId => newId<TallyId>();

/** Events of one person, a second apart, the oldest first. */
export function eventsOf(workspace: WorkspaceId, count: number, user = "ada", from = START): readonly EventRecord[] {
  const identifiers = [{ namespace: "user_id", value: user }];
  return Array.from({ length: count }, (_, n) =>
    anEvent({ workspace, identifiers, effectiveTs: instantOf(from + n * 1_000) }),
  );
}

export const countedAs = (event: EventRecord, tallyId: TallyId, amount: number | null = null): Tallied => ({
  eventId: event.eventId,
  uid: aUidOf(event.workspace, event.identifiers[0]!.value),
  tallies: [{ tallyId, amount }],
});

export async function fold(
  { events }: TallyPlace,
  workspace: WorkspaceId,
  all: readonly EventRecord[],
  tallyIds: readonly TallyId[] = [],
): Promise<void> {
  await events.insert(workspace, all);
  const tallies = tallyIds.map((tallyId, n) => ({ tallyId, amount: n === 0 ? null : n / 10 }));
  await events.fold(
    workspace,
    all.map((event) => aFold(event, { tallies })),
  );
}

/** Answers in how many pieces. */
export async function forgetAll({ tallies }: TallyPlace, workspace: WorkspaceId, tallyId: TallyId): Promise<number> {
  for (let pieces = 1, after: string | null = null; pieces < 100; pieces += 1) {
    after = await tallies.forget(workspace, tallyId, { limit: 3, after });
    if (after === null) return pieces;
  }
  throw new Error("It never ends.");
}

export const idsOf = (rows: readonly { readonly eventId: EventId }[]): readonly EventId[] =>
  rows.map(({ eventId }) => eventId);
export const newestFirst = (events: readonly EventRecord[]): readonly EventId[] => idsOf(events.toReversed());
