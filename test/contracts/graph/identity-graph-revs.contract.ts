import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { hasOnlyGrown } from "../../../core/identity/step.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../../support/identity/fixtures.js";
import { aChange, EVERYBODY, forbid, giveBack, keysOf, allow, takeApart, write } from "../../support/identity/plans.js";
import { ann, bob, cat, dan, wanting, wantingRules } from "../../support/identity/snapshots.js";

/** The rev of the profile that each is in. */
async function revsOf(port: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) {
  const { identifiers: seen, components } = await port.read(
    workspace,
    wantingRules(wanting(workspace, ...identifiers)),
  );
  return identifiers.map((one) => components.get(seen.get(identifierKey(workspace, one))!.component)!.rev);
}

/** Runs the change, and says whose profile has a higher rev now; none has a lower one. */
async function raisedBy(port: IdentityGraph, workspace: WorkspaceId, change: () => Promise<unknown>) {
  const before = await revsOf(port, workspace, ...EVERYBODY);
  await change();
  const after = await revsOf(port, workspace, ...EVERYBODY);
  for (const [i, rev] of after.entries()) assert.ok(rev >= before[i]!, "it never goes back");
  return EVERYBODY.filter((_, i) => after[i]! > before[i]!).map(({ value }) => value);
}

/** Whoever read a profile page by page tells by its rev whether it changed meanwhile. */
export const identityGraphRevs: Contract<IdentityGraph> = {
  "update raises the rev of a profile that grows, and of no other": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat), anAssertion(dan));
    const more = anAssertion("eve", ann);
    assert.deepEqual(await raisedBy(port, workspace, () => step(port, workspace, more)), ["ann", "bob"]);
    assert.deepEqual(await raisedBy(port, workspace, () => step(port, workspace, more)), [], "nothing was written");
    const look = () =>
      port.update(workspace, wantingRules(wanting(workspace, ann)), () => ({ plan: null, result: null }));
    assert.deepEqual(await raisedBy(port, workspace, look), []);
  },

  "update raises the rev of a merged profile beyond those of all its parts": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat, dan));
    // The part that is absorbed has the higher rev, whichever it is.
    for (let i = 0; i < 5; i++) await step(port, workspace, anAssertion(ann, `a${i}`));
    for (let i = 0; i < 3; i++) await step(port, workspace, anAssertion(cat, `c${i}`), anAssertion(dan, `d${i}`));
    const merge = () => step(port, workspace, anAssertion(bob, dan));
    assert.deepEqual(await raisedBy(port, workspace, merge), ["ann", "bob", "cat", "dan"]);
  },

  "update raises the rev of a profile whose links change and nothing else": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(bob, cat), anAssertion(dan));
    const mine = ["ann", "bob", "cat"];
    const link = () => step(port, workspace, anAssertion(ann, cat));
    assert.deepEqual(await raisedBy(port, workspace, link), mine, "one more");
    const remove = () => takeApart(port, workspace, [[ann, bob]], [[ann, bob, cat]]);
    assert.deepEqual(await raisedBy(port, workspace, remove), mine, "one less");
    const restore = () => giveBack(port, workspace, [ann, bob]);
    assert.deepEqual(await raisedBy(port, workspace, restore), mine, "restored");
    await remove();
    const revive = () =>
      write(port, workspace, [ann, bob], () => {
        const change = aChange({ outcome: "linked" });
        const [from, to] = keysOf(workspace, [ann, bob]);
        const { changeId } = change;
        return { changes: [change], links: [{ from, to, changeId, evidence: EVIDENCE, revives: true }] };
      });
    assert.deepEqual(await raisedBy(port, workspace, revive), mine, "revived");
  },

  "update raises the rev by a removal so that it is told apart from growth, however much there is": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(bob, cat), anAssertion(ann, cat), anAssertion(dan));
    const [then] = await revsOf(port, workspace, ann);
    const isGrown = async (...of: readonly Identifier[]) =>
      (await revsOf(port, workspace, ...of)).map((rev) => hasOnlyGrown(then!, rev));
    await step(port, workspace, anAssertion(ann, "eve"));
    await step(port, workspace, anAssertion(bob, dan));
    await step(port, workspace, anAssertion("zoe"));
    await allow(port, workspace, await forbid(port, workspace, [ann, anIdentifier("zoe")]));
    assert.deepEqual(await isGrown(ann, dan), [true, true]);
    await takeApart(port, workspace, [[ann, cat]], [[ann, bob, cat, dan, anIdentifier("eve")]]);
    assert.deepEqual(await isGrown(ann, dan), [false, false], "nobody left");
    const [since] = await revsOf(port, workspace, ann);
    await giveBack(port, workspace, [ann, cat]);
    const [restored] = await revsOf(port, workspace, ann);
    assert.ok(hasOnlyGrown(since!, restored!), "a link that stands again is growth");
    await takeApart(port, workspace, [[bob, dan]], [[ann, bob, cat, anIdentifier("eve")], [dan]]);
    const both = await revsOf(port, workspace, ann, dan);
    assert.deepEqual(
      both.map((rev) => hasOnlyGrown(restored!, rev)),
      [false, false],
      "the part that stays, and the one that leaves",
    );
  },

  "update raises the rev of every part of a profile that falls apart, and of those that are joined again": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(bob, cat), anAssertion(dan));
    const split = () =>
      takeApart(
        port,
        workspace,
        [
          [ann, bob],
          [bob, cat],
        ],
        [[bob], [ann], [cat]],
      );
    assert.deepEqual(await raisedBy(port, workspace, split), ["ann", "bob", "cat"]);
    const rejoin = () => giveBack(port, workspace, [cat, bob]);
    assert.deepEqual(await raisedBy(port, workspace, rejoin), ["bob", "cat"]);
  },

  "update raises the rev of both profiles of a pair that is forbidden, or allowed again": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat), anAssertion(dan));
    const forbidden = await forbid(port, workspace, [ann, dan]);
    const allowed = () => allow(port, workspace, forbidden);
    assert.deepEqual(await raisedBy(port, workspace, allowed), ["ann", "bob", "dan"]);
    assert.deepEqual(await raisedBy(port, workspace, () => forbid(port, workspace, [ann, cat])), ["ann", "bob", "cat"]);
  },
};
