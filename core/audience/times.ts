import type { AudienceId } from "../ids.js";
import { isTimed } from "../rule/rule.js";
import { newBuild, resolvedRules, type AudienceChange, type AudienceSet } from "./audience.js";

/** The time of a look is noted where it is so much later than the one that is noted. */
const NOTE_MS = 3_600_000;
/** The times of two processes, and those before and after a restart, are nearer to each other, or one of them is a wrong clock's. */
const FAR_MS = 3_600_000;

const timedOnes = new WeakMap<AudienceSet, ReadonlySet<AudienceId>>();

/** Those of which time alone may change who is in. */
function timedIn(set: AudienceSet): ReadonlySet<AudienceId> {
  const known = timedOnes.get(set);
  if (known !== undefined) return known;
  const found = new Set([...resolvedRules(set)].flatMap(([id, rule]) => (isTimed(rule) ? [id] : [])));
  timedOnes.set(set, found);
  return found;
}

/** Whether a look by this time may be saved: what it finds may be wrong by an earlier time, so somebody has to know of it then. */
export const isNoted = (set: AudienceSet, now: number): boolean =>
  now - (set.judgedAt ?? -Infinity) <= NOTE_MS || timedIn(set).size === 0;

/** Null: it is noted. */
export const noted = (set: AudienceSet, now: number): AudienceChange | null =>
  isNoted(set, now) ? null : { ...set, judgedAt: now };

/** Whether they were judged by a time that is far ahead of this one: a clock was wrong. What is being built now is built first. */
export const isJudgedAhead = ({ judgedAt, audiences }: AudienceSet, now: number): boolean =>
  judgedAt !== undefined && judgedAt - now > FAR_MS && audiences.every(({ build }) => build === null);

/** Then all profiles are judged anew by those that depend on the time. Null: they need not be. */
export function judgedAnew(set: AudienceSet, now: number): AudienceChange | null {
  if (!isJudgedAhead(set, now)) return null;
  const timed = timedIn(set);
  const audiences = set.audiences.map((one) => (timed.has(one.audienceId) ? { ...one, build: newBuild("time") } : one));
  return { ...set, audiences, judgedAt: now };
}
