import {
  kindOf,
  type EventsPart,
  type FieldKind,
  type Op,
  type Part,
  type Span,
  type Test,
  type Value,
} from "./model.js";
import { linesOf } from "./write.js";

const WORDS: Readonly<Record<Op, string>> = {
  $eq: "is",
  $ne: "is not",
  $gt: "is more than",
  $gte: "is at least",
  $lt: "is less than",
  $lte: "is at most",
  $in: "is one of",
  $nin: "is none of",
  $exists: "is there",
  $starts: "starts with",
  $ends: "ends with",
  $contains: "contains",
};
const TIMED: Partial<Readonly<Record<Op, string>>> = {
  $gt: "is later than",
  $gte: "is not before",
  $lt: "is earlier than",
  $lte: "is not after",
};

export const opWords = (op: Op, kind: FieldKind): string => (kind === "instant" ? (TIMED[op] ?? WORDS[op]) : WORDS[op]);

const UNITS = { m: "minute", h: "hour", d: "day" } as const;
export const unitWords = (unit: Span["unit"]): string => `${UNITS[unit]}s`;
const spanWords = ({ n, unit }: Span): string => `${n} ${UNITS[unit]}${n === "1" ? "" : "s"}`;

/** `traits.city` as "city". */
function fieldWords(field: string): string {
  const [room, ...name] = field.split(".");
  if (room === "traits" && name.length > 0) return name.join(".");
  if (room === "identifiers" && name.length > 0) return `identifier ${name.join(".")}`;
  return field.replaceAll("_", " ");
}

function valueWords(value: Value): string {
  switch (value.as) {
    case "text":
      return `“${value.text}”`;
    case "number":
      return value.text;
    case "boolean":
      return value.is ? "yes" : "no";
    case "null":
      return "nothing";
    case "now":
      return value.isAgo ? `${spanWords(value)} ago` : `${spanWords(value)} from now`;
    case "texts":
      return linesOf(value.text)
        .map((line) => `“${line}”`)
        .join(", ");
    case "numbers":
    default:
      return linesOf(value.text).join(", ");
  }
}

function testWords({ op, value }: Test, kind: FieldKind): string {
  if (op === "$exists") return value.as === "boolean" && !value.is ? "is not there" : "is there";
  const isTimed = kind === "instant" || value.as === "now";
  return `${opWords(op, isTimed ? "instant" : kind)} ${valueWords(value)}`;
}

function eventsWords({ schemaId, where, measure, atLeast, sum, is, within }: EventsPart): string {
  const what = schemaId === "" ? "" : ` of ${schemaId}`;
  const tests = where.map(({ path, test }) => `${path} ${testWords(test, "payload")}`).join(" and ");
  const when = within === null ? "ever" : `in the last ${spanWords(within)}`;
  const which = tests === "" ? "" : ` whose ${tests}`;
  return measure === "count"
    ? `at least ${atLeast} event${atLeast === "1" ? "" : "s"}${what}${which}, ${when}`
    : `the sum of ${sum} over events${what}${which}, ${when}, ${testWords(is, "sum")}`;
}

/** A condition as a sentence; a group is a list of its own. */
export function words(part: Exclude<Part, { kind: "group" }>, nameOf: (audienceId: string) => string): string {
  switch (part.kind) {
    case "field":
      return `${fieldWords(part.field)} ${testWords(part.test, kindOf(part.field))}`;
    case "events":
      return eventsWords(part);
    case "audience":
      return `is in the audience “${nameOf(part.audienceId)}”`;
    case "json":
    default:
      return part.text;
  }
}
