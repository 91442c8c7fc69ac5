import { openDocument, type SchemaDocument } from "../document.js";
import { edgesOf, isObject, stringsOf, type Schema, type SchemaObject } from "../keywords.js";
import { compilePattern } from "./pattern.js";

/** The time to judge one value at worst: `ns + nsPerByte * bytes of the value`. */
export interface LinearCost {
  readonly ns: number;
  readonly nsPerByte: number;
}

export const isLinear = (schema: object): boolean => linearCost(schema) !== null;

/**
 * A schema may be validated in the event loop when its time has a bound that is linear to the payload's bytes. The bound of a schema is
 * put together from those of the schemas that it holds:
 * - what judges the same value (`allOf`, `anyOf`, `$ref`, ...) adds up;
 * - a listed property adds its `ns`, because it is there once, and of all their `nsPerByte` the greatest, because no byte is in two;
 * - what judges any number of elements or members adds `nsPerByte`, and its `ns` for each of the least bytes that one of them takes;
 * - a schema that comes back to itself has no bound.
 * Patterns and formats cost what their strings are long; the engine counts those while it runs (`fuel.ts`). Null: no bound, or too high.
 */
export function linearCost(schema: object): LinearCost | null {
  const document = openDocument(schema as SchemaObject);
  if (document.count > SUBSCHEMAS_MAX || codePartsOf(document) > CODE_PARTS_MAX) return null;
  if (patternSizeOf(document) > PATTERN_SIZE_MAX) return null;
  const cost = costOf(document, new Map(), document.root);
  return cost.ns <= NS_MAX && cost.nsPerByte <= NS_PER_BYTE_MAX ? cost : null;
}

const NS_PER_BYTE_MAX = 2_000;
/** What does not depend on the payload. */
const NS_MAX = 1_000_000;
const SUBSCHEMAS_MAX = 400;
/** Keywords and names that code is written for: compiling so many takes some 50 ms in the event loop, once. */
const CODE_PARTS_MAX = 1_500;
/** Longer lists become a loop. */
const REQUIRED_WRITTEN_MAX = 200;
/** Instructions of all patterns: they are compiled in the event loop when the schema is first used. */
const PATTERN_SIZE_MAX = 20_000;

/** The least bytes of one more value: `1,` and `"":1,`. */
const ELEMENT_BYTES = 2;
const MEMBER_BYTES = 5;

const ENDLESS: LinearCost = { ns: Infinity, nsPerByte: Infinity };

function costOf(document: SchemaDocument, known: Map<SchemaObject, LinearCost>, schema: Schema): LinearCost {
  if (!isObject(schema)) return { ns: SCHEMA_NS, nsPerByte: 0 };
  const before = known.get(schema);
  if (before !== undefined) return before;
  // Until its own is known: only what it holds can ask.
  known.set(schema, ENDLESS);
  let { ns, nsPerByte } = ownCost(schema);
  let ofProperties = 0;
  for (const { keyword, aim, schema: held } of edgesOf(schema)) {
    if (aim === "none") continue;
    const cost = costOf(document, known, held);
    if (aim === "here" || aim === "branch") {
      ns += cost.ns + (aim === "branch" ? FAILURE_NS : 0);
      nsPerByte += cost.nsPerByte;
    } else if (keyword === "properties") {
      ns += cost.ns;
      ofProperties = Math.max(ofProperties, cost.nsPerByte);
    } else nsPerByte += cost.nsPerByte + cost.ns / (aim === "element" ? ELEMENT_BYTES : MEMBER_BYTES);
  }
  for (const target of document.referred(schema)) {
    const cost = costOf(document, known, target);
    ns += REFERENCE_NS + cost.ns;
    nsPerByte += cost.nsPerByte;
  }
  const cost = { ns, nsPerByte: nsPerByte + ofProperties };
  known.set(schema, cost);
  return cost;
}

/** Measured in code that is not yet warm: what a schema adds to each value that it judges, without those below. */
const SCHEMA_NS = 8;
/** A branch that does not match makes an error, which is then dropped. */
const FAILURE_NS = 120;
const REFERENCE_NS = 40;
const KEYWORD_NS = 2;
const NAME_NS = 5;
const MEMBERSHIP_NS = 40;
const UNEVALUATED_NS = 60;
const MULTIPLE_NS = 1_500;
/** For each byte of an object whose names are counted, and of a string whose characters are. */
const COUNT_NAMES_NS = 25;
const COUNT_CHARACTERS_NS = 6;
const READ_NS: readonly (readonly [keyword: string, nsPerByte: number])[] = [
  ["minProperties", COUNT_NAMES_NS],
  ["maxProperties", COUNT_NAMES_NS],
  ["minLength", COUNT_CHARACTERS_NS],
  ["maxLength", COUNT_CHARACTERS_NS],
];

/** Of a schema without those that it holds. */
function ownCost(schema: SchemaObject): LinearCost {
  if ("$dynamicRef" in schema || (schema["uniqueItems"] === true && !hasScalarItems(schema))) return ENDLESS;
  let nsPerByte = 0;
  let ns = SCHEMA_NS + KEYWORD_NS * Object.keys(schema).length;
  ns += NAME_NS * (keysOf(schema["properties"]) + stringsOf(schema["required"]).length);
  ns += NAME_NS * sizeOf(schema["dependentRequired"]) + NAME_NS * sizeOf(schema["dependencies"]);
  ns += NAME_NS * keysOf(schema["dependentSchemas"]);
  for (const [keyword, readNs] of READ_NS) if (keyword in schema) nsPerByte += readNs;
  if ("enum" in schema || "const" in schema) {
    const { values, structures } = structureOf(schema);
    ns += MEMBERSHIP_NS + NAME_NS * values;
    // Each is held against the value by itself, and its names are counted then.
    nsPerByte += COUNT_NAMES_NS * structures;
  }
  if ("unevaluatedProperties" in schema || "unevaluatedItems" in schema) ns += UNEVALUATED_NS;
  if ("multipleOf" in schema) ns += MULTIPLE_NS;
  return { ns, nsPerByte };
}

const keysOf = (value: unknown): number => (isObject(value) ? Object.keys(value).length : 0);
const sizeOf = (value: unknown): number =>
  isObject(value) ? Object.values(value).reduce<number>((sum, held) => sum + 1 + stringsOf(held).length, 0) : 0;

/** Objects and arrays of `enum` and `const`, and the values in them; scalars are looked up at once. */
function structureOf(schema: SchemaObject): { readonly values: number; readonly structures: number } {
  const listed = Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : [];
  const found = { values: 0, structures: 0 };
  const count = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const held: unknown[] = Object.values(value);
    found.structures += 1;
    found.values += 1 + held.length;
    held.forEach(count);
  };
  [...listed, schema["const"]].forEach(count);
  return found;
}

/** What the compiler writes a piece of code for, each taking about the same time. */
function codePartsOf({ paths }: SchemaDocument): number {
  let parts = 0;
  for (const schema of paths.keys()) {
    const required = stringsOf(schema["required"]).length;
    parts += Object.keys(schema).length + (required > REQUIRED_WRITTEN_MAX ? 0 : required);
    parts += sizeOf(schema["dependentRequired"]) + sizeOf(schema["dependencies"]);
  }
  return parts;
}

const SCALARS = new Set(["string", "number", "integer", "boolean", "null"]);
const isScalarType = (type: unknown): boolean =>
  Array.isArray(type)
    ? type.length > 0 && type.every((one) => SCALARS.has(one as string))
    : SCALARS.has(type as string);

/** Comparing objects reads them whole, once for each array around them. */
function hasScalarItems({ items }: SchemaObject): boolean {
  return isObject(items) && isScalarType(items["type"]);
}

function patternSizeOf({ paths }: SchemaDocument): number {
  let size = 0;
  for (const { pattern, patternProperties } of paths.keys()) {
    const named = isObject(patternProperties) ? Object.keys(patternProperties) : [];
    for (const source of [...stringsOf([pattern]), ...named]) size += compilePattern(source).size;
  }
  return size;
}
