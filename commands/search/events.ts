import { setImmediate as nextTurn } from "node:timers/promises";
import type { AudienceSet } from "../../core/audience/audience.js";
import { filledTallies } from "../../core/audience/tallies.js";
import { createPause } from "../../core/event-loop.js";
import { instantOf } from "../../core/event/time.js";
import type { TallyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { TimelinePage, TimelinePosition } from "../../core/ports/event-store.js";
import type { TallyRow } from "../../core/ports/tally-store.js";
import { countingOf, eventsOf, rowInTurns, type Row } from "../../core/rule/events.js";
import { formOf } from "../../core/rule/form.js";
import type { EventCondition, EventsOf } from "../../core/rule/judge.js";
import type { Tally } from "../../core/rule/rule.js";
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
  return Promise.all(
    asks.map(async ({ uids, wanted }, i) => {
      const walked = wanted.filter(({ form }) => !filled.has(form) || gone.has(form));
      const fromEvents = await walkEvents(services, workspace, uids, walked);
      const rows = new Map([...fromTallies[i]!.rows, ...fromEvents.rows]);
      const asked = new Set(each[i]!.needs);
      return {
        // Another condition of the same tally may need more rows than were read.
        events: eventsOf(
          (tally) => rows.get(formOf(tally)) ?? NO_ROWS,
          (condition) => asked.has(condition),
        ),
        isPartial: fromTallies[i]!.isPartial || fromEvents.isPartial,
      };
    }),
  );
}

const NO_ROWS: readonly Row[] = [];

/** Of one profile. */
interface Ask {
  readonly uids: readonly Uid[];
  readonly wanted: readonly Wanted[];
  /** Those of them that a tally tells. */
  readonly tallied: readonly Wanted[];
}

/** All that is asked of one tally. */
interface Wanted {
  readonly form: string;
  readonly tally: Tally;
  /** So many of its newest rows tell. */
  readonly rowsMax: number;
  /** Older ones tell nothing; null: all do. */
  readonly since: number | null;
}

function wantedOf(needs: readonly EventCondition[], now: number): readonly Wanted[] {
  const wanted = new Map<string, Wanted>();
  for (const need of needs) {
    const { tally, within } = need;
    const form = formOf(tally);
    const own = {
      rowsMax: need.kind === "sum" ? SUMMED_MAX : need.atLeast,
      since: within === null ? null : now - within,
    };
    const known = wanted.get(form) ?? { form, tally, ...own };
    const since = known.since === null || own.since === null ? null : Math.min(known.since, own.since);
    wanted.set(form, { form, tally, rowsMax: Math.max(known.rowsMax, own.rowsMax), since });
  }
  return [...wanted.values()];
}

type RowsByForm = ReadonlyMap<string, readonly Row[]>;
interface Read {
  readonly rows: RowsByForm;
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
    rows: new Map<string, readonly Row[]>(),
    isPartial: uids.length * tallied.length > PROBES_MAX,
  }));
  const found = await readNewest(services, workspace, probes);
  for (const [n, one] of probes.entries()) {
    // One more than is added up was asked for.
    const isCut = one.tally.sum !== null && found[n]!.length > SUMMED_MAX;
    reads[one.i]!.isPartial ||= isCut;
    reads[one.i]!.rows.set(one.form, isCut ? found[n]!.slice(0, SUMMED_MAX) : found[n]!);
  }
  return reads;
}

/** What is asked of one tally for the profile of an ask. */
interface Probe extends Wanted {
  readonly i: number;
  readonly uids: readonly Uid[];
  readonly tallyId: TallyId;
}

/** Together, as far as there are few: most profiles have few events, also where many would be added up. */
async function readNewest(
  services: EventServices,
  workspace: WorkspaceId,
  probes: readonly Probe[],
): Promise<readonly (readonly Row[])[]> {
  if (probes.length === 0) return [];
  const asks = probes.map(({ tally, tallyId, uids, rowsMax, since }) => {
    const hasAmounts = tally.sum !== null;
    const limit = hasAmounts ? SUMMED_TOGETHER : rowsMax;
    return { tallyId, uids, limit, since: since === null ? null : instantOf(since), hasAmounts };
  });
  const found = await services.tallies.newestOfEach(workspace, asks);
  return Promise.all(
    found.map(async (rows, n) => {
      const { hasAmounts, limit } = asks[n]!;
      if (hasAmounts && rows.length === limit) return readSum(services, workspace, probes[n]!);
      return rows.map(({ effectiveTs, amount }): Row => ({ position: effectiveTs, amount }));
    }),
  );
}

async function readSum(
  { tallies }: EventServices,
  workspace: WorkspaceId,
  { tallyId, uids, since }: Probe,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const most = SUMMED_MAX + 1;
  const page = { hasAmounts: true, since: since === null ? null : instantOf(since) };
  for (let before: TimelinePosition | null = null; rows.length < most;) {
    const limit = Math.min(ROWS_PER_READ, most - rows.length);
    const found: readonly TallyRow[] = await tallies.newest(workspace, tallyId, uids, { ...page, limit, before });
    for (const { effectiveTs, amount } of found) rows.push({ position: effectiveTs, amount });
    if (found.length < limit) break;
    before = found.at(-1)!;
    // The embedded store answers at once, and all of them in one turn of the event loop would hold up everybody.
    await nextTurn();
  }
  return rows;
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
  const counted = wanted.map(({ form, tally }) => ({ form, counting: countingOf(tally), rows: [] as Row[] }));
  const rows = new Map(counted.map((one) => [one.form, one.rows]));
  if (wanted.length === 0) return { rows, isPartial: false };
  const eventsMax = wanted.some(({ tally }) => tally.sum !== null) ? SUMMED_MAX : EVENTS_MAX;
  const pause = createPause();
  const damaged: TimelinePosition[] = [];
  const end = (isPartial: boolean): Read => {
    tellDamaged(log, workspace, damaged);
    return { rows, isPartial };
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
        if (row !== null) one.rows.push(row);
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
