import assert from "node:assert/strict";
import * as fc from "fast-check";
import type { EventRecord } from "../../../core/event/event.js";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore, Fold } from "../../../core/ports/event-store.js";
import type { ProfileStore } from "../../../core/ports/profile-store.js";
import { valueOf } from "../../../core/profile/facet.js";
import { emptyFacet, facetOf } from "../../../core/profile/fold.js";
import { aFold, anEvent, aUidOf, counted } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { SCALE, SEED } from "../../support/random/random.js";

/** The events and the facets of one place. */
export interface FoldPlace {
  readonly events: EventStore;
  readonly profiles: ProfileStore;
  close(): Promise<void>;
}

export const bothOf = (events: EventStore, profiles: ProfileStore): FoldPlace => ({
  events,
  profiles,
  close: async () => {
    await events.close();
    await profiles.close();
  },
});

/** An event that is stored, and how it is folded: into the facet of the user, with its amount added to `spent`. */
async function stored(
  { events }: FoldPlace,
  workspace: WorkspaceId,
  amounts: readonly number[],
  user = "ada",
): Promise<readonly Fold[]> {
  const identifiers = [{ namespace: "user_id", value: user }];
  const made = amounts.map((): EventRecord => anEvent({ workspace, identifiers }));
  await events.insert(workspace, made);
  return made.map((event, n) => aFold(event, { gain: gainOf(event, amounts[n]!) }));
}

const gainOf = ({ eventId, effectiveTs }: EventRecord, amount: number): Fold["gain"] =>
  facetOf({
    eventId,
    effectiveTs,
    traits: [
      { name: "spent", merge: "sum", value: amount },
      { name: "orders", merge: "count", value: amount },
    ],
  });

/** What a facet comes to. */
async function read({ profiles }: FoldPlace, workspace: WorkspaceId, uid: Uid) {
  const { traits, eventCount } = (await profiles.find(workspace, [uid])).get(uid)?.facet ?? emptyFacet;
  const value = (name: string) => (traits.has(name) ? valueOf(traits.get(name)!) : null);
  return { spent: value("spent"), orders: value("orders"), eventCount };
}

export const foldContract: Contract<FoldPlace> = {
  "adds each event to its facet, and marks it": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const folds = [...(await stored(port, workspace, [0.1, 0.2, -5])), ...(await stored(port, workspace, [7], "bob"))];
    await port.events.fold(workspace, folds);
    const [ada, bob] = [aUidOf(workspace, "ada"), aUidOf(workspace, "bob")];
    assert.deepEqual(await read(port, workspace, ada), { spent: -4.7, orders: 3, eventCount: 3 });
    assert.deepEqual(await read(port, workspace, bob), { spent: 7, orders: 1, eventCount: 1 });
    for (const { eventId } of folds) assert.equal((await port.events.find(workspace, eventId))?.status, "folded");
  },

  "names in a facet only events whose marks may not be written yet, so that it does not grow with each": async ({
    port,
  }) => {
    const workspace = newId<WorkspaceId>();
    await port.events.fold(workspace, await stored(port, workspace, [1, 2, 4]));
    const last = await stored(port, workspace, [8]);
    await port.events.fold(workspace, last);
    const uid = aUidOf(workspace, "ada");
    const { pending } = (await port.profiles.find(workspace, [uid])).get(uid)!;
    const ids = new Set(last.map(({ eventId }) => eventId));
    assert.deepEqual(
      pending.filter((eventId) => !ids.has(eventId)),
      [],
    );
  },

  "counts an event once, however often it comes: twice in a call, again, and at the same time": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const folds = await stored(port, workspace, [1, 2, 4, 8]);
    const [first, second, ...rest] = folds;
    await port.events.fold(workspace, [first!, first!, second!, first!]);
    await Promise.all([
      port.events.fold(workspace, folds),
      port.events.fold(workspace, rest),
      ...folds.map((one) => port.events.fold(workspace, [one])),
    ]);
    await port.events.fold(workspace, folds);
    const ada = aUidOf(workspace, "ada");
    assert.deepEqual(await read(port, workspace, ada), { spent: 15, orders: 4, eventCount: 4 });
    assert.equal(await counted(port.events, workspace, [ada]), 4);
  },

  "adds an event to one facet alone, though later calls name others": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [other, third] = [aUidOf(workspace, "other"), aUidOf(workspace, "third")];
    const [one, two] = await stored(port, workspace, [1, 10]);
    await port.events.fold(workspace, [one!, { ...one!, facet: other }]);
    await Promise.all([other, third].map((facet) => port.events.fold(workspace, [{ ...two!, facet }])));
    await port.events.fold(
      workspace,
      [one!, two!].map((fold) => ({ ...fold, facet: aUidOf(workspace, "fourth") })),
    );
    const uids = [one!.facet, other, third, aUidOf(workspace, "fourth")];
    const found = await Promise.all(uids.map((uid) => read(port, workspace, uid)));
    assert.deepEqual(found[0], { spent: 1, orders: 1, eventCount: 1 });
    const sums = found.map(({ eventCount }) => eventCount);
    assert.deepEqual([sums[1]! + sums[2]!, sums[3]], [1, 0]);
    const { facet } = (await port.events.find(workspace, two!.eventId))!;
    assert.equal(await counted(port.events, workspace, [facet!]), 1);
    assert.equal(facet, sums[1] === 1 ? other : third);
  },

  "answers the facet that each event is in, whatever was given; null for one that was dropped or is not stored":
    async ({ port }) => {
      const workspace = newId<WorkspaceId>();
      const other = aUidOf(workspace, "other");
      const [one, two, three] = await stored(port, workspace, [1, 2, 4]);
      const unknown = { ...one!, eventId: newId<EventId>() };
      assert.deepEqual(await port.events.fold(workspace, [one!, two!]), [one!.facet, two!.facet]);
      const again = [{ ...two!, facet: other }, { ...three!, facet: other }, unknown, { ...one!, facet: other }];
      assert.deepEqual(await port.events.fold(workspace, again), [two!.facet, other, null, one!.facet]);
      await port.events.drop(workspace, [two!.eventId], "erased");
      assert.deepEqual(await port.events.fold(workspace, [two!, three!]), [null, other]);
      assert.deepEqual(await port.events.fold(workspace, []), []);
    },

  "adds nothing of an event that is not stored": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [known] = await stored(port, workspace, [1]);
    const unknown = { ...known!, eventId: newId<EventId>() };
    await port.events.fold(workspace, [unknown, known!]);
    assert.deepEqual(await read(port, workspace, known!.facet), { spent: 1, orders: 1, eventCount: 1 });
    assert.equal(await port.events.find(workspace, unknown.eventId), null);
    await port.events.fold(workspace, []);
  },

  "is exact whatever the order, the repeats and the calls at one time": async ({ port }) => {
    const amount = fc.tuple(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.integer({ min: 0, max: 6 }));
    const deliveries = fc.array(fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(amount, { minLength: 1, maxLength: 8 }), deliveries, async (amounts, calls) => {
        const workspace = newId<WorkspaceId>();
        const folds = await stored(
          port,
          workspace,
          amounts.map(([digits, decimals]) => digits / 10 ** decimals),
        );
        const batches = calls.map((call) => call.map((n) => folds[n % folds.length]!));
        await Promise.all(
          [...batches, folds.toReversed(), ...batches].map((batch) => port.events.fold(workspace, batch)),
        );
        const exact = amounts.reduce(
          (sum, [digits, decimals]) => sum + BigInt(digits) * 10n ** BigInt(6 - decimals),
          0n,
        );
        assert.deepEqual(await read(port, workspace, aUidOf(workspace, "ada")), {
          spent: Number(`${exact}e-6`),
          orders: folds.length,
          eventCount: folds.length,
        });
      }),
      { seed: SEED, numRuns: 10 * SCALE },
    );
  },

  "is exact where the facets hold megabytes, and events are folded again, and dropped, at the same time": async ({
    port,
  }) => {
    const workspace = newId<WorkspaceId>();
    const users = Array.from({ length: 10 }, (_, n) => `user ${n}`);
    const folds = (await Promise.all(users.map((user) => stored(port, workspace, [1, 2], user)))).flat();
    const filler = { merge: "min", value: "x".repeat(700_000) } as const;
    const facet = { ...emptyFacet, traits: new Map([["filler", filler]]) };
    for (const user of users)
      await port.profiles.save(workspace, [{ uid: aUidOf(workspace, user), facet, pending: [], expectedRev: 0 }]);
    const { eventId, facet: uid } = folds.at(-1)!;
    await port.events.fold(workspace, folds.slice(0, 3));
    const [facets] = await Promise.all([
      port.events.fold(workspace, folds),
      port.events.fold(workspace, folds.toReversed()),
      port.events.drop(workspace, [eventId], "erased"),
    ]);
    assert.deepEqual(
      facets.slice(0, -1),
      folds.slice(0, -1).map((one) => one.facet),
    );
    assert.ok([uid, null].includes(facets.at(-1)!), String(facets.at(-1)));
    for (const user of users.slice(0, -1))
      assert.deepEqual(await read(port, workspace, aUidOf(workspace, user)), { spent: 3, orders: 2, eventCount: 2 });
    const { eventCount } = await read(port, workspace, uid);
    assert.ok(eventCount === 1 || eventCount === 2, `${eventCount} events`);
    assert.equal(await counted(port.events, workspace, [uid]), 1);
    assert.equal((await port.events.find(workspace, eventId))?.status, "dropped");
  },

  "keeps the sums across close and reopen, and goes on with them": async ({ port, reopen }) => {
    const workspace = newId<WorkspaceId>();
    const folds = await stored(port, workspace, [0.1, 0.2, 0.4]);
    await port.events.fold(workspace, folds.slice(0, 2));
    const again = await reopen();
    await again.events.fold(workspace, folds);
    assert.deepEqual(await read(again, workspace, folds[0]!.facet), { spent: 0.7, orders: 3, eventCount: 3 });
  },

  "fold keeps workspaces apart": async ({ port }) => {
    const [a, b] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const eventId = newId<EventId>();
    const own = new Map<WorkspaceId, Fold>();
    for (const workspace of [a, b]) {
      const event = anEvent({ workspace, eventId });
      await port.events.insert(workspace, [event]);
      own.set(workspace, aFold(event, { facet: aUidOf(a, "ada"), gain: gainOf(event, 1) }));
    }
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const [lone] = await stored(port, one, [5], "lone");
      await port.events.fold(other, [lone!]).catch(() => undefined);
      assert.equal((await port.events.find(one, lone!.eventId))?.status, "stored");
      assert.deepEqual(await read(port, other, lone!.facet), { spent: null, orders: null, eventCount: 0 });
      await port.events.fold(one, [own.get(one)!]);
    }
    for (const workspace of [a, b])
      assert.deepEqual(await read(port, workspace, aUidOf(a, "ada")), { spent: 1, orders: 1, eventCount: 1 });
  },
};
