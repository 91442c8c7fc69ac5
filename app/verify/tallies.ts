import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { LRUCache } from "lru-cache";
import { countFolded } from "../../commands/audiences/follow.js";
import { NO_AUDIENCES, type AudienceSet, type StandingTally } from "../../core/audience/audience.js";
import { marksOf, type Countable } from "../../core/audience/tallies.js";
import { isUnavailable } from "../../core/errors.js";
import type { StoredEvent } from "../../core/event/event.js";
import { decodeMessage } from "../../core/event/message.js";
import type { EventId, TallyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { EventRow, TallyRow } from "../../core/ports/copying.js";
import type { TallyMark } from "../../core/ports/event-store.js";
import type { TallyEntry } from "../../core/ports/tally-store.js";
import type { Backends } from "../backends.js";
import type { Findings } from "./findings.js";
import { isQueueEmpty } from "./queue.js";
import { forEachRow, pagesOf } from "./rows.js";

export interface TallyDeps {
  readonly backends: Pick<Backends, "audiences" | "copying" | "events" | "marks" | "queue" | "tallies">;
  readonly findings: Findings;
  readonly isRepair: boolean;
  readonly now: number;
}

/** An event and a tally, and what is wrong with them if nobody is at them. */
interface Doubt {
  readonly workspace: WorkspaceId;
  readonly entry: TallyEntry;
}
type Counting = Pick<AudienceSet, "tallies" | "forgotten">;
type SetOf = (workspace: WorkspaceId) => Promise<Counting>;

/** So many wait together until whoever is at them has ended. */
const DOUBTS_MAX = 5_000;
const SETTLE_MS = 1_000;
/** A younger event may be in the midst of its fold. */
const YOUNG_MS = 60_000;
const SETS_MAX = 100;
const WORKSPACES_PER_PAGE = 256;

/** What counts for the rules of audiences against the events: each that must count does, and nothing else. */
export async function verifyTallies(deps: TallyDeps): Promise<void> {
  const setOf = createSets(deps.backends);
  // First: what is counted in mending must not be looked at as if it had stood.
  await verifyStored(deps, setOf);
  if (await isAnyCounted(deps)) await verifyLacking(deps, setOf);
}

function createSets({ audiences }: TallyDeps["backends"]): SetOf {
  const sets = new LRUCache<WorkspaceId, Counting>({ max: SETS_MAX });
  return async (workspace) => {
    const known = sets.get(workspace);
    if (known !== undefined) return known;
    const { tallies, forgotten } = await audiences.audiences(workspace);
    sets.set(workspace, { tallies, forgotten });
    return { tallies, forgotten };
  };
}

/** Tells of those that are still being filled, too. */
async function isAnyCounted({ backends: { audiences }, findings }: TallyDeps): Promise<boolean> {
  let isAny = false;
  for (let after: WorkspaceId | null = null; ;) {
    const page: readonly WorkspaceId[] = await audiences.watching({ limit: WORKSPACES_PER_PAGE, after });
    for (const workspace of page) {
      const { tallies } = await audiences.audiences(workspace);
      for (const { filling } of tallies)
        if (filling === null) isAny = true;
        else findings.passedOver("ways to count events for which older ones are still being counted");
    }
    if (page.length < WORKSPACES_PER_PAGE) return isAny;
    after = page.at(-1)!;
  }
}

/** What is stored and should not be. */
async function verifyStored(deps: TallyDeps, setOf: SetOf): Promise<void> {
  const doubts = createDoubts(async (doubt) => {
    const { workspace, entry } = doubt;
    const { events, audiences, tallies } = deps.backends;
    const [found] = await tallies.find(workspace, [entry]);
    if (!found) return;
    const event = await findEvent(events, workspace, entry.eventId);
    const set = await audiences.audiences(workspace);
    if (event === "damaged" || isRight(set, event, { ...entry, ...found })) return;
    deps.findings.found("wrong_tallies", entry.eventId);
    if (!deps.isRepair) return;
    const { eventId, uid, tallyId } = entry;
    await tallies.uncount(workspace, [{ eventId, uid, tallies: [{ tallyId, ...found }] }]);
    await mend(deps, doubt, event);
  });
  const { copying, events } = deps.backends;
  await forEachRow(copying.documents, "tallies", async (row) => {
    const event = await findEvent(events, row.workspace, row.eventId);
    if (event === "damaged") return deps.findings.passedOver("what damaged events count for");
    if (!isRight(await setOf(row.workspace), event, row)) await doubts.add({ workspace: row.workspace, entry: row });
  });
  await doubts.settle();
}

/** What should be stored and is not. */
async function verifyLacking(deps: TallyDeps, setOf: SetOf): Promise<void> {
  const { audiences, copying, events, queue, tallies } = deps.backends;
  const isEmpty = await isQueueEmpty(queue);
  const doubts = createDoubts(async (doubt) => {
    const { workspace, entry } = doubt;
    const event = await findEvent(events, workspace, entry.eventId);
    if (event === "damaged" || event?.status !== "folded") return;
    const { tallies: standing } = await audiences.audiences(workspace);
    if (!entriesOf(standing.filter(isFull), event, event.facet!).some(({ tallyId }) => tallyId === entry.tallyId))
      return;
    if ((await tallies.find(workspace, [entry]))[0] !== null) return;
    if (!isEmpty) return deps.findings.passedOver("events that may still be queued, and do not count yet");
    deps.findings.found("wrong_tallies", entry.eventId);
    if (deps.isRepair) await mend(deps, doubt, event);
  });
  for await (const rows of pagesOf(copying.documents, "events"))
    for (const [workspace, own] of byWorkspace(rows.filter(isSettled(deps.now)))) {
      const standing = (await setOf(workspace)).tallies.filter(isFull);
      if (standing.length === 0) continue;
      const entries = own.flatMap((row) => entriesOfRow(standing, row));
      const found = await tallies.find(workspace, entries);
      for (const [n, entry] of entries.entries()) if (found[n] === null) await doubts.add({ workspace, entry });
    }
  await doubts.settle();
}

/** Has the event count as it should, and somebody look at the profile. */
async function mend(deps: TallyDeps, { workspace, entry }: Doubt, event: StoredEvent | null): Promise<void> {
  const { backends, findings, now } = deps;
  const folded = event?.status === "folded" ? [{ event, facet: event.facet! }] : [];
  if (folded.length > 0) await countFolded(backends, workspace, folded, NO_AUDIENCES);
  const { audiences } = await backends.audiences.audiences(workspace);
  const uids = [...new Set([entry.uid, ...folded.map(({ facet }) => facet)])];
  if (audiences.length > 0) await backends.marks.mark(workspace, uids, now);
  findings.mended("wrong_tallies");
}

/** Looked at again when whoever may be at them has ended. */
function createDoubts(again: (doubt: Doubt) => Promise<void>) {
  let doubts: Doubt[] = [];
  const settle = async (): Promise<void> => {
    const some = doubts;
    doubts = [];
    if (some.length === 0) return;
    await sleep(SETTLE_MS);
    for (const doubt of some) await again(doubt);
  };
  return {
    add: async (doubt: Doubt): Promise<void> => {
      doubts.push(doubt);
      if (doubts.length >= DOUBTS_MAX) await settle();
    },
    settle,
  };
}

async function findEvent(
  events: TallyDeps["backends"]["events"],
  workspace: WorkspaceId,
  eventId: EventId,
): Promise<StoredEvent | null | "damaged"> {
  try {
    return await events.find(workspace, eventId);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    return "damaged";
  }
}

function byWorkspace(rows: readonly EventRow[]): ReadonlyMap<WorkspaceId, readonly EventRow[]> {
  const groups = new Map<WorkspaceId, EventRow[]>();
  for (const row of rows) {
    const group = groups.get(row.workspace);
    if (group === undefined) groups.set(row.workspace, [row]);
    else group.push(row);
  }
  return groups;
}

const isFull = ({ filling }: StandingTally): boolean => filling === null;
const isSettled = (now: number) => (row: EventRow) =>
  row.fold?.isDone === true && row.gone === null && row.receivedAt <= now - YOUNG_MS;

/** Where the event must count. */
const entriesOf = (
  standing: readonly StandingTally[],
  event: Countable & { readonly eventId: EventId },
  uid: Uid,
): readonly (TallyEntry & TallyMark)[] => {
  const { eventId, effectiveTs } = event;
  return marksOf(standing, event).map(({ tallyId, amount }) => ({ tallyId, amount, uid, eventId, effectiveTs }));
};

function entriesOfRow(standing: readonly StandingTally[], { message, crc, fold }: EventRow): readonly TallyEntry[] {
  const decoded = crc32(message) === crc ? decodeMessage(message) : null;
  // Of a damaged one it is told where events are.
  return decoded?.kind === "event" ? entriesOf(standing, decoded.event, fold!.facet) : [];
}

/** Nobody reads what is about to be forgotten. */
function isRight(
  { tallies, forgotten }: Counting,
  event: StoredEvent | null,
  row: Omit<TallyRow, "workspace">,
): boolean {
  if (forgotten.includes(row.tallyId)) return true;
  if (event?.status !== "folded" || event.facet !== row.uid || event.effectiveTs !== row.effectiveTs) return false;
  return entriesOf(ofId(tallies, row.tallyId), event, row.uid).some(({ amount }) => amount === row.amount);
}

const ofId = (tallies: readonly StandingTally[], tallyId: TallyId): readonly StandingTally[] =>
  tallies.filter((one) => one.tallyId === tallyId);
