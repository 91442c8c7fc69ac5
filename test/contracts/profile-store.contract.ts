import assert from "node:assert/strict";
import type { Facet, Scalar, Trait } from "../../core/profile/facet.js";
import { newId, type EventId, type IdentifierKey, type WorkspaceId } from "../../core/ids.js";
import type { ProfileStore } from "../../core/ports/profile-store.js";
import { aKeyOf, HOSTILE_TEXTS } from "../support/builders.js";
import type { Contract } from "../support/contract.js";
import { rejectsAsUnavailable } from "../support/eventually.js";

const aFacet = (traits: Readonly<Record<string, Trait>> = {}): Facet => ({
  traits: new Map(Object.entries(traits)),
  firstSeen: "2026-01-01T00:00:00.000000001Z",
  lastSeen: "2026-02-01T00:00:00.000000000Z",
});
const aTrait = (value: Scalar): Trait => ({ merge: "min", value });
const workspace = (): WorkspaceId => newId<WorkspaceId>();
const keysOf = (ws: WorkspaceId, count: number): readonly IdentifierKey[] =>
  Array.from({ length: count }, (_, index) => aKeyOf(ws, `user-${index}`));

export const profileStoreContract: Contract<ProfileStore> = {
  "finds only the facets that exist": async ({ port }) => {
    const ws = workspace();
    const [known, unknown] = keysOf(ws, 2) as [IdentifierKey, IdentifierKey];
    await port.save(ws, [{ key: known, facet: aFacet(), expectedRev: 0 }]);
    assert.deepEqual(await port.find(ws, [known, unknown, known]), new Map([[known, { facet: aFacet(), rev: 1 }]]));
    assert.deepEqual(await port.find(ws, []), new Map());
    assert.deepEqual(await port.save(ws, []), []);
  },

  "gives back every kind of trait as it was saved": async ({ port }) => {
    const ws = workspace();
    const key = aKeyOf(ws, "ada");
    const at = { ts: "2026-01-01T00:00:00.123456789Z", eventId: newId<EventId>() };
    const facet = aFacet({
      latest: { merge: "latest", value: "Paris", ...at },
      first: { merge: "first", value: null, ...at },
      min: { merge: "min", value: -0.1 },
      max: { merge: "max", value: Number.MAX_SAFE_INTEGER },
      union: { merge: "union", values: ["a", 1, true, null, 1e-300] },
      empty: { merge: "union", values: [] },
    });
    const unseen: Facet = { traits: new Map(), firstSeen: null, lastSeen: null };
    const other = aKeyOf(ws, "unseen");
    await port.save(ws, [
      { key, facet, expectedRev: 0 },
      { key: other, facet: unseen, expectedRev: 0 },
    ]);
    const found = await port.find(ws, [key, other]);
    assert.deepEqual(found.get(key)?.facet, facet);
    assert.deepEqual(found.get(other)?.facet, unseen);
  },

  "gives back any text in a trait's name, in its value and in a key": async ({ port }) => {
    const ws = workspace();
    for (const text of HOSTILE_TEXTS) {
      const key = aKeyOf(ws, text);
      const facet: Facet = { ...aFacet(), traits: new Map([[text, aTrait(text)]]) };
      assert.deepEqual(await port.save(ws, [{ key, facet, expectedRev: 0 }]), [true]);
      assert.deepEqual(await port.find(ws, [key]), new Map([[key, { facet, rev: 1 }]]));
    }
    const all = await port.find(
      ws,
      HOSTILE_TEXTS.map((text) => aKeyOf(ws, text)),
    );
    assert.equal(all.size, HOSTILE_TEXTS.length);
  },

  "keeps apart keys that differ in where a colon or a NUL stands": async ({ port }) => {
    const ws = workspace();
    const keys = [aKeyOf(ws, "b:c", "a"), aKeyOf(ws, "c", "a.b"), aKeyOf(ws, "c\0"), aKeyOf(ws, "c"), aKeyOf(ws, "C")];
    const saves = keys.map((key, index) => ({ key, facet: aFacet({ n: aTrait(index) }), expectedRev: 0 }));
    assert.deepEqual(
      await port.save(ws, saves),
      keys.map(() => true),
    );
    const found = await port.find(ws, keys);
    assert.deepEqual(
      keys.map((key) => found.get(key)?.facet),
      saves.map(({ facet }) => facet),
    );
  },

  "raises the rev by one with each save": async ({ port }) => {
    const ws = workspace();
    const key = aKeyOf(ws, "ada");
    for (const rev of [0, 1, 2]) {
      assert.deepEqual(await port.save(ws, [{ key, facet: aFacet({ n: aTrait(rev) }), expectedRev: rev }]), [true]);
      assert.deepEqual((await port.find(ws, [key])).get(key), { facet: aFacet({ n: aTrait(rev) }), rev: rev + 1 });
    }
  },

  "answers false for a lost race, in order, and changes nothing there": async ({ port }) => {
    const ws = workspace();
    const [taken, missing, fresh] = keysOf(ws, 3) as [IdentifierKey, IdentifierKey, IdentifierKey];
    await port.save(ws, [{ key: taken, facet: aFacet({ n: aTrait("kept") }), expectedRev: 0 }]);
    const facet = aFacet({ n: aTrait("lost") });
    const saves = [
      { key: taken, facet, expectedRev: 0 },
      { key: fresh, facet, expectedRev: 0 },
      { key: taken, facet, expectedRev: 2 },
      { key: missing, facet, expectedRev: 1 },
    ];
    assert.deepEqual(await port.save(ws, saves), [false, true, false, false]);
    const found = await port.find(ws, [taken, missing, fresh]);
    assert.deepEqual(found.get(taken), { facet: aFacet({ n: aTrait("kept") }), rev: 1 });
    assert.equal(found.has(missing), false);
    assert.deepEqual(found.get(fresh), { facet, rev: 1 });
  },

  "lets one of many concurrent saves of a rev win": async ({ port }) => {
    const ws = workspace();
    const key = aKeyOf(ws, "ada");
    for (const expectedRev of [0, 1]) {
      const race = Array.from({ length: 50 }, (_, n) =>
        port.save(ws, [{ key, facet: aFacet({ n: aTrait(n) }), expectedRev }]),
      );
      const won = (await Promise.all(race)).flatMap(([saved], n) => (saved ? [n] : []));
      assert.equal(won.length, 1);
      assert.deepEqual((await port.find(ws, [key])).get(key), {
        facet: aFacet({ n: aTrait(won[0]!) }),
        rev: expectedRev + 1,
      });
    }
  },

  "saves a key that stands twice in one call once": async ({ port }) => {
    const ws = workspace();
    const key = aKeyOf(ws, "ada");
    const saves = [1, 2].map((n) => ({ key, facet: aFacet({ n: aTrait(n) }), expectedRev: 0 }));
    assert.equal((await port.save(ws, saves)).filter(Boolean).length, 1);
    assert.equal((await port.find(ws, [key])).get(key)?.rev, 1);
  },

  "finds thousands of facets in one call": async ({ port }) => {
    const ws = workspace();
    const keys = keysOf(ws, 2_500);
    const saved = await port.save(
      ws,
      keys.map((key, n) => ({ key, facet: aFacet({ n: aTrait(n) }), expectedRev: 0 })),
    );
    assert.ok(saved.every(Boolean));
    const found = await port.find(ws, keys);
    assert.deepEqual(
      keys.map((key) => found.get(key)?.facet.traits.get("n")),
      keys.map((_, n) => aTrait(n)),
    );
  },

  "find keeps workspaces apart": async ({ port }) => {
    const [a, b] = [workspace(), workspace()];
    for (const ws of [a, b])
      await port.save(ws, [{ key: aKeyOf(ws, "ada"), facet: aFacet({ in: aTrait(ws) }), expectedRev: 0 }]);
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const found = await port.find(own, [aKeyOf(own, "ada"), aKeyOf(other, "ada")]);
      assert.deepEqual([...found], [[aKeyOf(own, "ada"), { facet: aFacet({ in: aTrait(own) }), rev: 1 }]]);
    }
  },

  "save keeps workspaces apart": async ({ port }) => {
    const [a, b] = [workspace(), workspace()];
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const key = aKeyOf(own, "ada");
      await port.save(own, [{ key, facet: aFacet({ in: aTrait(own) }), expectedRev: 0 }]);
      const foreign = { key, facet: aFacet({ in: aTrait(other) }), expectedRev: 1 };
      await port.save(other, [foreign]).catch(() => []);
      assert.deepEqual((await port.find(own, [key])).get(key), { facet: aFacet({ in: aTrait(own) }), rev: 1 });
    }
  },

  "keeps facets across close and reopen": async ({ port, reopen }) => {
    const ws = workspace();
    const key = aKeyOf(ws, "ada");
    await port.save(ws, [{ key, facet: aFacet({ n: aTrait(1) }), expectedRev: 0 }]);
    await port.save(ws, [{ key, facet: aFacet({ n: aTrait(2) }), expectedRev: 1 }]);
    const again = await reopen();
    assert.deepEqual(await again.find(ws, [key]), new Map([[key, { facet: aFacet({ n: aTrait(2) }), rev: 2 }]]));
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    const ws = workspace();
    await port.close();
    await rejectsAsUnavailable(() => port.find(ws, [aKeyOf(ws, "ada")]));
    await rejectsAsUnavailable(() => port.find(ws, []));
    await rejectsAsUnavailable(() => port.save(ws, [{ key: aKeyOf(ws, "ada"), facet: aFacet(), expectedRev: 0 }]));
    await rejectsAsUnavailable(() => port.ready());
  },
};
