import { openDocument, type SchemaDocument } from "../document.js";
import { edgesOf, isObject, stringsOf, type Edge, type SchemaObject } from "../keywords.js";
import { compilePattern } from "./pattern.js";

/** The time of one validation at worst, as far as the schema tells it: `ns + nsPerByte * bytes of the payload`. */
export interface LinearCost {
  readonly ns: number;
  readonly nsPerByte: number;
}

/**
 * A schema may be validated in the event loop when its time has a bound that is linear to the payload's bytes. So the schema is
 * walked along the shape of the data: at one place of the data all schemas that apply there are gathered, as often as they apply,
 * and what they cost is held against the bytes that one more such place takes. Patterns and formats cost what their strings are
 * long; the engine counts those while it runs (`fuel.ts`).
 */
export const isLinear = (schema: object): boolean => linearCost(schema) !== null;

/** Null for a schema that is not linear: recursive, too entangled to walk, or too slow for each byte. */
export function linearCost(schema: object): LinearCost | null {
  const document = openDocument(schema as SchemaObject);
  if (document.count > SUBSCHEMAS_MAX || codePartsOf(document) > CODE_PARTS_MAX) return null;
  const walk: Walk = { document, above: new Set(), visits: 0, ns: 0, nsPerByte: 0, readNsPerByte: 0, patternSize: 0 };
  try {
    walkPlace(walk, [{ schema: document.root, aim: "here" }], { bytes: ROOT_BYTES, repeats: false });
    return { ns: walk.ns, nsPerByte: walk.nsPerByte };
  } catch (error) {
    if (error === NOT_LINEAR) return null;
    throw error;
  }
}

const NS_PER_BYTE_MAX = 2_000;
/** What all places cost together that the data can hold only once. */
const NS_MAX = 1_000_000;
const VISITS_MAX = 5_000;
const SUBSCHEMAS_MAX = 400;
/** Keywords and names that code is written for: compiling so many takes some 50 ms in the event loop, once. */
const CODE_PARTS_MAX = 1_500;
/** Longer lists become a loop. */
const REQUIRED_WRITTEN_MAX = 200;
/** Instructions of all patterns: they are compiled in the event loop when the schema is first used. */
const PATTERN_SIZE_MAX = 20_000;

/** The least bytes of one more value: `1,` and `"":1,`; of a named member its name besides. */
const ROOT_BYTES = 2;
const ELEMENT_BYTES = 2;
const MEMBER_BYTES = 5;

const NOT_LINEAR = new Error("not linear");

interface Walk extends LinearCost {
  readonly document: SchemaDocument;
  /** The schemas on the way from the root to here: meeting one again is recursion. */
  readonly above: Set<SchemaObject>;
  visits: number;
  ns: number;
  nsPerByte: number;
  /** At the place that is being looked at: what reads a value as a whole costs for each of its bytes, however often it stands there. */
  readNsPerByte: number;
  patternSize: number;
}

interface Place {
  /** What one more of it adds to the payload at least. */
  readonly bytes: number;
  /** Below an array or a map: the data says how often it stands there. */
  readonly repeats: boolean;
}

type Applied = Pick<Edge, "schema" | "aim">;

function walkPlace(walk: Walk, applied: readonly Applied[], place: Place): void {
  const here: SchemaObject[] = [];
  walk.readNsPerByte = 0;
  const cost = applied.reduce((sum, one) => sum + gather(walk, one, here), 0);
  walk.nsPerByte = Math.max(walk.nsPerByte, walk.readNsPerByte + (place.repeats ? cost / place.bytes : 0));
  if (!place.repeats) walk.ns += cost;
  if (walk.nsPerByte > NS_PER_BYTE_MAX || walk.ns > NS_MAX) throw NOT_LINEAR;
  const entered = here.filter((schema) => !walk.above.has(schema));
  for (const schema of entered) walk.above.add(schema);
  walkMembers(walk, here, place);
  const elements = here.flatMap((schema) => edgesOf(schema).filter(({ aim }) => aim === "element"));
  if (elements.length > 0) walkPlace(walk, elements, { bytes: ELEMENT_BYTES, repeats: true });
  for (const schema of entered) walk.above.delete(schema);
}

/** Adds every schema that judges the same value, once for each way that leads to it; answers what they cost. */
function gather(walk: Walk, { schema, aim }: Applied, here: SchemaObject[]): number {
  walk.visits += 1;
  if (walk.visits > VISITS_MAX) throw NOT_LINEAR;
  let cost = aim === "here" ? SCHEMA_NS : SCHEMA_NS + FAILURE_NS;
  if (!isObject(schema)) return cost;
  if (walk.above.has(schema) || "$dynamicRef" in schema) throw NOT_LINEAR;
  here.push(schema);
  cost += costOf(walk, schema);
  walk.above.add(schema);
  for (const edge of edgesOf(schema))
    if (edge.aim === "here" || edge.aim === "branch") cost += gather(walk, edge, here);
  for (const target of walk.document.referred(schema))
    cost += REFERENCE_NS + gather(walk, { schema: target, aim: "here" }, here);
  walk.above.delete(schema);
  return cost;
}

/** Each named member by itself, then any other member; a pattern may match any name. */
function walkMembers(walk: Walk, here: readonly SchemaObject[], place: Place): void {
  const names = new Set(here.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : [])));
  for (const name of names) {
    const edges = here.flatMap((schema) => membersOf(schema, name));
    walkPlace(walk, edges, { bytes: MEMBER_BYTES + name.length, repeats: place.repeats });
  }
  const others = here.flatMap((schema) => membersOf(schema, null));
  if (others.length > 0) walkPlace(walk, others, { bytes: MEMBER_BYTES, repeats: true });
}

/** What may judge the member of this name, or its name; null stands for a name that no schema lists. */
function membersOf(schema: SchemaObject, name: string | null): readonly Edge[] {
  const properties = schema["properties"];
  const isListed = name !== null && isObject(properties) && Object.hasOwn(properties, name);
  return edgesOf(schema).filter((edge) => {
    if (edge.aim !== "member" && edge.aim !== "name") return false;
    if (edge.keyword === "properties") return edge.name === name;
    return edge.keyword !== "additionalProperties" || !isListed;
  });
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
/** For each byte of an object whose names are counted, and of a string whose characters are. */
const COUNT_NAMES_NS = 25;
const COUNT_CHARACTERS_NS = 6;
const READ_NS: readonly (readonly [keyword: string, nsPerByte: number])[] = [
  ["minProperties", COUNT_NAMES_NS],
  ["maxProperties", COUNT_NAMES_NS],
  ["minLength", COUNT_CHARACTERS_NS],
  ["maxLength", COUNT_CHARACTERS_NS],
];

function costOf(walk: Walk, schema: SchemaObject): number {
  let cost = SCHEMA_NS + KEYWORD_NS * Object.keys(schema).length;
  cost += NAME_NS * (keysOf(schema["properties"]) + stringsOf(schema["required"]).length);
  cost += NAME_NS * sizeOf(schema["dependentRequired"]) + NAME_NS * sizeOf(schema["dependencies"]);
  cost += NAME_NS * keysOf(schema["dependentSchemas"]);
  for (const [keyword, nsPerByte] of READ_NS) if (keyword in schema) walk.readNsPerByte += nsPerByte;
  if ("enum" in schema || "const" in schema) {
    const { values, structures } = structureOf(schema);
    cost += MEMBERSHIP_NS + NAME_NS * values;
    // Each is held against the value by itself, and its names are counted then.
    walk.readNsPerByte += COUNT_NAMES_NS * structures;
  }
  if ("unevaluatedProperties" in schema || "unevaluatedItems" in schema) cost += UNEVALUATED_NS;
  if (schema["uniqueItems"] === true && !hasScalarItems(schema)) throw NOT_LINEAR;
  countPatterns(walk, schema);
  return cost;
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
export const isScalarType = (type: unknown): boolean =>
  Array.isArray(type)
    ? type.length > 0 && type.every((one) => SCALARS.has(one as string))
    : SCALARS.has(type as string);

/** Comparing objects reads them whole, once for each array around them. */
function hasScalarItems({ items }: SchemaObject): boolean {
  return isObject(items) && isScalarType(items["type"]);
}

function countPatterns(walk: Walk, schema: SchemaObject): void {
  const named = isObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
  for (const source of [...stringsOf([schema["pattern"]]), ...named]) {
    walk.patternSize += compilePattern(source).size;
    if (walk.patternSize > PATTERN_SIZE_MAX) throw NOT_LINEAR;
  }
}
