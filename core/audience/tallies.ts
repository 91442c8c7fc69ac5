import { AppError, mismatch } from "../errors.js";
import type { Pause } from "../event-loop.js";
import { newId, type AudienceId, type TallyId } from "../ids.js";
import { countingOf, rowIn, rowInTurns, type Counting, type Row, type SeenEvent } from "../rule/events.js";
import { formOf } from "../rule/form.js";
import { talliesOf, type Tally } from "../rule/rule.js";
import {
  AUDIENCES_MAX,
  bodyOf,
  resolvedRules,
  type AudienceBody,
  type AudienceChange,
  type AudienceSet,
  type StandingTally,
} from "./audience.js";

export const TALLIES_MAX = 50;
/**
 * So many tallies may wait to be forgotten, and so many deleted audiences beside those that may stand for their members to leave: each
 * change rewrites the list of them.
 */
export const LEAVING_MAX = 200;

/** The tallies of a set whose audiences change so: those that a rule needs stand, and the others are still to be forgotten. */
export function followTallies(current: AudienceBody, change: AudienceChange): AudienceBody {
  const { audiences, deleted } = change;
  const needed = new Map<string, Tally>();
  for (const rule of resolvedRules({ audiences }).values())
    for (const tally of talliesOf(rule)) if (!needed.has(formOf(tally))) needed.set(formOf(tally), tally);
  if (needed.size > TALLIES_MAX)
    throw mismatch([
      {
        path: "rule",
        message: `with this rule, the audiences of the workspace have more than ${TALLIES_MAX} different $events conditions`,
      },
    ]);
  const kept = current.tallies.filter(({ tally }) => needed.delete(formOf(tally)));
  const left = current.tallies.filter((one) => !kept.includes(one)).map(({ tallyId }) => tallyId);
  const begun = [...needed.values()].map((tally): StandingTally => ({
    tallyId: newId(),
    tally,
    filling: { after: null },
  }));
  const tallies = [...kept, ...begun];
  const forgotten = [...current.forgotten, ...left];
  if (left.length > 0 && forgotten.length > LEAVING_MAX) throw tooManyLeave();
  // Whoever makes one is refused, and nobody who deletes one.
  const isMore = audiences.length > current.audiences.length;
  if (isMore && audiences.length + deleted.length > AUDIENCES_MAX + LEAVING_MAX) throw tooManyLeave();
  return bodyOf({ ...current, ...change, tallies, forgotten });
}

const tooManyLeave = (): AppError =>
  new AppError("rate_limited", "What earlier changes of audiences left behind is still being removed. Try again.", {
    headers: { "Retry-After": "10" },
  });

/** An event, as far as a tally looks at it. */
export interface Countable extends Omit<SeenEvent, "payload"> {
  /** JSON. */
  readonly payload: Buffer;
}

interface Mark {
  readonly tallyId: TallyId;
  readonly amount: number | null;
}

const countings = new WeakMap<StandingTally, Counting>();

function countingIn(standing: StandingTally): Counting {
  const known = countings.get(standing) ?? countingOf(standing.tally);
  countings.set(standing, known);
  return known;
}

const NONE: readonly Mark[] = [];
const markOf = ({ tallyId }: StandingTally, row: Row | null): readonly Mark[] =>
  row === null ? NONE : [{ tallyId, amount: row.amount }];

/** What the event counts for. Its payload is parsed only if one of them asks for it. */
export function marksOf(tallies: readonly StandingTally[], event: Countable): readonly Mark[] {
  if (tallies.length === 0) return NONE;
  const seen = seenOf(event);
  return tallies.flatMap((standing) => markOf(standing, rowIn(countingIn(standing), seen)));
}

/** The same for whoever has others wait: each test of a tally may go through a long list. */
export async function marksInTurns(
  tallies: readonly StandingTally[],
  event: Countable,
  pause: Pause,
): Promise<readonly Mark[]> {
  if (tallies.length === 0) return NONE;
  const seen = seenOf(event);
  const marks: Mark[] = [];
  for (const standing of tallies) {
    const found = rowInTurns(countingIn(standing), seen, pause);
    marks.push(...markOf(standing, found instanceof Promise ? await found : found));
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  return marks;
}

function seenOf({ schemaId, effectiveTs, payload }: Countable): SeenEvent {
  let parsed: { readonly payload: unknown } | null = null;
  return {
    schemaId,
    effectiveTs,
    get payload(): unknown {
      parsed ??= { payload: JSON.parse(payload.toString("utf8")) as unknown };
      return parsed.payload;
    },
  };
}

/** The tallies that say all, by their forms. */
const filled = new WeakMap<readonly StandingTally[], ReadonlyMap<string, TallyId>>();

export function filledTallies({ tallies }: Pick<AudienceSet, "tallies">): ReadonlyMap<string, TallyId> {
  const known = filled.get(tallies);
  if (known !== undefined) return known;
  const full = tallies.filter(({ filling }) => filling === null);
  const found = new Map(full.map(({ tallyId, tally }) => [formOf(tally), tallyId]));
  filled.set(tallies, found);
  return found;
}

const counting = new WeakMap<AudienceSet, ReadonlySet<AudienceId>>();

/** Audiences of which a tally is still being filled: they are not judged for their members yet. */
export function countingAudiences(set: AudienceSet): ReadonlySet<AudienceId> {
  const known = counting.get(set);
  if (known !== undefined) return known;
  const full = filledTallies(set);
  const isCounting = (tallies: readonly Tally[]): boolean => tallies.some((tally) => !full.has(formOf(tally)));
  const found = new Set([...resolvedRules(set)].flatMap(([id, rule]) => (isCounting(talliesOf(rule)) ? [id] : [])));
  counting.set(set, found);
  return found;
}
