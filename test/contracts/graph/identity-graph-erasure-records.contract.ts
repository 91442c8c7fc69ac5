import assert from "node:assert/strict";
import type { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ErasureId, type Uid } from "../../../core/ids.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { anErasure, aStar, erase, ERASER, everything, finish, NOW, uidsOf } from "../../support/identity/erasures.js";
import { aWorkspace, anAssertion, linkedPair, step } from "../../support/identity/fixtures.js";
import { aChange, record, takeApart, write } from "../../support/identity/plans.js";
import {
  ALL,
  ann,
  bob,
  cat,
  dan,
  idOf,
  inPages,
  NOTHING,
  standing,
  wanting,
} from "../../support/identity/snapshots.js";

const ERASURES = { limit: 100, before: null };

/** Taking apart, and what the records of erasures promise. */
export const identityGraphErasureRecords: Contract<IdentityGraph> = {
  "a profile with more links than a step takes is gone at once, and is taken apart by continueErasure, whoever calls it":
    async ({ port, reopen }) => {
      const { workspace, spokes } = await aStar(port, 700);
      const everybody = [ann, ...spokes];
      const some = [ann, spokes[0]!, spokes[699]!];
      const uids = await uidsOf(port, workspace, ...some);
      const keys = everybody.map((one) => identifierKey(workspace, one));
      const begun = await erase(port, workspace, ann);
      assert.equal(begun.isGone, false);
      assert.ok(begun.links <= 500);
      const isHidden = async (graph: IdentityGraph): Promise<void> => {
        const seen = await everything(graph, workspace, some, uids);
        assert.deepEqual([seen.profiles, seen.walked, seen.resolved], [NOTHING.profiles, [], [null, null, null]]);
        assert.deepEqual(
          [seen.members, seen.links],
          [
            [[], [], []],
            [[], [], []],
          ],
        );
        assert.deepEqual(seen.namespaces, [false]);
        assert.equal((await graph.tombstones(workspace, keys)).size, 701, "each member has one, taken apart or not");
        assert.equal((await graph.livingUids(workspace, uids)).size, 0);
        assert.equal((await graph.foreignUids(workspace, uids)).size, 0);
        assert.deepEqual(await graph.foreignUids(aWorkspace(), uids), new Set(uids));
      };
      await isHidden(port);
      const [back] = await step(port, workspace, anAssertion(spokes[7]!, spokes[8]!, dan));
      assert.equal(back!.outcome, "created");
      const again = await reopen();
      const more = await again.continueErasure(workspace, begun.erasureId, 100);
      assert.equal(more!.isGone, false);
      assert.ok(more!.links >= begun.links && more!.links <= begun.links + 100);
      const lost = keys.filter((_, i) => i === 8 || i === 9);
      assert.equal((await again.tombstones(workspace, lost)).size, 2);
      const calls = await Promise.all([1, 2, 3].map(() => again.continueErasure(workspace, begun.erasureId, 100)));
      assert.ok(calls.every((one) => one !== null));
      const ended = await finish(again, begun, 150);
      assert.deepEqual(await again.foreignUids(aWorkspace(), [...uids, newId<Uid>()]), new Set(uids));
      assert.equal((await again.foreignUids(workspace, uids)).size, 0);
      assert.equal(ended.links, 700);
      assert.deepEqual(await again.continueErasure(workspace, begun.erasureId, 100), ended);
      assert.equal((await again.buried(workspace, begun.erasureId, { limit: 1_000, after: null })).length, 701);
      const living = await again.members(workspace, back!.profileId!, ALL);
      assert.deepEqual(living.map(({ identifier: { value } }) => value).toSorted(), ["dan", "spoke7", "spoke8"]);
      assert.equal((await again.links(workspace, back!.profileId!, ALL as never)).length, 3);
    },

  "who comes back before that has no link but those that are asserted anew, also to one who comes back later": async ({
    port,
  }) => {
    const { workspace, spokes } = await aStar(port, 700);
    // Some of each age, since nobody knows which links are left of it.
    const some = (from: number) => spokes.filter((_, n) => n % 50 === from);
    const [apart, together, oneByOne] = [some(0), some(1), some(2)];
    const others = spokes.filter((spoke) => !apart.includes(spoke));
    // A link that was taken back leads to another profile.
    const taken = apart.map((spoke) => [ann, spoke] as const);
    await takeApart(port, workspace, taken, [[ann, ...others], ...apart.map((spoke) => [spoke])]);
    const begun = await erase(port, workspace, ann);
    assert.equal(begun.isGone, false);
    const come = async (...identifiers: readonly Identifier[]): Promise<string> =>
      (await step(port, workspace, anAssertion(...identifiers)))[0]!.outcome;
    assert.equal(await come(ann), "created");
    for (const spoke of apart) assert.equal(await come(ann, spoke), "merged");
    for (const spoke of together) assert.equal(await come(ann, spoke), "linked");
    for (const spoke of oneByOne) {
      assert.equal(await come(spoke), "created");
      assert.deepEqual((await port.read(workspace, wanting(workspace, ann, spoke))).linked, new Set());
      assert.deepEqual((await standing(port, workspace, ann, spoke)).linked, []);
      assert.equal(await come(ann, spoke), "merged");
    }
    const all = [...apart, ...together, ...oneByOne];
    assert.equal((await finish(port, begun)).links, 700);
    const { linked } = await standing(port, workspace, ann, ...all);
    assert.deepEqual(linked, all.map((spoke) => linkedPair(workspace, ann, spoke)).toSorted());
    const links = await port.links(workspace, await idOf(port, workspace, ann), { limit: 100, after: null });
    assert.equal(links.length, all.length);
  },

  "what is not taken apart yet is gone for every other read too, and no new record names it": async ({ port }) => {
    const { workspace, spokes } = await aStar(port, 700);
    const alone = aChange({ identifiers: [ann] });
    await takeApart(port, workspace, [[ann, spokes[1]!]], [[ann, ...spokes]], alone);
    const [mark, both] = [aChange(), aChange({ identifiers: [ann, cat] })];
    const key = identifierKey(workspace, ann);
    await write(port, workspace, [ann], () => ({
      changes: [mark],
      seenWith: [{ key, seenWith: [], isShared: true }],
      unlinked: [{ key, at: NOW, changeId: mark.changeId }],
    }));
    await step(port, workspace, anAssertion(cat));
    await record(port, workspace, both);
    const uids = await uidsOf(port, workspace, ann, spokes[699]!);
    const changes = await port.changes(workspace, null, { limit: 1_000, before: null });
    const linked = changes.find(({ identifiers }) => JSON.stringify(identifiers).includes('"spoke699"'));
    assert.equal((await port.linksOfChange(workspace, linked!)).length, 1);
    assert.equal((await port.linksRemovedBy(workspace, alone, ALL)).links.length, 1);
    assert.deepEqual([...(await port.identifiersOf(workspace, uids)).keys()].toSorted(), uids.toSorted());
    const erasure = await erase(port, workspace, spokes[699]!);
    assert.equal(erasure.isGone, false);
    assert.deepEqual(await port.sharedIdentifiers(workspace, ALL), []);
    assert.equal((await port.identifiersOf(workspace, uids)).size, 0);
    assert.equal(await port.markedAt(workspace, key, mark.changeId), null);
    assert.deepEqual(await port.linksOfChange(workspace, linked!), []);
    assert.deepEqual((await port.linksRemovedBy(workspace, alone, ALL)).links, []);
    const written = aChange({ identifiers: [ann, cat] });
    await record(port, workspace, written);
    const seen = [
      ...(await port.changes(workspace, null, { limit: 1_000, before: null })),
      ...(await port.history(workspace, await idOf(port, workspace, cat), { limit: 10, before: null })),
      (await port.findChange(workspace, both.changeId))!,
      (await port.findChange(workspace, written.changeId))!,
    ];
    for (const { identifiers } of seen)
      for (const one of identifiers) assert.ok("erased" in one || one.value === "cat", JSON.stringify(one));
  },

  "continueErasure leaves what others have, and counts what it took": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann, bob), anAssertion(cat, dan));
    await record(port, workspace, aChange({ identifiers: [ann, cat] }), aChange({ identifiers: [cat] }));
    const before = await everything(port, workspace, [cat, dan], [await idOf(port, workspace, cat)]);
    const erasure = await finish(port, await erase(port, workspace, bob));
    assert.deepEqual([erasure.links, erasure.changes], [1, 2]);
    const after = await everything(port, workspace, [cat, dan], [await idOf(port, workspace, cat)]);
    for (const what of ["profiles", "linked", "members", "links", "resolved"] as const)
      assert.deepEqual(after[what], before[what], what);
    assert.equal(await port.continueErasure(workspace, newId<ErasureId>(), 10), null);
  },

  "advanceErasure replaces what others noted, if nobody did since": async ({ port, reopen }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann));
    const { erasureId, rev } = await erase(port, workspace, ann);
    const noted = { removed: { events: 7 }, cursor: "strange: ' \" %", completedAt: null };
    const first = await port.advanceErasure(workspace, erasureId, rev, noted);
    assert.deepEqual(
      { removed: first!.removed, cursor: first!.cursor },
      { removed: { events: 7 }, cursor: noted.cursor },
    );
    assert.ok(first!.rev > rev);
    assert.equal(await port.advanceErasure(workspace, erasureId, rev, { ...noted, cursor: null }), null);
    assert.equal(await port.advanceErasure(workspace, newId<ErasureId>(), rev, noted), null);
    const again = await reopen();
    assert.deepEqual(await again.findErasure(workspace, erasureId), first);
  },

  "countLate adds to late": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann));
    const { erasureId, late, rev } = await erase(port, workspace, ann);
    assert.deepEqual(late, { events: 0, lastAt: null });
    await Promise.all([2, 3].map((n) => port.countLate(workspace, erasureId, n, NOW + 10 * n)));
    await port.countLate(workspace, erasureId, 1, NOW);
    await port.countLate(workspace, newId<ErasureId>(), 1, NOW);
    const found = (await port.findErasure(workspace, erasureId))!;
    assert.deepEqual([found.late, found.rev], [{ events: 6, lastAt: NOW + 30 }, rev]);
  },

  "readmit ends its suppression; the first time counts": async ({ port }) => {
    const workspace = aWorkspace();
    const key = identifierKey(workspace, ann);
    await step(port, workspace, anAssertion(ann), anAssertion(bob));
    const { erasureId } = await erase(port, workspace, ann, { suppress: true });
    assert.equal((await port.readmit(workspace, erasureId, NOW + 1))!.readmittedAt, NOW + 1);
    assert.equal((await port.readmit(workspace, erasureId, NOW + 2))!.readmittedAt, NOW + 1);
    assert.equal((await port.tombstones(workspace, [key])).get(key)!.isSuppressed, false);
    const other = await erase(port, workspace, bob);
    assert.equal((await port.readmit(workspace, other.erasureId, NOW))!.readmittedAt, null, "there is nothing to end");
    assert.equal(await port.readmit(workspace, newId<ErasureId>(), NOW), null);
    await port.erase(workspace, anErasure({ identifiers: [ann] }, { suppress: true }));
    assert.equal((await port.tombstones(workspace, [key])).get(key)!.isSuppressed, true, "asked for anew");
  },

  "erasures answers records by id, newest first, and openErasures those of all workspaces that are not completed":
    async ({ port }) => {
      const [one, other] = [aWorkspace(), aWorkspace()];
      const made: Erasure[] = [];
      for (const workspace of [one, other, one])
        for (const who of [ann, bob, cat]) {
          await step(port, workspace, anAssertion(who));
          made.push(await erase(port, workspace, who));
        }
      const own = made.filter(({ workspace }) => workspace === one).toReversed();
      const ids = (all: readonly Erasure[]) => all.map(({ erasureId }) => erasureId);
      assert.deepEqual(ids(await port.erasures(one, ERASURES)), ids(own));
      const paged = await inPages(2, own.length, (last: Erasure | undefined) =>
        port.erasures(one, { limit: 2, before: last?.erasureId ?? null }),
      );
      assert.deepEqual(ids(paged), ids(own));
      const first = made[0]!;
      const done = { removed: {}, cursor: null, completedAt: NOW };
      await port.advanceErasure(one, first.erasureId, first.rev, done);
      const open = await port.openErasures({ limit: 1_000, after: first.erasureId });
      const mine = open.filter(({ workspace }) => [one, other].includes(workspace));
      assert.deepEqual(ids(mine), ids(made.slice(1)));
      const [next] = await port.openErasures({ limit: 1, after: made[1]!.erasureId });
      assert.equal(next!.erasureId, made[2]!.erasureId);
      const before = await port.openErasures({ limit: 1_000, after: null });
      assert.ok(!ids(before).includes(first.erasureId));
    },

  "restoreErasure writes what a restored store lacks, takes nobody out of a profile, and may be repeated": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const key = identifierKey(workspace, ann);
    await step(port, workspace, anAssertion(ann, bob));
    const lost = await finish(port, await erase(port, workspace, bob, { suppress: true }));
    const buried = await port.buried(workspace, lost.erasureId, { limit: 10, after: null });
    const into = aWorkspace();
    const erasure = { ...lost, workspace: into, erasureId: newId<ErasureId>() };
    const twice = [...buried, ...buried];
    for (let times = 0; times < 2; times++) await port.restoreErasure(into, erasure, twice);
    assert.deepEqual(await port.findErasure(into, erasure.erasureId), erasure);
    assert.deepEqual(await port.buried(into, erasure.erasureId, { limit: 10, after: null }), buried);
    assert.equal(await port.hasErasures(into), true);
    assert.equal((await port.tombstones(workspace, [key])).size, 1);
    const living = aWorkspace();
    const profileId = await idOf(port, living, ann);
    await port.restoreErasure(living, { ...erasure, workspace: living, erasureId: newId<ErasureId>() }, buried);
    assert.equal((await port.resolve(living, profileId))!.size, 1);
  },

  "continueErasure, findErasure, findErasures, erasures, advanceErasure, countLate, readmit, hasErasures, lastErasedAt, tombstones, livingUids, foreignUids, buried and restoreErasure keep workspaces apart":
    async ({ port }) => {
      const [one, other] = [aWorkspace(), aWorkspace()];
      for (const workspace of [one, other]) await step(port, workspace, anAssertion(ann, bob), anAssertion(cat));
      const uids = await uidsOf(port, one, ann, cat);
      const erasure = await erase(port, one, ann, { suppress: true });
      const { erasureId, rev } = erasure;
      const [mine, theirs] = [one, other].map((workspace) => identifierKey(workspace, ann)) as [never, never];
      assert.equal(await port.continueErasure(other, erasureId, 10), null);
      assert.equal(await port.findErasure(other, erasureId), null);
      assert.deepEqual(await port.findErasures(other, [erasureId]), []);
      assert.deepEqual(await port.erasures(other, ERASURES), []);
      assert.equal(
        await port.advanceErasure(other, erasureId, rev, { removed: {}, cursor: null, completedAt: NOW }),
        null,
      );
      await port.countLate(other, erasureId, 5, NOW);
      assert.equal(await port.readmit(other, erasureId, NOW), null);
      assert.deepEqual([await port.hasErasures(one), await port.hasErasures(other)], [true, false]);
      assert.deepEqual([await port.lastErasedAt(one), await port.lastErasedAt(other)], [erasure.erasedAt, 0]);
      assert.equal((await port.tombstones(other, [mine, theirs])).size, 0);
      assert.deepEqual([...(await port.tombstones(one, [mine, theirs])).keys()], [mine]);
      assert.deepEqual(await port.livingUids(other, uids), new Set<Uid>());
      assert.deepEqual(await port.livingUids(one, uids), new Set([uids[1]]));
      assert.deepEqual(await port.foreignUids(other, [...uids, newId<Uid>()]), new Set(uids));
      assert.deepEqual(await port.foreignUids(one, uids), new Set<Uid>());
      assert.deepEqual(await port.buried(other, erasureId, { limit: 9, after: null }), []);
      const before = (await port.findErasure(one, erasureId))!;
      const buried = await port.buried(one, erasureId, { limit: 9, after: null });
      const copied = { ...erasure, keyId: ERASER, workspace: other };
      const refusal = await port.restoreErasure(other, copied, [{ tomb: buried[0]!.tomb, uid: null }]).then(
        () => null,
        (error: AppError) => error.code,
      );
      // Workspaces on two graphs may use the same id.
      if (refusal !== null) assert.equal(refusal, "conflict");
      assert.equal((await port.findErasure(other, erasureId)) === null, refusal !== null);
      assert.deepEqual(await port.findErasure(one, erasureId), before);
      assert.equal((await port.buried(one, erasureId, { limit: 9, after: null })).length, buried.length);
      assert.equal(before.late.events, 0);
    },
};
