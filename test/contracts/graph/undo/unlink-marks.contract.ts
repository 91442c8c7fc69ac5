import assert from "node:assert/strict";
import type { UndoResult } from "../../../../core/identity/api.js";
import type { ChangeId, KeyId } from "../../../../core/ids.js";
import type { IdentityGraph } from "../../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../../graph/identity.js";
import type { Contract } from "../../../support/contract.js";
import { anIdentifier } from "../../../support/identity/fixtures.js";
import {
  anUndoBench,
  deliver,
  hub,
  identify,
  people,
  revert,
  unlinkHub,
  type UndoBench,
} from "../../../support/identity/undo-bench.js";

let values = 0;
/** What an event of then that names the hub and somebody new is told. */
async function ruleFor(bench: UndoBench, at: number): Promise<string | undefined> {
  return (await deliver(bench, at, hub, anIdentifier(`new ${(values += 1)}`))).dropped[0]?.rule;
}

async function unlinkAnew(bench: UndoBench): Promise<UndoResult> {
  bench.now.at += 10;
  for (const one of people) await identify(bench, hub, one);
  return unlinkHub(bench);
}

/** Reverts a change, and another one between the reading of the first and its first step. */
async function revertBoth(bench: UndoBench, one: UndoResult, other: UndoResult) {
  const { graph, workspace, now } = bench;
  const outcomes: string[] = [];
  const markedAt: IdentityGraph["markedAt"] = async (...asked) => {
    const answer = await graph.markedAt(...asked);
    if (outcomes.length === 0) outcomes.push((await revert(bench, other)).outcome);
    return answer;
  };
  const slow = createIdentity({ graph: { ...graph, markedAt }, timeoutMs: 60_000, now: () => now.at });
  const evidence = { source: "revert", keyId: "key0000001" as KeyId, at: now.at } as const;
  return [(await slow.revert(workspace, one.changeId!, evidence)).outcome, ...outcomes];
}

/** What several unlinks of one identifier leave with it, and their reverts. */
export const identityGraphUnlinkMarks: Contract<IdentityGraph> = {
  "the revert of an unlink leaves those before it, which go on keeping older events out": async ({ port }) => {
    const bench = await anUndoBench(port);
    const { at } = bench.now;
    const first = await unlinkHub(bench);
    const second = await unlinkAnew(bench);
    assert.equal(await ruleFor(bench, at + 5), "unlinked");
    assert.equal((await revert(bench, second)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at), "unlinked", "the first one stands");
    assert.equal(await ruleFor(bench, at + 5), undefined, "the second one does not");
    assert.equal((await revert(bench, first)).outcome, "reverted", "nothing but its mark is left of it");
    assert.equal((await revert(bench, first)).outcome, "unchanged");
    assert.equal(await ruleFor(bench, at), undefined);
  },

  "the revert of an unlink leaves those after it": async ({ port }) => {
    const bench = await anUndoBench(port);
    const { at } = bench.now;
    const first = await unlinkHub(bench);
    const second = await unlinkAnew(bench);
    assert.equal((await revert(bench, first)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at + 5), "unlinked");
    assert.equal((await revert(bench, second)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at), undefined, "the first one is not back");
  },

  "the revert of a revert of an unlink marks the identifier again, beside the marks that it has": async ({ port }) => {
    const bench = await anUndoBench(port);
    const { at } = bench.now;
    const first = await unlinkHub(bench);
    const back = await revert(bench, first);
    assert.equal(await ruleFor(bench, at), undefined);
    bench.now.at += 10;
    const anew = await revert(bench, back);
    assert.equal(anew.outcome, "reverted");
    const third = await unlinkAnew(bench);
    assert.equal((await revert(bench, third)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at + 10), "unlinked");
    assert.equal((await revert(bench, anew)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at), undefined);
  },

  "an unlink that failed halfway goes on counting when only the rest of it is reverted": async ({ port }) => {
    const bench = await anUndoBench(port);
    const { at } = bench.now;
    bench.beforeStep((number) => {
      if (number === 2) throw new Error("the process ends");
    });
    await assert.rejects(unlinkHub(bench), /the process ends/);
    bench.beforeStep(() => undefined);
    bench.now.at += 10;
    const rest = await unlinkHub(bench);
    const records = await bench.identity.changes(bench.workspace, "unlinked", { limit: 2, before: null });
    assert.deepEqual(records[0]!.changeId, rest.changeId);
    assert.equal((await revert(bench, rest)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at), "unlinked");
    assert.equal((await revert(bench, records[1]!)).outcome, "reverted");
    assert.equal(await ruleFor(bench, at), undefined);
  },

  "two unlinks that are reverted at once leave no mark, whichever is read first": async ({ port }) => {
    for (const isFirstRead of [true, false]) {
      const bench = await anUndoBench(port);
      const { at } = bench.now;
      const undone = [await unlinkHub(bench), await unlinkAnew(bench)] as const;
      const [one, other] = isFirstRead ? undone : ([undone[1], undone[0]] as const);
      assert.deepEqual(await revertBoth(bench, one, other), ["reverted", "reverted"]);
      assert.equal(await ruleFor(bench, at), undefined);
    }
  },

  "two reverts of one unlink at once are one, also where nothing but its mark is left": async ({ port }) => {
    const bench = await anUndoBench(port);
    const { at } = bench.now;
    const first = await unlinkHub(bench);
    await unlinkAnew(bench);
    assert.deepEqual(await revertBoth(bench, first, first), ["unchanged", "reverted"]);
    const reverts = await bench.identity.changes(bench.workspace, "reverted", { limit: 5, before: null });
    assert.deepEqual(
      reverts.map(({ reverts }): ChangeId | null => reverts),
      [first.changeId],
    );
    assert.equal(await ruleFor(bench, at), "unlinked", "the second unlink counts");
  },
};
