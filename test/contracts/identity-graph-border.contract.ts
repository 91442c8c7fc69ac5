import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Border } from "../../core/identity/step.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Contract } from "../support/contract.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../support/identity/fixtures.js";
import { aChain, takeApart } from "../support/identity/plans.js";
import { ann, bob, cat, dan, wanting } from "../support/identity/snapshots.js";

type Sets = readonly (readonly (readonly [WorkspaceId, Identifier])[])[];

/** What leads out of the sets, as a step is told it: by the values of the identifiers. */
async function borderOf(port: IdentityGraph, workspace: WorkspaceId, everybody: readonly Identifier[], ...sets: Sets) {
  const border = sets.map((keys) => keys.map(([of, one]) => identifierKey(of, one)));
  return port.update<{ readonly links: readonly string[]; readonly first: readonly (string | undefined)[] }>(
    workspace,
    wanting(workspace, ...everybody),
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
    const found = await port.update(workspace, wanting(workspace, ann), (_, border) => {
      asked.push(border === null ? -1 : border.links.length);
      const more = border === null ? [keys.slice(0, 1)] : [keys];
      return { plan: null, result: asked.length, ...(asked.length < 3 && { border: more }) };
    });
    assert.deepEqual([found, asked], [3, [-1, 1, 1]]);
  },
};
