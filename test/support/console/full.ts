import assert from "node:assert/strict";
import { textAt, until, type App, type TestWorkspace } from "../service/app.js";

/** What a sender controls. */
export interface Sent {
  readonly name: string;
  readonly value: string;
}

/** A workspace with something on every page, all of it named and filled with texts of somebody's choice. */
export async function fullWorkspace(app: App, { name, value }: Sent): Promise<TestWorkspace> {
  const workspace = await app.workspace(name);
  const send = async (method: string, path: string, body?: unknown): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await workspace.send(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const settings = { unplanned: "quarantine", violations: "mark", keep_rejects: true };
  await send("PUT", "/v1/sdk/settings", settings);
  const schemaId = await workspace.schema({
    type: "object",
    title: name,
    description: value,
    properties: {
      cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
      login: { type: "string", "x-identity": { namespace: "user_id" } },
      city: { type: "string", "x-trait": { name: "city" } },
      age: { type: "integer" },
    },
  });
  await send("POST", "/v1/datasets", { name, schema_id: schemaId, unified_profile: true });
  const event = await workspace.collect(schemaId, { cookie: value, login: "u-1", city: value, [name]: value });
  assert.equal(event.status, 202, event.text);
  await workspace.settled(event.body["event_id"]);
  await workspace.collect(schemaId, { cookie: value, age: value, [name]: value });
  await send("POST", "/v1/identify", {
    identifiers: [
      { namespace: "cookie_id", value },
      { namespace: "device_id", value },
    ],
  });
  await send("POST", "/v1/keys", { role: "editor", send: "collect", name });
  const audience = await send("POST", "/v1/audiences", { name, rule: { "traits.city": value } });
  await send("POST", "/v1/audiences", { name: "refers", rule: { $audience: textAt(audience, "audience_id") } });
  const headers = { Authorization: `Basic ${Buffer.from(`${await workspace.key("collect")}:`).toString("base64")}` };
  const track = { type: "track", event: name.slice(0, 200), userId: value, properties: { [name]: value } };
  const tracked = await app.send("POST", "/v1/track", { body: track, headers });
  assert.equal(tracked.status, 200, tracked.text);
  await send("POST", "/v1/identity/unlink", {
    from: { namespace: "cookie_id", value },
    to: { namespace: "device_id", value },
    forbid: true,
  });
  await send("POST", "/v1/erasures", { identifiers: [{ namespace: "device_id", value }], suppress: true });
  await until(
    () => workspace.send("GET", "/v1/dead-letters"),
    ({ body }) => (body["dead_letters"] as unknown[]).length >= 2,
  );
  await until(
    () => workspace.send("GET", "/v1/feed"),
    ({ body }) => Number(body["head"]) >= 2,
  );
  return workspace;
}
