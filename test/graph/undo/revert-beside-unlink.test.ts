import assert from "node:assert/strict";
import type { UndoResult } from "../../../core/identity/api.js";
import type { KeyId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { useEmbeddedGraph } from "../../support/identity/use-graph.js";
import { anIdentifier } from "../../support/identity/fixtures.js";
import {
  anUndoBench,
  checkRight,
  deliver,
  EVERYBODY,
  hub,
  identify,
  people,
  revert,
  unlinkHub,
  type UndoBench,
} from "../../support/identity/undo-bench.js";

describe("A revert of an unlink", () => {
  const graphOf = useEmbeddedGraph();

  it("leaves the mark of a newer unlink that comes between its reading and its first step", async () => {
    const bench = await anUndoBench(graphOf());
    const { graph, identity, workspace, now } = bench;
    const undone = await unlinkHub(bench);
    const [near, late] = [anIdentifier("near"), anIdentifier("late")];
    const sent = (now.at += 10);
    let isUnlinkedAnew = false;
    const isUnlinkedBy: IdentityGraph["isUnlinkedBy"] = async (...asked) => {
      const answer = await graph.isUnlinkedBy(...asked);
      if (isUnlinkedAnew) return answer;
      isUnlinkedAnew = true;
      now.at += 10;
      await identify(bench, hub, near);
      await unlinkHub(bench);
      return answer;
    };
    const other = createIdentity({ graph: { ...graph, isUnlinkedBy }, timeoutMs: 60_000, now: () => now.at });
    const evidence = { source: "revert", keyId: "key0000001" as KeyId, at: now.at } as const;
    const { outcome } = await other.revert(workspace, undone.changeId!, evidence);
    assert.deepEqual([outcome, isUnlinkedAnew], ["reverted", true]);
    assert.equal((await deliver(bench, sent, hub, late)).dropped[0]?.rule, "unlinked");
    assert.equal((await identity.lookup(workspace, [hub]))[0]!.size, 8, "its own links are back");
    await checkRight(bench, [...EVERYBODY, near]);
  });

  /** What an event of then that names the hub and somebody new is told. */
  async function ruleFor(bench: UndoBench, at: number, value: string): Promise<string | undefined> {
    return (await deliver(bench, at, hub, anIdentifier(value))).dropped[0]?.rule;
  }
  async function unlinkAnew(bench: UndoBench): Promise<UndoResult> {
    bench.now.at += 10;
    await identify(bench, hub, people[0]!);
    return unlinkHub(bench);
  }

  it("leaves the one before it, until that is reverted too", async () => {
    const bench = await anUndoBench(graphOf());
    const { now } = bench;
    const at = now.at;
    const first = await unlinkHub(bench);
    const between = at + 5;
    const second = await unlinkAnew(bench);
    assert.equal(await ruleFor(bench, between, "x1"), "unlinked");
    assert.equal((await revert(bench, second)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "x2"), "unlinked", "the first one stands");
    assert.equal(await ruleFor(bench, between, "x3"), undefined, "the second one does not");
    assert.equal((await revert(bench, first)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "x4"), undefined);
  });

  it("passes over one that was reverted, and comes to the revert of such a revert", async () => {
    const bench = await anUndoBench(graphOf());
    const at = bench.now.at;
    const first = await unlinkHub(bench);
    const second = await unlinkAnew(bench);
    const back = await revert(bench, first);
    assert.equal(back.outcome, "reverted");
    assert.equal((await revert(bench, second)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "y1"), undefined, "both are reverted");
    bench.now.at += 10;
    const anew = await revert(bench, back);
    assert.equal(anew.outcome, "reverted", "the first one counts again");
    const third = await unlinkAnew(bench);
    assert.equal((await revert(bench, third)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "y2"), "unlinked");
    assert.equal((await revert(bench, anew)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "y3"), undefined);
  });

  it("leaves the record of a first try that failed halfway", async () => {
    const bench = await anUndoBench(graphOf());
    const at = bench.now.at;
    bench.beforeStep((number) => {
      if (number === 2) throw new Error("the process ends");
    });
    await assert.rejects(unlinkHub(bench), /the process ends/);
    bench.beforeStep(() => undefined);
    bench.now.at += 10;
    const rest = await unlinkHub(bench);
    assert.equal((await revert(bench, rest)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "z1"), "unlinked");
    const [first] = (await bench.identity.changes(bench.workspace, "unlinked", { limit: 2, before: null })).slice(1);
    assert.equal((await revert(bench, first!)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at, "z2"), undefined);
  });
});
