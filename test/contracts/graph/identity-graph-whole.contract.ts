import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { AppError } from "../../../core/errors.js";
import { newId, type ChangeId, type ForbiddenPairId, type Uid } from "../../../core/ids.js";
import type { Plan } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { anAssertion, anIdentifier, aRequest, aWorkspace, EVIDENCE, stepOf } from "../../support/identity/fixtures.js";
import {
  aChain,
  aChange,
  aForbiddenPair,
  EVERYBODY,
  forbid,
  keysOf,
  record,
  takeApart,
  write,
  type Pair,
  type Standing,
  IN_HALVES,
} from "../../support/identity/plans.js";
import { readPartition } from "../../support/identity/model.js";
import { ALL, ann, bob, cat, dan, NEWEST, NOTHING, standing } from "../../support/identity/snapshots.js";

/** What `update` does with a plan that does not fit what stands there. */
export const identityGraphWhole: Contract<IdentityGraph> = {
  "update refuses an identifier or a change with the id of another workspace's, and writes nothing": async ({
    port,
  }) => {
    const first = aWorkspace();
    const given = aRequest(first, anAssertion(ann, bob));
    await stepOf(port, first, [given]);
    const codes = new Set<unknown>();
    // Workspaces on two graphs may use the same id.
    for (let n = 0; n < 8; n += 1)
      for (const taken of [{ uids: given.uids }, { changeId: given.changeId }]) {
        const workspace = aWorkspace();
        const request = { ...aRequest(workspace, anAssertion(cat, dan)), ...taken };
        const code = await stepOf(port, workspace, [request]).then(
          () => null,
          (error: unknown) => (error instanceof AppError ? error.code : error),
        );
        if (code === null) continue;
        codes.add(code);
        assert.deepEqual(await standing(port, workspace, cat, dan), NOTHING);
        assert.equal(await port.findChange(workspace, request.changeId), null);
      }
    assert.deepEqual([...codes], ["conflict"]);
  },

  "update writes all of a plan that takes back, or nothing": async ({ port }) => {
    const workspace = await aChain(port);
    await takeApart(port, workspace, [[cat, dan]], [[ann, bob, cat], [dan]]);
    const forbidden = await forbid(port, workspace, [cat, dan]);
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
      await port.forbiddenPairs(workspace, ALL),
      await port.sharedIdentifiers(workspace, ALL),
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
    const split = (
      { location, profile }: Standing,
      members: readonly Uid[],
      of = location(ann).component,
    ): Partial<Plan> => ({
      splits: [
        {
          component: of,
          stays: { ...profile(ann), size: 1 },
          parts: [{ ...profile(ann), size: members.length, profileId: members[0]!, members }],
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
      "a part of a member of another profile": (seen) => split(seen, [seen.location(dan).uid]),
      "a part with a member of another profile": (seen) =>
        split(seen, [seen.location(bob).uid, seen.location(dan).uid]),
      "a part with a member that does not exist": (seen) => split(seen, [seen.location(cat).uid, newId<Uid>()]),
      "a profile of another workspace to fall apart": (seen) =>
        split(seen, [elsewhere.location(ann).uid], elsewhere.location(ann).component),
      "an identifier to mark as unlinked that does not exist": () => ({
        unlinked: [{ key: identifierKey(workspace, nobody), at, changeId }],
      }),
      "values that touched an identifier that does not exist": () => ({
        seenWith: [{ key: identifierKey(workspace, nobody), seenWith: [], isShared: true }],
      }),
      "a pair to forbid of an identifier that does not exist": () => ({
        forbids: [aForbiddenPair(workspace, [ann, nobody], changeId)],
      }),
      "a pair to forbid that is forbidden": () => ({ forbids: [{ ...forbidden, changeId }] }),
      "a pair to allow that is not forbidden": () => ({ allows: [newId<ForbiddenPairId>()] }),
    };
    for (const [what, broken] of Object.entries(damage)) {
      const refused = write(port, workspace, EVERYBODY, (seen) => {
        const { removes = [], ...rest } = broken(seen);
        const key = identifierKey(workspace, bob);
        return {
          seenWith: [{ key, seenWith: [], isShared: true }],
          ...rest,
          changes: [change],
          removes: [...remove(ann, bob).removes!, ...removes],
        };
      });
      await assert.rejects(refused, what);
      assert.deepEqual(await look(), before, what);
    }
    await takeApart(port, workspace, [[ann, bob]], [[ann], [bob, cat]], change);
    assert.deepEqual(
      await readPartition(port, workspace, EVERYBODY),
      [["ann"], ["bob", "cat"], ["dan"]],
      "unbroken, it goes through",
    );
  },

  "update that takes back keeps workspaces apart": async ({ port }) => {
    const [one, other] = [await aChain(port), await aChain(port)];
    const before = await standing(port, other, ...EVERYBODY);
    await takeApart(port, one, ...IN_HALVES);
    const forbidden = await forbid(port, one, [bob, cat]);
    assert.deepEqual(await standing(port, other, ...EVERYBODY), before);
    const foreign: Readonly<Record<string, (changeId: ChangeId) => Partial<Plan>>> = {
      link: (changeId) => ({ removes: [{ pair: keysOf(one, [ann, bob]), changeId, at: EVIDENCE.at }] }),
      "taken link": (changeId) => ({ restores: [{ pair: keysOf(one, [bob, cat]), changeId }] }),
      mark: (changeId) => ({ unlinked: [{ key: identifierKey(one, ann), at: EVIDENCE.at, changeId }] }),
      touch: () => ({ seenWith: [{ key: identifierKey(one, ann), seenWith: [], isShared: true }] }),
      "forbidden pair": () => ({ allows: [forbidden.forbiddenPairId] }),
    };
    const mine = await standing(port, one, ...EVERYBODY);
    for (const [what, plan] of Object.entries(foreign)) {
      const change = aChange();
      const refused = write(port, other, EVERYBODY, () => ({ ...plan(change.changeId), changes: [change] }));
      await assert.rejects(refused, what);
    }
    assert.deepEqual(await standing(port, one, ...EVERYBODY), mine);
    assert.deepEqual(await port.findForbiddenPairs(one, [forbidden.forbiddenPairId]), [forbidden]);
    await record(port, other, aChange());
  },
};
