import type { AudienceId } from "../ids.js";
import { countConditions, referencesOf, resolveRule } from "../rule/resolve.js";
import type { Rule, WrittenRule } from "../rule/rule.js";
import type { AudienceWords } from "../rule/vocabulary.js";
import { CONDITIONS_MAX } from "../rule/parse.js";

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
}

/** All audiences of a workspace. They are read and changed together, because a rule may refer to others. */
export interface AudienceSet {
  /** A fresh name after each change. */
  readonly version: string;
  /** By id (age). */
  readonly audiences: readonly Audience[];
}

export const NO_AUDIENCES: AudienceSet = { version: "", audiences: [] };
export const AUDIENCES_MAX = 100;

type Finder = (audienceId: AudienceId) => WrittenRule | null;

export const finderIn = ({ audiences }: AudienceSet): Finder => {
  const rules = new Map(audiences.map(({ audienceId, rule }) => [audienceId, rule]));
  return (audienceId) => rules.get(audienceId) ?? null;
};

/** What a rule for the audience `self` (null: for none) may say of others. */
export function audienceWords(set: AudienceSet, self: AudienceId | null): (audienceId: string) => AudienceWords | null {
  const find = finderIn(set);
  return (given) => {
    const audienceId = given as AudienceId;
    const rule = find(audienceId);
    if (rule === null) return null;
    const isCircular = audienceId === self || (self !== null && leadsTo(find, audienceId, self));
    return { conditions: countConditions(rule, find, CONDITIONS_MAX), isCircular };
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

/** Those whose rules have too many conditions, with the ones that they refer to. */
export const tooLarge = (set: AudienceSet): readonly Audience[] => {
  const find = finderIn(set);
  return set.audiences.filter(({ rule }) => countConditions(rule, find, CONDITIONS_MAX) > CONDITIONS_MAX);
};

/** The rule of each audience, ready to be judged. */
export function resolvedRules(set: AudienceSet): ReadonlyMap<AudienceId, Rule> {
  const find = finderIn(set);
  return new Map(
    set.audiences.map(({ audienceId, rule }) => {
      const resolved = resolveRule(rule, find);
      if (resolved === null) throw new Error("An audience refers to one that is not there.");
      return [audienceId, resolved];
    }),
  );
}
