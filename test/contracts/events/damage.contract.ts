import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { identifierKey } from "../../../core/event/event.js";
import { newId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { TimelinePosition } from "../../../core/ports/event-store.js";
import { aFold, anEvent, aUidOf, tombOf } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { damagedRow } from "../../support/damaged.js";
import type { CopiedDocuments } from "../copying.contract.js";

const NOW = 1_772_359_200_000;
const ANY = { schemaId: null, keyId: null, status: null, since: null, until: null };
const PAGE = { filter: ANY, after: null, limit: 2, bytesMax: 1_048_576, looksMax: 100 } as const;
const ADA = { namespace: "email", value: "ada@example.com" };
const isDamaged = (error: unknown): boolean => error instanceof AppError && error.code === "damaged";

/** Three events, of which the one in the middle is damaged. */
async function threeOf({ events, copying }: CopiedDocuments) {
  const workspace = newId<WorkspaceId>();
  const [first, damaged, last] = [0, 1, 2].map((n) =>
    anEvent({ workspace, folds: false, receivedAt: NOW + n, identifiers: [ADA] }),
  ) as [ReturnType<typeof anEvent>, ReturnType<typeof anEvent>, ReturnType<typeof anEvent>];
  await events.insert(workspace, [first, last]);
  await copying.load("events", [damagedRow(damaged)]);
  return { workspace, first, damaged, last };
}

/** What the event store does with events whose checksum does not hold. */
export const damageContract: Contract<CopiedDocuments> = {
  "arrivals rejects where an event is damaged, or names it in its place and goes on, as it was asked": async ({
    port,
  }) => {
    const { workspace, first, damaged, last } = await threeOf(port);
    const { events } = port;
    for (const order of ["newest", "oldest"] as const) {
      await assert.rejects(events.arrivals(workspace, { ...PAGE, order }), isDamaged);
      const page = { ...PAGE, order, passesDamaged: true } as const;
      const one = await events.arrivals(workspace, page);
      const two = await events.arrivals(workspace, { ...page, after: one.next });
      const [before, behind] = order === "oldest" ? [first, last] : [last, first];
      const { receivedAt, eventId: damagedId } = damaged;
      assert.deepEqual(
        [one.events.map(({ eventId }) => eventId), one.damaged],
        [[before.eventId], [{ receivedAt, eventId: damagedId }]],
      );
      assert.deepEqual([two.events.map(({ eventId }) => eventId), two.damaged, two.next], [[behind.eventId], [], null]);
    }
  },

  "timeline rejects where an event is damaged, or tells of it and goes on behind it or ends there, as it was asked":
    async ({ port }) => {
      const workspace = newId<WorkspaceId>();
      const { events, copying } = port;
      const all = [0, 1, 2, 3, 4].map((n) =>
        anEvent({ workspace, identifiers: [ADA], effectiveTs: `2026-01-0${9 - n}T00:00:00.000000000Z` }),
      );
      const damaged = [all[1]!, all[2]!, all[4]!];
      const sound = [all[0]!, all[3]!];
      await events.insert(workspace, sound);
      await events.fold(
        workspace,
        sound.map((event) => aFold(event)),
      );
      const { facet } = aFold(all[0]!);
      const fold = { facet, profileId: newId<ProfileId>(), dropped: null, isDone: true };
      await copying.load(
        "events",
        damaged.map((event) => damagedRow(event, { fold })),
      );
      const page = { limit: 2, bytesMax: 1_048_576, before: null };
      await assert.rejects(events.timeline(workspace, [facet], page), isDamaged);
      const told: TimelinePosition[] = [];
      const passDamaged = (one: TimelinePosition) => told.push(one) > 0;
      const listed = await events.timeline(workspace, [facet], { ...page, passDamaged });
      const positionOf = ({ effectiveTs, eventId }: TimelinePosition) => ({ effectiveTs, eventId });
      assert.deepEqual(listed.map(positionOf), sound.map(positionOf));
      assert.deepEqual(told.splice(0), damaged.slice(0, 2).map(positionOf));
      const rest = await events.timeline(workspace, [facet], { ...page, before: listed[1]!, passDamaged });
      assert.deepEqual([rest, told.splice(0)], [[], [positionOf(damaged[2]!)]]);
      const endAtSecond = (one: TimelinePosition) => told.push(one) < 2;
      const ended = await events.timeline(workspace, [facet], { ...page, passDamaged: endAtSecond });
      assert.deepEqual(ended.map(positionOf), [positionOf(sound[0]!)]);
      assert.deepEqual(told.splice(0), damaged.slice(0, 2).map(positionOf));
      const behind = await events.timeline(workspace, [facet], { ...page, before: damaged[1]!, passDamaged });
      assert.deepEqual(behind.map(positionOf), [positionOf(sound[1]!)]);
    },

  "naming names a damaged event by what stands beside its message": async ({ port }) => {
    const { workspace, first, damaged, last } = await threeOf(port);
    const tombs = [tombOf(identifierKey(workspace, ADA))];
    const { found, next } = await port.events.naming(workspace, tombs, { limit: 10, after: null });
    assert.equal(next, null);
    const { eventId, receivedAt, effectiveTs } = damaged;
    assert.deepEqual(
      found.filter(({ kind }) => kind === "damaged"),
      [{ kind: "damaged", eventId, receivedAt, effectiveTs }],
    );
    const read = found.flatMap((one) => (one.kind === "event" ? one.event.eventId : []));
    assert.deepEqual(read.toSorted(), [first.eventId, last.eventId].toSorted());
    const paged: string[] = [];
    for (let after: string | null = null; ;) {
      const page = await port.events.naming(workspace, tombs, { limit: 1, after });
      paged.push(...page.found.map(({ kind }) => kind));
      if (page.next === null) break;
      after = page.next;
    }
    assert.deepEqual(paged.toSorted(), ["damaged", "event", "event"]);
  },

  "drop takes a damaged event, folded or not, for either reason": async ({ port }) => {
    const facet = (workspace: WorkspaceId) => aUidOf(workspace, ADA.value);
    for (const reason of ["erased", "expired"] as const)
      for (const isFolded of [false, true]) {
        const event = anEvent({ folds: isFolded, identifiers: [ADA] });
        const { workspace, eventId } = event;
        const fold = { facet: facet(workspace), profileId: newId<never>(), dropped: null, isDone: true };
        await port.copying.load("events", [damagedRow(event, isFolded ? { fold } : {})]);
        await assert.rejects(port.events.find(workspace, eventId), isDamaged);
        assert.equal(await port.events.drop(workspace, [eventId], reason), 1);
        const left = await port.events.find(workspace, eventId);
        assert.deepEqual([left?.status, left?.reason, left?.identifiers], ["dropped", reason, []]);
        const tombs = [tombOf(identifierKey(workspace, ADA))];
        assert.deepEqual((await port.events.naming(workspace, tombs, { limit: 9, after: null })).found, []);
        assert.deepEqual(await port.events.foldedInto(workspace, [facet(workspace)], 9), []);
      }
  },
};
