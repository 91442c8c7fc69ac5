import assert from "node:assert/strict";
import { errorPaths, now, submission, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const HOUR_MS = 3_600_000;

const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();
const devices = (count: number) => ({ d: Array.from({ length: count }, (_, i) => `dev-${count}-${i}`) });

describe("POST /v1/collect", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  const post = (body: unknown, headers = {}) => workspace.send("POST", "/v1/collect", body, headers);

  it("answers a valid submission with 202 at once: an event_id, and a status that is always accepted", async () => {
    const { status, body, headers } = await workspace.collect(schemaId, { email: "a@example.com" });
    assert.equal(status, 202);
    assert.deepEqual(Object.keys(body), ["event_id", "status"]);
    assert.equal(body["status"], "accepted");
    assert.match(textAt(body, "event_id"), UUID_V7);
    assert.equal(headers["content-type"], "application/json; charset=utf-8");
  });

  it("validates each event against a schema that the client owns, and stores it", async () => {
    const accepted = await workspace.collect(schemaId, { email: "b@example.com", age: 3 });
    const { status, body } = await workspace.settled(accepted.body["event_id"]);
    assert.equal(status, 200);
    assert.deepEqual(body["payload"], { email: "b@example.com", age: 3 });
    assert.equal(body["schema_id"], schemaId);
    assert.equal(body["schema_version"], 1);
  });

  it("folds the events of datasets enabled for unified profile into customer profiles in real time", async () => {
    const email = "folded@example.com";
    const accepted = await workspace.collect(schemaId, { email, city: "Bath" });
    const event = await workspace.settled(accepted.body["event_id"]);
    assert.equal(event.body["status"], "folded");
    const profile = await workspace.send("GET", `/v1/profiles/${textAt(event.body, "profile_id")}`);
    assert.deepEqual(profile.body["traits"], { city: "Bath" });
    assert.deepEqual(profile.body["identifiers"], [{ namespace: "email", value: email }]);
    assert.equal(profile.body["event_count"], 1);
  });

  it("stores and does not fold the events of a schema without a dataset, or with none that is unified", async () => {
    for (const unified of [null, false]) {
      const plain = await workspace.schema(undefined, unified);
      const accepted = await workspace.collect(plain, { email: `plain-${unified}@example.com`, city: "Ely" });
      const event = await workspace.settled(accepted.body["event_id"], "stored");
      assert.equal(event.body["status"], "stored");
      assert.equal(event.body["profile_id"], null);
      const lookup = { identifiers: [{ namespace: "email", value: `plain-${unified}@example.com` }] };
      const { body } = await workspace.send("POST", "/v1/profiles/lookup", lookup);
      assert.deepEqual(body["profiles"], []);
    }
  });

  it("processes the event asynchronously when syncValidation is absent or false", async () => {
    for (const query of ["", "?syncValidation=false"]) {
      const sent = submission(schemaId, { email: "async@example.com" });
      const { status } = await workspace.send("POST", `/v1/collect${query}`, sent);
      assert.equal(status, 202, query);
    }
  });

  it("answers 422 when the event does not match the referenced schema, and names the field by a dotted path", async () => {
    const nested = await workspace.schema({
      type: "object",
      properties: {
        cart: {
          type: "object",
          properties: { items: { type: "array", items: { properties: { price: { type: "number" } } } } },
        },
      },
    });
    const { status, body } = await workspace.collect(nested, { cart: { items: [{ price: "free" }] } });
    assert.equal(status, 422);
    assert.equal(body["code"], "validation_failed");
    assert.equal(textAt(body, "errors.0.path"), "cart.items.0.price");
    assert.match(textAt(body, "errors.0.message"), /number/);
  });

  it("names the property when a required one is missing", async () => {
    assert.deepEqual(errorPaths(await workspace.collect(schemaId, {})), ["email"]);
  });

  it("tells a missing field of the event from a field of its payload with the same name", async () => {
    const own = await workspace.schema({ type: "object", required: ["timestamp"] });
    const event = { schema_id: own, timestamp: now(), payload: {} };
    const errorsOf = async (body: object) => (await workspace.send("POST", "/v1/collect", body)).body["errors"];
    assert.deepEqual(await errorsOf(event), [{ path: "timestamp", message: "is required" }]);
    assert.deepEqual(await errorsOf({ ...event, timestamp: undefined }), [
      { path: "timestamp", message: "is a required field of the event" },
    ]);
  });

  it("answers 422 unknown_schema for a schema that this workspace does not have", async () => {
    const { status, body } = await workspace.collect("nowhere", { email: "a@example.com" });
    assert.equal(status, 422);
    assert.equal(body["code"], "unknown_schema");
    assert.equal(textAt(body, "errors.0.path"), "schema_id");
  });

  it("requires schema_id, timestamp and payload: 422 names each one that is missing", async () => {
    assert.deepEqual(errorPaths(await post({})), ["payload", "schema_id", "timestamp"]);
    assert.deepEqual(errorPaths(await post({ schema_id: schemaId, payload: { email: "a@b.c" } })), ["timestamp"]);
  });

  it("requires schema_id to be a string and payload to be an object", async () => {
    const wrong = { schema_id: 7, timestamp: now(), payload: [] };
    assert.deepEqual(errorPaths(await post(wrong)), ["payload", "schema_id"]);
    for (const payload of [null, "x", 1, true, []]) {
      const answer = await post({ schema_id: schemaId, timestamp: now(), payload });
      assert.equal(answer.status, 422);
      assert.deepEqual(errorPaths(answer), ["payload"]);
    }
  });

  it("requires timestamp to be an ISO 8601 date-time in UTC with a trailing Z and a real date", async () => {
    for (const timestamp of ["2026-02-30T00:00:00Z", "2026-01-01T00:00:00+01:00", "2026-01-01", 1_700_000_000, null]) {
      const answer = await post({ schema_id: schemaId, timestamp, payload: { email: "a@b.c" } });
      assert.equal(answer.status, 422, String(timestamp));
      assert.deepEqual(errorPaths(answer), ["timestamp"]);
    }
  });

  it("refuses a timestamp more than 24 hours ahead with 422, and takes one a little less ahead", async () => {
    const payload = { email: "future@example.com" };
    const far = await post({ schema_id: schemaId, timestamp: ahead(25 * HOUR_MS), payload });
    assert.equal(far.status, 422);
    assert.deepEqual(errorPaths(far), ["timestamp"]);
    const near = await post({ schema_id: schemaId, timestamp: ahead(23 * HOUR_MS), payload });
    assert.equal(near.status, 202);
  });

  it("refuses unknown top-level fields with 422, those that the service itself keeps among them", async () => {
    for (const name of ["workspace_id", "event_id", "Payload", "", "__proto__"]) {
      const sent = `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":{"email":"a@b.c"},${JSON.stringify(name)}:1}`;
      const answer = await post(sent);
      assert.equal(answer.status, 422, name);
      assert.deepEqual(errorPaths(answer), [name]);
    }
  });

  it("keeps payload properties of any name that the schema does not forbid", async () => {
    const payload = { email: "free@example.com", "any thing": { $where: [1, null], "a.b": "" } };
    const accepted = await workspace.collect(schemaId, payload);
    assert.deepEqual((await workspace.settled(accepted.body["event_id"])).body["payload"], payload);
  });

  it("says 422, not 202, when a payload has more than 20 identifiers", async () => {
    const item = { type: "string", "x-identity": { namespace: "device_id" } };
    const many = await workspace.schema({ type: "object", properties: { d: { type: "array", items: item } } });
    assert.equal((await workspace.collect(many, devices(20))).status, 202);
    const { status, body } = await workspace.collect(many, devices(21));
    assert.equal(status, 422);
    assert.equal(textAt(body, "errors.0.path"), "d.20");
  });

  it("says 422 when an identifier of the payload has more than 1,024 characters", async () => {
    const { status, body } = await workspace.collect(schemaId, { email: "x".repeat(1_025) });
    assert.equal(status, 422);
    assert.equal(textAt(body, "errors.0.path"), "email");
  });

  it("drops blocked identifiers of an event and says so when the event is read", async () => {
    const accepted = await workspace.collect(schemaId, { email: "kept@example.com", cookie: "undefined" });
    const { body } = await workspace.settled(accepted.body["event_id"]);
    const dropped = [{ identifier: { namespace: "cookie_id", value: "undefined" }, rule: "blocked" }];
    assert.deepEqual(body["dropped"], dropped);
  });

  it("drops an identifier of an event that is no e-mail, says so, and folds by the others", async () => {
    const accepted = await workspace.collect(schemaId, { email: "nobody", cookie: "c-invalid" });
    const { body } = await workspace.settled(accepted.body["event_id"]);
    const dropped = [{ identifier: { namespace: "email", value: "nobody" }, rule: "invalid" }];
    assert.deepEqual([body["status"], body["dropped"]], ["folded", dropped]);
  });

  it("stores an event whose identifiers are all blocked, and folds it nowhere", async () => {
    const accepted = await workspace.collect(schemaId, { email: "null" });
    const { body } = await workspace.settled(accepted.body["event_id"], "stored");
    assert.equal(body["status"], "stored");
    assert.equal(body["profile_id"], null);
  });

  it("pins the schema version at acceptance: a later version does not touch the event", async () => {
    const first = { type: "object", properties: { n: { type: "integer" } } };
    const own = await workspace.schema(first, null);
    const accepted = await workspace.collect(own, { n: 1 });
    const next = { schema: { type: "object", properties: { n: { type: "string" } } }, compatibility: "none" };
    assert.equal((await workspace.send("POST", `/v1/schemas/${own}/versions`, next)).status, 201);
    assert.equal((await workspace.collect(own, { n: 1 })).status, 422);
    assert.equal((await workspace.settled(accepted.body["event_id"], "stored")).body["schema_version"], 1);
  });

  it("accepts many at a time and gives each an event_id of its own", async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => workspace.collect(schemaId, { email: `many-${i}@example.com` })),
    );
    assert.ok(answers.every(({ status }) => status === 202));
    assert.equal(new Set(answers.map(({ body }) => body["event_id"])).size, 100);
    const last = await Promise.all(answers.map(({ body }) => workspace.settled(body["event_id"])));
    assert.ok(last.every(({ body }) => body["status"] === "folded"));
  });
});
