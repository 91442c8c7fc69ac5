import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import { NOTHING_REMOVED, type Buried, type Erasure } from "../../../core/identity/erasure.js";
import { newId, type ErasureId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Contract } from "../../support/contract.js";
import { tombOf } from "../../support/builders.js";
import { anErasure, aStar, erase, finish, NOW, uidsOf } from "../../support/identity/erasures.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../../support/identity/fixtures.js";
import { aChange, record } from "../../support/identity/plans.js";
import { ann, bob, cat, idOf } from "../../support/identity/snapshots.js";

const suppressedIn = async (port: IdentityGraph, workspace: WorkspaceId, ...all: readonly (typeof ann)[]) => {
  const keys = all.map((one) => identifierKey(workspace, one));
  const found = await port.tombstones(workspace, keys);
  return keys.map((key) => found.get(key)!.isSuppressed);
};

const complete = async (port: IdentityGraph, { workspace, erasureId }: Erasure): Promise<Erasure> => {
  const { rev } = await finish(port, { workspace, erasureId });
  const done = { removed: { events: 3 }, cursor: null, completedAt: NOW + 5 };
  return (await port.advanceErasure(workspace, erasureId, rev, done))!;
};

/** What `erase` promises of whom it erased before, `restoreErasure` of a record that stands, and a look for many of them. */
export const identityGraphErasedAgain: Contract<IdentityGraph> = {
  "identifiers that are erased again have the time of now, and their erasures are open again, under their ids": async ({
    port,
    reopen,
  }) => {
    const workspace = aWorkspace();
    const keys = [ann, bob].map((one) => identifierKey(workspace, one));
    const begun: Erasure[] = [];
    for (const one of [ann, bob]) {
      await step(port, workspace, anAssertion(one));
      begun.push(await complete(port, await erase(port, workspace, one)));
    }
    const again = await port.erase(workspace, anErasure({ identifiers: [ann, bob] }, { now: () => NOW + 9 }));
    const found = await Promise.all(begun.map(({ erasureId }) => port.findErasure(workspace, erasureId)));
    assert.deepEqual(again, { kind: "repeated", erasure: found[1], changed: found });
    for (const [n, one] of found.entries()) {
      assert.deepEqual([one!.erasedAt, one!.completedAt, one!.removed], [NOW + 9, null, { events: 3 }]);
      assert.ok(one!.rev > begun[n]!.rev, "whoever was about to complete it sees that it changed");
    }
    const reopened = await reopen();
    assert.deepEqual(
      [...(await reopened.tombstones(workspace, keys)).values()].map(({ erasedAt }) => erasedAt),
      [NOW + 9, NOW + 9],
    );
    const open = await reopened.openErasures({ limit: 1_000, after: null });
    const ids = new Set(open.map(({ erasureId }) => erasureId));
    assert.ok(begun.every(({ erasureId }) => ids.has(erasureId)));
    const late = await reopened.erase(workspace, anErasure({ identifiers: [ann] }, { now: () => NOW + 8 }));
    assert.deepEqual(
      late,
      { kind: "repeated", erasure: found[0], changed: [] },
      "a clock that goes back moves nothing",
    );
  },

  "finds those of many records that there are, as each is by itself": async ({ port }) => {
    const workspace = aWorkspace();
    const made: Erasure[] = [];
    for (const one of [ann, bob]) made.push(await complete(port, await erase(port, workspace, one)));
    const missing = Array.from({ length: 1_500 }, () => newId<ErasureId>());
    const [first, second] = made.map(({ erasureId }) => erasureId) as [ErasureId, ErasureId];
    const found = await port.findErasures(workspace, [first, ...missing, second]);
    assert.deepEqual(
      found.toSorted((a, b) => (a.erasureId < b.erasureId ? -1 : 1)),
      made.toSorted((a, b) => (a.erasureId < b.erasureId ? -1 : 1)),
    );
    assert.deepEqual(await port.findErasures(workspace, [second]), [made[1]]);
    assert.deepEqual(await port.findErasures(workspace, []), []);
  },

  "an erasure that is asked for again by an id keeps its time": async ({ port }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann);
    const erasure = await complete(port, await erase(port, workspace, ann));
    const again = await port.erase(workspace, anErasure({ profileId }, { now: () => NOW + 9 }));
    assert.deepEqual(again, { kind: "repeated", erasure, changed: [] });
  },

  "a suppression that is asked for again covers each of the identifiers, whichever erasure it is of": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    for (const one of [ann, bob]) await erase(port, workspace, one);
    await port.erase(workspace, anErasure({ identifiers: [ann, bob] }, { suppress: true }));
    assert.deepEqual(await suppressedIn(port, workspace, ann, bob), [true, true]);
    const once = await port.erase(workspace, anErasure({ identifiers: [ann, bob] }, { suppress: true }));
    assert.equal(once.kind === "repeated" && once.changed.length, 0, "it is so already");
  },

  "a suppression that begins or is renewed opens its erasure again, because it covers what came in between": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    const profileId = await idOf(port, workspace, ann);
    const { erasureId } = await complete(port, await erase(port, workspace, ann));
    for (let times = 0; times < 2; times++) {
      const again = await port.erase(workspace, anErasure({ profileId }, { suppress: true }));
      const found = (await port.findErasure(workspace, erasureId))!;
      assert.deepEqual(again, { kind: "repeated", erasure: found, changed: [found] });
      assert.deepEqual([found.suppress, found.readmittedAt, found.completedAt], [true, null, null]);
      await complete(port, found);
      await port.readmit(workspace, erasureId, NOW + times);
    }
  },

  "restoreErasure brings the time and the suppression of a record that stands in line, and nothing else of it": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(ann), anAssertion(bob), anAssertion(cat));
    const standing = await complete(port, await erase(port, workspace, ann));
    const { erasureId } = standing;
    const logged: Erasure = { ...standing, removed: {}, completedAt: null, rev: 0, isGone: false };
    const restored = async (parts: Partial<Erasure>): Promise<Erasure> => {
      await port.restoreErasure(workspace, { ...logged, ...parts }, []);
      return { ...(await port.findErasure(workspace, erasureId))!, rev: standing.rev };
    };
    assert.deepEqual(await restored({}), standing, "they are the same");
    assert.equal((await port.findErasure(workspace, erasureId))!.rev, standing.rev);
    const suppressed = { ...standing, suppress: true, completedAt: null };
    assert.deepEqual(await restored({ suppress: true }), suppressed);
    assert.deepEqual(await suppressedIn(port, workspace, ann), [true]);
    assert.deepEqual(await restored({}), suppressed, "an older line ends no suppression");
    const readmitted = { ...suppressed, readmittedAt: NOW + 3 };
    assert.deepEqual(await restored({ suppress: true, readmittedAt: NOW + 3 }), readmitted);
    assert.deepEqual(await suppressedIn(port, workspace, ann), [false]);
    assert.deepEqual(await restored({ suppress: true }), readmitted, "an older line ends no readmission");
    const renewed = { ...suppressed, erasedAt: NOW + 7 };
    assert.deepEqual(await restored({ erasedAt: NOW + 7, suppress: true }), renewed, "later than it was readmitted");
    assert.deepEqual(await restored({ erasedAt: NOW - 7, suppress: true }), renewed);
    assert.deepEqual(await restored({ suppress: true, readmittedAt: NOW + 3 }), renewed, "an older readmission");
  },

  "restoreErasure has the records redacted that name whom it buries, those of a later line too": async ({ port }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(cat));
    const dropping = (identifier: typeof ann) =>
      aChange({ identifiers: [cat, identifier], dropped: [{ identifier, rule: "limit" }], outcome: "partial" });
    // Beside their tombstones, the second one has a uid that this store never saw.
    const lines = [
      { change: dropping(ann), tomb: tombOf(identifierKey(workspace, ann)), uid: null },
      { change: dropping(bob), tomb: tombOf(identifierKey(workspace, bob)), uid: newId<Uid>() },
    ];
    await record(port, workspace, ...lines.map(({ change }) => change));
    const lost = await erase(port, aWorkspace(), ann);
    const logged: Erasure = { ...lost, ...NOTHING_REMOVED, workspace, erasureId: newId<ErasureId>() };
    for (const [n, { change, tomb, uid }] of lines.entries()) {
      const check = async () => {
        const { identifiers, dropped } = (await port.findChange(workspace, change.changeId))!;
        const gone = { namespace: "user_id", erased: true };
        assert.deepEqual([identifiers, dropped], [[cat, gone], [{ identifier: gone, rule: "limit" }]]);
      };
      assert.deepEqual(await port.findChange(workspace, change.changeId), change);
      await port.restoreErasure(workspace, logged, [{ tomb, uid }]);
      assert.equal((await port.findErasure(workspace, logged.erasureId))!.completedAt, null);
      await check();
      assert.equal((await complete(port, logged)).changes, n + 1);
      await check();
      await port.restoreErasure(workspace, logged, [{ tomb, uid }]);
      assert.notEqual((await port.findErasure(workspace, logged.erasureId))!.completedAt, null, "it had buried them");
    }
  },

  "restoreErasure leaves records that name somebody who is in a profile, until that one is erased": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(cat));
    const change = aChange({
      identifiers: [cat, bob],
      dropped: [{ identifier: bob, rule: "limit" }],
      outcome: "partial",
    });
    await record(port, workspace, change);
    await step(port, workspace, anAssertion(bob));
    const lost = await erase(port, aWorkspace(), bob);
    const logged: Erasure = { ...lost, ...NOTHING_REMOVED, workspace, erasureId: newId<ErasureId>() };
    const tomb = tombOf(identifierKey(workspace, bob));
    await port.restoreErasure(workspace, logged, [{ tomb, uid: newId<Uid>() }]);
    assert.equal((await complete(port, logged)).changes, 0);
    assert.deepEqual(await port.findChange(workspace, change.changeId), change);
    await erase(port, workspace, bob);
    const { identifiers } = (await port.findChange(workspace, change.changeId))!;
    assert.deepEqual(identifiers, [cat, { namespace: "user_id", erased: true }]);
  },

  "restoreErasure buries those too who are not taken apart yet, and who of them comes back is buried once": async ({
    port,
  }) => {
    const { workspace, spokes } = await aStar(port, 700);
    const buried: Buried[] = [];
    for (const one of [ann, ...spokes])
      buried.push({ tomb: tombOf(identifierKey(workspace, one)), uid: (await uidsOf(port, workspace, one))[0]! });
    const begun = await erase(port, workspace, ann);
    assert.equal(begun.isGone, false);
    await port.restoreErasure(workspace, { ...begun, erasedAt: NOW + 5 }, buried);
    const back = [ann, ...spokes.filter((_, n) => n % 50 === 0)];
    for (const one of back) assert.equal((await step(port, workspace, anAssertion(one)))[0]!.outcome, "created");
    await finish(port, begun);
    const all = await port.buried(workspace, begun.erasureId, { limit: 1_000, after: null });
    assert.deepEqual(
      all,
      buried.toSorted((a, b) => (a.tomb < b.tomb ? -1 : 1)),
    );
    assert.equal((await uidsOf(port, workspace, ...back)).length, back.length);
  },

  "continueErasure gets through all records that name whom restoreErasure buried, a few at a time": async ({
    port,
  }) => {
    const workspace = aWorkspace();
    await step(port, workspace, anAssertion(cat));
    const strangers = Array.from({ length: 60 }, (_, n) => anIdentifier(`stranger${n}`));
    const changes = strangers.map((identifier) =>
      aChange({ identifiers: [cat, identifier], dropped: [{ identifier, rule: "limit" }], outcome: "partial" }),
    );
    await record(port, workspace, ...changes);
    const lost = await erase(port, aWorkspace(), ann);
    const logged: Erasure = { ...lost, ...NOTHING_REMOVED, workspace, erasureId: newId<ErasureId>() };
    const buried = strangers.map((one) => ({ tomb: tombOf(identifierKey(workspace, one)), uid: null }));
    await port.restoreErasure(workspace, logged, buried);
    let calls = 1;
    while (!(await port.continueErasure(workspace, logged.erasureId, 20))!.isGone && calls < 30) calls += 1;
    assert.ok(calls < 30, "those that are done take no room");
    assert.equal((await port.findErasure(workspace, logged.erasureId))!.changes, 60);
    for (const { changeId } of changes)
      assert.deepEqual((await port.findChange(workspace, changeId))!.identifiers, [
        cat,
        { namespace: "user_id", erased: true },
      ]);
  },
};
