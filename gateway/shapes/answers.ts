import { Type, type TSchema } from "typebox";
import { problemSchema } from "../http/error-response.js";
import type { Responses, Route } from "../route.js";

/** Answers of every route: a wrong parameter or header, a request that is too slow or cannot be met, and failures of ours. */
const ALWAYS = [400, 406, 408, 417, 431, 500, 503];

/** Those of routes for SDKs, which need a `message` too; what never comes to a route has none. */
const SDK_STATUSES = [400, 401, 403, 404, 406, 408, 413, 415, 417, 429, 431, 500];

const withMessage = (statuses: readonly number[]): Responses =>
  Object.fromEntries(
    statuses.map((status) => [status, problemSchema(status, { message: Type.Optional(Type.String()) })]),
  );

export const SDK_REFUSALS = withMessage(SDK_STATUSES);
/** Of the one that needs no key. */
export const OPEN_SDK_REFUSALS = withMessage([400, 406, 408, 417, 431, 500]);

/** Every status that the route can answer, with the schema of its body. */
export function answersOf({ access, params, body, responses }: Route): Responses {
  // Each of them has its own form of every refusal in its row.
  if (access.kind === "write_key") return responses;
  const statuses = [
    ...ALWAYS,
    // 429: too many failed authentications.
    ...(access.kind === "open" ? [] : [401, 429]),
    ...(access.kind === "role" ? [403] : []),
    ...(params === undefined ? [] : [404]),
    ...(body === undefined ? [] : [415, 422]),
  ];
  const problems = statuses.map((status): readonly [number, TSchema] => [status, problemSchema(status)]);
  return { ...Object.fromEntries(problems), ...responses };
}
