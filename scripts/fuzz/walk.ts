import type { Json } from "../../gateway/openapi/operation.js";
import type { Route } from "../../gateway/route.js";

/** An operation of an OpenAPI document. */
export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: unknown;
  readonly role: string | null;
  /** The name of its security scheme; null: it needs no key. */
  readonly security: string | null;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly example?: string | number | boolean;
}

const record = (value: unknown) => (value ?? {}) as Readonly<Record<string, Json>>;

export const operationsOf = (document: Json): readonly Operation[] =>
  Object.entries(record(document["paths"])).flatMap(([path, methods]) =>
    Object.entries(record(methods)).map(([method, operation]) => ({
      operationId: String(operation["operationId"]),
      method: method.toUpperCase(),
      path,
      parameters: (operation["parameters"] ?? []) as readonly Parameter[],
      body: record(record(record(operation["requestBody"])["content"])["application/json"])["example"],
      role: (operation["x-role"] ?? null) as string | null,
      security: Object.keys((operation["security"] as readonly object[])[0] ?? {})[0] ?? null,
    })),
  );

/** Where the ids of an operation's path come from: operation, pointer. */
interface Source {
  readonly operationId: string;
  readonly pointer: string;
}

/** Target operation and parameter -> source, from all links of the document. */
function sourcesOf(document: Json): ReadonlyMap<string, Source> {
  const sources = new Map<string, Source>();
  for (const methods of Object.values(record(document["paths"])))
    for (const operation of Object.values(record(methods)))
      for (const response of Object.values(record(operation["responses"])))
        for (const link of Object.values(record(response["links"])))
          for (const [name, expression] of Object.entries(record(link["parameters"])))
            sources.set(`${String(link["operationId"])} ${name}`, {
              operationId: String(operation["operationId"]),
              pointer: /^\$response\.body#(\/.*)$/.exec(expression as unknown as string)![1]!,
            });
  return sources;
}

const pointed = (value: unknown, pointer: string) =>
  pointer
    .slice(1)
    .split("/")
    .reduce<unknown>((inner, name) => (inner as Readonly<Record<string, unknown>> | undefined)?.[name], value) as
    string | undefined;

/** One call, and what came back. */
export interface Called {
  readonly status: number;
  readonly body: unknown;
}
export interface Call {
  readonly operation: Operation;
  /** Path and query. */
  readonly target: string;
  readonly params: Readonly<Record<string, string>>;
}

/** The examples that each example comes after, besides those that its ids come from. */
export const orderOf = (rows: readonly Route[]): ReadonlyMap<string, readonly string[]> =>
  new Map(rows.map(({ operationId, example }) => [operationId, example.after ?? []]));

/** Calls the example of every operation of the document once, each after those that it depends on. Answers the calls in their order. */
export async function walkExamples<Answer extends Called>(
  document: Json,
  order: ReadonlyMap<string, readonly string[]>,
  send: (call: Call) => Promise<Answer>,
): Promise<readonly (Call & { readonly answer: Answer })[]> {
  const operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
  const sources = sourcesOf(document);
  const done = new Map<string, Call & { readonly answer: Answer }>();

  const called = async (operationId: string): Promise<Answer> => {
    const known = done.get(operationId);
    if (known !== undefined) return known.answer;
    const operation = operations.get(operationId);
    if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
    for (const before of order.get(operationId) ?? []) await called(before);
    const params: Record<string, string> = {};
    const query = new URLSearchParams();
    for (const { name, in: place, example } of operation.parameters) {
      const source = sources.get(`${operationId} ${name}`);
      const value = source === undefined ? example : pointed((await called(source.operationId)).body, source.pointer);
      if (place === "path") params[name] = String(value);
      else if (place === "query" && value !== undefined) query.set(name, String(value));
    }
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
    const call = { operation, params, target: query.size > 0 ? `${path}?${query.toString()}` : path };
    const answer = await send(call);
    done.set(operationId, { ...call, answer });
    return answer;
  };
  for (const operationId of operations.keys()) await called(operationId);
  return [...done.values()];
}
