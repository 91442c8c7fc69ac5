import type { Instant } from "../event/event.js";
import { instantOf } from "../event/time.js";
import { createDecimalSum } from "./decimal.js";
import type { Row } from "./events.js";
import { formOf } from "./form.js";
import type { EventCondition, EventsOf, Sum } from "./judge.js";
import type { Tally } from "./rule.js";

/** All that is asked of one tally. */
export interface Wanted {
  readonly form: string;
  readonly tally: Tally;
  /** So many of its newest rows tell by themselves. */
  readonly rowsMax: number;
  /** Those younger than each of these are added up; null: all. */
  readonly windows: ReadonlySet<Instant | null>;
  /** Older ones tell nothing; null: all do. */
  readonly since: Instant | null;
}

export function wantedOf(needs: readonly EventCondition[], now: number): readonly Wanted[] {
  const wanted = new Map<
    string,
    Wanted & { rowsMax: number; since: Instant | null; readonly windows: Set<Instant | null> }
  >();
  for (const need of needs) {
    const form = formOf(need.tally);
    const since = need.within === null ? null : instantOf(now - need.within);
    const one = wanted.get(form) ?? { form, tally: need.tally, rowsMax: 0, windows: new Set(), since };
    if (need.kind === "sum") one.windows.add(since);
    else one.rowsMax = Math.max(one.rowsMax, need.atLeast);
    if (isShorter(one.since, since)) one.since = since;
    wanted.set(form, one);
  }
  return [...wanted.values()];
}

const isShorter = (one: Instant | null, other: Instant | null): boolean =>
  one !== null && (other === null || one > other);

/** What the rows of a tally told. */
export interface Told {
  /** Of the newest of them, newest first. */
  readonly positions: readonly Instant[];
  /** By the windows. */
  readonly sums: ReadonlyMap<Instant | null, Sum>;
}

export interface Listener {
  /** The rows come newest first. */
  hear(row: Row): void;
  end(): Told;
}

/** Listens to rows and keeps none of them: a profile may have 10,000 for each condition. Equal sums are made once. */
export function createListener({ rowsMax, windows }: Wanted): Listener {
  const positions: Instant[] = [];
  const sums = new Map<Instant | null, Sum>();
  // A window that begins earlier holds all rows of one that begins later, so one sum goes through all of them.
  const open = [...windows].toSorted((a, b) => (isShorter(a, b) ? -1 : 1));
  const decimals = createDecimalSum();
  let oldest: Instant | null = null;
  let known: Sum | null = null;
  const isBehind = (position: Instant): boolean => {
    const since = open[sums.size];
    return typeof since === "string" && position <= since;
  };
  const endWindow = (): void => {
    known ??= { sum: decimals.total(), oldest };
    sums.set(open[sums.size]!, known);
  };
  return {
    hear: ({ position, amount }) => {
      if (positions.length < rowsMax) positions.push(position);
      while (isBehind(position)) endWindow();
      if (sums.size === open.length) return;
      if (amount !== null) decimals.add(amount);
      [oldest, known] = [position, null];
    },
    end: () => {
      while (sums.size < open.length) endWindow();
      return { positions, sums };
    },
  };
}

/** Answers to these conditions, by the form of their tallies. Another condition of the same tally may need more than was asked. */
export function eventsOf(needs: readonly EventCondition[], told: ReadonlyMap<string, Told>): EventsOf {
  const asked = new Set(needs);
  return {
    has: (condition) => asked.has(condition),
    nthNewest: (tally, n) => told.get(formOf(tally))?.positions[n - 1] ?? null,
    sumSince: (tally, since) => told.get(formOf(tally))?.sums.get(since) ?? NOTHING,
  };
}

const NOTHING: Sum = { sum: 0, oldest: null };
