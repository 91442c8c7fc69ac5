import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../../core/event/event.js";
import type { Identity } from "../../../../core/identity/api.js";
import type { Change, ForbiddenPair } from "../../../../core/identity/model.js";
import { newId, type ChangeId, type Uid, type WorkspaceId } from "../../../../core/ids.js";
import type { IdentityGraph } from "../../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../../graph/identity.js";
import type { Contract } from "../../../support/contract.js";
import { erase, finish } from "../../../support/identity/erasures.js";
import { anAssertion, aWorkspace, EVIDENCE, step } from "../../../support/identity/fixtures.js";
import { aChange, aForbiddenPair, forbid, joined, write, type Pair } from "../../../support/identity/plans.js";
import { ALL, ann, bob, cat, dan } from "../../../support/identity/snapshots.js";

const identityOf = (graph: IdentityGraph, linksPerStep = 250): Identity =>
  createIdentity({ graph, timeoutMs: 60_000, linksPerStep });

const areOne = async (identity: Identity, workspace: WorkspaceId): Promise<boolean> => {
  const [one, other] = await identity.lookup(workspace, [ann, bob]);
  return one!.profileId === other!.profileId;
};

/** Everybody alone, and the changes of an export that links Ann and Cat, and Cat and Bob, and forbids Ann and Bob. */
async function anImport(graph: IdentityGraph) {
  const [identity, workspace] = [identityOf(graph), aWorkspace()];
  const people = [ann, bob, cat];
  const uids = people.map(() => newId<Uid>());
  const members = people.map((identifier, n) => ({ uid: uids[n]!, identifier, isShared: false, seenWith: [] }));
  const [linked, reverted, forbidding] = (["linked", "reverted", "forbidden"] as const).map((outcome) =>
    aChange({ changeId: newId<ChangeId>(), outcome, identifiers: people }),
  ) as [Change, Change, Change];
  await identity.restore(workspace, { kind: "members", records: members });
  await identity.restore(workspace, { kind: "changes", records: [linked, reverted, forbidding] });
  const linkOf = (from: number, to: number, restoredBy: ChangeId | null = null) => {
    const { changeId, evidence } = linked;
    return { from: uids[from]!, to: uids[to]!, changeId, evidence, restoredBy };
  };
  const pair = aForbiddenPair(workspace, [ann, bob], forbidding.changeId);
  return {
    identity,
    workspace,
    sendPair: () => identity.restore(workspace, { kind: "forbidden_pairs", records: [pair] }),
    sendLinks: (restoredBy: ChangeId | null) =>
      identity.restore(workspace, { kind: "links", records: [linkOf(0, 2), linkOf(2, 1, restoredBy)] }),
    reverted: reverted.changeId,
  };
}

/** As builds before imported it: a link joins the two sides of a pair that stands. */
async function joinedAllTheSame(graph: IdentityGraph, link: Pair): Promise<[WorkspaceId, ForbiddenPair]> {
  const workspace = aWorkspace();
  await step(graph, workspace, anAssertion(ann, cat, dan), anAssertion(bob));
  const pair = await forbid(graph, workspace, [ann, bob]);
  const change = aChange({ outcome: "linked", identifiers: link });
  const [from, to] = link.map((one) => identifierKey(workspace, one)) as [never, never];
  await write(graph, workspace, link, (standing) => ({
    changes: [change],
    components: joined(standing, link),
    links: [{ from, to, changeId: change.changeId, evidence: EVIDENCE, revives: false }],
  }));
  return [workspace, pair];
}

/** As an unlink of those builds left it: the profile of one side does not name the pair. */
async function namedByOne(graph: IdentityGraph, forgets: Identifier): Promise<[WorkspaceId, ForbiddenPair]> {
  const workspace = aWorkspace();
  await step(graph, workspace, anAssertion(ann, cat), anAssertion(bob));
  const pair = await forbid(graph, workspace, [ann, bob]);
  await write(graph, workspace, [forgets], ({ location, profile }) => ({
    components: [{ ...profile(forgets), into: location(forgets).component, absorbed: [], forbidden: [] }],
  }));
  return [workspace, pair];
}

/** The two are apart and stay so, until the pair is allowed. */
async function bindsAndCanBeAllowed(identity: Identity, workspace: WorkspaceId, pair: ForbiddenPair): Promise<void> {
  assert.ok(!(await areOne(identity, workspace)));
  const ids = (await identity.forbiddenPairs(workspace, ALL)).map(({ forbiddenPairId }) => forbiddenPairId);
  assert.deepEqual(ids, [pair.forbiddenPairId]);
  const { dropped } = await identity.assert(workspace, anAssertion(ann, bob));
  assert.deepEqual(
    dropped.map(({ rule }) => rule),
    ["forbidden_pair"],
  );
  await canBeAllowed(identity, workspace, pair);
  await identity.assert(workspace, anAssertion(ann, bob));
  assert.ok(await areOne(identity, workspace));
}

async function canBeAllowed(identity: Identity, workspace: WorkspaceId, pair: ForbiddenPair): Promise<void> {
  const { outcome, before } = await identity.allow(workspace, pair.forbiddenPairId, { ...EVIDENCE, source: "allow" });
  assert.equal(outcome, "allowed");
  assert.equal(new Set(before.map(({ profileId }) => profileId)).size, before.length, "each profile is told once");
  assert.deepEqual(await identity.forbiddenPairs(workspace, ALL), []);
}

const UNLINK = { ...EVIDENCE, source: "unlink" } as const;

/** Imports never join the two sides of a forbidden pair, and where builds before did, the pair can be undone. */
export const identityGraphJoinedPairs: Contract<IdentityGraph> = {
  "update of an import leaves out and counts a link that would make one profile of a forbidden pair": async ({
    port,
  }) => {
    for (const isRestored of [false, true]) {
      const { identity, workspace, sendPair, sendLinks, reverted } = await anImport(port);
      assert.equal(await sendPair(), 0);
      for (let times = 0; times < 2; times += 1) {
        assert.equal(await sendLinks(isRestored ? reverted : null), 1);
        assert.equal(await sendPair(), 0);
        assert.ok(!(await areOne(identity, workspace)));
      }
      assert.equal((await identity.lookup(workspace, [cat]))[0]!.size, 2);
      const [pair] = await identity.forbiddenPairs(workspace, ALL);
      await bindsAndCanBeAllowed(identity, workspace, pair!);
    }
  },

  "update of an import leaves out and counts a forbidden pair whose sides are one profile": async ({ port }) => {
    const { identity, workspace, sendPair, sendLinks } = await anImport(port);
    assert.equal(await sendLinks(null), 0);
    for (let times = 0; times < 2; times += 1) assert.equal(await sendPair(), 1);
    assert.deepEqual(await identity.forbiddenPairs(workspace, ALL), []);
    const { outcome } = await identity.unlink(workspace, { from: cat, to: bob, forbid: false }, UNLINK);
    assert.equal(outcome, "unlinked");
    assert.equal((await identity.unlink(workspace, { from: ann, to: bob, forbid: true }, UNLINK)).outcome, "forbidden");
  },

  "update allows a pair whose sides are one profile": async ({ port }) => {
    const [workspace, pair] = await joinedAllTheSame(port, [cat, bob]);
    const identity = identityOf(port);
    await canBeAllowed(identity, workspace, pair);
    await identity.unlink(workspace, { from: cat, to: bob, forbid: false }, UNLINK);
    assert.ok(!(await areOne(identity, workspace)));
    await identity.assert(workspace, anAssertion(ann, bob));
    assert.ok(await areOne(identity, workspace));
  },

  "update that takes apart the two sides of a pair leaves it to both": async ({ port }) => {
    for (const linksPerStep of [1, 250])
      for (const asked of [
        { from: cat, to: bob, forbid: false },
        { identifier: cat },
        { from: cat, to: bob, forbid: true },
      ]) {
        const [workspace, pair] = await joinedAllTheSame(port, [cat, bob]);
        const identity = identityOf(port, linksPerStep);
        // What is larger stays where it is: also the side of Bob.
        if ("identifier" in asked) await identity.assert(workspace, anAssertion(bob, "b1", "b2", "b3"));
        await identity.unlink(workspace, asked, UNLINK);
        const both = await identity.forbiddenPairs(workspace, ALL);
        for (const { forbiddenPairId } of both.filter((one) => one.forbiddenPairId !== pair.forbiddenPairId))
          await identity.allow(workspace, forbiddenPairId, { ...EVIDENCE, source: "allow" });
        await bindsAndCanBeAllowed(identity, workspace, pair);
      }
  },

  "update forbids a pair that stands, where it was joined by a link of its own": async ({ port }) => {
    const [workspace, pair] = await joinedAllTheSame(port, [ann, bob]);
    const identity = identityOf(port);
    const { outcome } = await identity.unlink(workspace, { from: ann, to: bob, forbid: true }, UNLINK);
    assert.equal(outcome, "unlinked");
    await bindsAndCanBeAllowed(identity, workspace, pair);
  },

  "continueErasure ends a pair that only the other profile names": async ({ port }) => {
    const identity = identityOf(port);
    const [workspace, pair] = await namedByOne(port, bob);
    await finish(port, await erase(port, workspace, bob));
    assert.deepEqual(await identity.forbiddenPairs(workspace, ALL), []);
    await identity.assert(workspace, anAssertion(bob));
    const { outcome } = await identity.unlink(workspace, { from: ann, to: bob, forbid: true }, UNLINK);
    assert.equal(outcome, "forbidden");
    await bindsAndCanBeAllowed(identity, workspace, pair);
  },

  "continueErasure leaves the pairs that the other profile alone names": async ({ port }) => {
    const identity = identityOf(port);
    const [workspace] = await namedByOne(port, ann);
    await identity.assert(workspace, anAssertion(dan));
    await identity.unlink(workspace, { from: ann, to: dan, forbid: true }, UNLINK);
    await finish(port, await erase(port, workspace, bob));
    assert.equal((await identity.forbiddenPairs(workspace, ALL)).length, 1);
    await identity.assert(workspace, anAssertion(ann, dan));
    const [one, other] = await identity.lookup(workspace, [ann, dan]);
    assert.notEqual(one!.profileId, other!.profileId);
  },

  "update allows, and forbids, a pair that only one of its profiles names": async ({ port }) => {
    const identity = identityOf(port);
    for (const forgets of [ann, bob]) {
      const [allowed, one] = await namedByOne(port, forgets);
      await canBeAllowed(identity, allowed, one);
      const [workspace, pair] = await namedByOne(port, forgets);
      for (const outcome of ["forbidden", "unchanged"]) {
        const done = await identity.unlink(workspace, { from: ann, to: bob, forbid: true }, UNLINK);
        assert.equal(done.outcome, outcome);
      }
      await bindsAndCanBeAllowed(identity, workspace, pair);
    }
  },
};
