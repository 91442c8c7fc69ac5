import type { EventsPart, Group, Part, Span, Test, Value, Where } from "./model.js";

export interface Written {
  readonly rule: unknown;
  /** Where each part stands: `rule.$and.1` and the id of the part. */
  readonly places: readonly (readonly [path: string, id: number])[];
  /** By the id of the part: what is still missing in it. */
  readonly unfinished: ReadonlyMap<number, string>;
}

/** The rule as `/v1` takes it. */
export function writeRule(root: Group): Written {
  const places: [string, number][] = [];
  const unfinished = new Map<number, string>();
  const write = (part: Part, path: string): unknown => {
    places.push([path, part.id]);
    const problem = problemOf(part);
    if (problem !== null) unfinished.set(part.id, problem);
    switch (part.kind) {
      case "group":
        return writeGroup(part, path, write);
      case "field":
        return { [part.field]: testOf(part.test) };
      case "events":
        return { $events: eventsOf(part) };
      case "audience":
        return { $audience: part.audienceId };
      case "json":
      default:
        return problem === null ? (JSON.parse(part.text) as unknown) : {};
    }
  };
  const rule = write(root, "rule");
  return { rule, places, unfinished };
}

function writeGroup({ join, parts }: Group, path: string, write: (part: Part, path: string) => unknown): unknown {
  const isDenied = join === "none" || join === "not_all";
  const inner = isDenied ? `${path}.$not` : path;
  const op = join === "any" || join === "none" ? "$or" : "$and";
  const [only] = parts;
  const rule =
    parts.length === 1
      ? write(only!, inner)
      : parts.length === 0
        ? {}
        : { [op]: parts.map((part, i) => write(part, `${inner}.${op}.${i}`)) };
  return isDenied ? { $not: rule } : rule;
}

function eventsOf({ schemaId, where, measure, atLeast, sum, is, within }: EventsPart): unknown {
  const tests: Record<string, unknown> = {};
  for (const path of new Set(where.map((one) => one.path))) {
    const ofPath = where.filter((one) => one.path === path).map(({ test }) => test);
    tests[path] =
      ofPath.length === 1
        ? testOf(ofPath[0]!)
        : Object.fromEntries(ofPath.map(({ op, value }) => [op, plainOf(value)]));
  }
  return {
    ...(schemaId !== "" && { schema_id: schemaId }),
    ...(where.length > 0 && { where: tests }),
    ...(measure === "count" ? { at_least: Number(atLeast) } : { sum, is: testOf(is) }),
    ...(within !== null && { within: `${within.n}${within.unit}` }),
  };
}

const testOf = ({ op, value }: Test): unknown => (op === "$eq" ? plainOf(value) : { [op]: plainOf(value) });

export const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

function plainOf(value: Value): unknown {
  switch (value.as) {
    case "text":
      return value.text;
    case "number":
      return Number(value.text);
    case "boolean":
      return value.is;
    case "null":
      return null;
    case "now":
      return { $now: `${value.isAgo ? "-" : "+"}${value.n}${value.unit}` };
    case "texts":
      return linesOf(value.text);
    case "numbers":
    default:
      return linesOf(value.text).map(Number);
  }
}

function problemOf(part: Part): string | null {
  switch (part.kind) {
    case "group":
      return part.parts.length === 0 && part.join !== "all" ? "Add a condition to this group." : null;
    case "field":
      return part.field.trim() === "" ? "Choose a field." : testProblem(part.test);
    case "events":
      return eventsProblem(part);
    case "audience":
      return part.audienceId === "" ? "Choose an audience." : null;
    case "json":
    default:
      return jsonProblem(part.text);
  }
}

function eventsProblem({ where, measure, atLeast, sum, is, within }: EventsPart): string | null {
  if (where.some(({ path }) => path.trim() === "")) return "Choose a field of the event.";
  const twice = where.find(({ path, test: { op } }, i) => where.findIndex((one) => isSame(one, path, op)) !== i);
  if (twice !== undefined) return `${twice.path} has this test twice.`;
  for (const { test } of where) {
    const problem = testProblem(test);
    if (problem !== null) return problem;
  }
  if (measure === "count" && !isNumber(atLeast)) return "Say how many events.";
  if (measure === "sum" && sum.trim() === "") return "Choose the number to add up.";
  if (measure === "sum" && testProblem(is) !== null) return testProblem(is);
  return within === null || isWhole(within) ? null : "Say in how many minutes, hours or days.";
}

const isSame = (one: Where, path: string, op: string): boolean => one.path === path && one.test.op === op;
const isNumber = (text: string): boolean => text.trim() !== "" && Number.isFinite(Number(text));
const isWhole = ({ n }: Span): boolean => /^\d+$/.test(n);

function testProblem({ value }: Test): string | null {
  if (value.as === "number" && !isNumber(value.text)) return "Type a number.";
  if (value.as === "now" && !isWhole(value)) return "Say how many minutes, hours or days.";
  if (value.as !== "texts" && value.as !== "numbers") return null;
  const lines = linesOf(value.text);
  if (lines.length === 0) return "Type at least one value.";
  return value.as === "numbers" && !lines.every(isNumber) ? "Type one number on each line." : null;
}

export function jsonProblem(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? null : "It must be an object.";
  } catch (error) {
    return error instanceof Error ? error.message : "It is not JSON.";
  }
}
