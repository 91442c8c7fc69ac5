import { openDocument, type SchemaDocument } from "./document.js";
import { edgesOf, isObject, type Edge, type Schema, type SchemaObject } from "./keywords.js";

type AtPath = (path: readonly string[]) => boolean;

/** What rules may say of payloads of the schema. What it says of a value only sometimes counts too. */
export function createWords(schema: object): { readonly declares: AtPath; readonly mayBeNumber: AtPath } {
  const document = openDocument(schema as SchemaObject);
  return {
    declares: (path) => path.length > 0 && placeAt(document, path) !== null,
    mayBeNumber: (path) => {
      const place = placeAt(document, path);
      return place === "any" || (place !== null && place.some((one) => holdsNumber(document, one)));
    },
  };
}

/**
 * The schemas of what stands at the path of a payload: names of members, through lists. `any`: of an object whose members it does not name
 * at all, each may be there. Null: it has no place for it.
 */
function placeAt(document: SchemaDocument, path: readonly string[]): readonly SchemaObject[] | "any" | null {
  let here = allAt(document, [document.root]);
  for (const name of path) {
    const named = [...here].flatMap(edgesOf).filter((edge) => edge.keyword === "properties");
    const found = named.filter((edge) => edge.name === name).map((edge) => edge.schema);
    if (found.length === 0) return named.length === 0 && isOpen(here) ? "any" : null;
    if (found.includes(true)) return "any";
    here = allAt(document, found);
  }
  return [...here];
}

const typesOf = ({ type }: SchemaObject): readonly unknown[] =>
  Array.isArray(type) ? type : type === undefined ? [] : [type];

/** It holds objects, and says nothing of what is in them. */
const isOpen = (here: ReadonlySet<SchemaObject>): boolean => [...here].some((one) => typesOf(one).includes("object"));

/** A number, or a list of what may be one, passes it; what others say of the same value is not looked at. */
function holdsNumber(document: SchemaDocument, schema: SchemaObject): boolean {
  const edges = edgesOf(schema);
  const values = [...("const" in schema ? [schema["const"]] : []), ...listOf(schema["enum"])];
  if (values.length > 0) return values.some((one) => typeof one === "number" || Array.isArray(one));
  const types = typesOf(schema);
  if (types.includes("number") || types.includes("integer")) return true;
  if (types.length > 0) return types.includes("array") && !edges.some(isOfElements);
  // One that says nothing lets numbers pass; one that only holds others says what they say.
  return !edges.some(says) && document.referred(schema).length === 0;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);
const isOfElements = ({ aim, schema }: Edge): boolean => aim === "element" && isObject(schema);
const says = ({ aim, keyword }: Edge): boolean =>
  aim !== "none" && aim !== "name" && keyword !== "not" && keyword !== "if";

/** The schemas that may apply to one value or, if it is a list, to its elements. */
function allAt(document: SchemaDocument, schemas: readonly Schema[]): ReadonlySet<SchemaObject> {
  const here = new Set(schemas.filter(isObject));
  // The set grows while it is walked.
  for (const schema of here) {
    for (const { aim, schema: held } of edgesOf(schema))
      if ((aim === "here" || aim === "branch" || aim === "element") && isObject(held)) here.add(held);
    for (const target of document.referred(schema)) if (isObject(target)) here.add(target);
  }
  return here;
}
