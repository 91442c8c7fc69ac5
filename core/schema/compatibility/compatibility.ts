import type { ErrorItem } from "../../errors.js";
import { boundProblems } from "./bounds.js";
import { createComparison, type Comparison, type Pair } from "./comparison.js";
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

function compare(comparison: Comparison, { previous, next, path, isClosed = false, whole = previous }: Pair): void {
  if ((next === true && !isClosed) || previous === false) return;
  if (next === false) {
    comparison.refuse(path, "no longer allows any value");
    return;
  }
  const [before, after] = [objectOf(previous, isClosed), objectOf(next, isClosed)];
  boundProblems(comparison, before, after, path);
  const sides = { previous: before, next: after, path, whole };
  compareObjects(comparison, sides);
  compareArrays(comparison, before, after, path);
  compareUnevaluated(comparison, before, after, path);
  compareCombinators(comparison, sides);
}

/** A pair of objects; `whole` as in a pair. */
interface Sides {
  readonly previous: SchemaObject;
  readonly next: SchemaObject;
  readonly path: string;
  readonly whole: Schema;
}

const ANYTHING: SchemaObject = {};

/** One that is closed must not evaluate less than before; its own `unevaluated*: false` would say the same. */
function objectOf(schema: Exclude<Schema, false>, isClosed: boolean): SchemaObject {
  const held = schema === true ? ANYTHING : schema;
  return isClosed ? { unevaluatedProperties: false, unevaluatedItems: false, ...held } : held;
}

const schemaOr = (value: unknown, fallback: Schema): Schema => (isSchema(value) ? value : fallback);
const mapOf = (value: unknown): SchemaObject => (isObject(value) ? value : {});
const heldBy = (map: SchemaObject, name: string): Schema | undefined =>
  Object.hasOwn(map, name) && isSchema(map[name]) ? map[name] : undefined;

function compareObjects(comparison: Comparison, sides: Sides): void {
  const { previous, next, path } = sides;
  compareRequired(comparison, previous, next, path);
  compareProperties(comparison, sides);
  for (const keyword of ["additionalProperties", "unevaluatedProperties", "propertyNames"])
    compareOne(comparison, previous, next, path, keyword);
  compareDependencies(comparison, sides);
}

/** A schema for the other properties, or for the names, in both versions; when absent it accepts everything. */
function compareOne(
  comparison: Comparison,
  previous: SchemaObject,
  next: SchemaObject,
  path: string,
  keyword: string,
): void {
  if (next[keyword] === undefined) return;
  const pair = { previous: schemaOr(previous[keyword], true), next: schemaOr(next[keyword], true) };
  comparison.add({ ...pair, path: `${path}.${keyword}` });
}

function compareRequired(comparison: Comparison, previous: SchemaObject, next: SchemaObject, path: string): void {
  const before = new Set(stringsOf(previous["required"]));
  for (const name of stringsOf(next["required"]))
    if (!before.has(name)) comparison.refuse(`${path}.required`, `makes ${name} required`);
}

function compareProperties(comparison: Comparison, { previous, next, path, whole }: Sides): void {
  for (const keyword of ["properties", "patternProperties"] as const) {
    const before = mapOf(previous[keyword]);
    const after = mapOf(next[keyword]);
    for (const name of Object.keys(before)) {
      const was = heldBy(before, name) ?? true;
      const now = heldBy(after, name);
      const at = now === undefined ? path : `${path}.${keyword}.${name}`;
      if (now !== undefined) comparison.add({ previous: was, next: now, path: at });
      else compareRemoved(comparison, was, next, path, name);
    }
    for (const name of Object.keys(after))
      if (!Object.hasOwn(before, name)) {
        const added = { keyword, name, now: heldBy(after, name) ?? true, path: `${path}.${keyword}.${name}` };
        const others = comparison.partsOf(whole).filter((one) => one !== previous);
        compareAdded(comparison, [previous, ...others], added);
      }
  }
}

/** A property that is no longer listed is validated by the schema for the other properties. */
function compareRemoved(comparison: Comparison, was: Schema, next: SchemaObject, path: string, name: string): void {
  const keyword = next["additionalProperties"] === undefined ? "unevaluatedProperties" : "additionalProperties";
  const rest = schemaOr(next[keyword], true);
  if (rest === false && was !== false) comparison.refuse(`${path}.properties.${name}`, "is no longer allowed");
  else comparison.add({ previous: was, next: rest, path: `${path}.${keyword}` });
}

interface Added {
  readonly keyword: "properties" | "patternProperties";
  readonly name: string;
  readonly now: Schema;
  readonly path: string;
}

/**
 * A new optional property is compatible, unless such names had a schema of their own in this schema or in another one of the same
 * value; then it must accept what each of them accepted. A new pattern must accept what was accepted under each name that it may be of.
 */
function compareAdded(
  comparison: Comparison,
  judges: readonly SchemaObject[],
  { keyword, name, now, path }: Added,
): void {
  const judge = (was: unknown): void => {
    if (isSchema(was)) comparison.add({ previous: was, next: now, path });
  };
  for (const [at, one] of judges.entries()) {
    const [listed, patterns] = [mapOf(one["properties"]), mapOf(one["patternProperties"])];
    const rest = one["additionalProperties"] ?? one["unevaluatedProperties"];
    if (keyword === "patternProperties") {
      // Only the schema itself, which comes first, is asked what it says of all others: a part that says nothing takes everything.
      if (at === 0) judge(one["additionalProperties"] ?? true);
      else if (isObject(rest)) judge(rest);
      for (const other of Object.keys(listed)) if (comparison.matches(name, other)) judge(listed[other]);
      // Whether two patterns are of one name is not looked into.
      for (const other of Object.keys(patterns)) judge(patterns[other]);
      continue;
    }
    const own = Object.keys(patterns).filter((pattern) => comparison.matches(pattern, name));
    for (const pattern of own) judge(patterns[pattern]);
    if (Object.hasOwn(listed, name)) judge(listed[name]);
    else if (own.length === 0 && isObject(rest)) judge(rest);
  }
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

function compareArrays(comparison: Comparison, previous: SchemaObject, next: SchemaObject, path: string): void {
  const before = tupleOf(previous);
  const after = tupleOf(next);
  for (let at = 0; at < Math.max(before.first.length, after.first.length); at += 1) {
    const pair = { previous: before.first[at] ?? before.rest, next: after.first[at] ?? after.rest };
    comparison.add({ ...pair, path: `${path}.items.${at}` });
  }
  comparison.add({ previous: before.rest, next: after.rest, path: `${path}.items` });
  compareOne(comparison, previous, next, path, "unevaluatedItems");
  // With an upper bound on its matches, a wider `contains` refuses more, so it must stay the same.
  if (next["maxContains"] === undefined) compareContains(comparison, previous, next, path);
  else if (!comparison.isSame(previous["contains"], next["contains"])) comparison.refuse(`${path}.contains`, "changes");
}

function compareContains(comparison: Comparison, previous: SchemaObject, next: SchemaObject, path: string): void {
  if (next["contains"] === undefined || next["minContains"] === 0) return;
  if (previous["contains"] === undefined) comparison.refuse(`${path}.contains`, "is new");
  else compareOne(comparison, previous, next, path, "contains");
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
