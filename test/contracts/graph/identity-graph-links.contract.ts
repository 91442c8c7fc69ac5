import assert from "node:assert/strict";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ChangeId, type EventId, type KeyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Change, type Evidence, type LinkState, type ListedLink } from "../../../core/identity/model.js";
import type { Traces } from "../../../core/identity/pages.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import {
  aRequest,
  aWorkspace,
  anAssertion,
  anIdentifier,
  EVIDENCE,
  step,
  stepOf,
} from "../../support/identity/fixtures.js";
import { aChange, giveBack, keysOf, takeApart, write, type Pair } from "../../support/identity/plans.js";
import { ALL, ann, bob, cat, dan, hostileValues, idOf, inPages, standing } from "../../support/identity/snapshots.js";
import { createRandom, SEED, shuffled } from "../../support/random/random.js";

const byEnds = (x: ListedLink, y: ListedLink): number => (`${x.from} ${x.to}` < `${y.from} ${y.to}` ? -1 : 1);

/** One assertion, with the record that it left. */
async function assertOne(port: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) {
  const request = aRequest(workspace, anAssertion(...identifiers));
  await stepOf(port, workspace, [request]);
  return (await port.findChange(workspace, request.changeId))!;
}

/** In an order and a direction of their own. */
const statesOf = async (port: IdentityGraph, workspace: WorkspaceId, change: Change) =>
  (await port.linksOfChange(workspace, change))
    .map(({ pair, ...state }: LinkState) => ({ pair: pairKey(...pair), ...state }))
    .toSorted((x, y) => (x.pair < y.pair ? -1 : 1));
const state = (workspace: WorkspaceId, pair: Pair, changeId: ChangeId, by: ChangeId, isActive: boolean) => ({
  pair: pairKey(...keysOf(workspace, pair)),
  changeId,
  by,
  isActive,
});

/** All pages, one after the other. */
async function removedPages(port: IdentityGraph, workspace: WorkspaceId, change: Change, limit: number) {
  const pages: (readonly LinkState[])[] = [];
  for (let after: string | null = null; ;) {
    const { links, next }: Traces = await port.linksRemovedBy(workspace, change, { limit, after });
    pages.push(links);
    if (next === null) return pages;
    after = next;
  }
}

/** What `links`, `linksOfChange` and `linksRemovedBy` promise. */
const apart: Contract<IdentityGraph> = {
  "links, linksOfChange and linksRemovedBy keep workspaces apart": async ({ port }) => {
    const [one, other] = [aWorkspace(), aWorkspace()];
    const changes: Change[] = [];
    for (const workspace of [one, other]) changes.push(await assertOne(port, workspace, ann, bob, cat));
    const named = aChange({ identifiers: [bob, cat] });
    const taken = await takeApart(port, other, [[bob, cat]], [[ann, bob, cat]], named);
    const alone = await takeApart(port, other, [[ann, cat]], [[ann, bob, cat]], aChange({ identifiers: [cat] }));
    for (const change of [taken, alone]) {
      assert.deepEqual((await removedPages(port, one, change, 9)).flat(), []);
      assert.equal((await removedPages(port, other, change, 9)).flat().length, 1);
    }
    const ids = [await idOf(port, one, ann), await idOf(port, other, ann)];
    assert.equal((await port.links(one, ids[0]!, ALL)).length, 3);
    assert.equal((await port.links(other, ids[1]!, ALL)).length, 1);
    assert.deepEqual(await port.links(one, ids[1]!, ALL), []);
    assert.deepEqual(await port.links(other, ids[0]!, ALL), []);
    for (const [mine, theirs] of [
      [one, 1],
      [other, 0],
    ] as const)
      assert.deepEqual(await port.linksOfChange(mine, changes[theirs]!), []);
    assert.ok((await port.linksOfChange(one, changes[0]!)).every(({ isActive }) => isActive));
  },
};

export const identityGraphLinks: Contract<IdentityGraph> = {
  "links come as they were asserted, with the change that did it first and its evidence": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    const evidences: readonly Evidence[] = [
      { source: "identify", keyId: "key0000003" as KeyId, at: 1_600_000_000_001 },
      { source: "alias", keyId: "key0000004" as KeyId, at: 1_700_000_000_002 },
      { source: newId<EventId>(), keyId: "key0000005" as KeyId, at: 1_800_000_000_003 },
    ];
    const pairs: readonly Pair[] = [
      [ann, bob],
      [cat, ann],
      [cat, bob],
    ];
    const expected: ListedLink[] = [];
    for (const [i, pair] of pairs.entries()) {
      const request = aRequest(workspace, { identifiers: pair, evidence: evidences[i]! });
      await stepOf(port, workspace, [request]);
      // Again, by somebody else: that leaves no trace.
      await step(port, workspace, { identifiers: pair, evidence: evidences[(i + 1) % 3]! });
      const { profiles } = await standing(port, workspace, ...pair);
      const uids = new Map(profiles.map(([key, { uid }]) => [key, uid]));
      const [from, to] = keysOf(workspace, pair).map((key) => uids.get(key)!) as [Uid, Uid];
      expected.push({ from, to, changeId: request.changeId, evidence: evidences[i]!, restoredBy: null });
    }
    const id = await idOf(port, workspace, ann);
    assert.deepEqual(await port.links(workspace, id, ALL), expected.toSorted(byEnds));
    assert.deepEqual(await (await reopen()).links(workspace, id, ALL), expected.toSorted(byEnds));
  },

  [`links come by (from, to), in pages, each once, in any profile (seed ${SEED})`]: async ({ port }) => {
    const random = createRandom(SEED);
    const workspace = aWorkspace();
    const people = Array.from({ length: 40 }, (_, i) => anIdentifier(`p${i}`));
    const requests = Array.from({ length: 60 }, () =>
      aRequest(workspace, anAssertion(...shuffled(people, random).slice(0, 2 + random.below(4)))),
    );
    await stepOf(port, workspace, requests);
    const id = await idOf(port, workspace, ...people.slice(0, 20));
    await idOf(port, workspace, people[0]!, ...people.slice(20, 39));
    const whole = await port.links(workspace, id, { limit: 10_000, after: null });
    assert.deepEqual(whole, whole.toSorted(byEnds));
    const { linked } = await standing(port, workspace, ...people);
    assert.equal(whole.length, linked.length);
    for (const size of [1, 7, 100]) {
      const found: readonly ListedLink[] = await inPages(size, whole.length, (last: ListedLink | undefined) =>
        port.links(workspace, id, { limit: size, after: last ?? null }),
      );
      assert.deepEqual(found, whole, `pages of ${size}`);
    }
  },

  "links of an identifier that is linked to thousands come all, in pages, in either direction": async ({ port }) => {
    const workspace = aWorkspace();
    const others = Array.from({ length: 2_600 }, (_, i) => anIdentifier(`o${i}`));
    const requests = others.map((other, i) =>
      aRequest(workspace, i % 3 === 0 ? anAssertion(other, ann) : anAssertion(ann, other)),
    );
    for (let i = 0; i < requests.length; i += 200) await stepOf(port, workspace, requests.slice(i, i + 200));
    const id = await idOf(port, workspace, ann);
    const whole = await port.links(workspace, id, { limit: 10_000, after: null });
    assert.equal(whole.length, others.length);
    assert.deepEqual(whole, whole.toSorted(byEnds));
    const found = await inPages(700, whole.length, (last: ListedLink | undefined) =>
      port.links(workspace, id, { limit: 700, after: last ?? null }),
    );
    assert.deepEqual(found, whole);
  },

  "links that are taken back are not there, and those restored are again": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob, cat));
    const id = await idOf(port, workspace, ann);
    const whole = await port.links(workspace, id, ALL);
    assert.equal(whole.length, 3);
    await takeApart(port, workspace, [[bob, ann]], [[ann, bob, cat]]);
    assert.equal((await port.links(workspace, id, ALL)).length, 2);
    await takeApart(port, workspace, [[bob, cat]], [[ann, cat], [bob]]);
    assert.equal((await port.links(workspace, id, ALL)).length, 1);
    const first = await giveBack(port, workspace, [ann, bob]);
    const second = await giveBack(port, workspace, [bob, cat]);
    const found = await port.links(workspace, id, ALL);
    assert.deepEqual(
      found.map((link) => ({ ...link, restoredBy: null })),
      whole,
    );
    const reverts = found.map(({ restoredBy }) => restoredBy).filter((by) => by !== null);
    assert.deepEqual(reverts.toSorted(), [first.changeId, second.changeId].toSorted());
  },

  "links follow retired ids, and those of an id that names nothing are none": async ({ port }) => {
    const workspace = aWorkspace();
    const ids = [await idOf(port, workspace, ann, bob), await idOf(port, workspace, cat, dan)];
    await step(port, workspace, anAssertion(dan, ann));
    const [kept, retired] = [await port.links(workspace, ids[0]!, ALL), await port.links(workspace, ids[1]!, ALL)];
    assert.equal(kept.length, 3);
    assert.deepEqual(retired, kept);
    assert.deepEqual(await port.links(workspace, newId<Uid>(), ALL), []);
  },
  ...apart,
};

export const identityGraphLinksOfChange: Contract<IdentityGraph> = {
  "linksOfChange tells the links that a change asserted first, whoever asserts them again": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const first = await assertOne(port, workspace, ann, bob);
    const second = await assertOne(port, workspace, bob, ann, cat);
    await step(port, workspace, anAssertion(ann, bob, cat));
    const check = async (graph: IdentityGraph): Promise<void> => {
      const mine = (pair: Pair, { changeId }: Change) => state(workspace, pair, changeId, changeId, true);
      assert.deepEqual(await statesOf(graph, workspace, first), [mine([ann, bob], first)]);
      const expected = [mine([ann, cat], second), mine([bob, cat], second)];
      assert.deepEqual(await statesOf(graph, workspace, second), expected);
    };
    await check(port);
    await check(await reopen());
    const alone = await assertOne(await reopen(), workspace, dan);
    assert.deepEqual(await statesOf(await reopen(), workspace, alone), []);
  },

  "linksOfChange tells those that a change removed or restored, as long as no other has done so since": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const made = await assertOne(port, workspace, ann, bob);
    const named = { identifiers: [ann, bob] };
    const taken = await takeApart(port, workspace, [[ann, bob]], [[ann], [bob]], aChange(named));
    const removed = [state(workspace, [ann, bob], made.changeId, taken.changeId, false)];
    for (const change of [made, taken]) assert.deepEqual(await statesOf(port, workspace, change), removed);
    const again = await reopen();
    const given = await giveBack(again, workspace, [ann, bob], aChange({ ...named, outcome: "reverted" }));
    const restored = [state(workspace, [ann, bob], made.changeId, given.changeId, true)];
    assert.deepEqual(await statesOf(again, workspace, taken), []);
    for (const change of [made, given]) assert.deepEqual(await statesOf(again, workspace, change), restored);
  },

  "linksOfChange gives a revived link to the change that asserts it anew": async ({ port }) => {
    const workspace = aWorkspace();
    const made = await assertOne(port, workspace, ann, bob, cat);
    const taken = await takeApart(
      port,
      workspace,
      [[ann, bob]],
      [[ann, bob, cat]],
      aChange({ identifiers: [ann, bob] }),
    );
    const revived = aChange({ outcome: "linked", identifiers: [ann, bob] });
    const { changeId } = revived;
    await write(port, workspace, [ann, bob], () => {
      const [from, to] = keysOf(workspace, [bob, ann]);
      return { changes: [revived], links: [{ from, to, changeId, evidence: EVIDENCE, revives: true }] };
    });
    assert.deepEqual(await statesOf(port, workspace, taken), []);
    assert.deepEqual(await statesOf(port, workspace, revived), [
      state(workspace, [ann, bob], changeId, changeId, true),
    ]);
    assert.equal((await statesOf(port, workspace, made)).length, 2);
  },

  "linksOfChange tells all that was removed of one identifier, however many there are": async ({ port }) => {
    const workspace = aWorkspace();
    const others = Array.from({ length: 1_300 }, (_, i) => anIdentifier(`o${i}`));
    const requests = others.map((other, i) =>
      aRequest(workspace, anAssertion(...(i % 2 === 0 ? [ann, other] : [other, ann]))),
    );
    for (let i = 0; i < requests.length; i += 200) await stepOf(port, workspace, requests.slice(i, i + 200));
    const early = await takeApart(
      port,
      workspace,
      [[ann, others[4]!]],
      [[ann, ...others]],
      aChange({ identifiers: [ann] }),
    );
    const rest = others.filter((_, i) => i !== 4);
    const parts = [[ann], ...others.map((other) => [other])];
    const all = await takeApart(
      port,
      workspace,
      rest.map((one): Pair => [one, ann]),
      parts,
      aChange({ identifiers: [ann] }),
    );
    const found = await port.linksOfChange(workspace, all);
    assert.ok(found.every(({ by, isActive }) => by === all.changeId && !isActive));
    const far = found.flatMap(({ pair }) => pair.filter((key) => key !== identifierKey(workspace, ann)));
    assert.deepEqual(far.toSorted(), rest.map((one) => identifierKey(workspace, one)).toSorted());
    assert.equal((await port.linksOfChange(workspace, early)).length, 1);
    const keysOfPages = (pages: readonly (readonly LinkState[])[]): readonly string[] =>
      pages.flatMap((page) => page.map(({ pair }) => pairKey(...pair))).toSorted();
    const pages = await removedPages(port, workspace, all, 200);
    assert.deepEqual(keysOfPages(pages), found.map(({ pair }) => pairKey(...pair)).toSorted());
    assert.ok(Math.max(...pages.map((page) => page.length)) < 1_200, "a page has about as many as were asked for");
    assert.deepEqual((await removedPages(port, workspace, all, 5_000)).length, 1);
    const given = await giveBack(
      port,
      workspace,
      [ann, others[0]!],
      aChange({ identifiers: [ann], outcome: "reverted" }),
    );
    const left = await removedPages(port, workspace, all, 200);
    assert.deepEqual(keysOfPages(left).length, rest.length - 1);
    assert.ok(left.flat().every(({ by, isActive }) => by === all.changeId && !isActive));
    assert.deepEqual((await removedPages(port, workspace, given, 200)).flat(), [], "it removed nothing");
  },

  "linksRemovedBy tells those between the identifiers that a change names": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    await assertOne(port, workspace, ann, bob, cat);
    const named = aChange({ identifiers: [ann, bob] });
    const taken = await takeApart(port, workspace, [[ann, bob]], [[ann, bob, cat]], named);
    const again = await reopen();
    assert.deepEqual(
      (await removedPages(again, workspace, taken, 1)).flat(),
      (await again.linksOfChange(workspace, taken)).filter(({ isActive }) => !isActive),
    );
    assert.equal((await removedPages(again, workspace, taken, 1)).flat().length, 1);
    assert.deepEqual((await removedPages(again, workspace, aChange({ identifiers: [dan] }), 1)).flat(), []);
  },

  "linksOfChange keeps pairs apart that differ in one character, whatever it is": async ({ port }) => {
    const workspace = aWorkspace();
    const strange = hostileValues(aWorkspace()).map((value) => anIdentifier(value));
    const change = await assertOne(port, workspace, ...strange);
    const found = await statesOf(port, workspace, change);
    assert.equal(new Set(found.map(({ pair }) => pair)).size, (strange.length * (strange.length - 1)) / 2);
  },

  ...apart,
};
