import { setImmediate as nextTurn } from "node:timers/promises";
import type { AudienceSet } from "../../core/audience/audience.js";
import { filledTallies } from "../../core/audience/tallies.js";
import { createPause, type Pause } from "../../core/event-loop.js";
import type { TallyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { TimelinePage, TimelinePosition } from "../../core/ports/event-store.js";
import type { AnonymousRow, TallyRow } from "../../core/ports/tally-store.js";
import { countingOf, rowInTurns } from "../../core/rule/events.js";
import type { EventCondition, EventsOf } from "../../core/rule/judge.js";
import { createListener, eventsOf, wantedOf, type Listener, type Told, type Wanted } from "../../core/rule/told.js";
import type { Services } from "../services.js";
import { tellDamaged } from "./damaged.js";

/** Of a profile; older ones are not looked at. More where something is added up: a sum of a part says little. */
const EVENTS_MAX = 1_000;
const SUMMED_MAX = 10_000;
const EVENTS_PER_READ = 100;
export const EVENT_BYTES_PER_READ = 524_288;
/** Of all tallies and facets that one read or look at a profile asks for. */
const PROBES_MAX = 2_000;
const ROWS_PER_READ = 1_000;
const SUMMED_TOGETHER = 100;
/** Tallies of profiles, each of which answers so many rows at most. */
const ASKED_TOGETHER = 100;
/** Each has a page in memory; one after the other, a server would be waited for at each. */
const SUMS_AT_ONCE = 8;

export type EventServices = Pick<Services, "audiences" | "events" | "tallies" | "log">;

export interface Asked {
  readonly uids: readonly Uid[];
  /** What is to be known of their events. */
  readonly needs: readonly EventCondition[];
  readonly now: number;
  /** The audiences of the workspace, whose tallies say what counts. */
  readonly set: AudienceSet;
}

export interface ReadEvents {
  readonly events: EventsOf;
  /** There are older ones, or more, than were looked at. */
  readonly isPartial: boolean;
}

/** What the conditions ask of the events of these facets: from tallies where there are such, and else from the newest events themselves. */
export const readEvents = async (
  services: EventServices,
  workspace: WorkspaceId,
  { set, now, ...one }: Asked,
): Promise<ReadEvents> => (await readEventsOfEach(services, workspace, { set, now, each: [one] }))[0]!;

export interface AskedOfEach extends Pick<Asked, "now" | "set"> {
  readonly each: readonly Pick<Asked, "uids" | "needs">[];
}

/** The same of several profiles, in order. */
export async function readEventsOfEach(
  services: EventServices,
  workspace: WorkspaceId,
  { set, now, each }: AskedOfEach,
): Promise<readonly ReadEvents[]> {
  const filled = filledTallies(set);
  const asks = each.map(({ uids, needs }): Ask => {
    const wanted = wantedOf(needs, now);
    return { uids, wanted, tallied: wanted.filter(({ form }) => filled.has(form)) };
  });
  const fromTallies = await readTallies(services, workspace, asks, filled);
  const isTallied = asks.some(({ tallied }) => tallied.length > 0);
  const gone = isTallied ? await goneSince(services, workspace, set) : new Set<string>();
  const read: ReadEvents[] = [];
  for (const [i, { uids, wanted }] of asks.entries()) {
    const walked = wanted.filter(({ form }) => !filled.has(form) || gone.has(form));
    const fromEvents = await walkEvents(services, workspace, uids, walked);
    const told = new Map([...fromTallies[i]!.told, ...fromEvents.told]);
    const isPartial = fromTallies[i]!.isPartial || fromEvents.isPartial;
    read.push({ events: eventsOf(each[i]!.needs, told), isPartial });
  }
  return read;
}

/** Of one profile. */
interface Ask {
  readonly uids: readonly Uid[];
  readonly wanted: readonly Wanted[];
  /** Those of them that a tally tells. */
  readonly tallied: readonly Wanted[];
}

interface Read {
  /** By form. */
  readonly told: ReadonlyMap<string, Told>;
  readonly isPartial: boolean;
}

/** Each tally costs a probe for each facet. */
async function readTallies(
  services: EventServices,
  workspace: WorkspaceId,
  asks: readonly Ask[],
  filled: ReadonlyMap<string, TallyId>,
): Promise<readonly Read[]> {
  const probes = asks.flatMap(({ uids, tallied }, i) => {
    const probed = uids.slice(0, Math.floor(PROBES_MAX / Math.max(1, tallied.length)));
    return tallied.map((one): Probe => ({ ...one, i, uids: probed, tallyId: filled.get(one.form)! }));
  });
  const reads = asks.map(({ uids, tallied }) => ({
    told: new Map<string, Told>(),
    isPartial: uids.length * tallied.length > PROBES_MAX,
  }));
  if (probes.length === 0) return reads;
  const newest = await readNewest(services, workspace, probes);
  const turn = createTurns();
  const left = probes.entries();
  const readOn = async (): Promise<void> => {
    for (const [n, one] of left) {
      const { told, isCut } = newest[n] ?? (await readSum(services, workspace, one, turn));
      reads[one.i]!.told.set(one.form, told);
      reads[one.i]!.isPartial ||= isCut;
    }
  };
  await Promise.all(Array.from({ length: SUMS_AT_ONCE }, readOn));
  return reads;
}

/** The embedded store answers at once: two pages in one turn of the event loop would hold up everybody. */
function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => (last = last.then(() => nextTurn()));
}

/** What is asked of one tally for the profile of an ask. */
interface Probe extends Wanted {
  readonly i: number;
  readonly uids: readonly Uid[];
  readonly tallyId: TallyId;
}

interface Newest {
  readonly told: Told;
  /** There are more than are added up. */
  readonly isCut: boolean;
}

/** Together, as far as there are few: most profiles have few events, also where many would be added up. Null where there are more. */
async function readNewest(
  { tallies }: EventServices,
  workspace: WorkspaceId,
  probes: readonly Probe[],
): Promise<readonly (Newest | null)[]> {
  const asks = probes.map(({ tally, tallyId, uids, rowsMax, since }) => {
    const hasAmounts = tally.sum !== null;
    return { tallyId, uids, limit: hasAmounts ? SUMMED_TOGETHER : rowsMax, since, hasAmounts };
  });
  const pause = createPause();
  const newest: (Newest | null)[] = [];
  while (newest.length < asks.length) {
    // The embedded store answers at once, and the rows of all of them would be in memory together.
    if (newest.length > 0) await nextTurn();
    const some = asks.slice(newest.length, newest.length + ASKED_TOGETHER);
    for (const [n, rows] of (await tallies.newestOfEach(workspace, some)).entries()) {
      const { hasAmounts, limit } = some[n]!;
      if (hasAmounts && rows.length === limit) newest.push(null);
      else {
        const listener = createListener(probes[newest.length]!);
        await hearAll(listener, rows, pause);
        newest.push({ told: listener.end(), isCut: false });
      }
    }
  }
  return newest;
}

async function readSum(
  { tallies }: EventServices,
  workspace: WorkspaceId,
  { tallyId, uids, since, ...wanted }: Probe,
  turn: () => Promise<void>,
): Promise<Newest> {
  const listener = createListener({ since, ...wanted });
  const pause = createPause();
  let heard = 0;
  for (let before: TimelinePosition | null = null; ;) {
    // One more than is added up is asked for.
    const limit = Math.min(ROWS_PER_READ, SUMMED_MAX + 1 - heard);
    const page = { hasAmounts: true, since, limit, before };
    await turn();
    const rows: readonly TallyRow[] = await tallies.newest(workspace, tallyId, uids, page);
    await hearAll(listener, rows.slice(0, SUMMED_MAX - heard), pause);
    heard += rows.length;
    if (heard > SUMMED_MAX || rows.length < limit) return { told: listener.end(), isCut: heard > SUMMED_MAX };
    before = rows.at(-1)!;
  }
}

async function hearAll(listener: Listener, rows: readonly AnonymousRow[], pause: Pause): Promise<void> {
  for (const { effectiveTs, amount } of rows) {
    listener.hear({ position: effectiveTs, amount });
    const turn = pause();
    if (turn !== undefined) await turn;
  }
}

/** The forms of tallies that are being forgotten since the audiences were read: what was found of them may not have been all. */
async function goneSince(
  { audiences }: EventServices,
  workspace: WorkspaceId,
  set: AudienceSet,
): Promise<ReadonlySet<string>> {
  const now = await audiences.audiences(workspace);
  if (now.version === set.version) return new Set();
  const standing = filledTallies(now);
  return new Set([...filledTallies(set)].flatMap(([form, id]) => (standing.get(form) === id ? [] : [form])));
}

async function walkEvents(
  { events, log }: EventServices,
  workspace: WorkspaceId,
  uids: readonly Uid[],
  wanted: readonly Wanted[],
): Promise<Read> {
  if (wanted.length === 0) return { told: new Map(), isPartial: false };
  const counted = wanted.map((one) => ({
    form: one.form,
    counting: countingOf(one.tally),
    listener: createListener(one),
  }));
  const eventsMax = wanted.some(({ tally }) => tally.sum !== null) ? SUMMED_MAX : EVENTS_MAX;
  const pause = createPause();
  const damaged: TimelinePosition[] = [];
  const end = (isPartial: boolean): Read => {
    tellDamaged(log, workspace, damaged);
    return { told: new Map(counted.map(({ form, listener }) => [form, listener.end()])), isPartial };
  };
  let before: TimelinePosition | null = null;
  for (let seen = 0; ;) {
    const limit = Math.min(EVENTS_PER_READ, eventsMax + 1 - seen);
    const page = await readPage(events, workspace, uids, { limit, before });
    damaged.push(...page.damaged);
    for (const event of page.found) {
      seen += 1;
      if (seen > eventsMax) return end(true);
      const { schemaId, effectiveTs } = event;
      const read = { schemaId, effectiveTs, payload: JSON.parse(event.payload.toString("utf8")) as unknown };
      for (const one of counted) {
        const asked = rowInTurns(one.counting, read, pause);
        const row = asked instanceof Promise ? await asked : asked;
        if (row !== null) one.listener.hear(row);
        const turn = pause();
        if (turn !== undefined) await turn;
      }
    }
    seen += page.damaged.length;
    if (seen > eventsMax) return end(true);
    if (page.next === null) return end(false);
    before = page.next;
    // The embedded store answers at once, and all of them in one turn of the event loop would hold up everybody.
    await nextTurn();
  }
}

/** The next events, without those that can never be read: no search may end at one. `next` is null at the end. */
async function readPage(
  events: EventServices["events"],
  workspace: WorkspaceId,
  uids: readonly Uid[],
  { limit, before }: Pick<TimelinePage, "limit" | "before">,
) {
  const damaged: TimelinePosition[] = [];
  const passDamaged = (one: TimelinePosition): boolean => damaged.push(one) < limit;
  const found = await events.timeline(workspace, uids, { limit, bytesMax: EVENT_BYTES_PER_READ, before, passDamaged });
  // A list may end before its limit because of its bytes, and in front of damaged ones or behind them.
  const [next = null] = [...found.slice(-1), ...damaged.slice(-1)].toSorted((a, b) => (isOlder(a, b) ? -1 : 1));
  return { found, damaged, next };
}

const isOlder = (a: TimelinePosition, b: TimelinePosition): boolean =>
  a.effectiveTs === b.effectiveTs ? a.eventId < b.eventId : a.effectiveTs < b.effectiveTs;
