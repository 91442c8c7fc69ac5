import assert from "node:assert/strict";
import type { Backends } from "../../../app/backends.js";
import { encodeMessage } from "../../../core/event/message.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter, anEvent } from "../../support/builders.js";
import { eventually } from "../../support/eventually.js";
import { at, listAt, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

describe("A replay that leaves letters out", () => {
  let release = (): void => {};
  let released = Promise.resolve();
  const wrap = (backends: Backends): Backends => {
    const { events } = backends;
    const insert: typeof events.insert = async (...given) => {
      await released;
      return events.insert(...given);
    };
    return { ...backends, events: { ...events, insert } };
  };
  const app = useApp({}, { wrap });
  afterEach(() => release());
  const replay = async (workspace: TestWorkspace, body: object = {}, query = ""): Promise<Answer> =>
    workspace.send("POST", `/v1/dead-letters/replay${query}`, body);
  const counts = ({ status, body }: Answer): readonly unknown[] => [
    status,
    body["replayed"],
    body["remaining"],
    listAt(body, "skipped").map((one) => at(one, "why")),
  ];
  const orderOf = (city: string | readonly string[]) => ({
    type: "object",
    properties: { email: { type: "string", "x-identity": { namespace: "email" } }, city: { type: city } },
  });

  it("passes over a kept reject whose sender has sent another body under its Idempotency-Key since", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schemaId = await workspace.schema(orderOf("string"));
    const key = { "Idempotency-Key": "k-1" };
    assert.equal((await workspace.collect(schemaId, { email: "ada@example.com", city: 7 }, key)).status, 422);
    await workspace.send("GET", "/v1/dead-letters?wait=10");
    const { body } = await workspace.collect(schemaId, { email: "ada@example.com", city: "Paris" }, key);
    await workspace.settled(textAt(body, "event_id"));
    const versions = `/v1/schemas/${schemaId}/versions`;
    const wider = { schema: orderOf(["string", "number"]) };
    assert.equal((await workspace.send("POST", versions, wider)).status, 201);
    for (const query of ["?dry_run=true", ""])
      assert.deepEqual(counts(await replay(workspace, {}, query)), [200, 0, 0, ["idempotency_mismatch"]]);
    assert.deepEqual(
      listAt((await workspace.send("GET", "/v1/dead-letters")).body, "dead_letters").map((one) => [
        at(one, "reason"),
        at(one, "state"),
      ]),
      [["rejected", "open"]],
    );
  });

  const key = { "Idempotency-Key": "k-1" };
  /** A workspace with kept rejects of these cities under one Idempotency-Key, and a schema that takes them by now. */
  const keeping = async (...cities: readonly number[]): Promise<readonly [TestWorkspace, string]> => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schemaId = await workspace.schema(orderOf("string"));
    for (const city of cities)
      assert.equal((await workspace.collect(schemaId, { email: "ada@example.com", city }, key)).status, 422);
    await eventually("they are kept", async () => (await lettersOf(workspace)).length === cities.length);
    const wider = { schema: orderOf(["string", "number"]) };
    assert.equal((await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, wider)).status, 201);
    return [workspace, schemaId];
  };
  const shownOf = async (workspace: TestWorkspace): Promise<readonly unknown[]> =>
    listAt((await workspace.send("GET", "/v1/dead-letters")).body, "dead_letters");
  const lettersOf = async (workspace: TestWorkspace): Promise<readonly unknown[]> =>
    (await shownOf(workspace)).map((one) => [at(one, "reason"), at(one, "state")]);

  it("takes one of two kept rejects with different bodies under one Idempotency-Key", async () => {
    const [workspace] = await keeping(7, 8);
    for (const query of ["?dry_run=true", ""])
      assert.deepEqual(counts(await replay(workspace, {}, query)), [200, 1, 0, ["idempotency_mismatch"]]);
    const { body } = await workspace.send("GET", "/v1/dead-letters?state=replayed");
    await workspace.settled(textAt(listAt(body, "dead_letters")[0], "event_id"));
    const states = (await lettersOf(workspace)).map((one) => JSON.stringify(one));
    assert.deepEqual(new Set(states), new Set(['["rejected","open"]', '["rejected","replayed"]']));
  });

  it("makes no dead letter of a kept reject whose sender's other body is still queued, and it can be deleted then", async () => {
    const [workspace, schemaId] = await keeping(7);
    released = new Promise((resolve) => (release = resolve));
    const { status, body } = await workspace.collect(schemaId, { email: "ada@example.com", city: "Paris" }, key);
    assert.equal(status, 202);
    assert.deepEqual(counts(await replay(workspace)), [200, 1, 0, []]);
    // What was queued behind it.
    const last = await workspace.collect(schemaId, { email: "ada@example.com", city: "Rome" });
    const id = textAt((await shownOf(workspace))[0], "dead_letter_id");
    const remove = async (): Promise<number> => (await workspace.send("DELETE", `/v1/dead-letters/${id}`)).status;
    assert.equal(await remove(), 409, "nobody knows yet which of the two is the event");
    release();
    for (const one of [body, last.body]) await workspace.settled(textAt(one, "event_id"));
    assert.deepEqual(await lettersOf(workspace), [["rejected", "replayed"]]);
    assert.equal(await remove(), 204);
    assert.deepEqual(await lettersOf(workspace), []);
    assert.equal((await workspace.settled(textAt(body, "event_id"))).status, 200);
  });

  it("by id names each letter that it left out, and takes one that stands later than its own clock", async () => {
    const workspace = await app().workspace();
    const own = workspace.id as WorkspaceId;
    const event = anEvent({ workspace: own, folds: false });
    const made = { workspace: own, eventId: event.eventId, message: encodeMessage(event), reason: "crashed" };
    const letter = aDeadLetter({ ...made, at: Date.now() + 60_000 });
    await app().service.backends.events.bury(letter);
    const ids = { dead_letter_ids: [letter.deadLetterId] };
    for (const filter of [{ reason: "internal" }, { before: "2026-01-01T00:00:00Z" }])
      assert.deepEqual(counts(await replay(workspace, { ...ids, ...filter })), [200, 0, 0, ["not_found"]]);
    assert.deepEqual(counts(await replay(workspace, ids)), [200, 1, 0, []]);
  });
});
