import type { DropRule } from "../../core/event/event.js";
import type { ForbiddenPairId } from "../../core/ids.js";
import type { Rules, Summary } from "../../core/identity/model.js";

/** The rules of a new workspace. */
export const NO_RULES: Rules = {
  limits: new Map(),
  sharedIdentifierLimit: null,
  priorityOf: () => 0,
  isPerson: () => true,
};

/**
 * The rule that forbids two components to become one, or null. A limit is broken only by what exceeds it and also exceeds what either
 * side has already, so that a profile which is beyond a new limit goes on working. Both sides of a scoped assertion may not have values
 * of one person's namespace: they would be two people.
 */
export function breaks(one: Summary, other: Summary, { limits, isPerson }: Rules, scoped = false): DropRule | null {
  if (shares(one.forbidden, other.forbidden)) return "forbidden_pair";
  for (const [namespace, limit] of limits) {
    const [a, b] = [one.counts.get(namespace) ?? 0, other.counts.get(namespace) ?? 0];
    if (a > 0 && b > 0 && a + b > limit) return "limit";
  }
  if (scoped)
    for (const [namespace, count] of one.counts)
      if (count > 0 && (other.counts.get(namespace) ?? 0) > 0 && isPerson(namespace)) return "scope";
  return null;
}

function shares(one: readonly ForbiddenPairId[], other: readonly ForbiddenPairId[]): boolean {
  if (one.length === 0 || other.length === 0) return false;
  const ids = new Set(one);
  return other.some((id) => ids.has(id));
}

/** The summary of a component that holds all of these. */
export function joined(sides: readonly Summary[]): Summary {
  if (sides.length === 1) return sides[0]!;
  const counts = new Map<string, number>();
  const forbidden = new Set<ForbiddenPairId>();
  for (const side of sides) {
    for (const [namespace, count] of side.counts) counts.set(namespace, (counts.get(namespace) ?? 0) + count);
    for (const id of side.forbidden) forbidden.add(id);
  }
  return { counts, forbidden: forbidden.size === 0 ? NONE : [...forbidden].toSorted() };
}

const NONE: readonly ForbiddenPairId[] = [];

/** The summary of an identifier that is new. */
export const summaryOfOne = (namespace: string): Summary => ({ counts: new Map([[namespace, 1]]), forbidden: NONE });
