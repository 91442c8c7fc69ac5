import assert from "node:assert/strict";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { createWorkspaceTurns } from "../../../gateway/http/turns/workspace.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("Requests of a workspace", () => {
  const [a, b] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
  const open = () => {
    const enter = createWorkspaceTurns(2);
    const begun: string[] = [];
    return {
      begun,
      ask: (workspace: WorkspaceId, name: string, now = 0, bytes = 0) =>
        enter({ workspace, now, bytes }, () => begun.push(name)),
    };
  };

  it("all begin at once while no other workspace is active", () => {
    const { begun, ask } = open();
    for (const name of ["1", "2", "3", "4"]) ask(a, name);
    assert.deepEqual(begun, ["1", "2", "3", "4"]);
  });

  it("begin a few in each turn of the event loop while another one is active, in their order, and the other's go in between", async () => {
    const { begun, ask } = open();
    ask(b, "b1");
    for (const name of ["1", "2", "3", "4", "5"]) ask(a, name);
    assert.deepEqual(begun, ["b1", "1", "2"]);
    ask(b, "b2");
    await turn();
    assert.deepEqual(begun, ["b1", "1", "2", "b2", "3", "4"]);
    ask(b, "b3");
    ask(a, "6");
    assert.deepEqual(begun.slice(6), ["b3"]);
    await turn();
    assert.deepEqual(begun.slice(7), ["5", "6"]);
  });

  it("count the more the larger their bodies are", async () => {
    const { begun, ask } = open();
    ask(b, "b1");
    for (const name of ["1", "2", "3"]) ask(a, name, 0, 200_000);
    assert.deepEqual(begun, ["b1", "1"]);
    await turn();
    assert.deepEqual(begun, ["b1", "1", "2"]);
    await turn();
    assert.deepEqual(begun, ["b1", "1", "2", "3"]);
  });

  it("begin at once again when the other one has been quiet for a second", async () => {
    const { begun, ask } = open();
    ask(b, "b1", 0);
    ask(a, "1", 10);
    await turn();
    await turn();
    for (const name of ["2", "3", "4"]) ask(a, name, 2_000);
    assert.deepEqual(begun, ["b1", "1", "2", "3", "4"]);
  });
});
