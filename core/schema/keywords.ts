/** A JSON Schema as parsed: `true`, `false` or an object of keywords. */
export type SchemaObject = Readonly<Record<string, unknown>>;
export type Schema = boolean | SchemaObject;

export type Draft = "draft-07" | "2020-12";

const DRAFTS: ReadonlyMap<unknown, Draft> = new Map([
  [undefined, "2020-12"],
  ["http://json-schema.org/draft-07/schema", "draft-07"],
  ["http://json-schema.org/draft-07/schema#", "draft-07"],
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
  ["https://json-schema.org/draft/2020-12/schema#", "2020-12"],
]);

/** The draft that `$schema` names; 2020-12 if it is absent; null for a draft that we do not support. */
export const draftOf = (schema: SchemaObject): Draft | null => DRAFTS.get(schema["$schema"]) ?? null;

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const isSchema = (value: unknown): value is Schema => typeof value === "boolean" || isObject(value);
export const stringsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];

/**
 * What a subschema judges, seen from the schema that holds it: `here` always and `branch` perhaps the same value, `member` and
 * `element` values below it, `name` the property names, `none` nothing until something refers to it.
 */
export type Aim = "here" | "branch" | "member" | "element" | "name" | "none";

interface Shape {
  readonly aim: Aim;
  /** `one` schema, a `list` of them, or a `map` by name; some keywords take two of these forms. */
  readonly forms: readonly ("one" | "list" | "map")[];
}

const shape = (aim: Aim, ...forms: Shape["forms"]): Shape => ({ aim, forms });

const SHAPES: ReadonlyMap<string, Shape> = new Map([
  ["$defs", shape("none", "map")],
  ["definitions", shape("none", "map")],
  ["contentSchema", shape("none", "one")],
  ["allOf", shape("here", "list")],
  ["anyOf", shape("branch", "list")],
  ["oneOf", shape("branch", "list")],
  ["not", shape("branch", "one")],
  ["if", shape("branch", "one")],
  ["then", shape("branch", "one")],
  ["else", shape("branch", "one")],
  ["dependentSchemas", shape("branch", "map")],
  ["dependencies", shape("branch", "map")],
  ["properties", shape("member", "map")],
  ["patternProperties", shape("member", "map")],
  ["additionalProperties", shape("member", "one")],
  ["unevaluatedProperties", shape("member", "one")],
  ["propertyNames", shape("name", "one")],
  ["items", shape("element", "one", "list")],
  ["prefixItems", shape("element", "list")],
  ["additionalItems", shape("element", "one")],
  ["unevaluatedItems", shape("element", "one")],
  ["contains", shape("element", "one")],
]);

/** An edge from a schema to one that it holds. `name` is the property, pattern or position; null if the keyword holds just one. */
export interface Edge {
  readonly keyword: string;
  readonly aim: Aim;
  readonly name: string | null;
  readonly schema: Schema;
}

/** The schemas that a schema holds, in document order; references are not followed. */
export function edgesOf(schema: SchemaObject): Edge[] {
  const edges: Edge[] = [];
  for (const keyword of Object.keys(schema)) {
    const shape = SHAPES.get(keyword);
    if (shape === undefined) continue;
    const value = schema[keyword];
    const add = (name: string | null, held: unknown): void => {
      if (isSchema(held)) edges.push({ keyword, aim: shape.aim, name, schema: held });
    };
    if (Array.isArray(value)) {
      if (shape.forms.includes("list")) for (const [at, held] of value.entries()) add(String(at), held);
    } else if (shape.forms.includes("map")) {
      if (isObject(value)) for (const name of Object.keys(value)) add(name, value[name]);
    } else if (shape.forms.includes("one")) add(null, value);
  }
  return edges;
}

export const edgePath = (path: string, { keyword, name }: Edge): string =>
  name === null ? `${path}.${keyword}` : `${path}.${keyword}.${name}`;
