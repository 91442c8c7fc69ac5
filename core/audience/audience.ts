import {
  newId,
  type AudienceId,
  type BuildId,
  type EventId,
  type FenceId,
  type ProfileId,
  type TallyId,
} from "../ids.js";
import { referencesOf, resolveRule } from "../rule/resolve.js";
import { CONDITIONS_MAX, countConditions, DEPTH_MAX, depthOf } from "../rule/size.js";
import type { Rule, Tally, WrittenRule } from "../rule/rule.js";
import type { AudienceWords } from "../rule/vocabulary.js";

/** A named rule over profiles. */
export interface Audience {
  readonly audienceId: AudienceId;
  readonly name: string;
  /** The rule as it was sent: JSON text. */
  readonly text: string;
  /** The same, read. */
  readonly rule: WrittenRule;
  /** 1, and one more after each change. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Null once every profile that stood when the rule was stored has been judged by it: the audience is live. */
  readonly build: Build | null;
}

/** How far a walk over all profiles has come that judges them by a new rule. */
export interface Build {
  /** A fresh one for each rule. */
  readonly buildId: BuildId;
  /** Of what it finds: `built` for a new audience, `rule` after a change, `time` after a clock was wrong. */
  readonly cause: "built" | "rule" | "time";
  /** Profiles up to here were judged. */
  readonly after: ProfileId | null;
  /** How many they were. */
  readonly judged: number;
}

export const newBuild = (cause: Build["cause"]): Build => ({ buildId: newId(), cause, after: null, judged: 0 });

/** A way of counting events for which it is stored which events count. */
export interface StandingTally {
  /** A fresh one each time that somebody begins to count so: what is left of an earlier one is never mistaken for it. */
  readonly tallyId: TallyId;
  readonly tally: Tally;
  /** How far the events that were folded before have been counted; null: all of them have been. */
  readonly filling: Filling | null;
}

export interface Filling {
  /** By their arrival; null: from the beginning. */
  readonly after: { readonly receivedAt: number; readonly eventId: EventId } | null;
}

/** All audiences of a workspace. They are read and changed together, because a rule may refer to others. */
export interface AudienceSet {
  /** A fresh name after each change. */
  readonly version: string;
  /** By id (age). */
  readonly audiences: readonly Audience[];
  /** Deleted ones whose members have still to leave. */
  readonly deleted: readonly AudienceId[];
  /** The ways in which their rules count events. */
  readonly tallies: readonly StandingTally[];
  /** Tallies that no rule needs any more, and for which events still count. */
  readonly forgotten: readonly TallyId[];
  /** A fresh one with each change of a retention: a rule that was measured against an earlier one is measured again. */
  readonly fence?: FenceId;
  /** The latest time by which a look judged them, to an hour, milliseconds since 1970; it is written before the look is saved. */
  readonly judgedAt?: number;
}

/** All but the version. */
export type AudienceBody = Omit<AudienceSet, "version">;

export const bodyOf = ({ audiences, deleted, tallies, forgotten, fence, judgedAt }: AudienceBody): AudienceBody => {
  const own = { ...(fence !== undefined && { fence }), ...(judgedAt !== undefined && { judgedAt }) };
  return { audiences, deleted, tallies, forgotten, ...own };
};

/** What a change puts in the place of a set. The tallies follow the rules; a fence or a time that is not named stays. */
export type AudienceChange = Pick<AudienceSet, "audiences" | "deleted" | "fence" | "judgedAt">;

/** The set with one more. Ids of one moment may come here in another order than they were made in, and lists are read by id. */
export const withAudience = (set: AudienceSet, audience: Audience): AudienceSet => ({
  ...set,
  audiences: [...set.audiences, audience].toSorted((a, b) => (a.audienceId < b.audienceId ? -1 : 1)),
});

export const NO_AUDIENCES: AudienceSet = { version: "", audiences: [], deleted: [], tallies: [], forgotten: [] };
export const AUDIENCES_MAX = 100;

type Finder = (audienceId: AudienceId) => WrittenRule | null;

export const finderIn = ({ audiences }: Pick<AudienceSet, "audiences">): Finder => {
  const rules = new Map(audiences.map(({ audienceId, rule }) => [audienceId, rule]));
  return (audienceId) => rules.get(audienceId) ?? null;
};

/** What a rule for the audience `self` (null: for none) may say of others. */
export function audienceWords(set: AudienceSet, self: AudienceId | null): (audienceId: string) => AudienceWords | null {
  const find = finderIn(set);
  const depthAt = depthsIn(set);
  return (given) => {
    const audienceId = given as AudienceId;
    const rule = find(audienceId);
    if (rule === null) return null;
    const isCircular = audienceId === self || (self !== null && leadsTo(find, audienceId, self));
    return { conditions: countConditions(rule, find, CONDITIONS_MAX), depth: depthAt(audienceId), isCircular };
  };
}

function leadsTo(find: Finder, from: AudienceId, to: AudienceId): boolean {
  const reached = new Set([from]);
  for (const one of reached) for (const next of referencesOf(find(one) ?? NOTHING)) reached.add(next);
  return reached.has(to);
}

const NOTHING: WrittenRule = { kind: "or", parts: [] };

/** Those that refer to the audience themselves. */
export const referrersOf = ({ audiences }: AudienceSet, audienceId: AudienceId): readonly Audience[] =>
  audiences.filter(({ rule }) => referencesOf(rule).has(audienceId));

/** By age, but for those that a rule refers to: they come before it. */
export function referredFirst({ audiences }: Pick<AudienceSet, "audiences">): readonly Audience[] {
  const byId = new Map(audiences.map((one) => [one.audienceId, one]));
  const ordered = new Set<Audience>();
  const place = (one: Audience): void => {
    if (ordered.has(one)) return;
    for (const referred of referencesOf(one.rule)) place(byId.get(referred)!);
    ordered.add(one);
  };
  for (const one of audiences) place(one);
  return [...ordered];
}

/** All to which the rule of this audience matters, itself among them. */
export function dependentsOf(set: AudienceSet, audienceId: AudienceId): ReadonlySet<AudienceId> {
  const found = new Set([audienceId]);
  for (const one of found) for (const referrer of referrersOf(set, one)) found.add(referrer.audienceId);
  return found;
}

/** How deep the rule of each audience is, with those that it refers to: as it was written, because only that says which part is in which. */
function depthsIn({ audiences }: AudienceSet): (audienceId: AudienceId) => number {
  const texts = new Map(audiences.map(({ audienceId, text }) => [audienceId, text]));
  const depths = new Map<AudienceId, number>();
  const depthAt = (audienceId: AudienceId): number => {
    const known = depths.get(audienceId);
    if (known !== undefined) return known;
    const depth = depthOf(JSON.parse(texts.get(audienceId) ?? "null"), depthAt);
    depths.set(audienceId, depth);
    return depth;
  };
  return depthAt;
}

/** Those whose rules have too many conditions or are too deep, with the ones that they refer to. */
export const tooLarge = (set: AudienceSet): readonly Audience[] => {
  const find = finderIn(set);
  const depthAt = depthsIn(set);
  const isTooLarge = ({ audienceId, rule }: Audience): boolean =>
    countConditions(rule, find, CONDITIONS_MAX) > CONDITIONS_MAX || depthAt(audienceId) > DEPTH_MAX;
  return set.audiences.filter(isTooLarge);
};

/** The rule of each audience, ready to be judged. */
export function resolvedRules(set: Pick<AudienceSet, "audiences">): ReadonlyMap<AudienceId, Rule> {
  const find = finderIn(set);
  return new Map(
    set.audiences.map(({ audienceId, rule }) => {
      const resolved = resolveRule(rule, find);
      if (resolved === null) throw new Error("An audience refers to one that is not there.");
      return [audienceId, resolved];
    }),
  );
}
