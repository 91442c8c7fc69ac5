import assert from "node:assert/strict";
import { isUnavailable } from "../../core/errors.js";
import { newId, type ChangeId, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports.js";
import { NO_RULES } from "../../graph/rules/violation.js";
import { createLane, type Lane, type LaneOptions } from "../../graph/workspace-queue.js";
import { wantOf } from "../../graph/rules/read-set.js";
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

const asserting = (lane: Lane, workspace: WorkspaceId, ...identifiers: readonly string[]) =>
  lane.assert(workspace, [aRequest(workspace, anAssertion(...identifiers))], WAITING).then(([verdict]) => verdict!);

const aLane = (options: Partial<LaneOptions> = {}) => {
  const gate = createGate();
  const lane = createLane({ graph: gate, rulesOf: async () => NO_RULES, newChangeId: newId<ChangeId> }, options);
  return { gate, lane, workspace: aWorkspace() };
};

describe("The lane", () => {
  it("starts at once when nobody waits, without a timer", async () => {
    const { gate, lane, workspace } = aLane();
    const answer = asserting(lane, workspace, "a");
    await settled();
    assert.deepEqual(gate.steps, ["a"]);
    gate.next().go();
    assert.equal((await answer).outcome, "created");
  });

  it("puts those that arrive in one turn into one step, and answers each its own verdict", async () => {
    const { gate, lane, workspace } = aLane();
    const answers = [asserting(lane, workspace, "a"), asserting(lane, workspace, "b"), asserting(lane, workspace, "a")];
    await settled();
    gate.next().go();
    const verdicts = await Promise.all(answers);
    assert.deepEqual(gate.steps, ["ab"]);
    assert.deepEqual(
      verdicts.map(({ outcome }) => outcome),
      ["created", "created", "unchanged"],
    );
    assert.notEqual(verdicts[0]!.profileId, verdicts[1]!.profileId);
  });

  it("combines all that wait while a step is under way into the next one", async () => {
    const { gate, lane, workspace } = aLane();
    const answers = [asserting(lane, workspace, "a")];
    await settled();
    for (const letter of ["b", "c", "d"]) {
      answers.push(asserting(lane, workspace, letter));
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
    const { gate, lane, workspace } = aLane({ lookupsPerStep: 4 });
    // 1 look-up for a single identifier, 3 for a pair, 6 for three.
    const calls = [["a"], ["b", "c"], ["d", "e", "f"], ["g"], ["h"]];
    const answers = calls.map((call) => asserting(lane, workspace, ...call));
    for (let i = 0; i < 3; i++) {
      await settled();
      gate.next().go();
    }
    await Promise.all(answers);
    assert.deepEqual(gate.steps, ["abc", "def", "gh"]);
  });

  it("keeps the order of one call's assertions over several steps", async () => {
    const { gate, lane, workspace } = aLane({ lookupsPerStep: 3 });
    const requests = ["ab", "cd", "bc", "ad"].map((pair) => aRequest(workspace, anAssertion(...lettersOf(pair))));
    const answer = lane.assert(workspace, requests, WAITING);
    for (const _ of requests) {
      await settled();
      gate.next().go();
    }
    assert.deepEqual(
      (await answer).map(({ outcome }) => outcome),
      ["created", "created", "merged", "linked"],
    );
  });

  it("rejects only those in a step that fails, and goes on", async () => {
    const { gate, lane, workspace } = aLane();
    const failing = [asserting(lane, workspace, "a"), asserting(lane, workspace, "b")];
    const outcomes = Promise.allSettled(failing);
    await settled();
    const waiting = asserting(lane, workspace, "c");
    gate.next().fail(new Error("away"));
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ["rejected", "rejected"],
    );
    await settled();
    gate.next().go();
    assert.equal((await waiting).outcome, "created");
    const later = asserting(lane, workspace, "a");
    await settled();
    gate.next().go();
    assert.equal((await later).outcome, "created");
  });

  it("does not slow another workspace", async () => {
    const { gate, lane, workspace } = aLane();
    const stuck = asserting(lane, workspace, "a");
    await settled();
    const held = gate.next();
    const other = asserting(lane, aWorkspace(), "b");
    await settled();
    gate.next().go();
    assert.equal((await other).outcome, "created");
    held.go();
    await stuck;
  });

  it("holds no memory for a workspace that is idle, also after an error", async () => {
    const { gate, lane, workspace } = aLane();
    const answers = Promise.allSettled([asserting(lane, workspace, "a"), asserting(lane, aWorkspace(), "b")]);
    assert.equal(lane.busy(), 2);
    await settled();
    gate.next().go();
    gate.next().fail(new Error("away"));
    await answers;
    await settled();
    assert.equal(lane.busy(), 0);
  });

  it("refuses with unavailable when too many wait, in this workspace alone", async () => {
    const { gate, lane, workspace } = aLane({ waitingMax: 2 });
    const first = asserting(lane, workspace, "a");
    await settled();
    const waiting = [asserting(lane, workspace, "b"), asserting(lane, workspace, "c")];
    await assert.rejects(asserting(lane, workspace, "d"), isUnavailable);
    await assert.rejects(lane.look(workspace, { keys: [], pairs: [] }, WAITING), isUnavailable);
    const other = asserting(lane, aWorkspace(), "e");
    await settled();
    gate.next().go();
    gate.next().go();
    await settled();
    gate.next().go();
    await Promise.all([first, ...waiting, other]);
    assert.deepEqual(gate.steps, ["a", "e", "bc"]);
  });

  it("leaves out calls for which nobody waits any more", async () => {
    const { gate, lane, workspace } = aLane();
    const first = asserting(lane, workspace, "a");
    await settled();
    const call = { expired: false };
    const left = lane.assert(workspace, [aRequest(workspace, anAssertion("b"))], call);
    const last = asserting(lane, workspace, "c");
    call.expired = true;
    gate.next().go();
    await settled();
    gate.next().go();
    await Promise.all([first, last, assert.rejects(left)]);
    assert.deepEqual(gate.steps, ["a", "c"]);
  });

  it("tells those that it leaves out: they may hold what others wait for", async () => {
    const { gate, lane, workspace } = aLane();
    const first = asserting(lane, workspace, "a");
    await settled();
    const call = { expired: false };
    const { keys } = aRequest(workspace, anAssertion("a"));
    const left = [
      lane.alone(workspace, async () => assert.fail("it is left out"), call),
      lane.look(workspace, wantOf(keys), call),
    ];
    call.expired = true;
    gate.next().go();
    await first;
    for (const one of left) await assert.rejects(one, /not begun in time/);
    assert.equal(lane.busy(), 0);
  });

  it("looks between the steps, so that it sees all that was answered before", async () => {
    const { gate, lane, workspace } = aLane();
    const first = asserting(lane, workspace, "a");
    const { keys } = aRequest(workspace, anAssertion("a"));
    await settled();
    const looked = lane.look(workspace, wantOf(keys), WAITING);
    gate.next().go();
    const { profileId } = await first;
    await settled();
    gate.next().go();
    const [seen] = (await looked).components.values();
    assert.deepEqual([seen!.profileId, seen!.size], [profileId, 1]);
  });

  it("gives a change its id in its step, so that the order of ids is the order of changes", async () => {
    const { gate, lane, workspace } = aLane();
    const before = lane.alone(workspace, () => new Promise((go) => void setImmediate(go)), WAITING);
    const answer = asserting(lane, workspace, "a");
    await before;
    const meanwhile = newId<ChangeId>();
    await settled();
    gate.next().go();
    assert.ok((await answer).changeId! > meanwhile);
  });

  it("runs alone what must be alone: after what came before it, and before what came later", async () => {
    const { gate, lane, workspace } = aLane();
    const first = asserting(lane, workspace, "a");
    const alone = lane.alone(workspace, async () => void gate.steps.push("alone"), WAITING);
    const last = asserting(lane, workspace, "b");
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
    const { gate, lane, workspace } = aLane();
    const failed = lane.alone(workspace, () => Promise.reject(new Error("refused")), WAITING);
    const last = asserting(lane, workspace, "a");
    await assert.rejects(failed, /refused/);
    await settled();
    gate.next().go();
    assert.equal((await last).outcome, "created");
  });
});
