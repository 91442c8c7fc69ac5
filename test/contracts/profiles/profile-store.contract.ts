import assert from "node:assert/strict";
import type { Facet, Scalar, Trait } from "../../../core/profile/facet.js";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { ProfileStore } from "../../../core/ports/profile-store.js";
import { aUidOf, HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";

const aFacet = (traits: Readonly<Record<string, Trait>> = {}): Facet => ({
  traits: new Map(Object.entries(traits)),
  firstSeen: "2026-01-01T00:00:00.000000001Z",
  lastSeen: "2026-02-01T00:00:00.000000000Z",
  eventCount: 2,
});
const aTrait = (value: Scalar): Trait => ({ merge: "min", value });
const workspace = (): WorkspaceId => newId<WorkspaceId>();
const uidsOf = (ws: WorkspaceId, count: number): readonly Uid[] =>
  Array.from({ length: count }, (_, index) => aUidOf(ws, `user-${index}`));

export const profileStoreContract: Contract<ProfileStore> = {
  "finds only the facets that exist": async ({ port }) => {
    const ws = workspace();
    const [known, unknown] = uidsOf(ws, 2) as [Uid, Uid];
    await port.save(ws, [{ uid: known, facet: aFacet(), pending: [], expectedRev: 0 }]);
    assert.deepEqual(
      await port.find(ws, [known, unknown, known]),
      new Map([[known, { facet: aFacet(), pending: [], rev: 1 }]]),
    );
    assert.deepEqual(await port.find(ws, []), new Map());
    assert.deepEqual(await port.save(ws, []), []);
  },

  "gives back every kind of trait as it was saved": async ({ port }) => {
    const ws = workspace();
    const uid = aUidOf(ws, "ada");
    const at = { ts: "2026-01-01T00:00:00.123456789Z", eventId: newId<EventId>() };
    const facet = aFacet({
      latest: { merge: "latest", value: "Paris", ...at },
      first: { merge: "first", value: null, ...at },
      min: { merge: "min", value: -0.1 },
      max: { merge: "max", value: Number.MAX_SAFE_INTEGER },
      union: { merge: "union", values: ["a", 1, true, null, 1e-300] },
      empty: { merge: "union", values: [] },
      sum: { merge: "sum", units: -(10n ** 24n) - 1n },
      count: { merge: "count", count: Number.MAX_SAFE_INTEGER },
    });
    const unseen: Facet = { traits: new Map(), firstSeen: null, lastSeen: null, eventCount: 0 };
    const other = aUidOf(ws, "unseen");
    await port.save(ws, [
      { uid, facet, pending: [], expectedRev: 0 },
      { uid: other, facet: unseen, pending: [], expectedRev: 0 },
    ]);
    const found = await port.find(ws, [uid, other]);
    assert.deepEqual(found.get(uid)?.facet, facet);
    assert.deepEqual(found.get(other)?.facet, unseen);
  },

  "gives back any text in a trait's name, and in its value": async ({ port }) => {
    const ws = workspace();
    for (const text of HOSTILE_TEXTS) {
      const uid = aUidOf(ws, text);
      const facet: Facet = { ...aFacet(), traits: new Map([[text, aTrait(text)]]) };
      assert.deepEqual(await port.save(ws, [{ uid, facet, pending: [], expectedRev: 0 }]), [true]);
      assert.deepEqual(await port.find(ws, [uid]), new Map([[uid, { facet, pending: [], rev: 1 }]]));
    }
    const all = await port.find(
      ws,
      HOSTILE_TEXTS.map((text) => aUidOf(ws, text)),
    );
    assert.equal(all.size, HOSTILE_TEXTS.length);
  },

  "raises the rev by one with each save": async ({ port }) => {
    const ws = workspace();
    const uid = aUidOf(ws, "ada");
    for (const rev of [0, 1, 2]) {
      assert.deepEqual(
        await port.save(ws, [{ uid, facet: aFacet({ n: aTrait(rev) }), pending: [], expectedRev: rev }]),
        [true],
      );
      assert.deepEqual((await port.find(ws, [uid])).get(uid), {
        facet: aFacet({ n: aTrait(rev) }),
        pending: [],
        rev: rev + 1,
      });
    }
  },

  "answers false for a lost race, in order, and changes nothing there": async ({ port }) => {
    const ws = workspace();
    const [taken, missing, fresh] = uidsOf(ws, 3) as [Uid, Uid, Uid];
    await port.save(ws, [{ uid: taken, facet: aFacet({ n: aTrait("kept") }), pending: [], expectedRev: 0 }]);
    const facet = aFacet({ n: aTrait("lost") });
    const saves = [
      { uid: taken, facet, pending: [], expectedRev: 0 },
      { uid: fresh, facet, pending: [], expectedRev: 0 },
      { uid: taken, facet, pending: [], expectedRev: 2 },
      { uid: missing, facet, pending: [], expectedRev: 1 },
    ];
    assert.deepEqual(await port.save(ws, saves), [false, true, false, false]);
    const found = await port.find(ws, [taken, missing, fresh]);
    assert.deepEqual(found.get(taken), { facet: aFacet({ n: aTrait("kept") }), pending: [], rev: 1 });
    assert.equal(found.has(missing), false);
    assert.deepEqual(found.get(fresh), { facet, pending: [], rev: 1 });
  },

  "lets one of many concurrent saves of a rev win": async ({ port }) => {
    const ws = workspace();
    const uid = aUidOf(ws, "ada");
    for (const expectedRev of [0, 1]) {
      const race = Array.from({ length: 50 }, (_, n) =>
        port.save(ws, [{ uid, facet: aFacet({ n: aTrait(n) }), pending: [], expectedRev }]),
      );
      const won = (await Promise.all(race)).flatMap(([saved], n) => (saved ? [n] : []));
      assert.equal(won.length, 1);
      assert.deepEqual((await port.find(ws, [uid])).get(uid), {
        facet: aFacet({ n: aTrait(won[0]!) }),
        pending: [],
        rev: expectedRev + 1,
      });
    }
  },

  "saves a uid that stands twice in one call once": async ({ port }) => {
    const ws = workspace();
    const uid = aUidOf(ws, "ada");
    const saves = [1, 2].map((n) => ({ uid, facet: aFacet({ n: aTrait(n) }), pending: [], expectedRev: 0 }));
    assert.equal((await port.save(ws, saves)).filter(Boolean).length, 1);
    assert.equal((await port.find(ws, [uid])).get(uid)?.rev, 1);
  },

  "finds thousands of facets in one call": async ({ port }) => {
    const ws = workspace();
    const uids = uidsOf(ws, 2_500);
    const saved = await port.save(
      ws,
      uids.map((uid, n) => ({ uid, facet: aFacet({ n: aTrait(n) }), pending: [], expectedRev: 0 })),
    );
    assert.ok(saved.every(Boolean));
    const found = await port.find(ws, uids);
    assert.deepEqual(
      uids.map((uid) => found.get(uid)?.facet.traits.get("n")),
      uids.map((_, n) => aTrait(n)),
    );
  },

  "finds some facets, and ends with the one that takes them over the bytes": async ({ port }) => {
    const ws = workspace();
    const [unknown, ...uids] = uidsOf(ws, 41) as [Uid, ...Uid[]];
    // Of several sizes, the large ones side by side.
    const lengthOf = (n: number): number => [10, 3_000, 100_000, 100_000][n % 4]!;
    const facetAt = (n: number) => aFacet({ n: aTrait("x".repeat(lengthOf(n))) });
    await port.save(
      ws,
      uids.map((uid, n) => ({ uid, facet: facetAt(n), pending: [], expectedRev: 0 })),
    );
    for (const bytesMax of [1, 3_000, 150_000, 1_000_000, 10_000_000]) {
      const asked = [unknown, ...uids];
      const { found, looked } = await port.findSome(ws, asked, bytesMax);
      assert.ok(looked >= 1 && looked <= asked.length, `${looked} looked at`);
      assert.deepEqual([...found.keys()].toSorted(), asked.slice(1, looked).toSorted());
      for (const [n, uid] of uids.slice(0, looked - 1).entries()) assert.deepEqual(found.get(uid)?.facet, facetAt(n));
      const bytes = uids.slice(0, looked - 1).reduce((sum, _, n) => sum + lengthOf(n), 0);
      assert.ok(bytes <= bytesMax + 101_000, `${bytes} bytes of ${bytesMax}`);
      if (bytesMax === 10_000_000) assert.equal(looked, asked.length);
    }
    assert.deepEqual(await port.findSome(ws, [], 1), { found: new Map(), looked: 0 });
  },

  "find and findSome keep workspaces apart": async ({ port }) => {
    const [a, b] = [workspace(), workspace()];
    for (const ws of [a, b])
      await port.save(ws, [{ uid: aUidOf(ws, "ada"), facet: aFacet({ in: aTrait(ws) }), pending: [], expectedRev: 0 }]);
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const asked = [aUidOf(own, "ada"), aUidOf(other, "ada")];
      const found = await port.find(own, asked);
      assert.deepEqual(await port.findSome(own, asked, Infinity), { found, looked: 2 });
      assert.deepEqual([...found], [[aUidOf(own, "ada"), { facet: aFacet({ in: aTrait(own) }), pending: [], rev: 1 }]]);
    }
  },

  "save keeps workspaces apart": async ({ port }) => {
    const [a, b] = [workspace(), workspace()];
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const uid = aUidOf(own, "ada");
      await port.save(own, [{ uid, facet: aFacet({ in: aTrait(own) }), pending: [], expectedRev: 0 }]);
      const foreign = { uid, facet: aFacet({ in: aTrait(other) }), pending: [], expectedRev: 1 };
      await port.save(other, [foreign]).catch(() => []);
      assert.deepEqual((await port.find(own, [uid])).get(uid), {
        facet: aFacet({ in: aTrait(own) }),
        pending: [],
        rev: 1,
      });
    }
  },

  "removes facets, and answers how many there were": async ({ port }) => {
    const ws = workspace();
    const [ada, bob, nobody] = ["ada", "bob", "nobody"].map((name) => aUidOf(ws, name)) as [Uid, Uid, Uid];
    for (const uid of [ada, bob])
      await port.save(ws, [{ uid, facet: aFacet({ n: aTrait(1) }), pending: [], expectedRev: 0 }]);
    assert.equal(await port.remove(ws, [ada, nobody]), 1);
    assert.deepEqual([...(await port.find(ws, [ada, bob])).keys()], [bob]);
    assert.equal(await port.remove(ws, [ada]), 0);
    const late = { uid: ada, facet: aFacet({ n: aTrait(2) }), pending: [] };
    assert.deepEqual(await port.save(ws, [{ ...late, expectedRev: 1 }]), [false], "a save that read it before loses");
    assert.deepEqual(await port.save(ws, [{ ...late, expectedRev: 0 }]), [true]);
  },

  "remove keeps workspaces apart": async ({ port }) => {
    const [a, b] = [workspace(), workspace()];
    for (const ws of [a, b])
      await port.save(ws, [{ uid: aUidOf(ws, "ada"), facet: aFacet({ in: aTrait(ws) }), pending: [], expectedRev: 0 }]);
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      assert.equal(await port.remove(other, [aUidOf(own, "ada")]), 0);
      assert.equal((await port.find(own, [aUidOf(own, "ada")])).size, 1);
    }
  },

  "keeps facets across close and reopen": async ({ port, reopen }) => {
    const ws = workspace();
    const uid = aUidOf(ws, "ada");
    await port.save(ws, [{ uid, facet: aFacet({ n: aTrait(1) }), pending: [], expectedRev: 0 }]);
    await port.save(ws, [{ uid, facet: aFacet({ n: aTrait(2) }), pending: [], expectedRev: 1 }]);
    const again = await reopen();
    assert.deepEqual(
      await again.find(ws, [uid]),
      new Map([[uid, { facet: aFacet({ n: aTrait(2) }), pending: [], rev: 2 }]]),
    );
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    const ws = workspace();
    await port.close();
    await rejectsAsUnavailable(() => port.find(ws, [aUidOf(ws, "ada")]));
    await rejectsAsUnavailable(() => port.find(ws, []));
    await rejectsAsUnavailable(() =>
      port.save(ws, [{ uid: aUidOf(ws, "ada"), facet: aFacet(), pending: [], expectedRev: 0 }]),
    );
    await rejectsAsUnavailable(() => port.ready());
  },
};
