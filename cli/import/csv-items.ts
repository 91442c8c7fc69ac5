import path from "node:path";
import { NAMESPACE_NAME, NAMESPACE_NAME_RULE } from "../../core/identity/namespaces.js";
import { isUnsafeNumber } from "../../core/json/number.js";
import { TRAIT_NAME, TRAIT_NAME_RULE } from "../../core/schema/annotations.js";
import { CliError, usage } from "../fail.js";
import { listIn, pairIn, textIn, type Values } from "../options.js";
import { rowsOf, type Row } from "./csv.js";
import { foundOf, idOf, type Converted, type Found } from "./item.js";
import { isObject } from "./json-lines.js";

interface CsvTrait {
  readonly column: string;
  readonly name: string;
  readonly type: "text" | "number" | "boolean";
}

/** What the columns are, as the options of the command say. */
export interface CsvPlan {
  /** Null: rows are people, and become identify calls. */
  readonly schemaId: string | null;
  /** Column -> place in the payload, dotted. Empty: each column is the field of its name. */
  readonly fields: readonly (readonly [column: string, field: string])[];
  readonly identifiers: readonly (readonly [column: string, namespace: string])[];
  readonly traits: readonly CsvTrait[];
  readonly timestamp: string | null;
  readonly id: string | null;
}

export function csvPlanIn(values: Values): CsvPlan {
  const pairs = (option: string, names = /^/, rule = "") =>
    listIn(values, option).map((text) => {
      const pair = pairIn(option, text);
      // The service would pass over it without a word: not every member of a call is for it.
      if (!names.test(pair[1])) throw usage(`--${option}: ${JSON.stringify(pair[1])} ${rule}`);
      return pair;
    });
  const plan = {
    schemaId: textIn(values, "schema"),
    fields: pairs("field"),
    identifiers: pairs("identifier", NAMESPACE_NAME, NAMESPACE_NAME_RULE),
    traits: pairs("trait", TRAIT_NAME, TRAIT_NAME_RULE),
    timestamp: textIn(values, "timestamp"),
    id: textIn(values, "id"),
  };
  if (plan.schemaId === null && plan.identifiers.length === 0)
    throw usage("csv: name a --schema, or at least one --identifier COLUMN=NAMESPACE");
  if (plan.schemaId === null && plan.fields.length > 0) throw usage("--field: needs a --schema");
  if (plan.schemaId !== null && plan.identifiers.length + plan.traits.length > 0)
    throw usage("--identifier and --trait: the schema says what they are");
  // Otherwise the same row would be another event at each import.
  if (plan.schemaId !== null && plan.timestamp === null) throw usage("--timestamp COLUMN: is needed with --schema");
  return { ...plan, traits: plan.traits.map(traitOf) };
}

/** `COLUMN` or `COLUMN:TYPE`. No type is guessed: a zip code or a customer number is no number. */
function traitOf([given, name]: readonly [column: string, name: string]): CsvTrait {
  const [, column = given, type = "text"] = /^(.+):(number|boolean|text)$/s.exec(given) ?? [];
  return { column, name, type: type as CsvTrait["type"] };
}

/** `schema`: of the events, to read numbers as numbers. */
export async function* fromCsv(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  plan: CsvPlan,
  schema: unknown,
): AsyncGenerator<Found> {
  const needed = [...plan.fields, ...plan.identifiers].map(([column]) => column);
  const columns = [
    ...needed,
    ...plan.traits.map(({ column }) => column),
    ...[plan.timestamp, plan.id].filter((column) => column !== null),
  ];
  // Two files may have the same row at the same line, and it is not the same event.
  const name = path.basename(file);
  try {
    for await (const numbered of rowsOf(chunks, columns)) {
      const { line, row, text } = numbered;
      const given = plan.id === null ? null : (row.get(plan.id) ?? null);
      const id = given === null ? idOf(name, String(line), text) : idOf(given);
      const timestamp = plan.timestamp === null ? null : (row.get(plan.timestamp) ?? null);
      const read = { row, id, timestamp };
      const converted = plan.schemaId === null ? personOf(read, plan) : eventOf(read, plan.schemaId, plan, schema);
      yield* foundOf(`${file}:${line}`, converted);
    }
  } catch (error) {
    throw error instanceof CliError ? new CliError(error.exit, `${file}: ${error.message}`, { cause: error }) : error;
  }
}

interface Read {
  readonly row: Row;
  readonly id: string;
  readonly timestamp: string | null;
}

/** SDKs have members of their own for these. */
const MEMBER: Readonly<Record<string, string>> = { user_id: "userId", anonymous_id: "anonymousId" };

function personOf({ row, id, timestamp }: Read, { identifiers, traits }: CsvPlan): Converted {
  const ids: Record<string, string> = {};
  const externalIds: { readonly type: string; readonly id: string }[] = [];
  for (const [column, namespace] of identifiers) {
    const value = row.get(column);
    const member = MEMBER[namespace];
    if (value === undefined) continue;
    if (member !== undefined && ids[member] === undefined) ids[member] = value;
    else externalIds.push({ type: namespace, id: value });
  }
  if (Object.keys(ids).length + externalIds.length === 0) return { problem: "has no identifier" };
  const given: [name: string, value: unknown][] = [];
  for (const { column, name, type } of traits) {
    const text = row.get(column);
    if (text === undefined) continue;
    const value = typed(text, type === "text" ? "string" : type);
    if (type !== "text" && typeof value !== type) return { problem: `${column}: ${WRONG[type](text)}` };
    given.push([name, value]);
  }
  const call = {
    type: "identify",
    ...(timestamp !== null && { timestamp }),
    ...ids,
    traits: Object.fromEntries(given),
    context: { externalIds },
  };
  // A row that says something else of its person is another call, and no repeat.
  return [JSON.stringify({ ...call, messageId: idOf(id, JSON.stringify(call)) })];
}

function eventOf({ row, id, timestamp }: Read, schemaId: string, { fields }: CsvPlan, schema: unknown): Converted {
  if (timestamp === null) return { problem: "has no timestamp" };
  const payload: Record<string, unknown> = {};
  const named = fields.length === 0 ? [...row.keys()].map((column) => [column, column] as const) : fields;
  for (const [column, field] of named) {
    const value = row.get(column);
    if (value !== undefined) put(payload, field.split("."), value, schema);
  }
  return [JSON.stringify({ schema_id: schemaId, timestamp, payload, idempotency_key: id })];
}

/** Sets a value at its place, with the type that the schema names there. */
function put(into: Record<string, unknown>, [name, ...rest]: readonly string[], value: string, schema: unknown): void {
  const inner = memberOf(memberOf(schema, "properties"), name!);
  if (rest.length === 0) {
    into[name!] = typed(value, memberOf(inner, "type"));
    return;
  }
  const held = isObject(into[name!]) ? (into[name!] as Record<string, unknown>) : {};
  into[name!] = held;
  put(held, rest, value, inner);
}

const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** What is not of the type, or would be rounded, stays text, and the service says so. */
function typed(value: string, type: unknown): unknown {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.includes("string")) return value;
  const isNumber = (types.includes("number") || types.includes("integer")) && NUMBER.test(value);
  if (isNumber && !isUnsafeNumber(value)) return Number(value);
  if (types.includes("boolean") && (value === "true" || value === "false")) return value === "true";
  return value;
}

const WRONG = {
  number: (text: string) => (NUMBER.test(text) ? "has more digits than a number keeps" : "must be a number"),
  boolean: () => "must be true or false",
};
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
