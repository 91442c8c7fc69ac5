import { bounded, ERRORS_MAX, type ErrorItem } from "../errors.js";
import type { AudienceId } from "../ids.js";
import { TIMED, type Field, type WrittenRule } from "./rule.js";
import { parseEvents } from "./parse-events.js";
import { CONDITIONS_MAX, DEPTH_MAX } from "./size.js";
import { below, isObject, parseTests, type Kind, type Problems } from "./parse-tests.js";
import type { Parsing, Vocabulary } from "./vocabulary.js";

export type Parsed = { readonly rule: WrittenRule } | { readonly errors: readonly ErrorItem[] };

/** `path` is where the rule stands in the request. */
export function parseRule(given: unknown, path: string, vocabulary: Vocabulary): Parsed {
  const errors: ErrorItem[] = [];
  let conditions = 0;
  const isFull = (): boolean => errors.length > ERRORS_MAX || conditions > CONDITIONS_MAX;
  const problems: Problems = {
    isFull,
    add: (at, message) => {
      if (errors.length <= ERRORS_MAX) errors.push({ path: at, message });
    },
    count: (at) => {
      conditions += 1;
      // Once, however many there are.
      if (conditions === CONDITIONS_MAX + 1)
        errors.push({ path: at, message: `a rule has at most ${CONDITIONS_MAX} conditions` });
      return conditions <= CONDITIONS_MAX;
    },
  };
  const rule = parsePart(given, path, { vocabulary, problems }, 1);
  return errors.length > 0 ? { errors: bounded(errors) } : { rule };
}

const NEVER: WrittenRule = { kind: "or", parts: [] };
const TOO_DEEP = `a rule has at most ${DEPTH_MAX} levels`;

function parsePart(given: unknown, path: string, parsing: Parsing, depth: number): WrittenRule {
  const { problems } = parsing;
  if (depth > DEPTH_MAX) return wrong(problems, path, TOO_DEEP);
  if (!isObject(given)) return wrong(problems, path, "must be an object");
  // One that holds for everybody counts too: references to references to it would else stand for any number of parts.
  const keys = Object.keys(given);
  if (keys.length === 0) problems.count(path);
  const parts = partsOf(keys, problems, (key) => parseMember(key, given[key], below(path, key), parsing, depth));
  return parts.length === 1 ? parts[0]! : { kind: "and", parts };
}

/** Stops at what is refused anyway. */
function partsOf<T>(given: readonly T[], problems: Problems, parse: (one: T, at: number) => WrittenRule) {
  const parts: WrittenRule[] = [];
  for (const [at, one] of given.entries()) {
    if (problems.isFull()) break;
    parts.push(parse(one, at));
  }
  return parts;
}

function wrong(problems: Problems, path: string, message: string): WrittenRule {
  problems.add(path, message);
  return NEVER;
}

function parseMember(key: string, value: unknown, path: string, parsing: Parsing, depth: number): WrittenRule {
  const { problems } = parsing;
  switch (key) {
    case "$and":
    case "$or": {
      if (!Array.isArray(value) || value.length === 0)
        return wrong(problems, path, "must be a list of at least one rule");
      const parts = partsOf(value as readonly unknown[], problems, (one, i) =>
        parsePart(one, `${path}.${i}`, parsing, depth + 1),
      );
      return { kind: key === "$and" ? "and" : "or", parts };
    }
    case "$not":
      return { kind: "not", part: parsePart(value, path, parsing, depth + 1) };
    case "$events":
      return problems.count(path) ? (parseEvents(value, path, parsing) ?? NEVER) : NEVER;
    case "$audience":
      return parseReference(value, path, parsing, depth);
    default:
      return parseField(key, value, path, parsing);
  }
}

function parseReference(value: unknown, path: string, { vocabulary, problems }: Parsing, depth: number): WrittenRule {
  const words = typeof value === "string" ? vocabulary.audience(value) : null;
  if (words === null) return wrong(problems, path, "is not an audience of this workspace");
  if (words.isCircular) return wrong(problems, path, "refers back to this audience");
  // Its rule stands in the place of the object that names it.
  if (depth + words.depth - 1 > DEPTH_MAX) return wrong(problems, path, TOO_DEEP);
  for (let n = 0; n < words.conditions; n++) problems.count(path);
  return { kind: "audience", audienceId: value as AudienceId };
}

function parseField(key: string, value: unknown, path: string, { vocabulary, problems }: Parsing): WrittenRule {
  const found = fieldOf(key, vocabulary);
  if (typeof found === "string") return wrong(problems, path, found);
  const { field, kind } = found;
  const tests = parseTests(value, path, kind, problems);
  const parts = tests.map((test): WrittenRule => ({ kind: "field", field, test }));
  return parts.length === 1 ? parts[0]! : { kind: "and", parts };
}

/** The field with what its values are; else what is wrong with the name. */
function fieldOf(key: string, vocabulary: Vocabulary): { readonly field: Field; readonly kind: Kind } | string {
  if (key.startsWith("$")) return "is not an operator here; use $and, $or, $not, $events or $audience";
  const dot = key.indexOf(".");
  const [room, name] = dot < 0 ? [key, ""] : [key.slice(0, dot), key.slice(dot + 1)];
  if (dot > 0 && room === "traits")
    return vocabulary.isTrait(name)
      ? { field: { kind: "trait", name }, kind: { is: "any" } }
      : "is not a trait of this workspace";
  if (dot > 0 && room === "identifiers") {
    const words = vocabulary.namespace(name);
    if (words === null) return "is not a namespace of this workspace";
    return { field: { kind: "identifier", name }, kind: { is: "text", normalize: (text) => words.normalize(text) } };
  }
  const timed = TIMED.find((one) => one === key);
  if (timed !== undefined) return { field: { kind: timed }, kind: { is: "instant" } };
  if (key === "event_count") return { field: { kind: key }, kind: { is: "number" } };
  return "is not a field; use traits.<name>, identifiers.<namespace>, first_seen, last_seen or event_count";
}
