import type { SchemaId } from "../ids.js";
import { below, isObject, parseTests, parseWithin, type Problems } from "./parse-tests.js";
import type { PathTest, WrittenRule } from "./rule.js";
import type { Parsing, SchemaWords } from "./vocabulary.js";

const MEMBERS = ["schema_id", "where", "at_least", "within", "sum", "is"];
const AT_LEAST_MAX = 100;
const DAY_MS = 86_400_000;
const TOO_LONG = (kept: number): string =>
  `must be less than ${kept / DAY_MS}d: by then the events are deleted (retention_days of their datasets)`;
const NUMBER = { is: "sum" } as const;
const PAYLOAD = { is: "payload" } as const;

/** Null where it is so wrong that nothing can be said of it. */
export function parseEvents(given: unknown, path: string, { vocabulary, problems }: Parsing): WrittenRule | null {
  if (!isObject(given)) {
    problems.add(path, "must be an object");
    return null;
  }
  for (const key of Object.keys(given))
    if (!MEMBERS.includes(key)) problems.add(below(path, key), `is not known; use ${MEMBERS.join(", ")}`);
  const { schema_id: schemaId = null, where = {}, at_least: atLeast = 1, sum, is } = given;
  const words = typeof schemaId === "string" ? vocabulary.schema(schemaId) : null;
  if (schemaId !== null && words === null) problems.add(`${path}.schema_id`, "is not a schema of this workspace");
  const tests = parseWhere(where, `${path}.where`, words, problems);
  const within = given["within"] === undefined ? null : parseWithin(given["within"], `${path}.within`, problems);
  const kept = vocabulary.keptFor?.(schemaId as string | null) ?? null;
  if (kept !== null && (within ?? Infinity) >= kept) problems.add(`${path}.within`, TOO_LONG(kept));
  const sumPath = sum === undefined ? null : parseSum(sum, `${path}.sum`, words, problems);
  const tally = { schemaId: schemaId as SchemaId | null, where: tests, sum: sumPath };
  if (sum === undefined && is === undefined) {
    if (Number.isInteger(atLeast) && Number(atLeast) >= 1 && Number(atLeast) <= AT_LEAST_MAX)
      return { kind: "count", tally, atLeast: Number(atLeast), within };
    problems.add(`${path}.at_least`, `must be a whole number from 1 to ${AT_LEAST_MAX}`);
    return null;
  }
  if (sum === undefined) problems.add(`${path}.sum`, "is required with is");
  if (is === undefined) problems.add(`${path}.is`, "is required with sum");
  if (given["at_least"] !== undefined) problems.add(`${path}.at_least`, "cannot be combined with sum");
  return { kind: "sum", tally, tests: is === undefined ? [] : parseTests(is, `${path}.is`, NUMBER, problems), within };
}

function parseWhere(given: unknown, path: string, words: SchemaWords | null, problems: Problems): readonly PathTest[] {
  if (!isObject(given)) {
    problems.add(path, "must be an object");
    return [];
  }
  return Object.keys(given).flatMap((name) => {
    if (problems.isFull()) return [];
    const at = below(path, name);
    if (name.startsWith("$"))
      problems.add(at, "is not an operator here; use the name of a field, with operators inside it");
    const names = name.startsWith("$") ? null : parsePath(name, at, words, problems);
    return names === null ? [] : parseTests(given[name], at, PAYLOAD, problems).map((test) => ({ path: names, test }));
  });
}

function parseSum(given: unknown, path: string, words: SchemaWords | null, problems: Problems) {
  const names = parsePath(given, path, words, problems);
  // What can never be a number would silently be 0.
  if (names !== null && words?.mayBeNumber(names) === false)
    problems.add(path, "is a number in no version of the schema");
  return names;
}

function parsePath(given: unknown, path: string, words: SchemaWords | null, problems: Problems) {
  const names = typeof given === "string" ? given.split(".") : [];
  if (words === null) problems.add(path, "needs the schema_id of a schema that declares it");
  else if (names.length === 0 || !words.declares(names)) problems.add(path, "no version of the schema declares this");
  else return names;
  return null;
}
