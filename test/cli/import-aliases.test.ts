import assert from "node:assert/strict";
import { createAliasOrder } from "../../cli/import/aliases.js";
import { onym, useFolder } from "../support/cli.js";
import { eventually } from "../support/eventually.js";
import { withHeldApp } from "../support/faults.js";
import { identifiersOf, profileOf } from "../support/sdk/client.js";
import { EMBEDDED } from "../support/servers/servers.js";
import { startFaultyProxy } from "../support/service/faulty-proxy.js";

const lines = (objects: readonly object[]): string => objects.map((one) => `${JSON.stringify(one)}\n`).join("");

describe("An alias of an import", () => {
  const folder = useFolder();

  it("of a user whom an earlier batch names is sent once that batch is processed", async () => {
    await withHeldApp(EMBEDDED, async (app, release) => {
      const workspace = await app.workspace();
      const calls = Array.from({ length: 1_000 }, (_, n) => ({
        type: "identify",
        messageId: `m-${n}`,
        userId: `u-${n}`,
        traits: {},
      }));
      const alias = { type: "alias", messageId: "m-alias", userId: "u-new", previousId: "u-7" };
      const file = folder.file("aliases.jsonl", lines([...calls, alias]));
      const proxy = await startFaultyProxy(app.url, () => "pass");
      const asked = (path: string) => proxy.seen.filter(({ target }) => target.startsWith(path)).length;
      try {
        const key = await workspace.key("admin");
        const importing = onym(["import", "segment", file, "--yes"], { url: proxy.url, key });
        await eventually("it looks again", () => asked("/v1/stats") > 1);
        assert.equal(asked("/v1/import"), 1);
        release();
        const { exit, err } = await importing;
        assert.deepEqual([exit, err], [0, "onym: waits until the queue is empty; events that wait: 1000\n"]);
        assert.equal(asked("/v1/import"), 2);
        const profile = await profileOf(workspace, ["user_id", "u-new"], 2);
        assert.deepEqual(identifiersOf(profile), ["user_id:u-7", "user_id:u-new"]);
      } finally {
        await proxy.close();
      }
    });
  });

  const user = (userId: string, more: object = {}) => ({ type: "identify", userId, ...more });
  const alias = (previousId: unknown, userId = "u-new") => ({ type: "alias", userId, previousId });
  const waitsOf = async (batches: readonly (readonly object[])[], usersMax?: number): Promise<readonly number[]> => {
    const waits: number[] = [];
    let sent = 0;
    const before = createAliasOrder(async () => void waits.push(sent), usersMax);
    for (const calls of batches) {
      await before({ items: calls.map((call) => ({ text: JSON.stringify(call) }) as never) });
      sent += 1;
    }
    return waits;
  };

  it("waits once for what came before the import, and then for users who were named since", async () => {
    assert.deepEqual(await waitsOf([[user("u-1"), { type: "track", previousId: "u-1" }], [user("u-2")]]), []);
    assert.deepEqual(await waitsOf([[alias("a-1")], [alias("a-2")], [alias("a-3")]]), [0], "many in a row");
    const first = [alias("a-1")];
    assert.deepEqual(await waitsOf([first, [user("u-1")], [alias("U-1 ")], [alias("u-1")]]), [0, 2]);
    assert.deepEqual(await waitsOf([first, [user("7")], [alias(7)]]), [0, 2], "a number");
    assert.deepEqual(await waitsOf([first, [user("u-1"), alias("u-1")]]), [0], "in one batch");
    assert.deepEqual(await waitsOf([first, [alias("u-2", "u-3")], [alias("u-3", "u-4")]]), [0, 2], "a chain");
    const context = { externalId: [{ type: "user_id", id: "u-9" }] };
    assert.deepEqual(await waitsOf([first, [user("u-1", { context })], [alias("u-9")]]), [0, 2]);
  });

  it("waits also where there are too many users to remember", async () => {
    const many = [user("u-1"), user("u-2"), user("u-3")];
    assert.deepEqual(await waitsOf([[alias("a-1")], many, [alias("a-2")], [alias("a-3")]], 2), [0, 2]);
  });
});
