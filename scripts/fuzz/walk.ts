import type { Json } from "../../gateway/openapi/operation.js";

/** An operation of an OpenAPI document. */
export interface Operation {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** Operations whose examples come before its own. */
  readonly after: readonly string[];
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
      after: (operation["x-after"] ?? []) as readonly string[],
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
    | string
    | undefined;

/** What came back. */
export interface Called {
  readonly status: number;
  readonly body: unknown;
}
/** An operation's example with the ids of this service. */
export interface Prepared {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  /** Path and query. */
  readonly target: string;
}

/** Calls the examples of a document on a service that has done nothing else. */
export function createWalk<Answer extends Called>(document: Json, send: (prepared: Prepared) => Promise<Answer>) {
  const operations = new Map(operationsOf(document).map((operation) => [operation.operationId, operation]));
  const sources = sourcesOf(document);
  const answers = new Map<string, Answer>();

  const find = (operationId: string): Operation => {
    const operation = operations.get(operationId);
    if (operation === undefined) throw new Error(`there is no operation ${operationId}`);
    return operation;
  };
  /** Its answer, once for all that come after it. */
  const call = async (operationId: string): Promise<Answer> => {
    const answer = answers.get(operationId) ?? (await send(await prepare(find(operationId))));
    answers.set(operationId, answer);
    return answer;
  };
  /** What makes something makes it anew for each that takes its id: one of them may delete it. */
  const source = async (operationId: string): Promise<Answer> => {
    const known = answers.get(operationId);
    if (known !== undefined && known.status === 200) return known;
    return known === undefined ? call(operationId) : send(await prepare(find(operationId)));
  };
  const prepare = async (operation: Operation): Promise<Prepared> => {
    const { operationId, after, path, parameters } = operation;
    for (const before of after) await call(before);
    const params: Record<string, string> = {};
    const query = new URLSearchParams();
    for (const { name, in: place, example } of parameters) {
      const from = sources.get(`${operationId} ${name}`);
      const value = from === undefined ? example : pointed((await source(from.operationId)).body, from.pointer);
      if (place === "path") params[name] = String(value);
      else if (place === "query" && value !== undefined) query.set(name, String(value));
    }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
    return { operation, params, target: query.size > 0 ? `${filled}?${query.toString()}` : filled };
  };

  return {
    operations: [...operations.values()],
    /** Calls what the operation's example depends on, and not the operation itself. */
    prepare,
    call,
  };
}
