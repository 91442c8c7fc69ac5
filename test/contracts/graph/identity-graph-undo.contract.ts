import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { Uid, WorkspaceId } from "../../../core/ids.js";
import { pairKey, type ListedLink } from "../../../core/identity/model.js";
import { hasOnlyGrown } from "../../../core/identity/step.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../../support/identity/fixtures.js";
import {
  aChain,
  aChange,
  EVERYBODY,
  giveBack,
  IN_HALVES,
  joined,
  keysOf,
  takeApart,
  write,
  type Pair,
} from "../../support/identity/plans.js";
import { readPartition } from "../../support/identity/model.js";
import {
  ALL,
  NEWEST,
  ann,
  bob,
  cat,
  dan,
  hostileValues,
  standing,
  valuesOf,
} from "../../support/identity/snapshots.js";

const partition = (port: IdentityGraph, workspace: WorkspaceId) => readPartition(port, workspace, EVERYBODY);

const uidOf = async (port: IdentityGraph, workspace: WorkspaceId, identifier: Identifier): Promise<Uid> =>
  (await standing(port, workspace, identifier)).profiles[0]![1].uid;

type Profile = Awaited<ReturnType<typeof standing>>["profiles"][number];

/** What `update` does with links that are taken back, and with profiles that fall apart. */
export const identityGraphUndo: Contract<IdentityGraph> = {
  "update takes a link back: the pair is linked no more, and its profile stays one if the plan says so": async ({
    port,
  }) => {
    const workspace = await aChain(port);
    await step(port, workspace, anAssertion(ann, cat));
    const change = aChange();
    await takeApart(port, workspace, [[bob, cat]], [EVERYBODY], change);
    assert.deepEqual(await partition(port, workspace), [["ann", "bob", "cat", "dan"]]);
    const { linked, removed } = await standing(port, workspace, ...EVERYBODY);
    assert.equal(linked.length, 3);
    assert.deepEqual(removed, [[pairKey(...keysOf(workspace, [bob, cat])), { at: EVIDENCE.at, by: change.changeId }]]);
  },

  "update removes a link that it writes: nobody ever sees it stand, and its two profiles stay two": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann), anAssertion(bob), anAssertion(bob, cat));
    const [linked, gone] = [aChange({ identifiers: [ann, bob] }), aChange({ identifiers: [ann, bob, cat] })];
    const [from, to] = keysOf(workspace, [ann, bob]);
    const [[, , before]] = (await standing(port, workspace, ann)).profiles as [Profile];
    await write(port, workspace, [ann, bob, cat], () => ({
      changes: [linked, gone],
      links: [{ from, to, changeId: linked.changeId, evidence: EVIDENCE, revives: false }],
      removes: [
        { pair: [from, to], changeId: gone.changeId, at: EVIDENCE.at + 5 },
        { pair: keysOf(workspace, [bob, cat]), changeId: gone.changeId, at: EVIDENCE.at + 6 },
      ],
    }));
    const { linked: left, removed, profiles } = await standing(port, workspace, ann, bob, cat);
    assert.deepEqual(left, []);
    assert.deepEqual(
      new Map(removed),
      new Map([
        [pairKey(from, to), { at: EVIDENCE.at + 5, by: gone.changeId }],
        [pairKey(...keysOf(workspace, [bob, cat])), { at: EVIDENCE.at + 6, by: gone.changeId }],
      ]),
    );
    assert.equal(new Set(profiles.map(([, , { profileId }]) => profileId)).size, 2);
    const [[, , after]] = (await standing(port, workspace, ann)).profiles as [Profile];
    assert.equal(hasOnlyGrown(before.rev, after.rev), false);
    const { links } = await port.linksRemovedBy(workspace, gone, { limit: 10, after: null });
    const own = links.filter(({ pair }) => pairKey(...pair) === pairKey(from, to));
    assert.deepEqual(
      [links.length, ...own.map(({ changeId, by, isActive }) => [changeId, by, isActive])],
      [2, [linked.changeId, gone.changeId, false]],
    );
  },

  "update restores a link that it removes: nobody ever sees it removed, and its change is the last one": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob));
    const change = aChange({ identifiers: [ann, bob] });
    const { changeId } = change;
    const pair = keysOf(workspace, [ann, bob]);
    await write(port, workspace, [ann, bob], () => ({
      changes: [change],
      removes: [{ pair, changeId, at: EVIDENCE.at + 5 }],
      restores: [{ pair, changeId }],
    }));
    const { linked, removed, profiles } = await standing(port, workspace, ann, bob);
    assert.deepEqual([linked, removed], [[pairKey(...pair)], []]);
    assert.equal(new Set(profiles.map(([, , { profileId }]) => profileId)).size, 1);
    const links = await port.linksOfChange(workspace, change);
    assert.deepEqual(
      links.map(({ by, isActive }) => [by, isActive]),
      [[changeId, true]],
    );
  },

  "update lets a profile fall into any number of parts, each with its members and an id of its own": async ({
    port,
    reopen,
  }) => {
    const workspace = await aChain(port);
    const uids: Uid[] = [];
    for (const one of EVERYBODY) uids.push(await uidOf(port, workspace, one));
    await takeApart(
      port,
      workspace,
      [
        [ann, bob],
        [cat, dan],
      ],
      [[bob, cat], [ann], [dan]],
    );
    const check = async (graph: IdentityGraph): Promise<void> => {
      assert.deepEqual(await partition(graph, workspace), [["ann"], ["bob", "cat"], ["dan"]]);
      const profiles = await Promise.all(uids.map((uid) => graph.resolve(workspace, uid)));
      const ids = [uids[0], uids[1], uids[1], uids[3]];
      assert.deepEqual(
        profiles,
        ids.map((profileId, i) => ({ profileId, size: [1, 2, 2, 1][i] })),
      );
    };
    await check(port);
    await check(await reopen());
  },

  "update takes back links and restores them for a change that an earlier step left": async ({ port, reopen }) => {
    const workspace = await aChain(port);
    const change = aChange({ identifiers: [cat] });
    const { changeId, at } = change;
    const [first, second] = [keysOf(workspace, [bob, cat]), keysOf(workspace, [cat, dan])];
    await step(port, workspace, anAssertion(bob, dan));
    await write(port, workspace, EVERYBODY, () => ({
      changes: [change],
      removes: [{ pair: first, changeId, at }],
    }));
    await write(port, workspace, [ann, cat], ({ location, profile }) => {
      const { uid, component } = location(cat);
      const counts = profile(cat).counts;
      return {
        removes: [{ pair: second, changeId, at }],
        splits: [
          {
            component,
            stays: { ...profile(ann), size: 3 },
            parts: [{ profileId: uid, size: 1, counts, forbidden: [], members: [uid] }],
          },
        ],
      };
    });
    const graph = await reopen();
    assert.deepEqual(await partition(graph, workspace), [["ann", "bob", "dan"], ["cat"]]);
    const states = await graph.linksOfChange(workspace, change);
    assert.deepEqual(
      states.map(({ by, isActive }) => [by, isActive]),
      [
        [changeId, false],
        [changeId, false],
      ],
    );
    assert.equal((await graph.changes(workspace, "unlinked", NEWEST)).length, 1);
  },

  "update takes back links, and moves members, that the step did not look at": async ({ port }) => {
    const workspace = await aChain(port);
    const members = [await uidOf(port, workspace, cat), await uidOf(port, workspace, dan)];
    const change = aChange();
    await write(port, workspace, [ann], ({ location, profile }) => ({
      changes: [change],
      removes: [{ pair: keysOf(workspace, [cat, bob]), changeId: change.changeId, at: change.at }],
      splits: [
        {
          component: location(ann).component,
          stays: { ...profile(ann), size: 2 },
          parts: [{ ...profile(ann), profileId: members[0]!, size: 2, members }],
        },
      ],
    }));
    assert.deepEqual(await partition(port, workspace), [
      ["ann", "bob"],
      ["cat", "dan"],
    ]);
    assert.equal((await standing(port, workspace, ...EVERYBODY)).linked.length, 2);
  },

  "update moves the members of a large part, all and no others": async ({ port }) => {
    const workspace = aWorkspace();
    const many = Array.from({ length: 1_500 }, (_, i) => anIdentifier(`m${i}`));
    for (let i = 0; i < many.length; i += 19) await step(port, workspace, anAssertion(ann, ...many.slice(i, i + 19)));
    const [left, right] = [[ann, ...many.slice(0, 300)], many.slice(300)];
    await takeApart(port, workspace, [], [left, right]);
    assert.deepEqual(
      (await port.members(workspace, await uidOf(port, workspace, ann), { limit: 2_000, after: null })).length,
      left.length,
    );
    const found = await port.members(workspace, await uidOf(port, workspace, right[7]!), { limit: 2_000, after: null });
    assert.deepEqual(
      found.map(({ identifier }) => identifier.value).toSorted(),
      right.map(({ value }) => value).toSorted(),
    );
  },

  "update restores a link with the evidence and the change that it first had, and the revert behind it": async ({
    port,
    reopen,
  }) => {
    const workspace = await aChain(port);
    const [before, id] = [await standing(port, workspace, ...EVERYBODY), await uidOf(port, workspace, ann)];
    const links = await port.links(workspace, id, ALL);
    await takeApart(port, workspace, ...IN_HALVES);
    const { changeId } = await giveBack(port, workspace, [cat, bob]);
    const again = await reopen();
    assert.deepEqual(await partition(again, workspace), [["ann", "bob", "cat", "dan"]]);
    const after = await standing(again, workspace, ...EVERYBODY);
    assert.deepEqual([after.linked, after.removed], [before.linked, []]);
    const ends = await Promise.all([cat, bob].map((one) => uidOf(again, workspace, one)));
    const isRestored = ({ from, to }: ListedLink): boolean => ends.includes(from) && ends.includes(to);
    assert.deepEqual(
      await again.links(workspace, id, ALL),
      links.map((link) => ({ ...link, restoredBy: isRestored(link) ? changeId : null })),
    );
  },

  "update revives a link with new evidence, the way round that it is asserted now": async ({ port, reopen }) => {
    const workspace = await aChain(port);
    await takeApart(port, workspace, [[ann, bob]], [[ann], [bob, cat, dan]]);
    const change = aChange({ outcome: "merged" });
    const evidence = { ...EVIDENCE, at: EVIDENCE.at + 77 };
    await write(port, workspace, [ann, bob], (seen) => ({
      changes: [{ ...change, evidence }],
      components: joined(seen, [ann, bob]),
      links: [
        {
          from: identifierKey(workspace, bob),
          to: identifierKey(workspace, ann),
          changeId: change.changeId,
          evidence,
          revives: true,
        },
      ],
    }));
    const again = await reopen();
    const [a, b] = [await uidOf(again, workspace, ann), await uidOf(again, workspace, bob)];
    const links = await again.links(workspace, a, ALL);
    assert.deepEqual(
      links.filter(({ to }) => to === a),
      [{ from: b, to: a, changeId: change.changeId, evidence, restoredBy: null }],
    );
    assert.equal(links.length, 3);
    assert.deepEqual((await standing(again, workspace, ...EVERYBODY)).removed, []);
  },

  "update keeps parts and links apart that differ in one character, whatever it is": async ({ port }) => {
    const workspace = aWorkspace();
    const strange = hostileValues(aWorkspace()).map((value) => anIdentifier(value));
    await step(port, workspace, anAssertion(ann, ...strange));
    for (const [i, one] of strange.entries()) {
      const rest = [ann, ...strange.slice(i + 1)];
      await takeApart(
        port,
        workspace,
        rest.map((other): Pair => [other, one]),
        [rest, [one]],
      );
      assert.deepEqual(await valuesOf(port, workspace, await uidOf(port, workspace, one)), [one.value]);
    }
    assert.deepEqual(await valuesOf(port, workspace, await uidOf(port, workspace, ann)), ["ann"]);
    for (const one of strange) await giveBack(port, workspace, [ann, one]);
    assert.equal((await standing(port, workspace, ann, ...strange)).linked.length, strange.length);
    assert.equal((await valuesOf(port, workspace, await uidOf(port, workspace, ann))).length, 1 + strange.length);
  },
};
