import type { Merge } from "../catalog/catalog.js";
import { unitsOf } from "./amount.js";
import type { Contribution, Facet, Scalar, Trait } from "./facet.js";
import { compareScalars } from "./scalar.js";

/**
 * A bounded union keeps the greatest values, never the first to arrive, and the one too that reaches the second bound: without it,
 * what comes behind in another part would be taken for what comes next. Only this is a join.
 */
const UNION_MAX = 100;
/** Of the JSON text that a store keeps: a character can take one byte of it or six. */
const UNION_BYTES_MAX = 4_096;

export const emptyFacet: Facet = { traits: new Map(), firstSeen: null, lastSeen: null, eventCount: 0 };

/** The facet of one event alone; it is added to the facet of its identifier. */
export function facetOf({ eventId, effectiveTs, traits }: Contribution): Facet {
  const own = new Map<string, Trait>();
  for (const { name, merge, value } of traits) {
    const trait = traitOf(merge, value === 0 ? 0 : value, { ts: effectiveTs, eventId });
    const before = own.get(name);
    if (trait === null) continue;
    own.set(name, before === undefined || isLastOfEvent(trait) ? trait : addTraits(before, trait));
  }
  return { traits: own, firstSeen: effectiveTs, lastSeen: effectiveTs, eventCount: 1 };
}

type Timed = Extract<Trait, { merge: "latest" | "first" }>;
/** An event counts once, however many values it has. */
const isLastOfEvent = ({ merge }: Trait): boolean => merge === "latest" || merge === "first" || merge === "count";

/** Null means that a value is absent. `latest` and `first` can keep that; the others cannot. */
function traitOf(merge: Merge, value: Scalar, when: Pick<Timed, "ts" | "eventId">): Trait | null {
  if (merge === "latest" || merge === "first") return { merge, value, ...when };
  if (value === null) return null;
  switch (merge) {
    case "sum":
      // The schema lets only numbers come here.
      return typeof value === "number" ? { merge, units: unitsOf(value) } : null;
    case "count":
      return { merge, count: 1 };
    case "union":
      return { merge, values: [value] };
    case "min":
    case "max":
      break;
  }
  return { merge, value };
}

/** What two sets of events come to that have no event in common. Associative and commutative. */
export function addFacets(a: Facet, b: Facet): Facet {
  if (a.eventCount === 0 && a.traits.size === 0) return b;
  const traits = addTraitMaps(a.traits, b.traits);
  const firstSeen = earlier(a.firstSeen, b.firstSeen);
  const lastSeen = later(a.lastSeen, b.lastSeen);
  return { traits, firstSeen, lastSeen, eventCount: a.eventCount + b.eventCount };
}

const earlier = (a: string | null, b: string | null): string | null => (a === null || (b !== null && b < a) ? b : a);
const later = (a: string | null, b: string | null): string | null => (a === null || (b !== null && b > a) ? b : a);

function addTraitMaps(a: Facet["traits"], b: Facet["traits"]): Facet["traits"] {
  let sum: Map<string, Trait> | null = null;
  for (const [name, trait] of b) {
    const before = a.get(name);
    const after = before === undefined ? trait : addTraits(before, trait);
    if (after === before) continue;
    sum ??= new Map(a);
    sum.set(name, after);
  }
  return sum ?? a;
}

const MERGE_ORDER: Readonly<Record<Merge, number>> = {
  latest: 0,
  first: 1,
  min: 2,
  max: 3,
  union: 4,
  count: 5,
  sum: 6,
};

/** Answers `a` itself when `b` adds nothing. A name has one merge per workspace; should it ever have two, the later of a fixed order stands. */
function addTraits(a: Trait, b: Trait): Trait {
  if (a.merge !== b.merge) return MERGE_ORDER[a.merge] > MERGE_ORDER[b.merge] ? a : b;
  switch (a.merge) {
    case "latest":
      return compareTimed(a, b as Timed) >= 0 ? a : b;
    case "first":
      return compareTimed(a, b as Timed) <= 0 ? a : b;
    case "min":
      return compareScalars(a.value, (b as typeof a).value) <= 0 ? a : b;
    case "max":
      return compareScalars(a.value, (b as typeof a).value) >= 0 ? a : b;
    case "sum":
      return { merge: "sum", units: a.units + (b as typeof a).units };
    case "count":
      return { merge: "count", count: a.count + (b as typeof a).count };
    case "union":
      break;
  }
  return joinUnions(a, b as Union);
}

/** By time, then event id: without the id, events of one instant would count in the order of their arrival. */
function compareTimed(a: Timed, b: Timed): number {
  if (a.ts !== b.ts) return a.ts < b.ts ? -1 : 1;
  if (a.eventId !== b.eventId) return a.eventId < b.eventId ? -1 : 1;
  return compareScalars(a.value, b.value);
}

type Union = Extract<Trait, { merge: "union" }>;

/** The values are sorted, greatest first, and each is there once. */
function joinUnions(a: Union, b: Union): Union {
  const values: Scalar[] = [];
  let inA = 0;
  let inB = 0;
  let firstNew = UNION_MAX;
  while (values.length < UNION_MAX && (inA < a.values.length || inB < b.values.length)) {
    const order = compareHeads(a.values[inA], b.values[inB]);
    if (order < 0) firstNew = Math.min(firstNew, values.length);
    values.push(order >= 0 ? a.values[inA]! : b.values[inB]!);
    if (order >= 0) inA += 1;
    if (order <= 0) inB += 1;
  }
  if (firstNew === UNION_MAX) return a;
  const fitting = countFitting(values);
  return firstNew < fitting ? { merge: "union", values: values.slice(0, fitting) } : a;
}

/** Whether these are the values of a union. */
export const isUnion = (values: readonly Scalar[]): boolean =>
  values.length > 0 &&
  values.length <= UNION_MAX &&
  values.every((value, n) => n === 0 || compareScalars(values[n - 1]!, value) > 0) &&
  countFitting(values) === values.length;

/** How many of the values reach the bound of bytes: each weighs the same in every union, so that this stays a join. */
function countFitting(values: readonly Scalar[]): number {
  // Most unions are so small that nothing need be weighed.
  if (values.reduce<number>((most, value) => most + mostBytesOf(value), 0) < UNION_BYTES_MAX) return values.length;
  let bytes = 0;
  const last = values.findIndex((value) => (bytes += Buffer.byteLength(JSON.stringify(value))) >= UNION_BYTES_MAX);
  return last === -1 ? values.length : last + 1;
}

const mostBytesOf = (value: Scalar): number => (typeof value === "string" ? 6 * value.length + 2 : 25);

const compareHeads = (a: Scalar | undefined, b: Scalar | undefined): number =>
  a === undefined ? -1 : b === undefined ? 1 : compareScalars(a, b);
