import assert from "node:assert/strict";
import { eventually } from "../shared/async.js";
import {
  collect,
  email,
  expectProblem,
  expectStatus,
  folded,
  lookUp,
  visit,
  type Checks,
  type Json,
  type World,
} from "./world.js";

const UNKNOWN_ID = "01890000-0000-7000-8000-000000000000";
/** A revoked key is refused everywhere within 5 s. */
const REVOKED_MS = 6_000;

const makeKey = async ({ ask }: World, body: object): Promise<Json> =>
  expectStatus(await ask("POST", "/v1/keys", { body }), 201).body;
const paths = (body: Json): readonly unknown[] => (body["errors"] as readonly Json[]).map((error) => error["path"]);

/** What is refused, and with which words. */
export const REFUSALS: Checks = {
  "a missing and a wrong key are 401, an unknown operator key too": async ({ ask, fresh }) => {
    const missing = expectProblem(await ask("GET", "/v1/schemas", { key: null }), 401, "unauthenticated");
    assert.match(missing.headers["www-authenticate"] ?? "", /^Bearer/);
    expectProblem(await ask("GET", "/v1/schemas", { key: "onym_wrong" }), 401, "unauthenticated");
    const body = { name: fresh("workspace") };
    expectProblem(await ask("POST", "/v1/workspaces", { key: "x".repeat(32), body }), 401, "unauthenticated");
  },

  "a viewer may read and not write": async (world) => {
    const key = String((await makeKey(world, { role: "viewer" }))["key"]);
    expectStatus(await world.ask("GET", "/v1/schemas", { key }), 200);
    const body = visit({ email: `${world.fresh("viewer")}@example.com` });
    expectProblem(await world.ask("POST", "/v1/collect", { key, body }), 403, "insufficient_scope");
  },

  "a revoked key is refused": async (world) => {
    const { key_id: id, key } = await makeKey(world, { role: "viewer" });
    const ask = () => world.ask("GET", "/v1/schemas", { key: String(key) });
    expectStatus(await ask(), 200);
    const revoked = await world.ask("DELETE", `/v1/keys/${String(id)}`);
    assert.ok(revoked.status < 300, `answered ${revoked.status}`);
    await eventually(async () => expectStatus(await ask(), 401), REVOKED_MS);
  },

  "an event that does not match its schema is 422 and names the field": async ({ ask }) => {
    const answer = await ask("POST", "/v1/collect", { body: visit({ email: 7 }) });
    assert.deepEqual(paths(expectProblem(answer, 422, "validation_failed").body), ["email"]);
  },

  "an unknown schema, an unknown field and a wrong timestamp are 422": async ({ ask }) => {
    const good = visit({ email: "a@example.com" });
    const send = (body: object) => ask("POST", "/v1/collect", { body });
    expectProblem(await send({ ...good, schema_id: "nobody-made-it" }), 422, "unknown_schema");
    const unknown = expectProblem(await send({ ...good, workspace_id: "w" }), 422, "validation_failed");
    assert.deepEqual(paths(unknown.body), ["workspace_id"]);
    const late = expectProblem(await send({ ...good, timestamp: "2026-02-30T00:00:00Z" }), 422, "validation_failed");
    assert.deepEqual(paths(late.body), ["timestamp"]);
  },

  "a payload over the limit is 422": async ({ ask }) => {
    const body = visit({ email: "a@example.com", text: "x".repeat(300_000) });
    expectProblem(await ask("POST", "/v1/collect", { body }), 422, "payload_too_large");
  },

  "malformed JSON is 400, another content type 415": async ({ ask }) => {
    expectProblem(await ask("POST", "/v1/collect", { body: '{"schema_id":' }), 400, "invalid_json");
    const headers = { "Content-Type": "text/plain" };
    const answer = await ask("POST", "/v1/collect", { body: "{}", headers });
    expectProblem(answer, 415, "unsupported_media_type");
  },

  "an unknown route is 404, another method 405 with Allow, an unknown id 404": async ({ ask }) => {
    expectProblem(await ask("GET", "/v1/nothing"), 404, "not_found");
    const method = expectProblem(await ask("DELETE", "/v1/collect"), 405, "method_not_allowed");
    assert.equal(method.headers["allow"], "POST");
    expectProblem(await ask("GET", `/v1/profiles/${UNKNOWN_ID}`), 404, "not_found");
    expectProblem(await ask("GET", `/v1/events/${UNKNOWN_ID}`), 404, "not_found");
  },

  "a junk identifier links nobody": async ({ ask }) => {
    const body = { identifiers: [{ namespace: "user_id", value: "null" }] };
    expectProblem(await ask("POST", "/v1/identify", { body }), 422, "blocked_identifier");
  },

  "another workspace sees neither the event nor the profile": async (world) => {
    const { ask, stranger } = world;
    const name = world.fresh("private");
    const eventId = await collect(world, { email: `${name}@example.com` });
    await folded(world, eventId);
    const { profile_id: id } = await lookUp(world, email(name));
    expectProblem(await ask("GET", `/v1/events/${eventId}`, { key: stranger }), 404, "not_found");
    expectProblem(await ask("GET", `/v1/profiles/${String(id)}`, { key: stranger }), 404, "not_found");
    const body = { identifiers: [email(name)] };
    const found = expectStatus(await ask("POST", "/v1/profiles/lookup", { key: stranger, body }), 200);
    assert.deepEqual(found.body["profiles"], []);
  },
};
