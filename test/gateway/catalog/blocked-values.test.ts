import assert from "node:assert/strict";
import { at, errorPaths, useApp, type TestWorkspace } from "../../support/service/app.js";

const KIB = 1_024;
/** 256 values that count 1,016 + 8 bytes each: all that a workspace may have. */
const FULL = Array.from({ length: 256 }, (_, n) => String(n).padEnd(KIB - 8, "x"));

describe("The blocked values of a workspace", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const block = (name: string, blocked: readonly string[]) =>
    workspace.send("PUT", `/v1/namespaces/${name}`, { blocked });
  const blockedOf = async (name: string) => at((await workspace.send("GET", `/v1/namespaces/${name}`)).body, "blocked");

  it("have 256 KiB at most, of all namespaces together; more is 422, names the field and changes nothing", async () => {
    assert.equal((await block("card", FULL.slice(0, 200))).status, 201);
    assert.equal((await block("ticket", FULL.slice(200))).status, 201);
    for (const name of ["new", "email", "ticket"]) {
      const beyond = await block(name, [...FULL.slice(200), "one more"]);
      assert.deepEqual([beyond.status, errorPaths(beyond)], [422, ["blocked"]], name);
    }
    assert.deepEqual(await blockedOf("ticket"), FULL.slice(200));
    assert.equal((await block("ticket", [])).status, 200);
    assert.equal((await block("email", FULL.slice(200))).status, 200, "there is room again");
    const other = await app().workspace();
    assert.equal((await other.send("PUT", "/v1/namespaces/card", { blocked: FULL })).status, 201);
  });

  it("count their bytes in UTF-8", async () => {
    const wide = FULL.map((value) => `${value.slice(0, 500)}${"€".repeat(172)}`);
    assert.equal((await block("card", wide)).status, 201);
    assert.equal((await block("card", [...wide, "€"])).status, 422);
  });

  it("have no more room when two changes come at once", async () => {
    const answers = await Promise.all([block("card", FULL), block("ticket", FULL)]);
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201, 422]));
  });
});
