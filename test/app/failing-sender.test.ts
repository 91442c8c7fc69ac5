import assert from "node:assert/strict";
import type { WorkspaceId } from "../../core/ids.js";
import { at, listAt, textAt, until, useApp } from "../support/service/app.js";

/** The walk of docs/operations.md. */
describe("A sender that fails", () => {
  const app = useApp();

  it("is found in three requests: who, which events, and what is wrong with them", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schemaId = await workspace.schema();
    const keyOf = async (name: string) =>
      (await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect", name })).body;
    const [works, fails] = [await keyOf("works"), await keyOf("fails")];
    const send = (key: unknown, payload: unknown) =>
      app().send("POST", "/v1/collect", {
        key: textAt(key, "key"),
        body: { schema_id: schemaId, timestamp: "2026-01-01T00:00:00Z", payload },
      });
    for (let n = 0; n < 3; n += 1) {
      assert.equal((await send(works, { email: `p${n}@example.com` })).status, 202);
      assert.equal((await send(fails, { email: n, city: "London" })).status, 422);
    }

    const { body: stats } = await workspace.send("GET", "/v1/stats");
    const first = listAt(stats, "senders")[0];
    assert.deepEqual(
      ["key_id", "schema_id", "codes", "last_accepted_at"].map((name) => at(first, name)),
      [textAt(fails, "key_id"), schemaId, { validation_failed: 3 }, null],
    );

    // Each refused event is counted once, also where it is kept.
    assert.deepEqual(
      ["accepted", "quarantined", "rejected"].map((name) => at(stats, name)),
      [3, 0, 3],
    );
    assert.equal(listAt(stats, "senders").length, 2);

    const { body: letters } = await workspace.send(
      "GET",
      `/v1/dead-letters?reason=rejected&key_id=${textAt(fails, "key_id")}&wait=10`,
    );
    const id = textAt(letters, "dead_letters.0.dead_letter_id");

    const { body: letter } = await workspace.send("GET", `/v1/dead-letters/${id}`);
    assert.deepEqual([textAt(letter, "key_id"), textAt(letter, "schema_id")], [textAt(fails, "key_id"), schemaId]);
    assert.equal(textAt(letter, "errors.0.path"), "email");
    assert.match(JSON.stringify(at(letter, "payload")), /London/);
  });
});

describe("A sender that fails often", () => {
  const app = useApp({ QUARANTINE_BYTES_PER_DAY: "1500" });

  it("fills no more than its room, with what is stored about its events", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schemaId = await workspace.schema();
    for (let n = 0; n < 5; n += 1) assert.equal((await workspace.collect(schemaId, { email: n })).status, 422);
    await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ body }) => listAt(body, "dead_letters").length > 0,
    );
    // What was queued before the second of these is done.
    for (let n = 0; n < 2; n += 1)
      await workspace.settled(textAt((await workspace.collect(schemaId, { email: `p${n}@x.test` })).body, "event_id"));
    const page = { limit: 10, before: null, eventId: null, reason: null };
    const letters = await app().service.backends.events.deadLetters(workspace.id as WorkspaceId, page);
    const bytes = letters.reduce((sum, { message }) => sum + message.length, 0);
    assert.ok(bytes <= 1_500, `${letters.length} letters of ${bytes} bytes`);
  });
});
