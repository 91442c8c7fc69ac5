import assert from "node:assert/strict";
import * as fc from "fast-check";
import { instantOf } from "../../../core/event/time.js";
import { newId, type EventId, type TallyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { TimelinePosition } from "../../../core/ports/event-store.js";
import type { Tallied } from "../../../core/ports/tally-store.js";
import { aDeadLetter, aFold, anEvent, aUidOf } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { SCALE, SEED } from "../../support/random/random.js";
import {
  type TallyPlace,
  talliesOf,
  START,
  ALL,
  newTally,
  eventsOf,
  countedAs,
  fold,
  forgetAll,
  idsOf,
  newestFirst,
} from "./tally-place.js";
import { tallyAsksContract } from "./tally-store-asks.contract.js";

export { talliesOf, type TallyPlace };

export const tallyStoreContract: Contract<TallyPlace> = {
  ...tallyAsksContract,
  "has an event count from its fold on, with its amounts, newest first": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [plain, summed, other] = [newTally(), newTally(), newTally()];
    const all = eventsOf(workspace, 4);
    await fold(port, workspace, all, [plain, summed]);
    const uid = aUidOf(workspace, "ada");
    const expected = all.toReversed().map(({ eventId, effectiveTs }) => ({ eventId, effectiveTs }));
    const rows = (tallyId: TallyId, page = ALL) => port.tallies.newest(workspace, tallyId, [uid], page);
    assert.deepEqual(
      await rows(plain),
      expected.map((row) => ({ ...row, amount: null })),
    );
    assert.deepEqual(
      await rows(summed),
      expected.map((row) => ({ ...row, amount: 0.1 })),
    );
    assert.deepEqual(
      await rows(summed, { ...ALL, hasAmounts: false }),
      expected.map((row) => ({ ...row, amount: null })),
    );
    assert.deepEqual(await rows(other), []);
    assert.deepEqual(await port.tallies.newest(workspace, plain, [], ALL), []);
  },

  "counts in the facet that the event is in, also if it was folded before, and each event once": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [first, second] = [newTally(), newTally()];
    const all = eventsOf(workspace, 3);
    await fold(port, workspace, all, [first]);
    const again = all.map((event) =>
      aFold(event, {
        facet: aUidOf(workspace, "eve"),
        tallies: [first, second].map((tallyId) => ({ tallyId, amount: 7 })),
      }),
    );
    await Promise.all([port.events.fold(workspace, again), port.events.fold(workspace, again.toReversed())]);
    const [ada, eve] = [aUidOf(workspace, "ada"), aUidOf(workspace, "eve")];
    for (const tallyId of [first, second]) {
      assert.deepEqual(idsOf(await port.tallies.newest(workspace, tallyId, [ada], ALL)), newestFirst(all));
      assert.deepEqual(await port.tallies.newest(workspace, tallyId, [eve], ALL), []);
    }
  },

  "has folded events count later, as often as it is told to; one that is not folded there counts for nothing": async ({
    port,
  }) => {
    const workspace = newId<WorkspaceId>();
    const tallyId = newTally();
    const [folded, open] = [eventsOf(workspace, 3), eventsOf(workspace, 1, "ada", START + 60_000)];
    await fold(port, workspace, folded);
    await port.events.insert(workspace, open);
    const all = [...folded, ...open, ...eventsOf(workspace, 1)];
    const elsewhere = { ...countedAs(folded[0]!, tallyId), uid: aUidOf(workspace, "eve") };
    const tallied = [elsewhere, ...all.map((event) => countedAs(event, tallyId, 2))];
    await Promise.all([port.tallies.count(workspace, tallied), port.tallies.count(workspace, tallied)]);
    await port.tallies.count(workspace, []);
    await port.tallies.count(workspace, [{ ...countedAs(folded[0]!, tallyId), tallies: [] }]);
    const uids = [aUidOf(workspace, "ada"), aUidOf(workspace, "eve")];
    const rows = await port.tallies.newest(workspace, tallyId, uids, ALL);
    assert.deepEqual(idsOf(rows), newestFirst(folded));
    assert.deepEqual(new Set(rows.map(({ amount }) => amount)), new Set([2]));
    for (const { eventId } of open) assert.equal((await port.events.find(workspace, eventId))?.status, "stored");
  },

  "answers the newest of many facets together, in pages, and only what is younger": async ({ port }) => {
    const place = {
      users: fc.array(fc.nat(300), { minLength: 1, maxLength: 30 }),
      limit: fc.integer({ min: 1, max: 7 }),
    };
    await fc.assert(
      fc.asyncProperty(place.users, place.limit, fc.nat(40), async (users, limit, since) => {
        const workspace = newId<WorkspaceId>();
        const tallyId = newTally();
        // Several at one instant, so that the ids decide too.
        const all = users.flatMap((user, n) => eventsOf(workspace, 1, `u${user}`, START + Math.floor(n / 3) * 1_000));
        await fold(port, workspace, all, [tallyId]);
        const uids = Array.from({ length: 301 }, (_, user) => aUidOf(workspace, `u${user}`));
        const young = instantOf(START + since * 1_000);
        const found: EventId[] = [];
        for (let before: TimelinePosition | null = null; ;) {
          const rows = await port.tallies.newest(workspace, tallyId, uids, { ...ALL, limit, before, since: young });
          found.push(...idsOf(rows));
          if (rows.length < limit) break;
          before = rows.at(-1)!;
        }
        const expected = all
          .filter(({ effectiveTs }) => effectiveTs > young)
          .map(({ effectiveTs, eventId }) => ({ eventId, key: effectiveTs + eventId }))
          .toSorted((a, b) => (a.key < b.key ? 1 : -1));
        assert.deepEqual(found, idsOf(expected));
        // The same for each facet, and for all of them, as one question.
        const asks = [...uids.slice(0, 40).map((uid) => [uid]), uids].flatMap((some) =>
          [1, limit].map((most) => ({ tallyId, uids: some, limit: most, since: young, hasAmounts: false })),
        );
        const times = await Promise.all(
          asks.map(async ({ uids: some, limit: most }) => {
            const rows = await port.tallies.newest(workspace, tallyId, some, { ...ALL, limit: most, since: young });
            return rows.map(({ effectiveTs }) => ({ effectiveTs, amount: null }));
          }),
        );
        assert.deepEqual(await port.tallies.newestOfEach(workspace, asks), times);
      }),
      { seed: SEED, numRuns: 5 * SCALE },
    );
  },

  "what an event counts for goes with the event, whatever drops it, and does not come back": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [tallyId, second] = [newTally(), newTally()];
    const all = eventsOf(workspace, 4);
    await fold(port, workspace, all, [tallyId, second]);
    await port.events.drop(workspace, [all[0]!.eventId], "expired");
    await port.events.drop(workspace, [all[2]!.eventId], "erased");
    const tallies = [{ tallyId, amount: null }];
    await port.events.fold(
      workspace,
      all.map((event) => aFold(event, { tallies })),
    );
    await port.tallies.count(
      workspace,
      all.map((event) => countedAs(event, tallyId)),
    );
    const left = newestFirst([all[1]!, all[3]!]);
    for (const one of [tallyId, second])
      assert.deepEqual(idsOf(await port.tallies.newest(workspace, one, [aUidOf(workspace, "ada")], ALL)), left);
  },

  "an event that dies before its fold counts for nothing": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const tallyId = newTally();
    const [event] = eventsOf(workspace, 1);
    await port.events.insert(workspace, [event!]);
    await port.events.bury(aDeadLetter({ workspace, eventId: event!.eventId }));
    await port.tallies.count(workspace, [countedAs(event!, tallyId)]);
    assert.deepEqual(await port.tallies.newest(workspace, tallyId, [aUidOf(workspace, "ada")], ALL), []);
  },

  "uncounts the events that it is told, for those tallies alone": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [first, second] = [newTally(), newTally()];
    const all = eventsOf(workspace, 3);
    await fold(port, workspace, all, [first, second]);
    await port.tallies.uncount(workspace, [countedAs(all[1]!, second), countedAs(eventsOf(workspace, 1)[0]!, second)]);
    await port.tallies.uncount(workspace, []);
    const uid = aUidOf(workspace, "ada");
    assert.deepEqual(idsOf(await port.tallies.newest(workspace, first, [uid], ALL)), newestFirst(all));
    const rows = await port.tallies.newest(workspace, second, [uid], ALL);
    assert.deepEqual(idsOf(rows), newestFirst([all[0]!, all[2]!]));
  },

  "finds what counts with its amount, in order, and nothing where an event does not count": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [plain, summed, other] = [newTally(), newTally(), newTally()];
    // More than go in one piece.
    const all = eventsOf(workspace, 1_100);
    await fold(port, workspace, all, [plain, summed]);
    await port.tallies.uncount(workspace, [countedAs(all[1]!, summed)]);
    const entriesAs = (tallyId: TallyId, user = "ada") =>
      all.map(({ eventId, effectiveTs }) => ({ eventId, effectiveTs, uid: aUidOf(workspace, user), tallyId }));
    const none = all.map(() => null);
    assert.deepEqual(
      await port.tallies.find(workspace, entriesAs(plain)),
      all.map(() => ({ amount: null })),
    );
    assert.deepEqual(
      await port.tallies.find(workspace, entriesAs(summed)),
      all.map((_, n) => (n === 1 ? null : { amount: 0.1 })),
    );
    assert.deepEqual(await port.tallies.find(workspace, entriesAs(other)), none);
    assert.deepEqual(await port.tallies.find(workspace, entriesAs(plain, "eve")), none);
    const unknown = { ...entriesAs(plain)[0]!, eventId: newId<EventId>() };
    assert.deepEqual(await port.tallies.find(workspace, [unknown, ...entriesAs(summed).slice(1, 3)]), [
      null,
      null,
      { amount: 0.1 },
    ]);
    assert.deepEqual(await port.tallies.find(workspace, []), []);
  },

  "forgets one tally, in pieces, and leaves the others": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [gone, kept] = [newTally(), newTally()];
    const users = Array.from({ length: 7 }, (_, n) => `u${n}`);
    const all = users.flatMap((user) => eventsOf(workspace, 2, user));
    await fold(port, workspace, all, [gone, kept]);
    assert.ok((await forgetAll(port, workspace, gone)) > 1);
    const uids: readonly Uid[] = users.map((user) => aUidOf(workspace, user));
    assert.deepEqual(await port.tallies.newest(workspace, gone, uids, ALL), []);
    assert.equal((await port.tallies.newest(workspace, kept, uids, ALL)).length, all.length);
    await forgetAll(port, workspace, gone);
  },

  "count, newest, newestOfEach, find, uncount and forget keep workspaces apart": async ({ port }) => {
    const [a, b] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const [tallyId, eventId, uid] = [newTally(), newId<EventId>(), newId<Uid>()];
    const effectiveTs = instantOf(START);
    for (const workspace of [a, b]) {
      const event = anEvent({ workspace, eventId, effectiveTs });
      await port.events.insert(workspace, [event]);
      await port.events.fold(workspace, [aFold(event, { facet: uid })]);
    }
    const tallied: readonly Tallied[] = [{ eventId, uid, tallies: [{ tallyId, amount: 1 }] }];
    const rows = async (workspace: WorkspaceId) => idsOf(await port.tallies.newest(workspace, tallyId, [uid], ALL));
    await port.tallies.count(a, tallied);
    assert.deepEqual([await rows(a), await rows(b)], [[eventId], []]);
    const entry = { eventId, effectiveTs, uid, tallyId };
    assert.deepEqual(
      [await port.tallies.find(a, [entry]), await port.tallies.find(b, [entry])],
      [[{ amount: 1 }], [null]],
    );
    const asked = [{ tallyId, uids: [uid], limit: 9, since: null, hasAmounts: false }];
    assert.deepEqual(await port.tallies.newestOfEach(b, asked), [[]]);
    await port.tallies.count(b, tallied);
    await port.tallies.uncount(a, tallied);
    assert.deepEqual([await rows(a), await rows(b)], [[], [eventId]]);
    await port.tallies.count(a, tallied);
    await forgetAll(port, b, tallyId);
    assert.deepEqual([await rows(a), await rows(b)], [[eventId], []]);
  },

  "keeps what counts across close and reopen": async ({ port, reopen }) => {
    const workspace = newId<WorkspaceId>();
    const [tallyId, later] = [newTally(), newTally()];
    const all = eventsOf(workspace, 2);
    await fold(port, workspace, all, [tallyId]);
    await port.tallies.count(
      workspace,
      all.map((event) => countedAs(event, later, 0.5)),
    );
    const { tallies } = await reopen();
    const uids = [aUidOf(workspace, "ada")];
    assert.equal((await tallies.newest(workspace, tallyId, uids, ALL)).length, 2);
    assert.equal((await tallies.newest(workspace, later, uids, ALL)).length, 2);
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.tallies.ready();
    await port.tallies.close();
    await port.tallies.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const refused = { code: "unavailable" };
    await port.tallies.close();
    await assert.rejects(port.tallies.count(workspace, []), refused);
    await assert.rejects(port.tallies.uncount(workspace, []), refused);
    await assert.rejects(port.tallies.find(workspace, []), refused);
    await assert.rejects(port.tallies.newest(workspace, newTally(), [newId<Uid>()], ALL), refused);
    await assert.rejects(port.tallies.newestOfEach(workspace, []), refused);
    await assert.rejects(port.tallies.forget(workspace, newTally(), { limit: 1, after: null }), refused);
    await assert.rejects(port.tallies.ready(), refused);
  },
};
