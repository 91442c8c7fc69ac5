import assert from "node:assert/strict";
import { at, errorPaths, listAt, OPERATOR_KEY, textAt, useApp } from "../../support/service/app.js";
import { withApp, withFolder } from "../../support/faults.js";
import { SERVERS } from "../../support/servers/servers.js";

describe("Workspaces", () => {
  const app = useApp();
  const create = (body: unknown) => app().send("POST", "/v1/workspaces", { key: OPERATOR_KEY, body });

  it("are made with the operator key: 201 with workspace_id, name and the owner key", async () => {
    const { status, body } = await create({ name: "Acme" });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body).toSorted(), ["created_at", "key", "name", "workspace_id"]);
    assert.equal(body["name"], "Acme");
    const keys = await app().send("GET", "/v1/keys", { key: textAt(body, "key") });
    assert.deepEqual([keys.status, listAt(keys.body, "keys").length], [200, 1]);
    assert.equal(textAt(keys.body, "keys.0.role"), "owner");
  });

  it("need a name of 1 to 256 characters, and nothing else", async () => {
    for (const body of [{}, { name: "" }, { name: 7 }, { name: "x".repeat(257) }])
      assert.deepEqual(errorPaths(await create(body)), ["name"]);
    assert.deepEqual(errorPaths(await create({ name: "x", workspace_id: "y" })), ["workspace_id"]);
  });

  it("are listed to the operator by age, without keys, in pages", async () => {
    const made = Array.from({ length: 60 }, (_, i) => `p-${i}`);
    for (const name of made) await create({ name });
    const names: unknown[] = [];
    let query = "?limit=50";
    for (let page = 0; page < 100; page++) {
      const { body, text } = await app().send("GET", `/v1/workspaces${query}`, { key: OPERATOR_KEY });
      assert.ok(!text.includes("onym_"));
      names.push(...listAt(body, "workspaces").map((one) => at(one, "name")));
      if (body["next_cursor"] === null) break;
      query = `?limit=50&cursor=${textAt(body, "next_cursor")}`;
    }
    // On a shared catalog the operator makes the first one too.
    if (SERVERS === null) assert.equal(names[0], "default");
    assert.deepEqual(names.slice(-60), made);
  });

  it("keep everything apart: no key of one sees anything of another", async () => {
    const [a, b] = [await app().workspace(), await app().workspace()];
    const schemaId = await a.schema();
    const accepted = await a.collect(schemaId, { email: "apart@example.com", city: "Here" });
    const event = await a.settled(accepted.body["event_id"]);
    const identifiers = [{ namespace: "email", value: "apart@example.com" }];
    assert.deepEqual((await b.send("POST", "/v1/profiles/lookup", { identifiers })).body["profiles"], []);
    const targets = ["/v1/schemas", "/v1/datasets", "/v1/dead-letters"];
    for (const target of targets) {
      const lists = Object.values((await b.send("GET", target)).body).filter((value) => Array.isArray(value));
      assert.deepEqual(lists, [[]], target);
    }
    for (const target of [`events/${textAt(event.body, "event_id")}`, `profiles/${textAt(event.body, "profile_id")}`])
      assert.equal((await b.send("GET", `/v1/${target}`)).status, 404);
    await b.send("POST", "/v1/identify", { identifiers: [...identifiers, { namespace: "user_id", value: "b" }] });
    const mine = await a.send("GET", `/v1/profiles/${textAt(event.body, "profile_id")}`);
    assert.deepEqual(mine.body["identifiers"], identifiers);
    assert.deepEqual(mine.body["traits"], { city: "Here" });
  });

  it("do not share cursors: one of another workspace is 400", async () => {
    const [a, b] = [await app().workspace(), await app().workspace()];
    const cursor = textAt((await a.send("GET", "/v1/namespaces?limit=1")).body, "next_cursor");
    assert.equal((await a.send("GET", `/v1/namespaces?cursor=${cursor}`)).status, 200);
    const foreign = await b.send("GET", `/v1/namespaces?cursor=${cursor}`);
    assert.deepEqual([foreign.status, foreign.body["code"]], [400, "invalid_cursor"]);
    assert.equal((await a.send("GET", `/v1/schemas?cursor=${cursor}`)).status, 400);
  });
});

describe("Without an operator key", () => {
  it("the routes of workspaces do not exist: 404, whatever key comes with the request", async () => {
    await withFolder(async (folder) => {
      // On a shared catalog the first workspace has to be there before.
      await withApp({ DATA_DIR: folder }, {}, async (app) => void (await app.workspace()));
      await withApp({ DATA_DIR: folder, OPERATOR_KEY: "" }, {}, async (app) => {
        for (const key of [null, OPERATOR_KEY, "x"])
          for (const method of ["GET", "POST"])
            assert.equal((await app.send(method, "/v1/workspaces", { key })).status, 404);
        assert.equal((await app.send("GET", "/v1/workspaces", { headers: { Authorization: "Bearer " } })).status, 404);
      });
    });
  });
});
