import assert from "node:assert/strict";
import { encodeMessage } from "../../core/event/message.js";
import type { EventId, WorkspaceId } from "../../core/ids.js";
import {
  at,
  listAt,
  SIGNUP_SCHEMA,
  submission,
  textAt,
  useApp,
  type Answer,
  type TestWorkspace,
} from "../support/service/app.js";

const DAY_MS = 86_400_000;
const ADA = { email: "ada@example.com", city: "Paris", age: 36 };

/** What retention is to leave as it is. */
async function profileOf(workspace: TestWorkspace): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await workspace.send("POST", "/v1/profiles/lookup", {
    identifiers: [{ namespace: "email", value: ADA.email }],
  });
  const profile = listAt(body, "profiles")[0];
  const names = ["profile_id", "traits", "identifiers", "event_count", "first_seen", "last_seen"];
  return Object.fromEntries(names.map((name) => [name, at(profile, name)]));
}

/** With the years of all events together, and how many had a city. */
const SUMMING = {
  ...SIGNUP_SCHEMA,
  properties: {
    ...SIGNUP_SCHEMA.properties,
    city: { ...SIGNUP_SCHEMA.properties.city, allOf: [{ "x-trait": { name: "cities", merge: "count" } }] },
    age: { type: "integer", "x-trait": { name: "years", merge: "sum" } },
  },
};

describe("an event whose retention is over", () => {
  const ahead = new Map<WorkspaceId, number>();
  const running = useApp({}, { ahead: (workspace) => ahead.get(workspace) ?? 0 });

  const pass = async (workspace: TestWorkspace, days: number): Promise<void> => {
    const id = workspace.id as WorkspaceId;
    ahead.set(id, (ahead.get(id) ?? 0) + days * DAY_MS);
    await running().service.keeper!.rest();
  };
  const eventOf = (workspace: TestWorkspace, eventId: string): Promise<Answer> =>
    workspace.send("GET", `/v1/events/${eventId}`);

  it("goes, and its profile, its retry and its redelivery are as they were", async () => {
    const workspace = await running().workspace();
    const schemaId = await workspace.schema(SUMMING);
    await workspace.send("POST", "/v1/datasets", { name: "short", schema_id: schemaId, retention_days: 7 });
    const long = await workspace.send("GET", "/v1/datasets");
    const unlimited = textAt(listAt(long.body, "datasets")[0], "dataset_id");
    const retry = { "Idempotency-Key": "order-1" };
    const request = submission(schemaId, ADA);
    const sent = await workspace.send("POST", "/v1/collect", request, retry);
    const body = JSON.parse(sent.text) as { readonly event_id: string };
    await workspace.settled(body.event_id);
    const before = await profileOf(workspace);
    assert.deepEqual([at(before, "traits"), at(before, "event_count")], [{ cities: 1, city: "Paris", years: 36 }, 1]);
    const { events, queue } = running().service.backends;
    const stored = (await events.find(workspace.id as WorkspaceId, body.event_id as EventId))!;
    const message = encodeMessage(stored);

    await pass(workspace, 8);
    assert.equal(
      at((await eventOf(workspace, body.event_id)).body, "status"),
      "folded",
      "a dataset without limit keeps it",
    );
    assert.equal((await workspace.send("PATCH", `/v1/datasets/${unlimited}`, { retention_days: 30 })).status, 200);
    await pass(workspace, 21);
    assert.equal(at((await eventOf(workspace, body.event_id)).body, "status"), "folded", "29 days are not 30");
    await pass(workspace, 1);
    const gone = await eventOf(workspace, body.event_id);
    assert.deepEqual(
      ["status", "reason", "payload", "timestamp", "profile_id"].map((name) => at(gone.body, name)),
      ["dropped", "expired", null, null, null],
    );
    assert.deepEqual(await profileOf(workspace), before);
    const dropped = await workspace.send("GET", "/v1/events?status=dropped");
    assert.deepEqual(
      listAt(dropped.body, "events").map((event) => textAt(event, "event_id")),
      [body.event_id],
    );

    await queue.publish(message);
    assert.equal((await workspace.send("POST", "/v1/collect", request, retry)).status, 202);
    const fresh = await workspace.collect(schemaId, { email: "bea@example.com" });
    await workspace.settled(at(fresh.body, "event_id"));
    assert.equal(at((await eventOf(workspace, body.event_id)).body, "status"), "dropped");
    assert.deepEqual(await profileOf(workspace), before);

    const later = await workspace.collect(schemaId, ADA);
    await workspace.settled(at(later.body, "event_id"));
    const after = await profileOf(workspace);
    assert.deepEqual([at(after, "traits"), at(after, "event_count")], [{ cities: 2, city: "Paris", years: 72 }, 2]);
  });

  it("answers a retry as before, and another body under its key as a mismatch", async () => {
    const workspace = await running().workspace();
    const schemaId = await workspace.schema(undefined, null);
    await workspace.send("POST", "/v1/datasets", {
      name: "short",
      schema_id: schemaId,
      unified_profile: true,
      retention_days: 1,
    });
    const key = { "Idempotency-Key": "order-1" };
    const request = { schema_id: schemaId, timestamp: new Date().toISOString(), payload: ADA };
    const sent = await workspace.send("POST", "/v1/collect", request, key);
    const eventId = textAt(sent.body, "event_id");
    await workspace.settled(eventId);
    await pass(workspace, 2);
    assert.equal(at((await eventOf(workspace, eventId)).body, "status"), "dropped");
    const again = await workspace.send("POST", "/v1/collect", request, key);
    assert.deepEqual([again.status, at(again.body, "event_id")], [202, eventId]);
    const other = await workspace.send("POST", "/v1/collect", { ...request, payload: { email: "x@example.com" } }, key);
    assert.deepEqual([other.status, at(other.body, "code")], [422, "idempotency_mismatch"]);
  });
});
