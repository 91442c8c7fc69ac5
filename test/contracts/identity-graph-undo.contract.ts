import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../core/event.js";
import { newId, type ChangeId, type NeverId, type Uid, type WorkspaceId } from "../../core/ids.js";
import { pairKey, type Plan } from "../../core/identity.js";
import type { IdentityGraph } from "../../core/ports.js";
import type { Contract } from "../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../support/identity-fixtures.js";
import {
  aChange,
  aNever,
  forbid,
  giveBack,
  joined,
  keysOf,
  record,
  takeApart,
  write,
  type Pair,
  type Standing,
} from "../support/identity-plans.js";
import { readPartition } from "../support/identity-model.js";
import { ALL, ann, bob, cat, dan, hostileValues, NEWEST, standing, valuesOf } from "../support/identity-sights.js";

const EVERYBODY = [ann, bob, cat, dan];
const partition = (port: IdentityGraph, workspace: WorkspaceId) => readPartition(port, workspace, EVERYBODY);

/** A chain: ann - bob - cat - dan. */
async function aChain(port: IdentityGraph): Promise<WorkspaceId> {
  const workspace = aWorkspace();
  await step(port, workspace, anAssertion(ann, bob), anAssertion(bob, cat), anAssertion(cat, dan));
  return workspace;
}

const uidOf = async (port: IdentityGraph, workspace: WorkspaceId, identifier: Identifier): Promise<Uid> =>
  (await standing(port, workspace, identifier)).profiles[0]![1].uid;

/** What `update` does with links that are taken back, and with profiles that fall apart. */
export const identityGraphUndo: Contract<IdentityGraph> = {
  "update takes a link back: the pair is linked no more, and its profile stays one if the plan says so": async ({
    port,
  }) => {
    const workspace = await aChain(port);
    await step(port, workspace, anAssertion(ann, cat));
    await takeApart(port, workspace, [[bob, cat]], [EVERYBODY]);
    assert.deepEqual(await partition(port, workspace), [["ann", "bob", "cat", "dan"]]);
    const { linked, removed } = await standing(port, workspace, ...EVERYBODY);
    assert.equal(linked.length, 3);
    assert.deepEqual(removed, [[pairKey(...keysOf(workspace, [bob, cat])), EVIDENCE.at]]);
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

  "update takes back links, and moves members, that the step did not look at": async ({ port }) => {
    const workspace = await aChain(port);
    const members = [await uidOf(port, workspace, cat), await uidOf(port, workspace, dan)];
    const change = aChange();
    await write(port, workspace, [ann], ({ seat, profile }) => ({
      changes: [change],
      removes: [{ pair: keysOf(workspace, [cat, bob]), changeId: change.changeId, at: change.at }],
      splits: [
        {
          component: seat(ann).component,
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

  "update restores a link with the evidence and the change that it first had": async ({ port, reopen }) => {
    const workspace = await aChain(port);
    const [before, id] = [await standing(port, workspace, ...EVERYBODY), await uidOf(port, workspace, ann)];
    const links = await port.links(workspace, id, ALL);
    await takeApart(
      port,
      workspace,
      [[bob, cat]],
      [
        [ann, bob],
        [cat, dan],
      ],
    );
    await giveBack(port, workspace, [cat, bob]);
    const again = await reopen();
    assert.deepEqual(await partition(again, workspace), [["ann", "bob", "cat", "dan"]]);
    const after = await standing(again, workspace, ...EVERYBODY);
    assert.deepEqual([after.linked, after.removed], [before.linked, []]);
    assert.deepEqual(await again.links(workspace, id, ALL), links);
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
      [{ from: b, to: a, changeId: change.changeId, evidence }],
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

  "update writes all of a plan that takes back, or nothing": async ({ port }) => {
    const workspace = await aChain(port);
    await takeApart(port, workspace, [[cat, dan]], [[ann, bob, cat], [dan]]);
    const never = await forbid(port, workspace, [cat, dan]);
    const foreign = await aChain(port);
    let elsewhere: Standing;
    await write(port, foreign, [ann], (seen) => {
      elsewhere = seen;
      return { changes: [aChange()] };
    });
    const look = async () => [
      await standing(port, workspace, ...EVERYBODY),
      await standing(port, foreign, ...EVERYBODY),
      await port.changes(workspace, null, NEWEST),
      await port.nevers(workspace, ALL),
      await port.connectors(workspace, ALL),
    ];
    const before = await look();
    const change = aChange();
    const { changeId, at } = change;
    const nobody = anIdentifier("nobody");
    const link = (from: Identifier, to: Identifier, revives: boolean): Partial<Plan> => ({
      links: [
        {
          from: identifierKey(workspace, from),
          to: identifierKey(workspace, to),
          changeId,
          evidence: EVIDENCE,
          revives,
        },
      ],
    });
    const remove = (...pair: Pair): Partial<Plan> => ({ removes: [{ pair: keysOf(workspace, pair), changeId, at }] });
    const restore = (...pair: Pair): Partial<Plan> => ({ restores: [{ pair: keysOf(workspace, pair), changeId }] });
    const split = ({ seat, profile }: Standing, member: Uid, of = seat(ann).component): Partial<Plan> => ({
      splits: [
        {
          component: of,
          stays: { ...profile(ann), size: 2 },
          parts: [{ ...profile(ann), size: 1, profileId: member, members: [member] }],
        },
      ],
    });
    const damage: Readonly<Record<string, (seen: Standing) => Partial<Plan>>> = {
      "a link to take back that never was": () => remove(ann, cat),
      "a link to take back that is taken back": () => remove(cat, dan),
      "a link to take back of an identifier that does not exist": () => remove(ann, nobody),
      "a link to restore that never was": () => restore(ann, dan),
      "a link to restore that stands": () => restore(cat, bob),
      "a link to revive that never was": () => link(ann, dan, true),
      "a link to revive that stands": () => link(bob, cat, true),
      "a new link that was taken back": () => link(dan, cat, false),
      "a part with a member of another profile": (seen) => split(seen, seen.seat(dan).uid),
      "a part with a member that does not exist": (seen) => split(seen, newId<Uid>()),
      "a profile of another workspace to fall apart": (seen) =>
        split(seen, elsewhere.seat(ann).uid, elsewhere.seat(ann).component),
      "an identifier to mark as unlinked that does not exist": () => ({
        unlinked: [{ key: identifierKey(workspace, nobody), at, changeId }],
      }),
      "values that touched an identifier that does not exist": () => ({
        touches: [{ key: identifierKey(workspace, nobody), touched: [], isConnector: true }],
      }),
      "a pair to forbid of an identifier that does not exist": () => ({
        forbids: [aNever(workspace, [ann, nobody], changeId)],
      }),
      "a pair to forbid that is forbidden": () => ({ forbids: [{ ...never, changeId }] }),
      "a pair to allow that is not forbidden": () => ({ lifts: [newId<NeverId>()] }),
    };
    for (const [what, broken] of Object.entries(damage)) {
      const refused = write(port, workspace, EVERYBODY, (seen) => {
        const { removes = [], ...rest } = broken(seen);
        const key = identifierKey(workspace, bob);
        return {
          touches: [{ key, touched: [], isConnector: true }],
          ...rest,
          changes: [change],
          removes: [...remove(ann, bob).removes!, ...removes],
        };
      });
      await assert.rejects(refused, what);
      assert.deepEqual(await look(), before, what);
    }
    await takeApart(port, workspace, [[ann, bob]], [[ann], [bob, cat]], change);
    assert.deepEqual(await partition(port, workspace), [["ann"], ["bob", "cat"], ["dan"]], "unbroken, it goes through");
  },

  "update that takes back keeps workspaces apart": async ({ port }) => {
    const [one, other] = [await aChain(port), await aChain(port)];
    const before = await standing(port, other, ...EVERYBODY);
    await takeApart(
      port,
      one,
      [[bob, cat]],
      [
        [ann, bob],
        [cat, dan],
      ],
    );
    const never = await forbid(port, one, [bob, cat]);
    assert.deepEqual(await standing(port, other, ...EVERYBODY), before);
    const foreign: Readonly<Record<string, (changeId: ChangeId) => Partial<Plan>>> = {
      link: (changeId) => ({ removes: [{ pair: keysOf(one, [ann, bob]), changeId, at: EVIDENCE.at }] }),
      "taken link": (changeId) => ({ restores: [{ pair: keysOf(one, [bob, cat]), changeId }] }),
      mark: (changeId) => ({ unlinked: [{ key: identifierKey(one, ann), at: EVIDENCE.at, changeId }] }),
      touch: () => ({ touches: [{ key: identifierKey(one, ann), touched: [], isConnector: true }] }),
      "forbidden pair": () => ({ lifts: [never.neverId] }),
    };
    const mine = await standing(port, one, ...EVERYBODY);
    for (const [what, plan] of Object.entries(foreign)) {
      const change = aChange();
      const refused = write(port, other, EVERYBODY, () => ({ ...plan(change.changeId), changes: [change] }));
      await assert.rejects(refused, what);
    }
    assert.deepEqual(await standing(port, one, ...EVERYBODY), mine);
    assert.deepEqual(await port.findNevers(one, [never.neverId]), [never]);
    await record(port, other, aChange());
  },
};
