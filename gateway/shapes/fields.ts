import { Type, type TProperties, type TSchema } from "typebox";
import { AppError } from "../../core/errors.js";
import { firstMsFrom, parseTimestamp } from "../../core/event/time.js";
import { UUID_PATTERN } from "../../core/ids.js";

/** An object without other members: an unknown member is refused in a request, and fails the tests in an answer. */
export const record = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** One type with two names: with a union, one wrong value would be reported as two problems. */
export const integerOrNull = (minimum: number, maximum: number) =>
  Type.Unsafe<number | null>({ type: ["integer", "null"], minimum, maximum });

export const enumOrNull = <Name extends string>(names: readonly Name[]) =>
  Type.Unsafe<Name | null>({ enum: [...names, null] });

export const textOrNull = (minLength: number, maxLength: number) =>
  Type.Unsafe<string | null>({ type: ["string", "null"], minLength, maxLength });

export const UUID = Type.String({ pattern: UUID_PATTERN, title: "UUID" });
const DATE = String.raw`\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])`;
export const TIME = Type.String({ pattern: String.raw`^${DATE}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d+Z$` });

/** An id in a path; no `name` has an id of another form. */
export const idOf = (name: string) => Type.String({ pattern: UUID_PATTERN, title: name });
export const nameOf = (name: string) => Type.String({ title: name });

/** In a query: an instant; which of them exist, its route says. */
export const INSTANT = Type.String({
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$`,
  title: "time such as 2026-01-24T09:00:00Z",
});

/** In a body: the first millisecond at or behind the instant, since 1970; null where there is none. */
export function msInBody(path: string, time: string | undefined): number | null {
  if (time === undefined) return null;
  const instant = parseTimestamp(time);
  if (instant !== null) return firstMsFrom(instant);
  const message = "must be a valid time";
  throw new AppError("validation_failed", `${path}: ${message}.`, { errors: [{ path, message }] });
}

/** A flag in a query: true or false; absent is false. */
export const FLAG = Type.Boolean({ default: false });

/** In a query: seconds to wait at most until what was sent before is done. */
export const WAIT = Type.Integer({ minimum: 0, maximum: 10, default: 0 });

/** As a client sends it: any text, so that the error for a wrong namespace can name its rule. */
export const IDENTIFIER = record({
  namespace: Type.String(),
  value: Type.String({ minLength: 1, maxLength: 1_024 }),
});
