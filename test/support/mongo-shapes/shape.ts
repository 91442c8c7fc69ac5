import type { Document } from "mongodb";

/** One query as the adapter sent it, without its values: `events: _id in, gone null; sort position-`. */
export interface Shape {
  readonly collection: string;
  /** Fields with their operators, in alphabetical order. */
  readonly filter: string;
  readonly sort: string;
  /** Changes one document at most. */
  readonly isWrite: boolean;
}

/** Without the collection. */
export const askedBy = ({ filter, sort }: Shape): string => filter + (sort === "" ? "" : `; sort ${sort}`);
export const textOf = (shape: Shape): string => `${shape.collection}: ${askedBy(shape)}`;

/** The option of a query that the test itself sends, on the adapter's connection. */
export const OF_TEST = { comment: "of the test" };

/** What a command asks for: several where it holds several statements, none where it asks for nothing. */
export function shapesOf(command: Document): readonly Shape[] {
  if (command["comment"] === OF_TEST.comment) return [];
  const shape = (name: unknown, filter: Document, sort: Document = {}, isWrite = false): Shape => {
    const asked = Object.entries(filter).map(([field, wanted]) => field.replace(OWN_ID, "*") + operatorsOf(wanted));
    // The driver sends an order as a map.
    const order = sort instanceof Map ? [...(sort as Map<string, unknown>)] : Object.entries(sort);
    return {
      collection: String(name),
      filter: asked.toSorted().join(", "),
      sort: order.map(([field, direction]) => field + (direction === 1 ? "+" : "-")).join(" "),
      isWrite,
    };
  };
  if ("find" in command) return [shape(command["find"], documentIn(command["filter"]), documentIn(command["sort"]))];
  if ("findAndModify" in command) return [shape(command["findAndModify"], documentIn(command["query"]), {}, true)];
  if ("update" in command)
    return listIn(command["updates"]).map(({ q, multi }) =>
      shape(command["update"], documentIn(q), {}, multi !== true),
    );
  if ("delete" in command)
    return listIn(command["deletes"]).map(({ q, limit }) => shape(command["delete"], documentIn(q), {}, limit === 1));
  if ("distinct" in command) return [shape(command["distinct"], documentIn(command["query"]))];
  if ("aggregate" in command) {
    const [first] = listIn(command["pipeline"]);
    return [shape(command["aggregate"], documentIn(first?.["$match"]))];
  }
  return [];
}

/** Of a tally, which is part of a field's name. */
const OWN_ID = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

const documentIn = (value: unknown): Document => value ?? {};
const listIn = (value: unknown): readonly Document[] => (value ?? []) as readonly Document[];

const RANGE = new Set(["$gt", "$gte", "$lt", "$lte"]);

function operatorsOf(wanted: unknown): string {
  if (wanted === null) return " null";
  if (wanted instanceof RegExp || isA(wanted, "BSONRegExp")) return " begins";
  if (typeof wanted !== "object" || Object.getPrototypeOf(wanted) !== Object.prototype) return "";
  const operators = Object.keys(wanted).filter((name) => name.startsWith("$"));
  const names = operators.map((name) => (RANGE.has(name) ? "range" : name.slice(1)));
  return [...new Set(names)].map((name) => ` ${name}`).join("");
}

const isA = (value: unknown, type: string): boolean =>
  typeof value === "object" && value !== null && Reflect.get(value, "_bsontype") === type;
