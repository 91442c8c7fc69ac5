import type { DropRule } from "../../core/event/event.js";
import type { NeverId } from "../../core/ids.js";
import type { Rules, Summary } from "../../core/identity/model.js";

/** What every workspace begins with. */
export const NO_RULES: Rules = { limits: new Map(), connectorLimit: null, priorityOf: () => 0 };

/**
 * The rule that forbids two components to become one, or null. A limit is broken only by what exceeds it and also exceeds what either
 * side has already, so that a profile which is beyond a new limit goes on working.
 */
export function breaks(one: Summary, other: Summary, { limits }: Rules): DropRule | null {
  if (shares(one.never, other.never)) return "never_link";
  for (const [namespace, limit] of limits) {
    const [a, b] = [one.counts.get(namespace) ?? 0, other.counts.get(namespace) ?? 0];
    if (a > 0 && b > 0 && a + b > limit) return "limit";
  }
  return null;
}

function shares(one: readonly NeverId[], other: readonly NeverId[]): boolean {
  if (one.length === 0 || other.length === 0) return false;
  const ids = new Set(one);
  return other.some((id) => ids.has(id));
}

/** What a component would be that holds all of these. */
export function joined(sides: readonly Summary[]): Summary {
  if (sides.length === 1) return sides[0]!;
  const counts = new Map<string, number>();
  const never = new Set<NeverId>();
  for (const side of sides) {
    for (const [namespace, count] of side.counts) counts.set(namespace, (counts.get(namespace) ?? 0) + count);
    for (const id of side.never) never.add(id);
  }
  return { counts, never: never.size === 0 ? NONE : [...never].toSorted() };
}

const NONE: readonly NeverId[] = [];

/** Of an identifier that nobody saw yet. */
export const summaryOfOne = (namespace: string): Summary => ({ counts: new Map([[namespace, 1]]), never: NONE });
