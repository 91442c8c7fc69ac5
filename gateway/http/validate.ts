import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Type, type TProperties, type TSchema } from "typebox";
import { AppError, invalidParameter, mismatch, type ErrorItem } from "../../core/errors.js";
import { parseJson, scanError } from "../../core/json/read.js";
import { scanJson } from "../../core/json/scan.js";
import { toItem } from "../../core/schema/validation/problems.js";
import type { Context, Route } from "../route.js";

/** The one place that checks a request against the contract of its route. */

type Given = Readonly<Record<string, unknown>>;

const OPTIONS = { strict: true, verbose: false, allowUnionTypes: true } as const;
const firstErrorAjv = new Ajv(OPTIONS);
const allErrorsAjv = new Ajv({ ...OPTIONS, allErrors: true });
/** A larger body can have hundreds of thousands of problems, so only the first one is reported. */
const ALL_ERRORS_BYTES_MAX = 65_536;

/** Compiled at its first use, so that the start does not wait for all routes. */
function lazily(ajv: Ajv, schema: TSchema): () => ValidateFunction {
  let compiled: ValidateFunction | null = null;
  return () => (compiled ??= ajv.compile(schema));
}

/** The keywords of a parameter's schema that say how its text is read, and what it must be. */
interface Facts {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly title?: string;
}
const facts = (schema: TSchema | undefined): Facts => schema ?? {};

const whole = (properties: TProperties): TSchema => Type.Object(properties, { additionalProperties: false });

/** Throws `not_found`, because nothing has an id of another form. */
export function paramsReader(properties: TProperties): (given: unknown) => void {
  const validate = lazily(firstErrorAjv, whole(properties));
  return (given) => {
    const check = validate();
    if (check(given)) return;
    const name = check.errors?.[0]?.instancePath.slice(1) ?? "";
    throw new AppError("not_found", `There is no such ${facts(properties[name]).title ?? name}.`);
  };
}

/** The values in the types of their schemas, with the defaults. Throws `invalid_parameter`. */
export function queryReader(properties: TProperties): (given: Given | null) => Given {
  const validate = lazily(firstErrorAjv, whole(properties));
  const defaults: Given = Object.freeze(
    Object.fromEntries(
      Object.entries(properties).flatMap(([name, schema]) => ("default" in schema ? [[name, schema["default"]]] : [])),
    ),
  );
  return (given) => {
    if (given === null) return defaults;
    const query: Record<string, unknown> = { ...defaults };
    for (const [name, value] of Object.entries(given)) {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (schema === undefined) throw invalidParameter(name.slice(0, 64), "is not a parameter of this route");
      if (typeof value !== "string") throw invalidParameter(name, "must be given only once");
      query[name] = typed(facts(schema), value);
    }
    const check = validate();
    if (check(query)) return query;
    const name = check.errors?.[0]?.instancePath.slice(1) ?? "";
    throw invalidParameter(name, rule(facts(properties[name])));
  };
}

/** A value that cannot be converted stays text, and then does not match the schema. 16 digits: none that is exact has more. */
function typed({ type }: Facts, text: string): unknown {
  if (type === "integer") return /^\d{1,16}$/.test(text) ? Number(text) : text;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

function rule({ type, enum: values, minimum, maximum, title = "" }: Facts): string {
  if (type === "integer") return `must be a whole number from ${minimum} to ${maximum}`;
  if (type === "boolean") return "must be true or false";
  if (values !== undefined) return `must be one of ${values.join(", ")}`;
  return title === "" ? "is wrong" : `must be a ${title}`;
}

/** Throws `invalid_json` for what is not JSON, `validation_failed` that names each wrong field. */
export function bodyReader({
  body: schema = Type.Unknown(),
  bodyDepthMax = 64,
}: Pick<Route, "body" | "bodyDepthMax">): (bytes: Buffer) => Pick<Context, "body" | "raw"> {
  const check = bodyCheck(schema);
  return (bytes) => {
    const scan = scanJson(bytes, bodyDepthMax);
    if (scan.problem !== null) throw scanError(scan.problem, scan.problem.path, bodyDepthMax);
    const body = parseJson(bytes);
    if (typeof body !== "object" || body === null || Array.isArray(body))
      throw new AppError("validation_failed", "The body must be an object.", {
        errors: [{ path: "", message: "must be an object" }],
      });
    check(body, bytes.length);
    return {
      body,
      raw: (name) => {
        const member = scan.members?.find((candidate) => candidate.name === name);
        return member === undefined ? Buffer.alloc(0) : bytes.subarray(member.start, member.end);
      },
    };
  };
}

/** Throws `validation_failed` that names each wrong field of a body that was read from so many bytes. */
export function bodyCheck(schema: TSchema): (body: unknown, bytes: number) => void {
  const findAll = lazily(allErrorsAjv, schema);
  const findFirst = lazily(firstErrorAjv, schema);
  return (body, bytes) => {
    const validate = (bytes > ALL_ERRORS_BYTES_MAX ? findFirst : findAll)();
    if (!validate(body)) throw mismatch((validate.errors ?? []).filter(saysMore).map(itemOf));
  };
}

/** The error of `propertyNames` itself only repeats that a name is wrong. */
const saysMore = ({ keyword }: ErrorObject): boolean => keyword !== "propertyNames";

const itemOf = (error: ErrorObject): ErrorItem => {
  const item = toItem(error);
  return error.keyword === "additionalProperties" ? { ...item, message: "is not a known field" } : item;
};
