import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createClient, eventually, type Answer, type Ask, type Json } from "./client.js";

/** A workspace of its own with one schema and one dataset, and a second workspace beside it. */
export interface World {
  readonly ask: Ask;
  readonly operatorKey: string;
  readonly owner: string;
  readonly stranger: string;
  /** A name that no other call and no other run gave. */
  readonly fresh: (prefix: string) => string;
}

export type Checks = Readonly<Record<string, (world: World) => Promise<void>>>;

export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

export const SCHEMA_ID = "visit";
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

export async function openWorld(url: string, operatorKey: string): Promise<World> {
  const ask = createClient(url);
  const run = randomBytes(4).toString("hex");
  let count = 0;
  const fresh = (prefix: string): string => `${prefix}-${run}-${(count += 1)}`;
  const owner = await makeWorkspace(ask, operatorKey, fresh("compose-test"));
  const stranger = await makeWorkspace(ask, operatorKey, fresh("compose-test"));
  for (const key of [owner, stranger]) {
    expectStatus(await ask("POST", "/v1/schemas", { key, body: { schema_id: SCHEMA_ID, schema: SCHEMA } }), 201);
    const dataset = { name: "visits", schema_id: SCHEMA_ID, unified_profile: true };
    expectStatus(await ask("POST", "/v1/datasets", { key, body: dataset }), 201);
  }
  return { ask, operatorKey, owner, stranger, fresh };
}

async function makeWorkspace(ask: Ask, operatorKey: string, name: string): Promise<string> {
  const answer = expectStatus(await ask("POST", "/v1/workspaces", { key: operatorKey, body: { name } }), 201);
  return String(answer.body["key"]);
}

/** The answer, if it has that status; else an error that shows what the service said instead. */
export function expectStatus(answer: Answer, status: number): Answer {
  assert.equal(answer.status, status, `answered ${answer.status}, not ${status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

/** A problem document with that status and code. */
export function expectProblem(answer: Answer, status: number, code: string): Answer {
  expectStatus(answer, status);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/);
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
export async function collect({ ask, owner }: World, payload: Json, idempotencyKey?: string): Promise<string> {
  const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  const sent = expectStatus(await ask("POST", "/v1/collect", { key: owner, body: visit(payload), headers }), 202);
  assert.equal(sent.body["status"], "accepted");
  return String(sent.body["event_id"]);
}

/** The event, once a worker has folded it. */
export const folded = ({ ask, owner }: World, eventId: string): Promise<Json> =>
  eventually(async () => {
    const { body } = expectStatus(await ask("GET", `/v1/events/${eventId}`, { key: owner }), 200);
    assert.equal(body["status"], "folded");
    return body;
  });

/** The profile of one identifier. */
export async function lookUp({ ask, owner }: World, identifier: Identifier, key = owner): Promise<Json> {
  const body = { identifiers: [identifier] };
  const answer = expectStatus(await ask("POST", "/v1/profiles/lookup", { key, body }), 200);
  const [profile] = answer.body["profiles"] as readonly Json[];
  assert.ok(profile !== undefined, `no profile of ${identifier.namespace}`);
  return profile;
}

/** Identify, answered with 200. */
export async function identify({ ask, owner }: World, identifiers: readonly Identifier[]): Promise<Json> {
  return expectStatus(await ask("POST", "/v1/identify", { key: owner, body: { identifiers } }), 200).body;
}
