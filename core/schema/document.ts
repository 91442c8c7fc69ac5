import { edgePath, edgesOf, isObject, isSchema, type Schema, type SchemaObject } from "./keywords.js";

/** A schema, read once: where its subschemas are, and what its references mean. */
export interface SchemaDocument {
  readonly root: SchemaObject;
  /** Every object subschema, also those that only a reference reaches -> its dotted path, beginning with `schema`. */
  readonly paths: ReadonlyMap<SchemaObject, string>;
  /** Subschemas, boolean ones included. */
  readonly count: number;
  /** Schemas within schemas; the root alone is 1. */
  readonly depth: number;
  /** Anchor names that stand more than once, with the path of the repeat. */
  readonly repeatedAnchors: readonly { readonly path: string; readonly name: string }[];
  /** What a local reference (`#`, `#/a/b`, `#anchor`) names; undefined when it names no schema. */
  resolve(reference: unknown): Schema | undefined;
  /** The targets of the schema's own references, without those that point nowhere. */
  referred(schema: SchemaObject): readonly Schema[];
}

export const REFERENCES = ["$ref", "$dynamicRef"] as const;
const ANCHORS = ["$anchor", "$dynamicAnchor"] as const;

/** The caller has bounded size and nesting; the document must not change afterwards. */
export function openDocument(root: SchemaObject): SchemaDocument {
  const paths = new Map<SchemaObject, string>();
  const anchors = new Map<string, Schema>();
  const repeatedAnchors: { path: string; name: string }[] = [];
  const references: string[] = [];
  let count = 0;
  let depth = 0;
  const visit = (schema: Schema, path: string, level: number): void => {
    if (isObject(schema) && paths.has(schema)) return;
    count += 1;
    depth = Math.max(depth, level);
    if (!isObject(schema)) return;
    paths.set(schema, path);
    for (const name of anchorsOf(schema)) {
      if (anchors.has(name)) repeatedAnchors.push({ path, name });
      else anchors.set(name, schema);
    }
    for (const keyword of REFERENCES) if (typeof schema[keyword] === "string") references.push(schema[keyword]);
    for (const edge of edgesOf(schema)) visit(edge.schema, edgePath(path, edge), level + 1);
  };
  const resolve = (reference: unknown): Schema | undefined =>
    typeof reference === "string" ? resolveIn(root, anchors, reference) : undefined;
  visit(root, "schema", 1);
  // A reference may name a place that is no schema's place (`#/x-types/0`); the list grows while it is walked.
  for (const reference of references) {
    const target = resolve(reference);
    if (isObject(target)) visit(target, pointerPath(reference), pointerLevel(reference));
  }
  const referred = (schema: SchemaObject): readonly Schema[] =>
    REFERENCES.map((keyword) => resolve(schema[keyword])).filter((target) => target !== undefined);
  return { root, paths, count, depth, repeatedAnchors, resolve, referred };
}

/** Draft-07 writes an anchor as `"$id": "#name"`. */
function anchorsOf(schema: SchemaObject): readonly string[] {
  const names: string[] = [];
  for (const keyword of ANCHORS) if (typeof schema[keyword] === "string") names.push(schema[keyword]);
  const id = schema["$id"];
  if (typeof id === "string" && id.length > 1 && id.startsWith("#")) names.push(id.slice(1));
  return [...new Set(names)];
}

function tokensOf(pointer: string): readonly string[] | undefined {
  try {
    return decodeURIComponent(pointer)
      .split("/")
      .slice(1)
      .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return undefined;
  }
}

function resolveIn(root: SchemaObject, anchors: ReadonlyMap<string, Schema>, reference: string): Schema | undefined {
  if (reference === "#" || reference === "#/") return reference === "#" ? root : undefined;
  if (!reference.startsWith("#/")) return reference.startsWith("#") ? anchors.get(reference.slice(1)) : undefined;
  let place: unknown = root;
  for (const token of tokensOf(reference.slice(1)) ?? [NOWHERE]) {
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, token)) return undefined;
    place = (place as SchemaObject)[token];
  }
  return isSchema(place) ? place : undefined;
}
/** No key of a JSON text that we take holds a NUL. */
const NOWHERE = "\0";

const pointerPath = (reference: string): string => ["schema", ...(tokensOf(reference.slice(1)) ?? [])].join(".");
const pointerLevel = (reference: string): number => (tokensOf(reference.slice(1)) ?? []).length + 1;
