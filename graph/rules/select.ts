import type { DroppedIdentifier, DropRule } from "../../core/event/event.js";
import { pairKey, type Rules, type Summary } from "../../core/identity/model.js";
import { breaks, joined, summaryOfOne } from "./violation.js";
import { workingComponentOf, isLinked, type WorkingState, type WorkingComponent } from "./working-state.js";
import type { Request } from "./read-set.js";

/** Which of a request's identifiers are linked, by position, and what happens to the others. */
export interface Selection {
  readonly kept: readonly number[];
  readonly dropped: readonly DroppedIdentifier[];
}

/**
 * An event that is older than an unlink must not undo it: since then its pair was removed, or one of its identifiers was unlinked. Then
 * it links nothing at all, because a third identifier could join them again. A shared identifier joins nobody, so it does not count.
 */
export function isStale(working: WorkingState, request: Request, sharedIdentifiers: ReadonlySet<number>): boolean {
  const { snapshot } = working;
  const { at } = request.assertion.evidence;
  const keys = request.keys.filter((_, position) => !sharedIdentifiers.has(position));
  for (const key of keys) if ((snapshot.identifiers.get(key)?.unlinkedAt ?? -Infinity) >= at) return true;
  if (snapshot.removed.size === 0) return false;
  for (const [i, from] of keys.entries())
    for (const to of keys.slice(i + 1)) {
      const pair = pairKey(from, to);
      if (!isLinked(working, pair) && (snapshot.removed.get(pair)?.at ?? -Infinity) >= at) return true;
    }
  return false;
}

/** Keeps only the facet's identifier; the others are dropped unless they are in its profile anyway. */
export function selectFacetAlone(
  working: WorkingState,
  request: Request,
  sharedIdentifiers: ReadonlySet<number>,
): Selection {
  const { candidates, dropped } = withoutSharedIdentifiers(request, [...request.keys.keys()], sharedIdentifiers);
  const [facet, ...others] = candidates;
  const group = workingComponentOf(working, request.keys[facet!]!);
  const apart = (position: number): boolean =>
    group === null || workingComponentOf(working, request.keys[position]!) !== group;
  return {
    kept: [facet!],
    dropped: [...dropped, ...others.filter(apart).map((position) => drop(request, position, "unlinked"))],
  };
}

/** Takes them one by one in their order; each is kept if it joins those before it without breaking a rule. */
export function select(
  working: WorkingState,
  request: Request,
  rules: Rules,
  sharedIdentifiers: ReadonlySet<number>,
): Selection {
  if (isFree(working, request, rules)) return { kept: [...request.keys.keys()], dropped: [] };
  const { candidates, dropped } = withoutSharedIdentifiers(
    request,
    inOrder(request, rules, sharedIdentifiers),
    sharedIdentifiers,
  );
  const kept: number[] = [];
  const groups = new Set<WorkingComponent>();
  let union: Summary | null = null;
  for (const position of candidates) {
    const group = workingComponentOf(working, request.keys[position]!);
    const side = group ?? summaryOfOne(request.assertion.identifiers[position]!.namespace);
    const isIn = group !== null && groups.has(group);
    const rule = union === null || isIn ? null : breaks(union, side, rules, request.assertion.scoped);
    if (rule !== null) {
      dropped.push(drop(request, position, rule));
      continue;
    }
    kept.push(position);
    if (isIn) continue;
    if (group !== null) groups.add(group);
    union = union === null ? side : joined([union, side]);
  }
  return { kept: kept.toSorted((a, b) => a - b), dropped };
}

/** No rule applies: then all are kept, in any order. */
const isFree = (working: WorkingState, { assertion, keys }: Request, { limits }: Rules): boolean =>
  limits.size === 0 &&
  assertion.scoped !== true &&
  keys.every((key) => (workingComponentOf(working, key)?.forbidden.length ?? 0) === 0);

/**
 * By priority, (namespace, value) deciding between equals; what an alias says comes first, and the facet of an event: the first that is
 * no shared identifier.
 */
function inOrder(
  { assertion: { identifiers, evidence } }: Request,
  { priorityOf }: Rules,
  sharedIdentifiers: ReadonlySet<number>,
): readonly number[] {
  const positions = [...identifiers.keys()];
  if (evidence.source === "alias") return positions;
  const facet = positions.find((position) => !sharedIdentifiers.has(position)) ?? 0;
  const pinned = evidence.source === "identify" ? [] : [facet];
  const order = (a: number, b: number): number => {
    const [one, other] = [identifiers[a]!, identifiers[b]!];
    const byName = one.namespace === other.namespace ? 0 : one.namespace < other.namespace ? -1 : 1;
    return priorityOf(other.namespace) - priorityOf(one.namespace) || byName || (one.value < other.value ? -1 : 1);
  };
  return [...pinned, ...positions.filter((position) => !pinned.includes(position)).toSorted(order)];
}

/** They link to nobody. One stays where there is nobody else. */
function withoutSharedIdentifiers(request: Request, order: readonly number[], sharedIdentifiers: ReadonlySet<number>) {
  const others = order.filter((position) => !sharedIdentifiers.has(position));
  const candidates = others.length === 0 ? order.slice(0, 1) : others;
  const rest = order.filter((position) => !candidates.includes(position));
  return { candidates, dropped: rest.map((position) => drop(request, position, "shared_identifier")) };
}

const drop = ({ assertion }: Request, position: number, rule: DropRule): DroppedIdentifier => ({
  identifier: assertion.identifiers[position]!,
  rule,
});
