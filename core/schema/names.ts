import { openDocument } from "./document.js";
import { isObject, stringsOf, type SchemaObject } from "./keywords.js";

const DEPENDENCIES = ["dependentRequired", "dependencies"] as const;

/** All names that the schema itself gives to members, wherever they stand. Any other name in a payload is its sender's own. */
export function namesIn(schema: SchemaObject): ReadonlySet<string> {
  const names = new Set<string>();
  for (const held of openDocument(schema).paths.keys())
    for (const name of [...namesOf(held["properties"]), ...stringsOf(held["required"]), ...dependentIn(held)])
      names.add(name);
  return names;
}

const namesOf = (map: unknown): readonly string[] => (isObject(map) ? Object.keys(map) : []);

const dependentIn = (schema: SchemaObject): readonly string[] =>
  DEPENDENCIES.flatMap((keyword) => {
    const lists = schema[keyword];
    return isObject(lists) ? Object.values(lists).flatMap(stringsOf) : [];
  });
