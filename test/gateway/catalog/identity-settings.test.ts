import assert from "node:assert/strict";
import { errorPaths, useApp, type TestWorkspace } from "../../support/service/app.js";

describe("The settings of identity", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const read = async (of = workspace) => (await of.send("GET", "/v1/identity/settings")).body;
  const put = (body: unknown) => workspace.send("PUT", "/v1/identity/settings", body);

  it("set no shared identifier limit until the workspace does", async () => {
    const { status, body } = await workspace.send("GET", "/v1/identity/settings");
    assert.deepEqual([status, body], [200, { shared_identifier_limit: null, sending_keys_add_namespaces: false }]);
  });

  it("are answered as they were put, and null switches the limit off again", async () => {
    for (const shared_identifier_limit of [1, 100, null, 5]) {
      const { status, body } = await put({ shared_identifier_limit });
      assert.deepEqual([status, body], [200, { shared_identifier_limit, sending_keys_add_namespaces: false }]);
      assert.deepEqual(await read(), body);
    }
    const both = { shared_identifier_limit: 5, sending_keys_add_namespaces: true };
    assert.deepEqual([(await put(both)).body, await read()], [both, both]);
  });

  it("take an integer from 1 to 100 or null and nothing else, and stay as they were", async () => {
    await put({ shared_identifier_limit: 7 });
    for (const shared_identifier_limit of [0, 101, -1, 1.5, "5", true, [], {}]) {
      const answer = await put({ shared_identifier_limit });
      assert.deepEqual(
        [answer.status, errorPaths(answer)],
        [422, ["shared_identifier_limit"]],
        JSON.stringify(shared_identifier_limit),
      );
    }
    assert.deepEqual(errorPaths(await put({})), ["shared_identifier_limit"]);
    const flag = { shared_identifier_limit: 1, sending_keys_add_namespaces: "yes" };
    assert.deepEqual(errorPaths(await put(flag)), ["sending_keys_add_namespaces"]);
    assert.deepEqual(errorPaths(await put({ shared_identifier_limit: 1, limit: 2 })), ["limit"]);
    assert.equal((await put([])).status, 422);
    assert.equal((await read())["shared_identifier_limit"], 7);
  });

  it("belong to one workspace", async () => {
    const other = await app().workspace();
    await put({ shared_identifier_limit: 7 });
    assert.equal((await read(other))["shared_identifier_limit"], null);
  });
});
