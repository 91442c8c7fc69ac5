import type { ErrorItem } from "../../errors.js";
import { openDocument, REFERENCES, type SchemaDocument } from "../document.js";
import { canonical } from "../validation/equality.js";
import { edgesOf, isObject, type Schema, type SchemaObject } from "../keywords.js";
import { compilePattern, type Pattern } from "../limits/pattern.js";

export interface Pair {
  readonly previous: Schema;
  readonly next: Schema;
  readonly path: string;
  /** An `unevaluated*: false` around it counts what it evaluates of the same value. */
  readonly isClosed?: boolean;
  /** Of the same value, where not `previous` alone judges it; or how to find the schemas that do. */
  readonly whole?: Whole | (() => readonly Schema[]);
}

/** All schemas of the previous version that judge one value, and what they hold that judges the same value. */
export interface Whole {
  readonly parts: readonly SchemaObject[];
  /** The pairs of it that were compared: what is known of its other parts decides about a part. */
  readonly seen: Record<"open" | "closed", Map<object, Set<object>>>;
}

export type TakenPair = Pair & { readonly whole: Whole };

/** The state of comparing two versions: what was found, and which pairs need no second look. */
export interface Comparison {
  readonly problems: readonly ErrorItem[];
  refuse(path: string, message: string): void;
  /** Puts a pair on the list of those to compare: recursion could outrun the stack. */
  add(pair: Pair): void;
  /** The next pair, without references that stand alone; each pair of schemas once. Null when all are compared. */
  take(): TakenPair | null;
  /** The values that the keyword allows, each as the one text of all that are equal to it; null means any value. */
  listed(schema: SchemaObject, keyword: "enum" | "const"): ReadonlySet<string> | null;
  /** Whether a pattern of names is of this name. */
  matches(pattern: string, name: string): boolean;
  /** Identical, including everything that they refer to. */
  isSame(previous: unknown, next: unknown): boolean;
}

const PROBLEMS_MAX = 100;
/** Two recursive schemas can be paired in as many ways as the product of their parts. */
const PAIRS_MAX = 20_000;
/** Of recursive schemas, nearly each set of them may judge some value. Once so many sets are known, what is new is compared with one schema alone. */
const SEVERAL_MAX = 100;

/** Keywords that validate nothing. */
const SILENT = new Set(
  "$id $schema $anchor $dynamicAnchor $comment $defs definitions title description default examples deprecated readOnly writeOnly x-identity x-trait x-traits".split(
    " ",
  ),
);
const judges = (schema: SchemaObject): boolean =>
  Object.keys(schema).some((keyword) => keyword !== "$ref" && !SILENT.has(keyword));

export function createComparison(previousRoot: SchemaObject, nextRoot: SchemaObject): Comparison {
  const documents = { previous: openDocument(previousRoot), next: openDocument(nextRoot) };
  const problems: ErrorItem[] = [];
  const wholes = new Map<string, Whole>();
  /** Those of more than one schema. */
  let several = 0;
  const numbers = new Map<object, number>();
  const sameSoFar = new Map<object, Set<object>>();
  const waiting: TakenPair[] = [];
  /** Of each list of values: a schema is compared with many, and its list may be long. */
  const texts = new Map<unknown, ReadonlySet<string>>();
  const patterns = new Map<string, Pattern>();
  let taken = 0;
  let isFull = false;

  const refuse = (path: string, message: string): void => {
    if (problems.length < PROBLEMS_MAX) problems.push({ path, message });
  };

  /** Follows a reference that has no other keywords beside it, to its end. */
  const target = (schema: Schema, side: "previous" | "next"): Schema => {
    let reached = schema;
    for (let steps = 0; isObject(reached) && reached["$ref"] !== undefined && !judges(reached); steps += 1) {
      const next = documents[side].resolve(reached["$ref"]);
      if (next === undefined || steps > PAIRS_MAX) break;
      reached = next;
    }
    return reached;
  };

  const wholeFor = (given: Pair["whole"], previous: Schema, next: Schema): Whole => {
    if (typeof given !== "function") return given ?? wholeOf([previous]);
    // The rest of the value matters to what is new in it, and to look for it takes long.
    const isAsked = several < SEVERAL_MAX && isObject(next) && holdsSchemas(next);
    return wholeOf(isAsked ? given() : [previous]);
  };

  const add = (given: Pair): void => {
    const [previous, next] = [target(given.previous, "previous"), target(given.next, "next")];
    const whole = wholeFor(given.whole, previous, next);
    const seen = given.isClosed === true ? whole.seen.closed : whole.seen.open;
    if (isObject(previous) && isObject(next) && !addPair(seen, previous, next)) return;
    if (waiting.length < PAIRS_MAX) waiting.push({ ...given, previous, next, whole });
    if (waiting.length === PAIRS_MAX && !isFull) {
      isFull = true;
      refuse("schema", "is too complex to compare with the version before");
    }
  };

  const take = (): TakenPair | null => {
    const pair = waiting[taken];
    if (pair === undefined) return null;
    taken += 1;
    if (isObject(pair.next)) refuseChangedReferences(pair.previous, pair.next, pair.path);
    // It accepts everything, and evaluates nothing.
    else if (pair.next && pair.isClosed === true) refuseChangedReferences(pair.previous, {}, pair.path);
    return pair;
  };

  const refuseChangedReferences = (previous: Schema, next: SchemaObject, path: string): void => {
    const references = [isObject(previous) ? previous : {}, next];
    for (const keyword of ["$ref", "$dynamicRef"])
      if (
        references.some((schema) => keyword in schema) &&
        !isSame(references[0]![keyword], references[1]![keyword], true)
      )
        refuse(`${path}.${keyword}`, "changes next to other keywords");
  };

  const listed = (schema: SchemaObject, keyword: "enum" | "const"): ReadonlySet<string> | null => {
    const values = schema[keyword];
    if (keyword === "const") return keyword in schema ? new Set([canonical(values)]) : null;
    if (!Array.isArray(values)) return null;
    const known = texts.get(values) ?? new Set(values.map(canonical));
    texts.set(values, known);
    return known;
  };

  const numberOf = (schema: object): number => {
    const number = numbers.get(schema) ?? numbers.size;
    numbers.set(schema, number);
    return number;
  };

  const wholeOf = (schemas: readonly Schema[]): Whole => {
    const found = new Set(schemas.map((schema) => target(schema, "previous")).filter(isObject));
    // Recursion leads to the same ones again, by other ways.
    const name = [...found]
      .map(numberOf)
      .toSorted((one, other) => one - other)
      .join(" ");
    const known = wholes.get(name);
    if (known !== undefined) return known;
    if (found.size > 1) several += 1;
    for (const one of found) for (const part of inPlace(one, documents.previous)) found.add(part);
    const whole: Whole = { parts: [...found], seen: { open: new Map(), closed: new Map() } };
    wholes.set(name, whole);
    return whole;
  };

  const matches = (source: string, name: string): boolean => {
    const pattern = patterns.get(source) ?? compilePattern(source);
    patterns.set(source, pattern);
    return pattern.test(name);
  };

  const isSame = (previous: unknown, next: unknown, isReference = false): boolean => {
    if (isReference && typeof previous === "string" && previous === next)
      return isSame(documents.previous.resolve(previous), documents.next.resolve(next));
    if (typeof previous !== "object" || typeof next !== "object" || previous === null || next === null)
      return previous === next;
    // A pair that differs was already reported, so it is not reported again.
    if (!addPair(sameSoFar, previous, next)) return true;
    if (Array.isArray(previous) !== Array.isArray(next)) return false;
    const keys = Object.keys(previous);
    if (keys.length !== Object.keys(next).length) return false;
    return keys.every(
      (key) =>
        Object.hasOwn(next, key) &&
        isSame((previous as SchemaObject)[key], (next as SchemaObject)[key], key === "$ref" || key === "$dynamicRef"),
    );
  };

  return { problems, refuse, add, take, listed, matches, isSame: (previous, next) => isSame(previous, next) };
}

const holdsSchemas = (schema: SchemaObject): boolean =>
  edgesOf(schema).length > 0 || REFERENCES.some((keyword) => keyword in schema);

/** The schemas in this one that judge the same value as it. */
function inPlace(schema: SchemaObject, document: SchemaDocument): readonly SchemaObject[] {
  const { $ref, $dynamicRef, not, dependentSchemas, dependencies } = schema;
  const several = [schema["allOf"], schema["anyOf"], schema["oneOf"]].flatMap((list) =>
    Array.isArray(list) ? (list as readonly unknown[]) : [],
  );
  const named = [dependentSchemas, dependencies].flatMap((map) => (isObject(map) ? Object.values(map) : []));
  const referred = [$ref, $dynamicRef].map((one) => (one === undefined ? undefined : document.resolve(one)));
  return [...several, ...named, ...referred, not, schema["if"], schema["then"], schema["else"]].filter(isObject);
}

/** False when the pair was already there. */
function addPair(pairs: Map<object, Set<object>>, previous: object, next: object): boolean {
  const known = pairs.get(previous);
  if (known?.has(next) === true) return false;
  if (known === undefined) pairs.set(previous, new Set([next]));
  else known.add(next);
  return true;
}
