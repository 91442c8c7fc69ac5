import { talliedBy } from "../commands/audiences/follow.js";
import type { AudienceSet, StandingTally } from "../core/audience/audience.js";
import { isDamaged } from "../core/errors.js";
import type { TallyId, WorkspaceId } from "../core/ids.js";
import { describeError, type Log } from "../core/log.js";
import type { AudienceStore, TallyChange } from "../core/ports/audience-store.js";
import type { Arrival, EventStore } from "../core/ports/event-store.js";
import type { TallyStore } from "../core/ports/tally-store.js";
import { createParking } from "./audiences/parking.js";
import { createRounds, restMs } from "./rounds.js";
import type { Task } from "./task.js";

export interface TallyDeps {
  readonly audiences: Pick<AudienceStore, "audiences" | "changeTallies" | "watching">;
  readonly events: Pick<EventStore, "arrivals">;
  readonly tallies: Pick<TallyStore, "count" | "forget">;
  readonly log: Log;
}

const EVENTS_PER_PIECE = 500;
const BYTES_PER_PIECE = 1_048_576;
const LOOKS_PER_PIECE = 2_000;
const FACETS_PER_PIECE = 500;
/** Those of few facets are forgotten together. */
const FORGOTTEN_PER_PIECE = 20;
/** Where a walk stands is noted so often: what comes after the last note is done again after a crash. */
const NOTED_MS = 2_000;

/** Where this process has come in a workspace, beyond what is noted. */
interface Walk {
  readonly filled: Map<TallyId, { after: Arrival | null; notedAt: number }>;
  readonly forgotten: Map<TallyId, string | null>;
}

const NEW_ROUND = { isBusy: false, tookMs: 0, workspaces: 0 };

export type Walks = Map<WorkspaceId, Walk>;
export const createWalks = (): Walks => new Map();

/**
 * Counts the events that were folded before a tally stood, and forgets tallies that no rule needs. It may be killed at any point, and any
 * number of processes may do it at once: what counts is a set.
 */
export function createTallyTask(deps: TallyDeps): Task {
  const walks = createWalks();
  const parking = createParking(deps.log);
  let round = NEW_ROUND;

  const goRound = createRounds(deps.audiences, async (workspace) => {
    const isBusy = await parking.attempt(workspace, () => tendTallies(deps, workspace, walks));
    round = { ...round, isBusy: round.isBusy || isBusy === true, workspaces: round.workspaces + 1 };
    // What is away is not away for one workspace alone: the keeper waits, too.
    if (isBusy === null && parking.away() !== null) throw parking.away();
  });

  return {
    name: "tallies",
    isWaiting: () => parking.away() !== null,
    step: async () => {
      const begunAt = performance.now();
      const reached = await goRound();
      round = { ...round, tookMs: round.tookMs + performance.now() - begunAt };
      if (reached === "more") return 0;
      const ended = round;
      round = NEW_ROUND;
      return ended.isBusy ? 0 : restMs(reached, ended);
    },
  };
}

/** Does a piece; false where there is nothing to do. */
export async function tendTallies(
  deps: TallyDeps,
  workspace: WorkspaceId,
  walks: Walks,
  clock: () => number = () => performance.now(),
): Promise<boolean> {
  const set = await deps.audiences.audiences(workspace);
  const open = set.tallies.filter(({ filling }) => filling !== null);
  const before = walks.get(workspace);
  walks.delete(workspace);
  if (set.forgotten.length + open.length === 0) return false;
  // A tally may go before it is filled, or be finished by another process: then nobody asks any more where this one has come.
  const walk: Walk = {
    filled: only(before?.filled, new Set(open.map(({ tallyId }) => tallyId))),
    forgotten: only(before?.forgotten, new Set(set.forgotten)),
  };
  walks.set(workspace, walk);
  if (set.forgotten.length > 0) await forgetSome(deps, workspace, set.forgotten, walk);
  if (open.length > 0) await fillSome(deps, workspace, open, { ...walk, clock });
  return true;
}

const only = <T>(places: ReadonlyMap<TallyId, T> = new Map(), ids: ReadonlySet<TallyId>): Map<TallyId, T> =>
  new Map([...places].filter(([tallyId]) => ids.has(tallyId)));

/** Those that stand at the same place go on together. */
async function fillSome(
  deps: TallyDeps,
  workspace: WorkspaceId,
  open: readonly StandingTally[],
  { filled, clock }: Walk & { readonly clock: () => number },
): Promise<void> {
  const placeOf = (one: StandingTally): Arrival | null =>
    later(filled.get(one.tallyId)?.after ?? null, one.filling?.after ?? null);
  const after = placeOf(open[0]!);
  const group = open.filter((one) => isSame(placeOf(one), after));
  const { events, damaged, next } = await deps.events.arrivals(workspace, {
    filter: { schemaId: schemaOf(group), keyId: null, status: "folded", since: null, until: null },
    order: "oldest",
    after,
    limit: EVENTS_PER_PIECE,
    bytesMax: BYTES_PER_PIECE,
    looksMax: LOOKS_PER_PIECE,
    passesDamaged: true,
  });
  // One that can never be read must not keep an audience counting for ever.
  for (const { eventId } of damaged)
    deps.log.error({ workspace, eventId }, "an audience counts without a damaged event");
  const folded = events.flatMap((event) => (event.facet === null ? [] : [{ event, facet: event.facet }]));
  const tallied = await talliedBy(folded, group);
  if (tallied.length > 0) await deps.tallies.count(workspace, tallied);
  const ids = new Set(group.map(({ tallyId }) => tallyId));
  const notedAt = filled.get(open[0]!.tallyId)?.notedAt ?? clock();
  const isNoted = next === null || clock() - notedAt >= NOTED_MS;
  for (const tallyId of ids) filled.set(tallyId, { after: next, notedAt: isNoted ? clock() : notedAt });
  if (!isNoted) return;
  await deps.audiences.changeTallies(workspace, (current) => noteFilled(current, ids, next));
  if (next === null) for (const tallyId of ids) filled.delete(tallyId);
}

/** Null if none of them stands any more, or is further already. */
function noteFilled(current: AudienceSet, ids: ReadonlySet<TallyId>, next: Arrival | null): TallyChange | null {
  const note = (one: StandingTally): StandingTally => {
    if (!ids.has(one.tallyId) || one.filling === null) return one;
    if (next === null) return { ...one, filling: null };
    return isSame(later(one.filling.after, next), one.filling.after)
      ? one
      : { ...one, filling: { after: positionOf(next) } };
  };
  const tallies = current.tallies.map(note);
  return tallies.every((one, n) => one === current.tallies[n]) ? null : { ...current, tallies };
}

const positionOf = ({ receivedAt, eventId }: Arrival): Arrival => ({ receivedAt, eventId });
const isSame = (a: Arrival | null, b: Arrival | null): boolean =>
  a?.receivedAt === b?.receivedAt && a?.eventId === b?.eventId;

function later(a: Arrival | null, b: Arrival | null): Arrival | null {
  if (a === null || b === null) return a ?? b;
  return a.receivedAt > b.receivedAt || (a.receivedAt === b.receivedAt && a.eventId > b.eventId) ? a : b;
}

/** Null: of several, or any. */
function schemaOf(group: readonly StandingTally[]): StandingTally["tally"]["schemaId"] {
  const { schemaId } = group[0]!.tally;
  return group.every(({ tally }) => tally.schemaId === schemaId) ? schemaId : null;
}

/** The first ones, up to one that takes longer. The note that they are gone rewrites all audiences, so it is one for all of them. */
async function forgetSome(
  deps: TallyDeps,
  workspace: WorkspaceId,
  all: readonly TallyId[],
  { forgotten }: Walk,
): Promise<void> {
  const gone = new Set<TallyId>();
  for (const tallyId of all.slice(0, FORGOTTEN_PER_PIECE)) {
    const after = forgotten.get(tallyId) ?? null;
    const next = await forgetPiece(deps, workspace, tallyId, after);
    forgotten.set(tallyId, next);
    if (next !== null) break;
    gone.add(tallyId);
  }
  if (gone.size === 0) return;
  for (const tallyId of gone) forgotten.delete(tallyId);
  await deps.audiences.changeTallies(workspace, (current) => {
    const left = current.forgotten.filter((one) => !gone.has(one));
    return left.length < current.forgotten.length ? { ...current, forgotten: left } : null;
  });
}

/** Null, too, where its rows cannot be read: those that stay mean nothing to anybody, because its id never comes again. */
async function forgetPiece(
  { tallies, log }: TallyDeps,
  workspace: WorkspaceId,
  tallyId: TallyId,
  after: string | null,
): Promise<string | null> {
  try {
    return await tallies.forget(workspace, tallyId, { limit: FACETS_PER_PIECE, after });
  } catch (error) {
    if (!isDamaged(error)) throw error;
    log.error({ workspace, tallyId, ...describeError(error) }, "counts that nobody needs stay on a damaged page");
    return null;
  }
}
