import type { Comparison } from "./comparison.js";
import { multiplesOf } from "../validation/multiple.js";
import type { SchemaObject } from "../keywords.js";

/** The keywords about a single value: its type, its listed values, its bounds. */
export function boundProblems(comparison: Comparison, previous: SchemaObject, next: SchemaObject, path: string): void {
  const refuse = (keyword: string, message: string): void => comparison.refuse(`${path}.${keyword}`, message);
  typeProblems(previous, next, refuse);
  valueProblems(comparison, previous, next, refuse);
  rangeProblems(previous, next, refuse);
  for (const keyword of ["maxLength", "maxItems", "maxProperties", "maxContains"])
    if (numberOr(next[keyword], Infinity) < numberOr(previous[keyword], Infinity)) refuse(keyword, "is lower");
  for (const keyword of ["minLength", "minItems", "minProperties"])
    if (numberOr(next[keyword], 0) > numberOr(previous[keyword], 0)) refuse(keyword, "is higher");
  if (next["contains"] !== undefined && numberOr(next["minContains"], 1) > numberOr(previous["minContains"], 1))
    refuse("minContains", "is higher");
  for (const keyword of ["pattern", "format"])
    if (next[keyword] !== undefined && next[keyword] !== previous[keyword]) refuse(keyword, "changes");
  if (next["uniqueItems"] === true && previous["uniqueItems"] !== true) refuse("uniqueItems", "is new");
  if (!keepsMultiples(previous["multipleOf"], next["multipleOf"])) refuse("multipleOf", "narrows");
}

type Refuse = (keyword: string, message: string) => void;

const numberOr = (value: unknown, fallback: number): number => (typeof value === "number" ? value : fallback);

const TYPES = ["string", "number", "integer", "boolean", "null", "object", "array"];

/** Integers are numbers. */
function typesOf({ type }: SchemaObject): ReadonlySet<unknown> {
  const named: readonly unknown[] = type === undefined ? TYPES : Array.isArray(type) ? type : [type];
  return new Set(named.includes("number") ? [...named, "integer"] : named);
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function typeProblems(previous: SchemaObject, next: SchemaObject, refuse: Refuse): void {
  const [before, after] = [typesOf(previous), typesOf(next)];
  // One that lists its values takes no others, whether or not it names their types.
  const values: unknown = "const" in previous ? [previous["const"]] : previous["enum"];
  const taken = Array.isArray(values)
    ? [...new Set(values.map(typeOf))].filter((type) => before.has(type))
    : [...before];
  const lost = taken.filter((type) => !after.has(type));
  if (lost.length > 0) refuse("type", `no longer takes ${lost.join(", ")}`);
}

function valueProblems(comparison: Comparison, previous: SchemaObject, next: SchemaObject, refuse: Refuse): void {
  const before = "const" in previous ? comparison.listed(previous, "const") : comparison.listed(previous, "enum");
  for (const keyword of ["enum", "const"] as const) {
    const after = comparison.listed(next, keyword);
    if (after === null) continue;
    if (before === null) refuse(keyword, "is new");
    else {
      const lost = [...before].find((text) => !after.has(text));
      if (lost !== undefined) refuse(keyword, `no longer has ${lost.slice(0, 100)}`);
    }
  }
}

/** A bound and whether the bound itself is outside; `maximum` and `exclusiveMaximum` may both be given. */
interface Bound {
  readonly at: number;
  readonly isOutside: boolean;
}

function boundOf(inside: unknown, outside: unknown, sign: 1 | -1): Bound {
  const closed = sign * numberOr(inside, sign * Infinity);
  const open = sign * numberOr(outside, sign * Infinity);
  return open <= closed ? { at: open, isOutside: true } : { at: closed, isOutside: false };
}

/** Both as upper bounds: lower bounds are negated. */
const isTighter = (previous: Bound, next: Bound): boolean =>
  next.at < previous.at || (next.at === previous.at && next.isOutside && !previous.isOutside);

const upper = (schema: SchemaObject): Bound => boundOf(schema["maximum"], schema["exclusiveMaximum"], 1);
const lower = (schema: SchemaObject): Bound => boundOf(schema["minimum"], schema["exclusiveMinimum"], -1);

function rangeProblems(previous: SchemaObject, next: SchemaObject, refuse: Refuse): void {
  if (isTighter(upper(previous), upper(next))) refuse("maximum", "is lower");
  if (isTighter(lower(previous), lower(next))) refuse("minimum", "is higher");
}

function keepsMultiples(previous: unknown, next: unknown): boolean {
  if (next === undefined || next === previous) return true;
  return typeof previous === "number" && typeof next === "number" && multiplesOf(next)(previous);
}
