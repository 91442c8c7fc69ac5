import { STATUS_CODES } from "node:http";
import { Type, type TProperties, type TSchema } from "typebox";
import type { Access, Answered, Route } from "../route.js";
import { answersOf } from "../shapes/answers.js";
import { hasEtagAt, takesIfMatch } from "../shapes/etag.js";

/** An object of the document. */
export type Json = Readonly<Record<string, unknown>>;

/** Entries without those that are undefined. */
const present = (json: Json): Json =>
  Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));

/** One row as an OpenAPI operation. `links`: status -> what the answer leads to. */
export function operationOf(row: Route, links: ReadonlyMap<number, Json>): Json {
  const { operationId, tag, summary, access } = row;
  const parameters = [...pathParameters(row), ...queryParameters(row), ...headerParameters(row)];
  return present({
    operationId,
    tags: [tag],
    summary,
    description: [row.description, alsoAt(row), needs(access)].filter((part) => part !== undefined).join("\n\n"),
    security: SECURITY[access.kind],
    "x-role": access.kind === "role" ? access.role : undefined,
    parameters: parameters.length === 0 ? undefined : parameters,
    // Its example works where theirs were called.
    "x-after": row.example.after,
    requestBody: requestBodyOf(row),
    responses: responsesOf(row, links),
  });
}

const SECURITY: Readonly<Record<Access["kind"], readonly Json[]>> = {
  role: [{ apiKey: [] }],
  // Or nothing in the head: SDKs also send it in the query, the body or the path.
  write_key: [{ writeKey: [] }, {}],
  operator: [{ operatorKey: [] }],
  open: [],
};

export const SECURITY_SCHEMES = {
  apiKey: { type: "http", scheme: "bearer", description: "A key of a workspace: `onym_...`." },
  writeKey: {
    type: "http",
    scheme: "basic",
    description: "A collect-only key as the user name, without a password. SDKs also send it in other places.",
  },
  operatorKey: { type: "http", scheme: "bearer", description: "The setting `OPERATOR_KEY` of the installation." },
};

const alsoAt = ({ also = [] }: Route): string | undefined =>
  also.length === 0 ? undefined : `Also at ${also.map((path) => `\`${path}\``).join(", ")}.`;

function needs(access: Access): string {
  if (access.kind === "open") return "Needs no key.";
  if (access.kind === "write_key") return 'Needs a **collect-only key** (`send: "collect"`).';
  if (access.kind === "operator") return "Needs the **operator key**.";
  const { role, send } = access;
  const others = {
    collect: "; any sending key works too",
    all: '; a key with `send: "all"` works too',
  } as const;
  return `Needs a key of role **${role}** or higher${send === undefined ? "" : others[send]}.`;
}

const shownOf = (value: string | Answered | undefined): string | undefined =>
  typeof value === "object" ? value.shown : value;

const pathParameters = ({ params = {}, example }: Route): readonly Json[] =>
  Object.entries(params).map(([name, schema]) => {
    // The title says in a refusal what there is none of.
    const { title, ...rest } = schema as TSchema & { readonly title?: string };
    return present({
      name,
      in: "path",
      required: true,
      description: title,
      schema: rest,
      example: shownOf(example.params?.[name]),
    });
  });

function queryParameters({ query = {}, example }: Route): readonly Json[] {
  const required = new Set(requiredOf(query));
  return Object.entries(query).map(([name, schema]) =>
    present({
      name,
      in: "query",
      required: required.has(name) && !("default" in schema),
      schema,
      example: example.query?.[name],
    }),
  );
}
const requiredOf = (properties: TProperties): readonly string[] =>
  (Type.Object(properties) as { readonly required?: readonly string[] }).required ?? [];

const headerParameters = (row: Route): readonly Json[] => [
  ...(row.bodyIs === "event" || row.bodyIs === "batch" ? [IDEMPOTENCY_KEY] : []),
  ...(takesIfMatch(row) ? [IF_MATCH] : []),
];
const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "A retry with the same key and body gets the same events, which are stored once.",
  schema: { type: "string", pattern: "^[\\x20-\\x7e]{1,255}$" },
};
const IF_MATCH = {
  name: "If-Match",
  in: "header",
  required: false,
  description: "`*`, or the `ETag` that was read before; 412 if it has changed meanwhile.",
  schema: { type: "string" },
};

const LINES = { type: "string", description: "One event on each line, gzip or not." };

function requestBodyOf({ body, bodyIs, example }: Route): Json | undefined {
  if (body === undefined) return undefined;
  const content = present({ schema: body, example: example.body });
  return {
    required: bodyIs !== "optional",
    content: {
      "application/json": content,
      ...(bodyIs === "lines" && {
        "application/x-ndjson": { schema: { ...LINES, description: "Lines of exports, gzip or not." } },
      }),
      ...(bodyIs === "batch" && { "application/x-ndjson": { schema: LINES } }),
    },
  };
}

function responsesOf(row: Route, links: ReadonlyMap<number, Json>): Json {
  const answers = Object.entries(answersOf(row)).map(([status, schema]): readonly [string, Json] => {
    if (!(status in row.responses)) return [status, { $ref: `#/components/responses/${refusalName(Number(status))}` }];
    const link = links.get(Number(status));
    const answer = contentOf(row, Number(status), schema);
    return [status, { ...answer, ...(link && { links: link }) }];
  });
  return Object.fromEntries(answers);
}

export const refusalName = (status: number): string => (STATUS_CODES[status] ?? "").replaceAll(/[^A-Za-z]/g, "");

/** An answer of a route, or one that many routes give. */
export function answerOf(status: number, schema: TSchema | null): Json {
  const description = STATUS_CODES[status] ?? "";
  if (schema === null) return { description };
  const codes = codesOf(schema);
  return present({
    description: codes === null ? description : `${description}: ${codes.map((code) => `\`${code}\``).join(", ")}`,
    headers: HEADERS[status],
    content: { [codes === null ? "application/json" : "application/problem+json"]: { schema } },
  });
}

/** OpenAPI 3.1 has no word for the schema of a line, so each is said to be all of the body. */
function contentOf(row: Route, status: number, schema: TSchema | null): Json {
  if (row.answersLines === true) return linesOf(status, schema!);
  if (row.answersEvents === true) return eventsOf(status, schema!);
  const answer = answerOf(status, schema);
  return hasEtagAt(row, status) ? { ...answer, headers: ETAG } : answer;
}

/** Each event as a client reads it: its data is text that is JSON by itself. */
function eventsOf(status: number, schema: TSchema): Json {
  const json = { type: "string", contentMediaType: "application/json" };
  const anyOf = [
    sentEvent({ const: "event" }, { ...json, contentSchema: schema }),
    sentEvent({ type: "string" }, json),
  ];
  return {
    description: `${STATUS_CODES[status] ?? ""}: server-sent events`,
    content: { "text/event-stream": { schema: { anyOf } } },
  };
}

const sentEvent = (event: Json, data: Json): Json => ({
  type: "object",
  required: ["event", "data"],
  additionalProperties: false,
  properties: { event, data },
});

const linesOf = (status: number, schema: TSchema): Json => ({
  description: `${STATUS_CODES[status] ?? ""}: an object on each line`,
  content: { "application/x-ndjson": { schema } },
});

/** The codes of a problem; null for another body. */
function codesOf(schema: TSchema): readonly string[] | null {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, { readonly enum?: string[] }>> };
  return properties !== undefined && "request_id" in properties ? (properties["code"]?.enum ?? []) : null;
}

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait before the next try.", schema: { type: "integer", minimum: 0 } },
};
const ETAG = { ETag: { description: "For `If-Match`.", schema: { type: "string" } } };
const RATE_LIMITS = {
  RateLimit: {
    description: "What is left of a limit, and the seconds until it is whole again.",
    schema: { type: "string" },
  },
  "RateLimit-Policy": { description: "How much a limit allows in how many seconds.", schema: { type: "string" } },
};
const HEADERS: Readonly<Record<number, Json>> = {
  401: { "WWW-Authenticate": { description: "How to authenticate.", schema: { type: "string" } } },
  429: { ...RETRY_AFTER, ...RATE_LIMITS },
  503: RETRY_AFTER,
};
