import type { ErrorObject } from "ajv";
import { inPath, moreThan, type ErrorItem } from "../../errors.js";

/** Keywords whose own error only repeats that what they hold failed. */
const WRAPPERS = new Set(["if", "propertyNames"]);
const SHOWN_CHARACTERS_MAX = 200;

/** The outermost failure of a run that stopped at the first one: the branches of an `anyOf` only say why each did not match. */
export function firstProblem(errors: readonly ErrorObject[], base = ""): readonly ErrorItem[] {
  const error = errors.findLast(({ keyword }) => !WRAPPERS.has(keyword)) ?? errors.at(-1);
  return error === undefined ? [] : [toItem(error, base)];
}

/** One item per problem, at most `max`, then one with an empty path that says that there are more. */
export function allProblems(errors: readonly ErrorObject[], max: number, base = ""): readonly ErrorItem[] {
  const items = errors.filter(({ keyword }) => !WRAPPERS.has(keyword)).map((error) => toItem(error, base));
  return items.length > max ? [...items.slice(0, max), moreThan(max)] : items;
}

/** Where the problem is, and what it is in plain words. */
export function toItem(error: ErrorObject, base = ""): ErrorItem {
  const segments = error.instancePath.split("/").slice(1).map(unescape);
  const named = namedProperty(error);
  const path = [...(base === "" ? [] : [base]), ...segments, ...(named === null ? [] : [named])];
  return { path: path.map(inPath).join("."), message: messageOf(error) };
}

const unescape = (segment: string): string => segment.replaceAll("~1", "/").replaceAll("~0", "~");

/** The property that the problem is about, when it is not the value at the path itself. */
function namedProperty({ propertyName, params }: ErrorObject): string | null {
  if (propertyName !== undefined) return propertyName;
  const { missingProperty, additionalProperty, unevaluatedProperty } = params as Readonly<Record<string, unknown>>;
  const name = missingProperty ?? additionalProperty ?? unevaluatedProperty;
  return typeof name === "string" ? name : null;
}

function messageOf(error: ErrorObject): string {
  const message = plainMessage(error);
  return error.propertyName === undefined ? message : `as a property name ${message}`;
}

const UNITS = {
  Length: ["character", "characters"],
  Items: ["item", "items"],
  Properties: ["property", "properties"],
} as const;

function plainMessage({ keyword, params, message }: ErrorObject): string {
  const { type, allowedValues, property, limit, passingSchemas } = params as Readonly<Record<string, unknown>>;
  const [, bound, what] = /^(min|max)(Length|Items|Properties)$/.exec(keyword) ?? [];
  if (what !== undefined) {
    const [one, many] = UNITS[what as keyof typeof UNITS];
    return `must have at ${bound === "min" ? "least" : "most"} ${String(limit)} ${limit === 1 ? one : many}`;
  }
  switch (keyword) {
    case "required":
      return "is required";
    case "dependentRequired":
    case "dependencies":
      return `is required beside ${String(property)}`;
    case "additionalProperties":
    case "unevaluatedProperties":
    case "false schema":
      return "is not allowed by the schema";
    case "type":
      return `must be ${Array.isArray(type) ? type.join(" or ") : String(type)}`;
    case "enum":
    case "const":
      return `must be ${shown(allowedValues)}`;
    case "anyOf":
      return "matches none of the schemas in anyOf";
    case "oneOf":
      return `matches ${Array.isArray(passingSchemas) ? "more than one" : "none"} of the schemas in oneOf`;
    default:
      return message ?? "does not match the schema";
  }
}

function shown(values: unknown): string {
  const list = Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : [];
  const text = list.length === 1 ? list[0]! : `one of ${list.join(", ")}`;
  return text.length > SHOWN_CHARACTERS_MAX ? `${text.slice(0, SHOWN_CHARACTERS_MAX)}…` : text;
}
