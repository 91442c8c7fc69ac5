import assert from "node:assert/strict";
import { at, listAt, textAt, useApp } from "../support/service/app.js";

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
