import type { AudienceId } from "../ids.js";
import type { WrittenRule } from "./rule.js";

export const CONDITIONS_MAX = 50;
export const DEPTH_MAX = 8;

/** How many conditions a part without parts stands for: each test of an event is one too. */
const conditionsOf = (part: Exclude<WrittenRule, { readonly kind: "audience" }>): number => {
  if (part.kind === "count") return 1 + part.tally.where.length;
  return part.kind === "sum" ? 1 + part.tally.where.length + part.tests.length : 1;
};

/**
 * How many conditions it has, with those of the audiences that it refers to, `max` + 1 or more if there are more: references to references
 * can stand for very many. A rule for everybody counts as one.
 */
export function countConditions(
  rule: WrittenRule,
  ruleOf: (audienceId: AudienceId) => WrittenRule | null,
  max: number,
): number {
  let conditions = 0;
  const left: WrittenRule[] = [rule];
  for (let one = left.pop(); one !== undefined && conditions <= max; one = left.pop()) {
    if (one.kind === "audience") {
      const meant = ruleOf(one.audienceId);
      if (meant !== null) left.push(meant);
    } else if (one.kind === "not") left.push(one.part);
    else if ("parts" in one && one.parts.length > 0) left.push(...one.parts);
    else conditions += conditionsOf(one);
  }
  return conditions;
}

type Given = Readonly<Record<string, unknown>>;

/** How deep the rule is as it was written, with that of each audience in the place of its reference. A rule without others in it is 1. */
export function depthOf(given: unknown, depthOfAudience: (audienceId: AudienceId) => number): number {
  if (typeof given !== "object" || given === null) return 1;
  const { $and, $or, $not, $audience } = given as Given;
  const parts = [$and, $or].flatMap((list) => (Array.isArray(list) ? (list as readonly unknown[]) : []));
  const below = [...parts, ...($not === undefined ? [] : [$not])].map((part) => 1 + depthOf(part, depthOfAudience));
  const referred = typeof $audience === "string" ? depthOfAudience($audience as AudienceId) : 1;
  return Math.max(1, referred, ...below);
}
