import assert from "node:assert/strict";
import { Ajv, type ValidateFunction } from "ajv";
import { Type, type TSchema } from "typebox";
import type { Services } from "../../../commands/services.js";
import { problemSchema } from "../../../gateway/http/error-response.js";
import { withDocument } from "../../../gateway/openapi/route.js";
import { createRoutes } from "../../../gateway/routes.js";
import { healthRoutes } from "../../../gateway/routes/watch/health.js";
import { isOfSdks, type Responses } from "../../../gateway/route.js";
import { answersOf } from "../../../gateway/shapes/answers.js";
import { hasEtagAt } from "../../../gateway/shapes/etag.js";

/** The rows need no ports until a route is called. */
const NO_SERVICES = { limits: { identifiersMax: 20 } } as unknown as Services;
export const ROWS = withDocument([
  ...createRoutes(NO_SERVICES),
  ...healthRoutes({ readiness: () => ({ isReady: true, checks: {}, reasons: {} }) }),
]);
const ROUTES = ROWS.map((route) => ({
  method: route.method.toUpperCase(),
  cors: route.cors === true,
  isOfSdks: isOfSdks(route),
  answersLines: route.answersLines === true,
  answersEvents: route.answersEvents === true,
  hasEtag: route.hasEtag === true,
  pattern: new RegExp(`^(?:${[route.path, ...(route.also ?? [])].join("|").replaceAll(/:\w+/g, "[^/]+")})$`),
  // Without an operator key those routes do not exist.
  answers: {
    ...(route.access.kind === "operator" ? { 404: problemSchema(404) } : {}),
    ...answersOf(route),
  } as Responses,
}));
/** Where there is no such route, no such method, or no path that can be read. */
const noRoute = (members = {}): Responses =>
  Object.fromEntries([400, 404, 405, 417, 431, 408].map((s) => [s, problemSchema(s, members)]));
const NO_ROUTE = noRoute();
const NO_ROUTE_OF_SDKS = noRoute({ message: Type.String() });

/** For a browser, not of the API. */
const CONSOLE = /^\/console(?:\/|$)/;
const PAGES = /^\/(?:docs(?:\/[a-z0-9./-]+)?)?$/;

const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true });
const compiled = new Map<TSchema, ValidateFunction>();
const compile = (schema: TSchema): ValidateFunction => {
  const known = compiled.get(schema) ?? ajv.compile(schema);
  compiled.set(schema, known);
  return known;
};

export interface AnswerToCheck {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
  /** Null: it has none. Absent: that is not asked. */
  readonly etag?: string | null;
}

/** Holds an answer against the row of its route: a status, a member or a value that the row does not name fails. */
export function checkAnswer(method: string, target: string, { status, contentType, text, etag }: AnswerToCheck): void {
  const [path = ""] = target.split("?");
  const plain = path.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  // For Prometheus, not of the API either.
  if (path === "/metrics" || CONSOLE.test(path) || (PAGES.test(path) && status < 400)) return;
  const asked = method === "HEAD" ? "GET" : method;
  // Two rows may share a path: then the key's place decides which one answers.
  const rows = ROUTES.filter(({ method, pattern }) => method === asked && (pattern.test(path) || pattern.test(plain)));
  if (method === "OPTIONS" && status === 204) {
    const isForPages = ROUTES.some(({ cors, pattern }) => cors && (pattern.test(path) || pattern.test(plain)));
    return assert.ok(isForPages && text === "", `${method} ${path}: a preflight of a route that is not for pages`);
  }
  // A worker has none of the routes of a gateway.
  const isUnknown = status === 404 && text.includes('"There is no such route."');
  const isForSdks = ROUTES.some(({ isOfSdks: is, pattern }) => is && (pattern.test(path) || pattern.test(plain)));
  const none = isForSdks ? [NO_ROUTE, NO_ROUTE_OF_SDKS] : [NO_ROUTE];
  const answers = isUnknown || rows.length === 0 ? none : rows.map((row) => row.answers);
  const what = `${method} ${path}: ${status}`;
  const schemas = answers.flatMap(({ [status]: schema }) => (schema === undefined ? [] : [schema]));
  const [schema] = schemas;
  assert.ok(schema !== undefined, `${what} is not in the row of the route: ${text.slice(0, 500)}`);
  if (etag !== undefined)
    assert.equal(
      etag !== null,
      rows.some((row) => hasEtagAt(row, status)),
      `${what}: its ETag`,
    );
  if (method === "HEAD") return assert.equal(text, "", what);
  if (schema === null) return assert.deepEqual([text, contentType], ["", undefined], what);
  if (rows.some(({ answersEvents }) => answersEvents) && status === 200)
    return checkEvents(schema, text, contentType, what);
  if (rows.some(({ answersLines }) => answersLines) && status === 200)
    return checkLines(schema, text, contentType, what);
  assert.equal(contentType, `application/${isProblem(schema) ? "problem+json" : "json"}; charset=utf-8`, what);
  const validate = compile(schema);
  const body: unknown = JSON.parse(text);
  if (validate(body) || schemas.some((other) => other !== null && compile(other)(body))) return;
  assert.fail(`${what} is not as its row says: ${ajv.errorsText(validate.errors)} ${text.slice(0, 1_000)}`);
}

/** Each line is as the row says; so is the last one, which stands there once. */
function checkLines(schema: TSchema, text: string, contentType: string | undefined, what: string): void {
  assert.equal(contentType, "application/x-ndjson; charset=utf-8", what);
  assert.ok(text.endsWith("\n"), what);
  const validate = compile(schema);
  const lines = text.slice(0, -1).split("\n");
  for (const [n, line] of lines.entries()) {
    const one = JSON.parse(line) as { readonly type: string };
    assert.ok(
      validate(one),
      `${what} is not as its row says: ${ajv.errorsText(validate.errors)} ${line.slice(0, 500)}`,
    );
    assert.equal(one.type === "end", n === lines.length - 1, what);
  }
}

/** The data of each `event` is as the row says. */
function checkEvents(schema: TSchema, text: string, contentType: string | undefined, what: string): void {
  assert.equal(contentType, "text/event-stream; charset=utf-8", what);
  const validate = compile(schema);
  for (const [, data] of text.matchAll(/^event: event\ndata: (.*)$/gm))
    assert.ok(
      validate(JSON.parse(data!)),
      `${what} is not as its row says: ${ajv.errorsText(validate.errors)} ${data}`,
    );
}

const isProblem = (schema: TSchema): boolean =>
  "properties" in schema && Object.hasOwn(schema.properties as object, "request_id");
