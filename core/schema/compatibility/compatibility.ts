import type { ErrorItem } from "../../errors.js";
import { boundProblems } from "./bounds.js";
import { createComparison, type Comparison, type TakenPair, type Whole } from "./comparison.js";
import { mapOf, membersNamed, membersUnder, otherMembers } from "./members.js";
import { compilePlan, type AnnotationPlan } from "../plan.js";
import { draftOf, isObject, isSchema, stringsOf, type Schema, type SchemaObject } from "../keywords.js";

/**
 * What of the next schema would refuse events that the previous one takes, or take their identifiers for something else; empty when
 * nothing would. A new optional property counts as compatible. Where the answer would need reasoning (other combinators, other patterns) it is "incompatible". Paths are the next schema's.
 */
export function incompatibilities(previous: object, next: object): ErrorItem[] {
  const comparison = createComparison(previous as SchemaObject, next as SchemaObject);
  if (draftOf(previous as SchemaObject) !== draftOf(next as SchemaObject))
    comparison.refuse("schema.$schema", "is a different draft");
  comparison.add({ previous: previous as SchemaObject, next: next as SchemaObject, path: "schema" });
  for (let pair = comparison.take(); pair !== null; pair = comparison.take()) compare(comparison, pair);
  compareIdentity(comparison, compilePlan(previous), compilePlan(next), "schema");
  return [...comparison.problems];
}

/** A value that no longer names its person would split one in silence. A new annotation is compatible. */
function compareIdentity(
  comparison: Comparison,
  previous: AnnotationPlan,
  next: AnnotationPlan | null | undefined,
  path: string,
): void {
  for (const namespace of previous.namespaces)
    if (next?.namespaces.includes(namespace) !== true)
      comparison.refuse(`${path}.x-identity`, `no longer names an identifier of ${namespace}`);
  for (const [name, member] of previous.members ?? [])
    compareIdentity(comparison, member, next?.members?.get(name), `${path}.properties.${name}`);
  if (previous.elements !== null) compareIdentity(comparison, previous.elements, next?.elements, `${path}.items`);
}

function compare(comparison: Comparison, { previous, next, path, isClosed = false, whole }: TakenPair): void {
  if ((next === true && !isClosed) || previous === false) return;
  if (next === false) {
    comparison.refuse(path, "no longer allows any value");
    return;
  }
  const [before, after] = [objectOf(previous, isClosed), objectOf(next, isClosed)];
  boundProblems(comparison, before, after, path);
  const judges = [before, ...whole.parts.filter((one) => one !== previous)];
  const sides = { previous: before, next: after, path, whole, judges };
  compareObjects(comparison, sides);
  compareArrays(comparison, sides);
  compareUnevaluated(comparison, before, after, path);
  compareCombinators(comparison, sides);
}

/** A pair of objects; `whole` as in a pair. */
interface Sides {
  readonly previous: SchemaObject;
  readonly next: SchemaObject;
  readonly path: string;
  readonly whole: Whole;
  /** The parts of the whole, `previous` first. */
  readonly judges: readonly SchemaObject[];
}

const ANYTHING: SchemaObject = {};

/** One that is closed must not evaluate less than before; its own `unevaluated*: false` would say the same. */
function objectOf(schema: Exclude<Schema, false>, isClosed: boolean): SchemaObject {
  const held = schema === true ? ANYTHING : schema;
  return isClosed ? { unevaluatedProperties: false, unevaluatedItems: false, ...held } : held;
}

const schemaOr = (value: unknown, fallback: Schema): Schema => (isSchema(value) ? value : fallback);
const heldBy = (map: SchemaObject, name: string): Schema | undefined =>
  Object.hasOwn(map, name) && isSchema(map[name]) ? map[name] : undefined;

function compareObjects(comparison: Comparison, sides: Sides): void {
  const { previous, next, path } = sides;
  compareRequired(comparison, previous, next, path);
  compareProperties(comparison, sides);
  compareOne(comparison, sides, "additionalProperties", () => otherMembers(comparison, sides.judges));
  for (const keyword of ["unevaluatedProperties", "propertyNames"]) compareOne(comparison, sides, keyword);
  compareDependencies(comparison, sides);
}

/** A schema for the other properties, or for the names, in both versions; when absent it accepts everything. */
function compareOne(
  comparison: Comparison,
  { previous, next, path }: Sides,
  keyword: string,
  others: () => readonly Schema[] = () => [],
): void {
  if (next[keyword] === undefined) return;
  const pair = { previous: schemaOr(previous[keyword], true), next: schemaOr(next[keyword], true) };
  comparison.add({ ...pair, path: `${path}.${keyword}`, whole: () => [pair.previous, ...others()] });
}

function compareRequired(comparison: Comparison, previous: SchemaObject, next: SchemaObject, path: string): void {
  const before = new Set(stringsOf(previous["required"]));
  for (const name of stringsOf(next["required"]))
    if (!before.has(name)) comparison.refuse(`${path}.required`, `makes ${name} required`);
}

/**
 * A new optional property is compatible, unless such names had a schema of their own in this schema or in another one of the same
 * value; then it must accept what each of them accepted. A new pattern must accept what was accepted under each name that it may be of.
 */
function compareProperties(comparison: Comparison, { previous, next, path, judges }: Sides): void {
  for (const [keyword, members] of [
    ["properties", membersNamed],
    ["patternProperties", membersUnder],
  ] as const) {
    const before = mapOf(previous[keyword]);
    const after = mapOf(next[keyword]);
    for (const name of Object.keys(before)) {
      const was = heldBy(before, name) ?? true;
      const now = heldBy(after, name);
      const whole = () => members(comparison, judges, name);
      if (now === undefined) compareRemoved(comparison, { was, next, path, name, whole });
      else comparison.add({ previous: was, next: now, path: `${path}.${keyword}.${name}`, whole });
    }
    for (const [name, now] of Object.entries(after))
      if (!Object.hasOwn(before, name) && isSchema(now))
        for (const was of members(comparison, judges, name))
          comparison.add({ previous: was, next: now, path: `${path}.${keyword}.${name}` });
  }
}

interface Removed extends Pick<Sides, "next" | "path"> {
  readonly name: string;
  readonly was: Schema;
  readonly whole: () => readonly Schema[];
}

/** A property that is no longer listed is validated by the schema for the other properties. */
function compareRemoved(comparison: Comparison, { was, next, path, name, whole }: Removed): void {
  const keyword = next["additionalProperties"] === undefined ? "unevaluatedProperties" : "additionalProperties";
  const rest = schemaOr(next[keyword], true);
  if (rest === false && was !== false) comparison.refuse(`${path}.properties.${name}`, "is no longer allowed");
  else comparison.add({ previous: was, next: rest, path: `${path}.${keyword}`, whole });
}

/** What had a schema of its own, and has none any more, is judged as unevaluated. */
function compareUnevaluated(comparison: Comparison, previous: SchemaObject, next: SchemaObject, path: string): void {
  const compareWith = (rest: unknown, was: unknown, at: string): void => {
    if (isSchema(rest) && isSchema(was)) comparison.add({ previous: was, next: rest, path: `${path}.${at}` });
  };
  const { unevaluatedProperties, unevaluatedItems } = next;
  if (next["additionalProperties"] === undefined)
    compareWith(unevaluatedProperties, previous["additionalProperties"], "additionalProperties");
  if (next["items"] !== undefined) return;
  compareWith(unevaluatedItems, previous["items"], "items");
  const left = tupleOf(next).first.length;
  for (const [at, was] of tupleOf(previous).first.entries())
    if (at >= left) compareWith(unevaluatedItems, was, `items.${at}`);
}

function compareDependencies(comparison: Comparison, { previous, next, path, whole }: Sides): void {
  for (const keyword of ["dependentRequired", "dependentSchemas", "dependencies"]) {
    const before = mapOf(previous[keyword]);
    const after = mapOf(next[keyword]);
    for (const name of Object.keys(after)) {
      const was = Object.hasOwn(before, name) ? before[name] : undefined;
      const now = after[name];
      const at = `${path}.${keyword}.${name}`;
      if (!isSchema(now)) {
        const known = new Set(stringsOf(was));
        if (stringsOf(now).some((one) => !known.has(one))) comparison.refuse(at, "requires more properties");
      } else comparison.add({ previous: schemaOr(was, true), next: now, path: at, whole });
    }
  }
}

interface Tuple {
  readonly first: readonly Schema[];
  readonly rest: Schema;
}

/** `prefixItems` and `items` of 2020-12, `items` and `additionalItems` of draft-07, in one form. */
function tupleOf({ items, prefixItems, additionalItems }: SchemaObject): Tuple {
  if (Array.isArray(items)) return { first: items.filter(isSchema), rest: schemaOr(additionalItems, true) };
  const first = Array.isArray(prefixItems) ? prefixItems.filter(isSchema) : [];
  return { first, rest: schemaOr(items, true) };
}

function compareArrays(comparison: Comparison, sides: Sides): void {
  const { previous, next, path, judges } = sides;
  const before = tupleOf(previous);
  const after = tupleOf(next);
  const tuples = judges.map(tupleOf);
  const length = Math.max(before.first.length, after.first.length);
  for (let at = 0; at < length; at += 1) {
    const whole = () => tuples.map(({ first, rest }) => first[at] ?? rest);
    const pair = { previous: before.first[at] ?? before.rest, next: after.first[at] ?? after.rest, whole };
    comparison.add({ ...pair, path: `${path}.items.${at}` });
  }
  const elementsFrom = (at: number): readonly Schema[] => [
    ...tuples.flatMap(({ first }) => first.slice(at)),
    ...tuples.map(({ rest }) => rest),
  ];
  const whole = () => elementsFrom(length);
  comparison.add({ previous: before.rest, next: after.rest, path: `${path}.items`, whole });
  compareOne(comparison, sides, "unevaluatedItems");
  // With an upper bound on its matches, a wider `contains` refuses more, so it must stay the same.
  const contained = judges.flatMap(({ contains }) => (isSchema(contains) ? [contains] : []));
  if (next["maxContains"] === undefined) compareContains(comparison, sides, () => [...elementsFrom(0), ...contained]);
  else if (!comparison.isSame(previous["contains"], next["contains"])) comparison.refuse(`${path}.contains`, "changes");
}

function compareContains(comparison: Comparison, sides: Sides, elements: () => readonly Schema[]): void {
  const { previous, next, path } = sides;
  if (next["contains"] === undefined || next["minContains"] === 0) return;
  if (previous["contains"] === undefined) comparison.refuse(`${path}.contains`, "is new");
  else compareOne(comparison, sides, "contains", elements);
}

/** `if` is compared together with `then` and `else`. */
const COMBINATORS: readonly (readonly string[])[] = [["anyOf"], ["oneOf"], ["not"], ["if", "then", "else"]];

/** Where something is unevaluated, these must stay the same too. */
const DEPENDENT: typeof COMBINATORS = [["dependentSchemas"], ["dependencies"]];

function compareCombinators(comparison: Comparison, sides: Sides): void {
  const { previous, next, path } = sides;
  compareAllOf(comparison, sides);
  // Without the combinator, what it evaluated counts as unevaluated.
  const isOpen = next["unevaluatedProperties"] === undefined && next["unevaluatedItems"] === undefined;
  for (const group of isOpen ? COMBINATORS : [...COMBINATORS, ...DEPENDENT]) {
    if (isOpen && group.every((keyword) => next[keyword] === undefined)) continue;
    for (const keyword of group)
      if (!comparison.isSame(previous[keyword], next[keyword])) comparison.refuse(`${path}.${keyword}`, "changes");
  }
}

const UNEVALUATED = ["unevaluatedProperties", "unevaluatedItems"];

function compareAllOf(comparison: Comparison, { previous, next, path, whole }: Sides): void {
  const before = Array.isArray(previous["allOf"]) ? previous["allOf"].filter(isSchema) : [];
  const after = Array.isArray(next["allOf"]) ? next["allOf"].filter(isSchema) : [];
  const isClosed = UNEVALUATED.some((keyword) => next[keyword] === false);
  if (UNEVALUATED.some((keyword) => isObject(previous[keyword]) || isObject(next[keyword]))) {
    // What its parts evaluate has another schema than the rest, so neither more nor less may become of it.
    if (!comparison.isSame(previous["allOf"], next["allOf"])) comparison.refuse(`${path}.allOf`, "changes");
    return;
  }
  if (before.length !== after.length) {
    if (after.length > 0 || isClosed) comparison.refuse(`${path}.allOf`, "has a different number of schemas");
    return;
  }
  for (const [at, schema] of after.entries())
    comparison.add({ previous: before[at]!, next: schema, path: `${path}.allOf.${at}`, isClosed, whole });
}
