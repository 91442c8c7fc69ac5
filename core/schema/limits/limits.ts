import { hasMoreCharacters } from "../../characters.js";
import type { ErrorItem } from "../../errors.js";
import { openDocument, REFERENCES, type SchemaDocument } from "../document.js";
import { draftOf, edgesOf, isObject, stringsOf, type SchemaObject } from "../keywords.js";
import { compilePattern } from "./pattern.js";

export const SCHEMA_BYTES_MAX = 65_536;
const DEPTH_MAX = 32;
const SUBSCHEMAS_MAX = 1_000;
const REFERENCES_MAX = 200;
const ENUM_MAX = 1_000;
const PATTERN_CHARACTERS_MAX = 512;
const UNIQUE_ITEMS_MAX = 200;
/** Nesting of the JSON itself: two levels for each schema in a schema, and some for the values of `const` and `enum`. */
const JSON_DEPTH_MAX = 2 * DEPTH_MAX + 16;
/** Ajv takes assignments to this name for the prototype. */
const PROTOTYPE = "__proto__";

/** What can be said before anything walks the schema by recursion: its nesting, and names that no object of ours may have. */
export function shapeProblems(schema: unknown): readonly ErrorItem[] {
  if (!isObject(schema)) return [{ path: "schema", message: "must be an object" }];
  const waiting: { readonly value: object; readonly path: string; readonly depth: number }[] = [
    { value: schema, path: "schema", depth: 1 },
  ];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path, depth } = next;
    if (depth > JSON_DEPTH_MAX)
      return [{ path: "schema", message: `must not be nested deeper than ${DEPTH_MAX} schemas` }];
    for (const key of Object.keys(value)) {
      if (key === PROTOTYPE) return [{ path: `${path}.${key}`, message: "is not allowed as a property name" }];
      const held = (value as SchemaObject)[key];
      if (typeof held === "object" && held !== null)
        waiting.push({ value: held, path: `${path}.${key}`, depth: depth + 1 });
    }
  }
  return [];
}

/** Everything about a schema that is refused by looking at it. The schema has passed `shapeProblems`. */
export function limitProblems(root: SchemaObject): readonly ErrorItem[] {
  const document = openDocument(root);
  return [
    ...documentProblems(document),
    ...[...document.paths].flatMap((held) => subschemaProblems(document, ...held)),
  ];
}

function documentProblems({ root, count, depth, paths, repeatedAnchors }: SchemaDocument): ErrorItem[] {
  const problems: ErrorItem[] = [];
  const refuse = (path: string, message: string): void => void problems.push({ path, message });
  if (draftOf(root) === null) refuse("schema.$schema", "must be draft-07 or 2020-12, the default");
  const { type } = root;
  if (type !== undefined && type !== "object" && !stringsOf(type).includes("object"))
    refuse("schema.type", "must allow object, because a payload is an object");
  if (depth > DEPTH_MAX) refuse("schema", `must not be nested deeper than ${DEPTH_MAX} schemas`);
  if (count > SUBSCHEMAS_MAX) refuse("schema", `must not have more than ${SUBSCHEMAS_MAX} subschemas`);
  const references = [...paths.keys()].flatMap((schema) => REFERENCES.filter((keyword) => keyword in schema)).length;
  if (references > REFERENCES_MAX) refuse("schema", `must not have more than ${REFERENCES_MAX} references`);
  for (const { path, name } of repeatedAnchors) refuse(path, `the anchor ${name} is defined more than once`);
  const used = new Set([...paths.keys()].flatMap((schema) => Object.keys(schema)));
  if (used.has("unevaluatedItems"))
    for (const keyword of MISLED_ITEMS)
      if (used.has(keyword)) refuse("schema", `unevaluatedItems cannot be used together with ${keyword}`);
  return problems;
}

/** With these, `unevaluatedItems` is answered wrongly by Ajv in some cases of the official test suite. */
const MISLED_ITEMS = ["contains", "anyOf", "oneOf", "if", "not", "dependentSchemas"];

type Refuse = (keyword: string, message: string) => void;

function subschemaProblems(document: SchemaDocument, schema: SchemaObject, path: string): ErrorItem[] {
  const problems: ErrorItem[] = [];
  const refuse: Refuse = (keyword, message) => void problems.push({ path: `${path}.${keyword}`, message });
  identityProblems(document, schema, refuse);
  referenceProblems(document, schema, refuse);
  patternProblems(schema, refuse);
  valueProblems(schema, refuse);
  for (const keyword of Object.keys(FOREIGN)) if (keyword in schema) refuse(keyword, FOREIGN[keyword]!);
  if ("if" in schema && !("then" in schema && "else" in schema) && isUnevaluated(document))
    refuse("if", "needs then and else when unevaluatedProperties or unevaluatedItems is used");
  return problems;
}

const isUnevaluated = ({ paths }: SchemaDocument): boolean =>
  [...paths.keys()].some((schema) => "unevaluatedProperties" in schema || "unevaluatedItems" in schema);

/** Keywords that the engine would obey although neither draft has them. */
const FOREIGN: Readonly<Record<string, string>> = {
  $async: "is not a keyword of JSON Schema",
  $recursiveRef: "is of another draft; use $ref",
  $recursiveAnchor: "is of another draft; use $anchor",
  nullable: 'is not a keyword of JSON Schema; use "type": ["string", "null"]',
};

function identityProblems({ root }: SchemaDocument, schema: SchemaObject, refuse: Refuse): void {
  if (schema === root) return;
  const { $id: id, $schema: dialect } = schema;
  if (id !== undefined && !(typeof id === "string" && id.startsWith("#")))
    refuse("$id", "is allowed only at the top; use $anchor or a JSON pointer");
  if (dialect !== undefined && dialect !== root["$schema"]) refuse("$schema", "must be the same everywhere");
}

function referenceProblems(document: SchemaDocument, schema: SchemaObject, refuse: Refuse): void {
  for (const keyword of REFERENCES) {
    const reference = schema[keyword];
    if (reference === undefined) continue;
    if (typeof reference !== "string" || !reference.startsWith("#"))
      refuse(keyword, "must be local: # and a JSON pointer or an anchor of this schema");
    else if (document.resolve(reference) === undefined) refuse(keyword, "points to nothing in this schema");
  }
  if (schema["$anchor"] !== undefined && schema["$dynamicAnchor"] !== undefined)
    refuse("$anchor", "is not allowed next to $dynamicAnchor");
  if (refersToItself(document, schema)) refuse("$ref", "refers to itself endlessly");
}

/** Whether judging a value by this schema means judging the same value by it again. */
function refersToItself(document: SchemaDocument, start: SchemaObject): boolean {
  if (!REFERENCES.some((keyword) => keyword in start)) return false;
  const seen = new Set<SchemaObject>();
  const waiting: SchemaObject[] = [start];
  for (let schema = waiting.pop(); schema !== undefined; schema = waiting.pop()) {
    const inPlace = edgesOf(schema).filter(({ aim }) => aim === "here" || aim === "branch");
    for (const next of [...inPlace.map((edge) => edge.schema), ...document.referred(schema)]) {
      if (next === start) return true;
      if (!isObject(next) || seen.has(next)) continue;
      seen.add(next);
      waiting.push(next);
    }
  }
  return false;
}

function patternProblems(schema: SchemaObject, refuse: Refuse): void {
  const { pattern, patternProperties } = schema;
  if (typeof pattern === "string") refusePattern("pattern", pattern, refuse);
  if (isObject(patternProperties))
    for (const source of Object.keys(patternProperties)) refusePattern("patternProperties", source, refuse);
}

function refusePattern(keyword: string, source: string, refuse: Refuse): void {
  if (hasMoreCharacters(source, PATTERN_CHARACTERS_MAX)) {
    refuse(keyword, `must not be longer than ${PATTERN_CHARACTERS_MAX} characters`);
    return;
  }
  try {
    compilePattern(source);
  } catch (error) {
    refuse(keyword, error instanceof Error ? error.message : "is not a regular expression");
  }
}

/** Keywords whose `{"$data": ...}` is a reference into the event for some validators and plain data, or an error, for others. */
const DATA_KEYWORDS =
  "const enum format pattern required uniqueItems multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength maxItems minItems maxProperties minProperties".split(
    " ",
  );

function valueProblems(schema: SchemaObject, refuse: Refuse): void {
  if (Array.isArray(schema["enum"]) && schema["enum"].length > ENUM_MAX)
    refuse("enum", `must not have more than ${ENUM_MAX} values`);
  const { maxItems } = schema;
  if (schema["uniqueItems"] === true && !(typeof maxItems === "number" && maxItems <= UNIQUE_ITEMS_MAX))
    refuse("uniqueItems", `needs maxItems of at most ${UNIQUE_ITEMS_MAX} next to it`);
  const names = isObject(schema["dependentRequired"]) ? Object.values(schema["dependentRequired"]) : [];
  for (const list of [schema["required"], ...names])
    if (stringsOf(list).includes(PROTOTYPE)) refuse("required", `must not name ${PROTOTYPE}`);
  for (const keyword of DATA_KEYWORDS) {
    const value = schema[keyword];
    if (isObject(value) && "$data" in value) refuse(keyword, "must not be a $data reference");
  }
}
