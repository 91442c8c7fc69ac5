import { Type, type TProperties, type TSchema } from "typebox";
import { UUID_PATTERN } from "../../core/ids.js";

/** Nothing beside what is named: an unknown member is refused in a request, and fails the tests in an answer. */
export const record = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** One type of two names: for a union, one wrong value would be two problems. */
export const integerOrNull = (minimum: number, maximum: number) =>
  Type.Unsafe<number | null>({ type: ["integer", "null"], minimum, maximum });

export const UUID = Type.String({ pattern: UUID_PATTERN, title: "UUID" });
export const TIME = Type.String({ pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$` });

/** In a path; of no other form is there such a `name`. */
export const idOf = (name: string) => Type.String({ pattern: UUID_PATTERN, title: name });
export const nameOf = (name: string) => Type.String({ title: name });

/** In a query: yes or no; absent is no. */
export const FLAG = Type.Boolean({ default: false });

/** As a client sends it: any text, so that a name of the wrong form is told its own rule. */
export const IDENTIFIER = record({
  namespace: Type.String(),
  value: Type.String({ minLength: 1, maxLength: 1_024 }),
});
