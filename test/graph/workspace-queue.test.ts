import assert from "node:assert/strict";
import { isUnavailable } from "../../core/errors.js";
import { newId, type ChangeId, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../../graph/rules/violation.js";
import { createWorkspaceQueue, type WorkspaceQueue, type WorkspaceQueueOptions } from "../../graph/workspace-queue.js";
import { aRequest, aWorkspace, anAssertion, lettersOf } from "../support/identity/fixtures.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";

const WAITING = { expired: false };

/** A graph whose steps end when the test says so; it tells the identifiers of each step, by their last letters. */
function createGate() {
  const memory = createMemoryGraph(createMemoryState());
  const steps: string[] = [];
  const open: { go: () => void; fail: (error: Error) => void }[] = [];
  const update: IdentityGraph["update"] = async (workspace, want, decide) => {
    steps.push(want.keys.map((key) => key.at(-1)).join(""));
    await new Promise<void>((go, fail) => open.push({ go, fail }));
    return memory.update(workspace, want, decide);
  };
  return { update, steps, next: () => open.shift()! };
}

/** Long enough for all that needs no timer. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

const asserting = (workspaceQueue: WorkspaceQueue, workspace: WorkspaceId, ...identifiers: readonly string[]) =>
  workspaceQueue
    .assert(workspace, [aRequest(workspace, anAssertion(...identifiers))], WAITING)
    .then(([decided]) => decided!.result);

const aLane = (options: Partial<WorkspaceQueueOptions> = {}) => {
  const gate = createGate();
  const workspaceQueue = createWorkspaceQueue(
    { graph: gate, rulesOf: async () => NO_RULES, newChangeId: newId<ChangeId> },
    options,
  );
  return { gate, workspaceQueue, workspace: aWorkspace() };
};

describe("The workspace queue", () => {
  it("starts at once when nobody waits, without a timer", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const answer = asserting(workspaceQueue, workspace, "a");
    await settled();
    assert.deepEqual(gate.steps, ["a"]);
    gate.next().go();
    assert.equal((await answer).outcome, "created");
  });

  it("puts those that arrive in one turn into one step, and answers each its own result", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const answers = [
      asserting(workspaceQueue, workspace, "a"),
      asserting(workspaceQueue, workspace, "b"),
      asserting(workspaceQueue, workspace, "a"),
    ];
    await settled();
    gate.next().go();
    const results = await Promise.all(answers);
    assert.deepEqual(gate.steps, ["ab"]);
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ["created", "created", "unchanged"],
    );
    assert.notEqual(results[0]!.profileId, results[1]!.profileId);
  });

  it("combines all that wait while a step is under way into the next one", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const answers = [asserting(workspaceQueue, workspace, "a")];
    await settled();
    for (const letter of ["b", "c", "d"]) {
      answers.push(asserting(workspaceQueue, workspace, letter));
      await settled();
    }
    assert.deepEqual(gate.steps, ["a"], "one step at a time");
    gate.next().go();
    await settled();
    gate.next().go();
    await Promise.all(answers);
    assert.deepEqual(gate.steps, ["a", "bcd"]);
  });

  it("looks at no more in one step than the bound says, except for a single call that needs more", async () => {
    const { gate, workspaceQueue, workspace } = aLane({ lookupsPerStep: 4 });
    // 1 look-up for a single identifier, 3 for a pair, 6 for three.
    const calls = [["a"], ["b", "c"], ["d", "e", "f"], ["g"], ["h"]];
    const answers = calls.map((call) => asserting(workspaceQueue, workspace, ...call));
    for (let i = 0; i < 3; i++) {
      await settled();
      gate.next().go();
    }
    await Promise.all(answers);
    assert.deepEqual(gate.steps, ["abc", "def", "gh"]);
  });

  it("keeps the order of one call's assertions over several steps", async () => {
    const { gate, workspaceQueue, workspace } = aLane({ lookupsPerStep: 3 });
    const requests = ["ab", "cd", "bc", "ad"].map((pair) => aRequest(workspace, anAssertion(...lettersOf(pair))));
    const answer = workspaceQueue.assert(workspace, requests, WAITING);
    for (const _ of requests) {
      await settled();
      gate.next().go();
    }
    assert.deepEqual(
      (await answer).map(({ result }) => result.outcome),
      ["created", "created", "merged", "linked"],
    );
  });

  it("rejects only those in a step that fails, and goes on", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const failing = [asserting(workspaceQueue, workspace, "a"), asserting(workspaceQueue, workspace, "b")];
    const outcomes = Promise.allSettled(failing);
    await settled();
    const waiting = asserting(workspaceQueue, workspace, "c");
    gate.next().fail(new Error("away"));
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ["rejected", "rejected"],
    );
    await settled();
    gate.next().go();
    assert.equal((await waiting).outcome, "created");
    const later = asserting(workspaceQueue, workspace, "a");
    await settled();
    gate.next().go();
    assert.equal((await later).outcome, "created");
  });

  it("does not slow another workspace", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const stuck = asserting(workspaceQueue, workspace, "a");
    await settled();
    const held = gate.next();
    const other = asserting(workspaceQueue, aWorkspace(), "b");
    await settled();
    gate.next().go();
    assert.equal((await other).outcome, "created");
    held.go();
    await stuck;
  });

  it("holds no memory for a workspace that is idle, also after an error", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const answers = Promise.allSettled([
      asserting(workspaceQueue, workspace, "a"),
      asserting(workspaceQueue, aWorkspace(), "b"),
    ]);
    assert.equal(workspaceQueue.busy(), 2);
    await settled();
    gate.next().go();
    gate.next().fail(new Error("away"));
    await answers;
    await settled();
    assert.equal(workspaceQueue.busy(), 0);
  });

  it("refuses with unavailable when too many wait, in this workspace alone", async () => {
    const { gate, workspaceQueue, workspace } = aLane({ waitingMax: 2 });
    const first = asserting(workspaceQueue, workspace, "a");
    await settled();
    const waiting = [asserting(workspaceQueue, workspace, "b"), asserting(workspaceQueue, workspace, "c")];
    await assert.rejects(asserting(workspaceQueue, workspace, "d"), isUnavailable);
    const other = asserting(workspaceQueue, aWorkspace(), "e");
    await settled();
    gate.next().go();
    gate.next().go();
    await settled();
    gate.next().go();
    await Promise.all([first, ...waiting, other]);
    assert.deepEqual(gate.steps, ["a", "e", "bc"]);
  });

  it("leaves out calls for which nobody waits any more", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const first = asserting(workspaceQueue, workspace, "a");
    await settled();
    const call = { expired: false };
    const left = workspaceQueue.assert(workspace, [aRequest(workspace, anAssertion("b"))], call);
    const last = asserting(workspaceQueue, workspace, "c");
    call.expired = true;
    gate.next().go();
    await settled();
    gate.next().go();
    await Promise.all([first, last, assert.rejects(left)]);
    assert.deepEqual(gate.steps, ["a", "c"]);
  });

  it("tells those that it leaves out: they may hold what others wait for", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const first = asserting(workspaceQueue, workspace, "a");
    await settled();
    const call = { expired: false };
    const left = [
      workspaceQueue.exclusive(workspace, async () => assert.fail("it is left out"), call),
      workspaceQueue.assert(workspace, [aRequest(workspace, anAssertion("a"))], call),
    ];
    call.expired = true;
    gate.next().go();
    await first;
    for (const one of left) await assert.rejects(one, /not begun in time/);
    assert.equal(workspaceQueue.busy(), 0);
  });

  it("gives a change its id in its step, so that the order of ids is the order of changes", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const before = workspaceQueue.exclusive(workspace, () => new Promise((go) => void setImmediate(go)), WAITING);
    const answer = asserting(workspaceQueue, workspace, "a");
    await before;
    const meanwhile = newId<ChangeId>();
    await settled();
    gate.next().go();
    assert.ok((await answer).changeId! > meanwhile);
  });

  it("runs alone what must be alone: after what came before it, and before what came later", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const first = asserting(workspaceQueue, workspace, "a");
    const alone = workspaceQueue.exclusive(workspace, async () => void gate.steps.push("alone"), WAITING);
    const last = asserting(workspaceQueue, workspace, "b");
    await settled();
    assert.deepEqual(gate.steps, ["a"], "nothing shares a step across it");
    gate.next().go();
    await alone;
    await settled();
    gate.next().go();
    await Promise.all([first, last]);
    assert.deepEqual(gate.steps, ["a", "alone", "b"]);
  });

  it("goes on after work of its own that failed, and tells only its caller", async () => {
    const { gate, workspaceQueue, workspace } = aLane();
    const failed = workspaceQueue.exclusive(workspace, () => Promise.reject(new Error("refused")), WAITING);
    const last = asserting(workspaceQueue, workspace, "a");
    await assert.rejects(failed, /refused/);
    await settled();
    gate.next().go();
    assert.equal((await last).outcome, "created");
  });
});
