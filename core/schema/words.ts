import { openDocument, type SchemaDocument } from "./document.js";
import { edgesOf, isObject, type Schema, type SchemaObject } from "./keywords.js";

/**
 * Whether the schema has a place for values at this path of a payload: names of members, through lists. What it says of a value only
 * sometimes counts too. Of an object whose members it does not name at all, each may be there.
 */
export function createDeclares(schema: object): (path: readonly string[]) => boolean {
  const document = openDocument(schema as SchemaObject);
  return (path) => {
    let here = allAt(document, [document.root]);
    for (const name of path) {
      const named = [...here].flatMap(edgesOf).filter((edge) => edge.keyword === "properties");
      const found = named.filter((edge) => edge.name === name).map((edge) => edge.schema);
      if (found.length === 0) return named.length === 0 && isOpen(here);
      here = allAt(document, found);
    }
    return path.length > 0;
  };
}

/** It holds objects, and says nothing of what is in them. */
const isOpen = (here: ReadonlySet<SchemaObject>): boolean =>
  [...here].some(({ type }) => type === "object" || (Array.isArray(type) && type.includes("object")));

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
