import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { Border, Turn } from "../../../core/identity/step.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { EMPTY_PLAN } from "../../../graph/rules/working-state.js";
import type { Contract } from "../../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE, step } from "../../support/identity/fixtures.js";
import { aChain, aChange, keysOf, takeApart, write } from "../../support/identity/plans.js";
import { ann, bob, cat, dan, wanting, wantingRules } from "../../support/identity/snapshots.js";

type Sets = readonly (readonly (readonly [WorkspaceId, Identifier])[])[];

/** What leads out of the sets, as a step is told it: by the values of the identifiers. */
async function borderOf(port: IdentityGraph, workspace: WorkspaceId, everybody: readonly Identifier[], ...sets: Sets) {
  const border = sets.map((keys) => keys.map(([of, one]) => identifierKey(of, one)));
  return port.update<{ readonly links: readonly string[]; readonly first: readonly (string | undefined)[] }>(
    workspace,
    wantingRules(wanting(workspace, ...everybody)),
    ({ identifiers, components }, seen: Border | null) => {
      if (seen === null) return { plan: null, border, result: { links: [], first: [] } };
      const names = new Map(
        everybody.map((one) => [identifiers.get(identifierKey(workspace, one))!.uid, one.value] as const),
      );
      const links = seen.links.map(({ set, fromUid, to, uid }) => {
        assert.equal(identifiers.get(to)!.uid, uid);
        return `${set}: ${names.get(fromUid)!} ${names.get(uid)!}`;
      });
      const first = [...components.keys()].map((component) => names.get(seen.firstOutside.get(component)!));
      return { plan: null, result: { links: links.toSorted(), first } };
    },
  );
}

/** What a step that takes a profile apart is told of those who linked to it meanwhile. */
export const identityGraphBorder: Contract<IdentityGraph> = {
  "update tells the links that lead out of a set, in both directions, and the first member outside": async ({
    port,
  }) => {
    const workspace = await aChain(port);
    const everybody = [ann, bob, cat, dan];
    const set = (...of: readonly Identifier[]) => of.map((one) => [workspace, one] as const);
    const of = (...sets: Sets) => borderOf(port, workspace, everybody, ...sets);
    assert.deepEqual(await of(set(bob)), { links: ["0: bob ann", "0: bob cat"], first: ["ann"] });
    assert.deepEqual(await of(set(ann, bob)), { links: ["0: bob cat"], first: ["cat"] });
    assert.deepEqual(await of(set(ann), set(bob)), {
      links: ["0: ann bob", "1: bob ann", "1: bob cat"],
      first: ["cat"],
    });
    assert.deepEqual(await of(set(...everybody)), { links: [], first: [undefined] });
    await takeApart(port, workspace, [[ann, bob]], [[bob, cat, dan], [ann]]);
    assert.deepEqual((await of(set(bob))).links, ["0: bob cat"], "a removed link leads nowhere");
  },

  "update looks past many of a set for the first member outside": async ({ port }) => {
    const workspace = aWorkspace();
    const many = Array.from({ length: 250 }, (_, n) => anIdentifier(`m${n}`));
    for (let n = 0; n < many.length; n += 18) await step(port, workspace, anAssertion(ann, ...many.slice(n, n + 18)));
    await step(port, workspace, anAssertion(ann, bob));
    const inside = [ann, ...many].map((one) => [workspace, one] as const);
    const { links, first } = await borderOf(port, workspace, [ann, bob], inside);
    assert.deepEqual([links, first], [["0: ann bob"], ["bob"]]);
  },

  "update passes over keys of a border that are unknown or another workspace's": async ({ port }) => {
    const [workspace, other] = [await aChain(port), await aChain(port)];
    const set = [
      [workspace, dan],
      [workspace, anIdentifier("unknown")],
      [other, bob],
    ] as const;
    const { links } = await borderOf(port, workspace, [ann, bob, cat, dan], set);
    assert.deepEqual(links, ["0: dan cat"]);
  },

  "update asks again in the same step for as long as a border is named": async ({ port }) => {
    const workspace = await aChain(port);
    const asked: number[] = [];
    const keys = [ann, bob].map((one) => identifierKey(workspace, one));
    const found = await port.update(workspace, wantingRules(wanting(workspace, ann)), (_, border) => {
      asked.push(border === null ? -1 : border.links.length);
      const more = border === null ? [keys.slice(0, 1)] : [keys];
      return { plan: null, result: asked.length, ...(asked.length < 3 && { border: more }) };
    });
    assert.deepEqual([found, asked], [3, [-1, 1, 1]]);
  },

  "update decides only in its turn, and what others change between the turns of a large split stands": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const many = Array.from({ length: 1_200 }, (_, n) => anIdentifier(`m${n}`));
    await aStar(port, workspace, [ann, bob, ...many]);
    const leaving = new Set([bob, ...many].map((one) => identifierKey(workspace, one)));
    let [others, isInTurn] = [0, false];
    const turn: Turn = async (transaction) => {
      others += 1;
      await step(port, workspace, anAssertion(ann, anIdentifier(`late${others}`)));
      isInTurn = true;
      return transaction().finally(() => (isInTurn = false));
    };
    const change = aChange();
    const pair = keysOf(workspace, [ann, bob]);
    await port.update(
      workspace,
      wantingRules({ keys: [identifierKey(workspace, ann), ...leaving], pairs: [] }),
      ({ identifiers, components }) => {
        assert.ok(isInTurn);
        const { component, uid } = identifiers.get(pair[0])!;
        const size = components.get(component)!.size - leaving.size;
        const members = [...leaving].map((key) => identifiers.get(key)!.uid).toSorted();
        const stays = { profileId: uid, size, counts: new Map([["user_id", size]]), forbidden: [] };
        const part = { profileId: members[0]!, size: members.length, members, forbidden: [] };
        const parts = [{ ...part, counts: new Map([["user_id", members.length]]) }];
        const removes = [{ pair, changeId: change.changeId, at: change.at }];
        return {
          plan: { ...EMPTY_PLAN, changes: [change], removes, splits: [{ component, stays, parts }] },
          result: 0,
        };
      },
      turn,
    );
    const { identifiers, components } = await port.read(workspace, wanting(workspace, ann, bob, many.at(-1)!));
    const sizeOf = (one: Identifier) => components.get(identifiers.get(identifierKey(workspace, one))!.component)!.size;
    assert.ok(others > 0);
    assert.deepEqual([ann, bob, many.at(-1)!].map(sizeOf), [1 + others, leaving.size, leaving.size]);
  },
};

/** The first is linked to the second, and the second to all others. */
async function aStar(port: IdentityGraph, workspace: WorkspaceId, identifiers: readonly Identifier[]): Promise<void> {
  const keys = identifiers.map((one) => identifierKey(workspace, one));
  const uids = keys.map(() => newId<Uid>());
  const made = aChange({ outcome: "created" });
  const linkOf = (from: number, to: number) => ({
    from: keys[from]!,
    to: keys[to]!,
    changeId: made.changeId,
    evidence: EVIDENCE,
    revives: false,
  });
  await write(port, workspace, [], () => ({
    changes: [made],
    components: [
      {
        into: null,
        absorbed: [],
        profileId: uids[0]!,
        size: keys.length,
        counts: new Map([["user_id", keys.length]]),
        forbidden: [],
      },
    ],
    creates: identifiers.map((identifier, n) => ({ key: keys[n]!, identifier, uid: uids[n]!, component: 0 })),
    links: [linkOf(0, 1), ...keys.slice(2).map((_, n) => linkOf(1, n + 2))],
  }));
}
