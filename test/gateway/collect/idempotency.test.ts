import assert from "node:assert/strict";
import { keyIdOf } from "../../../core/catalog/api-key.js";
import { collected, createHeldWorker, withApp, withFolder, withoutWorker } from "../../support/faults.js";
import { SERVERS } from "../../support/servers/servers.js";
import { listAt, submission, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";

const UUID_V5 = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("Idempotency-Key on collect", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  const post = (body: unknown, key: string) => workspace.send("POST", "/v1/collect", body, { "Idempotency-Key": key });
  const newKey = async () => textAt((await workspace.send("POST", "/v1/keys", { role: "editor" })).body, "key");
  const postAs = (key: string, body: unknown) =>
    app().send("POST", "/v1/collect", { key, body, headers: { "Idempotency-Key": "1" } });

  it("gives the same event_id for the same key and body: 202, and the event is stored once", async () => {
    const body = submission(schemaId, { email: "once@example.com" });
    const first = await post(body, "order-1");
    assert.match(textAt(first.body, "event_id"), UUID_V5);
    await workspace.settled(first.body["event_id"]);
    const again = await post(body, "order-1");
    assert.equal(again.status, 202);
    assert.equal(again.body["event_id"], first.body["event_id"]);
    const event = await workspace.settled(first.body["event_id"]);
    const profile = await workspace.send("GET", `/v1/profiles/${textAt(event.body, "profile_id")}`);
    assert.equal(profile.body["event_count"], 1);
  });

  it("stores one event when the same request comes many times at once", async () => {
    const body = submission(schemaId, { email: "burst@example.com" });
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(body, "burst")));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202]);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    const event = await workspace.settled(answers[0]!.body["event_id"]);
    await workspace.settled((await post(body, "burst")).body["event_id"]);
    const events = await workspace.send("GET", `/v1/profiles/${textAt(event.body, "profile_id")}/events`);
    assert.equal(listAt(events.body, "events").length, 1);
  });

  it("with another body is 422 idempotency_mismatch, one byte of white space being another body", async () => {
    const body = JSON.stringify(submission(schemaId, { email: "bytes@example.com" }));
    const first = await post(body, "bytes");
    assert.equal(first.status, 202);
    for (const other of [`${body} `, body.replace("bytes@", "other@")]) {
      const answer = await post(other, "bytes");
      assert.equal(answer.status, 422);
      assert.equal(answer.body["code"], "idempotency_mismatch");
    }
    const event = await workspace.settled(first.body["event_id"]);
    assert.deepEqual(event.body["payload"], { email: "bytes@example.com" });
  });

  it("means another event in another workspace", async () => {
    const other = await app().workspace();
    const otherSchema = await other.schema();
    const a = await post(submission(schemaId, { email: "w@example.com" }), "same");
    const b = await other.collect(otherSchema, { email: "w@example.com" }, { "Idempotency-Key": "same" });
    assert.deepEqual([a.status, b.status], [202, 202]);
    assert.notEqual(a.body["event_id"], b.body["event_id"]);
  });

  it("means another event from another key: two senders that count from 1 do not collide", async () => {
    const [one, other] = [await newKey(), await newKey()];
    const answers = [];
    for (const [n, key] of [one, other].entries())
      answers.push(await postAs(key, submission(schemaId, { email: `counts${n}@example.com` })));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [202, 202],
    );
    const events = await Promise.all(answers.map(({ body }) => workspace.settled(body["event_id"])));
    assert.deepEqual(
      events.map(({ body }) => body["payload"]),
      [{ email: "counts0@example.com" }, { email: "counts1@example.com" }],
    );
  });

  it("means the same event from the key that took the old one's place, however often it was rotated", async () => {
    const body = submission(schemaId, { email: "rotated@example.com" });
    let key = await newKey();
    const first = await postAs(key, body);
    for (let rotation = 1; rotation <= 2; rotation += 1) {
      const rotated = await workspace.send("POST", `/v1/keys/${keyIdOf(key)!}/rotate`);
      key = textAt(rotated.body, "key");
      const retry = await postAs(key, body);
      assert.deepEqual([retry.status, retry.body["event_id"]], [202, first.body["event_id"]], `rotation ${rotation}`);
    }
  });

  it("is answered for a retry although the schema has changed since", async () => {
    const own = await workspace.schema({ type: "object", properties: { n: { type: "integer" } } }, null);
    const body = JSON.stringify(submission(own, { n: 1 }));
    const first = await post(body, "retry");
    const next = { schema: { type: "object", required: ["m"] }, compatibility: "none" };
    await workspace.send("POST", `/v1/schemas/${own}/versions`, next);
    const again = await post(body, "retry");
    assert.deepEqual([again.status, again.text], [202, first.text]);
  });

  it("is free again after a request that was refused: a 4xx stored nothing", async () => {
    assert.equal((await post(submission(schemaId, { email: 7 }), "refused")).status, 422);
    assert.equal((await post(submission(schemaId, { email: "now@example.com" }), "refused")).status, 202);
  });

  it("over 255 characters, empty or not printable ASCII is 400", async () => {
    const body = submission(schemaId, { email: "key@example.com" });
    assert.equal((await post(body, "k".repeat(255))).status, 202);
    for (const key of ["k".repeat(256), "", "caf\u00e9", "tab\there"]) {
      const answer = await post(body, key);
      assert.equal(answer.status, 400, key);
      assert.equal(answer.body["code"], "invalid_parameter");
      assert.match(textAt(answer.body, "detail"), /Idempotency-Key/);
    }
  });
});

// On RabbitMQ nobody can look into the queue: see docs/api.md.
if (SERVERS === null)
  describe("Idempotency-Key after a crash", () => {
    it("belongs to the first body that was answered 202, though it is still queued: another one is 422", async () => {
      await withFolder(async (folder) => {
        const settings = { DATA_DIR: folder };
        const left = { key: "", schemaId: "", eventId: "", body: {} };
        await withApp(settings, { wrap: withoutWorker }, async (app) => {
          const workspace = await app.workspace();
          left.schemaId = await workspace.schema();
          left.key = await workspace.key("owner");
          left.body = submission(left.schemaId, { email: "first@example.com" });
          left.eventId = await collected(workspace, submission(left.schemaId, { email: "other@example.com" }), "k-0");
          left.eventId = await collected(workspace, left.body as ReturnType<typeof submission>, "k");
        });
        const held = createHeldWorker();
        await withApp(settings, { wrap: held.wrap }, async (app) => {
          const post = (body: unknown) =>
            app.send("POST", "/v1/collect", { key: left.key, body, headers: { "Idempotency-Key": "k" } });
          try {
            const second = await post(submission(left.schemaId, { email: "second@example.com" }));
            assert.deepEqual([second.status, second.body["code"]], [422, "idempotency_mismatch"]);
            const again = await post(left.body);
            assert.deepEqual([again.status, again.body["event_id"]], [202, left.eventId]);
          } finally {
            held.release();
          }
          const read = () => app.send("GET", `/v1/events/${left.eventId}`, { key: left.key });
          const { body } = await until(read, (answer) => answer.body["status"] === "folded");
          assert.deepEqual(body["payload"], { email: "first@example.com" });
          const letters = await app.send("GET", "/v1/dead-letters", { key: left.key });
          assert.deepEqual(letters.body["dead_letters"], []);
          assert.equal((await post(submission(left.schemaId, { email: "third@example.com" }))).status, 422);
        });
      });
    });
  });
