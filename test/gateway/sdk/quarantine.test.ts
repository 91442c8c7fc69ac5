import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { WorkspaceId } from "../../../core/ids.js";
import { listAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

describe("Wrong items of SDKs", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let door: ReturnType<typeof openSdkDoor>;
  before(() => {
    door = openSdkDoor(app());
  });
  after(() => door.close());
  beforeEach(async () => {
    workspace = await app().workspace();
  });

  it("take no more room than their bytes, however long their type and id are, and an id counts to its end", async () => {
    await workspace.send("PUT", "/v1/sdk/settings", { unplanned: "quarantine" });
    const [long, large] = ["x".repeat(100_000), "x".repeat(300_000)];
    const externalIds = Array.from({ length: 500 }, () => ({ type: "a", id: "1" }));
    const items = [
      { type: large, messageId: `${large}1` },
      { type: large, messageId: `${large}2` },
      { type: long, messageId: `${long}3`, a: 1 },
      { type: "track", event: "e", messageId: `${long}4`, context: { externalIds } },
    ];
    const { quarantined, notKept } = await door.send(workspace, items);
    assert.deepEqual([quarantined, notKept], [4, 0]);
    await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ body }) => listAt(body, "dead_letters").length === items.length,
    );
    const page = { limit: 10, before: null, eventId: null, reason: null };
    const letters = await app().service.backends.events.deadLetters(workspace.id as WorkspaceId, page);
    const beside = letters.map(({ message }) => message.indexOf("\n"));
    assert.equal(beside.length, 4);
    assert.ok(Math.max(...beside) < 1_500, `${beside.join()} bytes beside the payload`);
  });

  it("that an SDK sends again, with what it makes anew each time, are one dead letter", async () => {
    const wrong = { type: "odd", messageId: "m-1", userId: "u-1" };
    await door.send(workspace, [{ ...wrong, sentAt: "2026-11-22T11:59:00Z" }]);
    await door.send(workspace, [{ ...wrong, sentAt: "2026-11-22T11:59:30Z", _metadata: { retryCount: 1 } }]);
    await door.send(workspace, [{ type: "last", messageId: "m-2" }]);
    const { body } = await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ text }) => text.includes(door.eventIdOf(workspace, "m-2")),
    );
    assert.equal(listAt(body, "dead_letters").length, 2);
  });

  it("beyond the limits of the quarantine are only counted, and the answer says so", async () => {
    const bounded = openSdkDoor(app(), { QUARANTINE_PER_MINUTE: "2" });
    const small = openSdkDoor(app(), { QUARANTINE_BYTES_PER_DAY: "1000" });
    const odd = (note = "") => ({ type: "odd", messageId: randomUUID(), note });
    try {
      const { rejected, quarantined, notKept } = await bounded.send(workspace, [
        odd(),
        odd(),
        odd(),
        { type: "track", event: "e" },
      ]);
      assert.deepEqual([quarantined, rejected.map(({ kept }) => kept)], [3, [undefined, undefined, false]]);
      assert.equal(notKept, 1, "the answer says how many, because it names only the first");
      const by = await small.send(workspace, [odd("x".repeat(1_000)), odd(), odd()]);
      assert.deepEqual(
        by.rejected.map(({ kept }) => kept),
        [false, undefined, false],
        "what is stored about an item counts too",
      );
      const other = await app().workspace();
      assert.equal((await bounded.send(other, [odd()])).rejected[0]?.kept, undefined, "of another workspace");
    } finally {
      await bounded.close();
      await small.close();
    }
  });
});
