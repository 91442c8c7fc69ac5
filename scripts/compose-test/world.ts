import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { eventually } from "../shared/async.js";
import { bodyOf, createWorkspace, openClient, type Answer as Sent, type Request } from "../shared/client.js";

export type Json = Readonly<Record<string, unknown>>;

/** `body` is empty when the answer has none. */
type Answer = Sent & { readonly body: Json };

/** By the owner's key unless another one is given; null: without a key. */
type Ask = (
  method: Request["method"],
  path: string,
  question?: Pick<Request, "body" | "headers"> & { readonly key?: string | null },
) => Promise<Answer>;

/** A workspace of its own with one schema and one dataset, and a second workspace beside it. */
export interface World {
  readonly ask: Ask;
  /** The key of the other workspace's owner. */
  readonly stranger: string;
  /** A name that no other call and no other run gave. */
  readonly fresh: (prefix: string) => string;
}

export type Checks = Readonly<Record<string, (world: World) => Promise<void>>>;

export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

const SCHEMA_ID = "visit";
const SCHEMA = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", format: "email", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    spent: { type: "number", "x-trait": { name: "largest_order", merge: "max" } },
  },
};

/** Longer than any deadline of the service, so that a hang is seen as one. */
const ANSWER_MS = 15_000;
const CONNECTIONS = 64;

export async function openWorld(url: string, operatorKey: string): Promise<World & { close(): void }> {
  const client = openClient(url, CONNECTIONS, ANSWER_MS);
  const asking =
    (owner: string): Ask =>
    async (method, path, { key = owner, ...question } = {}) => {
      const answer = await client.send({ method, path, ...question, ...(key !== null && { key }) });
      return { ...answer, body: answer.text === "" ? {} : bodyOf<Json>(answer) };
    };
  const run = randomBytes(4).toString("hex");
  let count = 0;
  const fresh = (prefix: string): string => `${prefix}-${run}-${(count += 1)}`;
  const makeWorkspace = async (): Promise<string> => {
    const { key } = await createWorkspace(client, operatorKey, fresh("compose-test"));
    const ask = asking(key);
    expectStatus(await ask("POST", "/v1/schemas", { body: { schema_id: SCHEMA_ID, schema: SCHEMA } }), 201);
    const dataset = { name: "visits", schema_id: SCHEMA_ID, unified_profile: true };
    expectStatus(await ask("POST", "/v1/datasets", { body: dataset }), 201);
    return key;
  };
  return { ask: asking(await makeWorkspace()), stranger: await makeWorkspace(), fresh, close: client.close };
}

/** The answer, if it has that status; else an error that shows what the service said instead. */
export function expectStatus(answer: Answer, status: number): Answer {
  assert.equal(answer.status, status, `answered ${answer.status}, not ${status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** A problem document with that status and code. */
export function expectProblem(answer: Answer, status: number, code: string): Answer {
  expectStatus(answer, status);
  assert.match(answer.headers["content-type"] ?? "", /^application\/problem\+json/);
  assert.equal(answer.body["code"], code);
  assert.match(String(answer.body["request_id"]), /./);
  return answer;
}

export const email = (value: string): Identifier => ({ namespace: "email", value: `${value}@example.com` });
export const visit = (payload: Json, timestamp = new Date().toISOString()) => ({
  schema_id: SCHEMA_ID,
  timestamp,
  payload,
});

/** Sends an event and answers its id. */
export async function collect({ ask }: World, payload: Json, idempotencyKey?: string): Promise<string> {
  const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  const sent = expectStatus(await ask("POST", "/v1/collect", { body: visit(payload), headers }), 202);
  assert.equal(sent.body["status"], "accepted");
  return String(sent.body["event_id"]);
}

const SETTLE_MS = 30_000;

/** The event, once a worker has folded it. */
export const folded = ({ ask }: World, eventId: string): Promise<Json> =>
  eventually(async () => {
    const { body } = expectStatus(await ask("GET", `/v1/events/${eventId}`), 200);
    assert.equal(body["status"], "folded");
    return body;
  }, SETTLE_MS);

/** The profile of one identifier. */
export async function lookUp({ ask }: World, identifier: Identifier): Promise<Json> {
  const body = { identifiers: [identifier] };
  const answer = expectStatus(await ask("POST", "/v1/profiles/lookup", { body }), 200);
  const [profile] = answer.body["profiles"] as readonly Json[];
  assert.ok(profile !== undefined, `no profile of ${identifier.namespace}`);
  return profile;
}

/** Identify, answered with 200. */
export async function identify({ ask }: World, identifiers: readonly Identifier[]): Promise<Json> {
  return expectStatus(await ask("POST", "/v1/identify", { body: { identifiers } }), 200).body;
}
