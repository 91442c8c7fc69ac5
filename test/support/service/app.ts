import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startService, type Service, type ServiceOptions } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import type { Log } from "../../../core/log.js";
import { checkAnswer } from "./check-answer.js";
import { atEnd, removeFolder, sharedPrefix } from "../ends.js";
import { placesOf } from "../servers/servers.js";

export const OPERATOR_KEY = "operator-key-of-the-tests";

/** What came back. `body` is the parsed JSON, or an empty object where there was none. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Sending {
  readonly key?: string | null;
  /** An object is sent as JSON, a string or Buffer as it is. */
  readonly body?: unknown;
  readonly headers?: http.OutgoingHttpHeaders;
}

/** One for each service: closing one must not cut the requests to another. */
const agents = new Map<string, http.Agent>();
function agentOf(url: string): http.Agent {
  const agent = agents.get(url) ?? new http.Agent({ keepAlive: true });
  agents.set(url, agent);
  return agent;
}

const bytesOf = (body: unknown): Buffer | null => {
  if (body === undefined) return null;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
};

/** One request, with the headers that an ordinary client sends unless `headers` says otherwise. */
export function send(url: string, method: string, target: string, sending: Sending = {}): Promise<Answer> {
  const bytes = bytesOf(sending.body);
  const headers: http.OutgoingHttpHeaders = {
    ...(typeof sending.key === "string" && { Authorization: `Bearer ${sending.key}` }),
    ...(bytes !== null && { "Content-Type": "application/json", "Content-Length": bytes.length }),
    ...sending.headers,
  };
  const agent = agentOf(url);
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(url), { method, path: target, headers, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        const { statusCode: status = 0, headers: answered } = response;
        try {
          const etag = answered.etag ?? null;
          checkAnswer(method, target, { status, contentType: answered["content-type"], text, etag });
          const isJson = /[/+]json/.test(answered["content-type"] ?? "") && text !== "";
          resolve({ status, headers: answered, text, body: (isJson ? JSON.parse(text) : {}) as Answer["body"] });
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on("error", reject);
    request.end(bytes ?? undefined);
  });
}

/** The value at a dotted path, or undefined. */
export const at = (value: unknown, dotted: string): unknown =>
  dotted
    .split(".")
    .reduce<unknown>((inner, name) => (inner as Readonly<Record<string, unknown>> | undefined)?.[name], value);

export const textAt = (value: unknown, dotted: string): string => String(at(value, dotted));
export const listAt = (value: unknown, dotted: string): readonly unknown[] => at(value, dotted) as readonly unknown[];

/** `path` of each error item, sorted. */
export const errorPaths = ({ body }: Answer): readonly string[] =>
  listAt(body, "errors")
    .map((item) => textAt(item, "path"))
    .toSorted();

export const SIGNUP_SCHEMA = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    age: { type: "integer", minimum: 0 },
  },
};

export type Caller = "viewer" | "editor" | "admin" | "owner" | "collect" | "all";

export interface TestWorkspace {
  readonly id: string;
  /** A key of the role, made at the first call. */
  key(caller: Caller): Promise<string>;
  /** With the owner key. */
  send(method: string, target: string, body?: unknown, headers?: http.OutgoingHttpHeaders): Promise<Answer>;
  as(caller: Caller, method: string, target: string, body?: unknown): Promise<Answer>;
  /** Registers the schema, and a dataset of it unless `unified` is null. Answers its id. */
  schema(schema?: unknown, unified?: boolean | null): Promise<string>;
  collect(schemaId: string, payload: unknown, headers?: http.OutgoingHttpHeaders): Promise<Answer>;
  inline(schemaId: string, payload: unknown): Promise<Answer>;
  /** Waits until the event is there and no longer merely stored (or `stored`, where that is all it becomes). */
  settled(eventId: unknown, status?: "folded" | "stored" | "dead" | "dropped"): Promise<Answer>;
}

export interface App {
  readonly url: string;
  readonly service: Service;
  /** Log records as JSON text. */
  readonly records: readonly string[];
  send(method: string, target: string, sending?: Sending): Promise<Answer>;
  workspace(name?: string): Promise<TestWorkspace>;
  close(): Promise<void>;
}

export const now = (): string => new Date().toISOString();
export const submission = (schemaId: string, payload: unknown) => ({
  schema_id: schemaId,
  timestamp: now(),
  payload,
});

const WAIT_MS = 15_000;
const PAUSE_MS = 10;

/** Asks until `isDone`, at most fifteen seconds: a busy machine must not fail a test. Answers the last answer, so that the test can say what was wrong. */
export async function until(ask: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const answer = await ask();
    if (isDone(answer) || Date.now() > deadline) return answer;
    await sleep(PAUSE_MS);
  }
}

/** The workspace as it is seen through the process at this address. */
export function workspaceOf(url: string, id: string, owner: string): TestWorkspace {
  const keys = new Map<Caller, Promise<string>>([["owner", Promise.resolve(owner)]]);
  const ask = (method: string, target: string, body?: unknown, headers: http.OutgoingHttpHeaders = {}) =>
    send(url, method, target, { key: owner, body, headers });
  const make = async (caller: Caller): Promise<string> => {
    const sends = caller === "collect" || caller === "all";
    const body = sends ? { role: "editor", send: caller } : { role: caller };
    return textAt((await ask("POST", "/v1/keys", body)).body, "key");
  };
  const key = (caller: Caller): Promise<string> => {
    const known = keys.get(caller) ?? make(caller);
    keys.set(caller, known);
    return known;
  };
  return {
    id,
    key,
    send: ask,
    as: async (caller, method, target, body) => send(url, method, target, { key: await key(caller), body }),
    schema: async (schema = SIGNUP_SCHEMA, unified = true) => {
      const made = await ask("POST", "/v1/schemas", { schema });
      assert.equal(made.status, 201, made.text);
      const schemaId = textAt(made.body, "schema_id");
      if (unified === null) return schemaId;
      const dataset = await ask("POST", "/v1/datasets", { name: "d", schema_id: schemaId, unified_profile: unified });
      assert.equal(dataset.status, 201, dataset.text);
      return schemaId;
    },
    collect: (schemaId, payload, headers) => ask("POST", "/v1/collect", submission(schemaId, payload), headers),
    inline: (schemaId, payload) => ask("POST", "/v1/collect?syncValidation=true", submission(schemaId, payload)),
    settled: (eventId, status = "folded") =>
      until(
        () => ask("GET", `/v1/events/${String(eventId)}`),
        ({ body }) => body["status"] === status,
      ),
  };
}

const memoryLog = (records: string[]): Log => {
  const keep = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void records.push(JSON.stringify({ ...fields, message }));
  return { info: keep, warn: keep, error: keep };
};

export type Settings = Readonly<Record<string, string>>;

/** A whole service on a free port with a store of its own. */
export async function startApp(
  settings: Settings = {},
  options: Partial<ServiceOptions> = {},
  prefix = "onym-",
): Promise<App> {
  const folder = await mkdtemp(path.join(tmpdir(), prefix));
  const records: string[] = [];
  // A folder of the test's own outlives this service, and so do the places that go with it.
  const kept = settings["DATA_DIR"];
  const places = placesOf(kept ?? folder);
  const config = readConfig({
    PORT: "0",
    DATA_DIR: folder,
    OPERATOR_KEY,
    INLINE_PER_MINUTE: "100000",
    AUTH_FAILURES_PER_MINUTE: "100000",
    // A busy machine is no reason to refuse the schema of a test.
    SCHEMA_COMPILE_MS: "5000",
    VALIDATION_MS: "5000",
    ...places,
    ...settings,
  });
  const service = await startService({ config, log: memoryLog(records), ...options });
  return {
    url: service.url,
    service,
    records,
    send: (method, target, sending) => send(service.url, method, target, sending),
    workspace: async (name = `w-${randomUUID()}`) => {
      const made = await send(service.url, "POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name } });
      return workspaceOf(service.url, textAt(made.body, "workspace_id"), textAt(made.body, "key"));
    },
    close: async () => {
      agentOf(service.url).destroy();
      agents.delete(service.url);
      await service.close();
      if (kept === undefined) await removeFolder(folder);
      else await rm(folder, { recursive: true, force: true });
    },
  };
}

let shared: App | null = null;

async function startShared(): Promise<App> {
  shared ??= await startApp({}, {}, sharedPrefix(process.ppid));
  atEnd(async () => {
    const closing = shared;
    shared = null;
    await closing?.close();
  });
  return shared;
}

/**
 * The service for the tests of the `describe` that it is called in. Without settings of its own it is one that all files share:
 * each test makes its own workspace.
 */
export function useApp(settings: Settings | null = null, options: Partial<ServiceOptions> = {}): () => App {
  let app: App | null = null;
  before(async () => {
    app = settings === null ? await startShared() : await startApp(settings, options);
  });
  after(async () => {
    if (app !== shared) await app?.close();
  });
  return () => {
    if (app === null) throw new Error("ask for the app inside of a test");
    return app;
  };
}
