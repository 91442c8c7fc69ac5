import assert from "node:assert/strict";
import { identifierKey, type DropReason, type EventRecord, type StoredEvent } from "../../../core/event/event.js";
import { encodeMessage } from "../../../core/event/message.js";
import { newId, type EventId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { Arrival, EventStore, SchemaArrival } from "../../../core/ports/event-store.js";
import { aDeadLetter, aFold, anEvent, counted, tombOf } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";

const NOW = 1_772_359_200_000;
const LETTERS = { limit: 100, before: null, eventId: null, reason: null };
const ANY = { schemaId: null, keyId: null, status: null, since: null, until: null };
const ARRIVALS = {
  filter: ANY,
  order: "oldest",
  after: null,
  limit: 100,
  bytesMax: 1_048_576,
  looksMax: 1_000,
} as const;
const SCHEMA = "checkout" as SchemaId;
const ALL = { after: null, until: NOW + 1_000, limit: 100 };

/** What is left of the event. */
const left = (event: EventRecord, reason: DropReason): StoredEvent => ({
  ...event,
  timestamp: "",
  effectiveTs: "",
  folds: false,
  identifiers: [],
  dropped: [],
  scoped: false,
  notes: null,
  payload: Buffer.from("null"),
  status: "dropped",
  facet: null,
  profileIdThen: null,
  reason,
});

/** A folded one, a dead one with its letter, and one that never folds. */
async function finished(port: EventStore, workspace: WorkspaceId) {
  const [folded, dead, stored] = [
    anEvent({ workspace, fingerprint: "f".repeat(64), scoped: true }),
    anEvent({ workspace, dropped: [{ identifier: { namespace: "email", value: "null" }, rule: "blocked" }] }),
    anEvent({ workspace, folds: false }),
  ] as const;
  await port.insert(workspace, [folded, dead, stored]);
  await port.fold(workspace, [aFold(folded)]);
  await port.bury(aDeadLetter({ workspace, eventId: dead.eventId }));
  return [folded, dead, stored] as const;
}

const idsOf = (events: readonly { readonly eventId: EventId }[]): readonly EventId[] =>
  events.map(({ eventId }) => eventId);

export const dropSentences: Contract<EventStore> = {
  "drops what an event says, and keeps whose it was, its id, schema, key, time, fingerprint and the reason": async ({
    port,
    reopen,
  }) => {
    for (const reason of ["erased", "expired"] as const) {
      const workspace = newId<WorkspaceId>();
      const events = await finished(port, workspace);
      assert.equal(await port.drop(workspace, idsOf(events), reason), 3);
      for (const event of events) assert.deepEqual(await port.find(workspace, event.eventId), left(event, reason));
    }
    const workspace = newId<WorkspaceId>();
    const events = await finished(port, workspace);
    await port.drop(workspace, idsOf(events), "expired");
    const again = await reopen();
    for (const event of events) assert.deepEqual(await again.find(workspace, event.eventId), left(event, "expired"));
  },

  "leaves a dropped event in no timeline, no count and no dead letters, and lists it as dropped": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = await finished(port, workspace);
    const staying = anEvent({ workspace, receivedAt: NOW + 1 });
    await port.insert(workspace, [staying]);
    await port.fold(workspace, [aFold(staying)]);
    await port.bury(aDeadLetter({ workspace, eventId: staying.eventId, killsEvent: false }));
    const { facet } = aFold(staying);
    assert.equal(await counted(port, workspace, [facet]), 2);
    await port.drop(workspace, idsOf(events), "expired");
    assert.equal(await counted(port, workspace, [facet]), 1);
    const timeline = await port.timeline(workspace, [facet], { limit: 10, bytesMax: 1_048_576, before: null });
    assert.deepEqual(idsOf(timeline), [staying.eventId]);
    assert.deepEqual(
      (await port.deadLetters(workspace, LETTERS)).map(({ eventId }) => eventId),
      [staying.eventId],
    );
    const listed = await port.arrivals(workspace, { ...ARRIVALS, filter: { ...ANY, status: "dropped" } });
    assert.deepEqual(new Set(idsOf(listed.events)), new Set(idsOf(events)));
    for (const status of ["stored", "dead"] as const)
      assert.deepEqual((await port.arrivals(workspace, { ...ARRIVALS, filter: { ...ANY, status } })).events, []);
    assert.equal((await port.arrivals(workspace, ARRIVALS)).events.length, 4);
  },

  "answers a dropped event to every insert of its id, and stores nothing": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = await finished(port, workspace);
    await port.drop(workspace, idsOf(events), "expired");
    const gone = events.map((event) => left(event, "expired"));
    assert.deepEqual(await port.insert(workspace, events), gone);
    const copies = events.map((event) => ({ ...event, fingerprint: "other", payload: Buffer.from('"ada"') }));
    assert.deepEqual(await port.insert(workspace, [...copies, ...events]), [...gone, ...gone]);
  },

  "folds no dropped event": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [event, beside] = [anEvent({ workspace }), anEvent({ workspace })];
    await port.insert(workspace, [event, beside]);
    await port.drop(workspace, [event.eventId], "erased");
    await port.fold(workspace, [aFold(beside), aFold(event)]);
    assert.equal((await port.find(workspace, beside.eventId))?.status, "folded");
    assert.equal(await counted(port, workspace, [aFold(event).facet]), 1);
    assert.deepEqual(await port.find(workspace, event.eventId), left(event, "erased"));
  },

  "keeps dropped what is dropped while its fold is under way": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    await port.insert(workspace, [event]);
    await Promise.all([port.fold(workspace, [aFold(event)]), port.drop(workspace, [eventId], "erased")]);
    assert.deepEqual(await port.find(workspace, eventId), left(event, "erased"));
    await port.fold(workspace, [aFold(event)]);
    assert.deepEqual(await port.find(workspace, eventId), left(event, "erased"));
    assert.equal(await counted(port, workspace, [aFold(event).facet]), 0);
  },

  "keeps no letter that would kill a dropped event, and each other one": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    await port.insert(workspace, [event]);
    await port.bury(aDeadLetter({ workspace, eventId, killsEvent: false }));
    await port.drop(workspace, [eventId], "expired");
    await port.drop(workspace, [eventId], "erased");
    assert.equal(await port.bury(aDeadLetter({ workspace, eventId })), false);
    assert.deepEqual(await port.deadLetters(workspace, LETTERS), []);
    assert.equal((await port.find(workspace, eventId))?.status, "dropped");
    const mismatch = aDeadLetter({ workspace, eventId, killsEvent: false });
    assert.equal(await port.bury(mismatch), true);
    assert.deepEqual(await port.deadLetters(workspace, LETTERS), [mismatch]);
  },

  "keeps a letter that kills none, has a body of its own and names somebody, however often its event is dropped":
    async ({ port, reopen }) => {
      let store = port;
      for (const reason of ["erased", "expired"] as const) {
        const event = anEvent({ folds: false, fingerprint: "a".repeat(64) });
        const { workspace, eventId } = event;
        const [bob, fingerprint] = [{ namespace: "email", value: "bob@example.com" }, "b".repeat(64)];
        const letterOf = (changes: Partial<EventRecord>, killsEvent = false) =>
          aDeadLetter({ workspace, eventId, killsEvent, message: encodeMessage({ ...event, ...changes }) });
        const others = letterOf({ fingerprint, identifiers: [bob] });
        await store.insert(workspace, [event]);
        for (const letter of [
          letterOf({}),
          letterOf({ fingerprint, identifiers: [] }),
          letterOf({ fingerprint, identifiers: [bob] }, true),
          aDeadLetter({ workspace, eventId, killsEvent: false }),
          others,
        ])
          await store.bury(letter);
        assert.equal(await store.drop(workspace, [eventId], reason), 1);
        assert.deepEqual(await store.deadLetters(workspace, LETTERS), [others]);
        await store.drop(workspace, [eventId], "erased");
        await store.bury(aDeadLetter({ workspace, eventId }));
        store = await reopen();
        assert.deepEqual(await store.deadLetters(workspace, LETTERS), [others]);
        const page = { limit: 10, after: null };
        const { found } = await store.naming(workspace, [tombOf(identifierKey(workspace, bob))], page);
        assert.deepEqual(found, [{ kind: "letter", letter: others }]);
      }
    },

  "leaves alone, as expired, an event whose fold is still to come": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [waiting, other] = [anEvent({ workspace }), anEvent({ workspace, folds: false })];
    await port.insert(workspace, [waiting, other]);
    const letter = aDeadLetter({ workspace, eventId: waiting.eventId, killsEvent: false });
    await port.bury(letter);
    assert.equal(await port.drop(workspace, idsOf([waiting]), "expired"), 0);
    assert.equal((await port.find(workspace, waiting.eventId))?.status, "stored");
    assert.deepEqual(await port.deadLetters(workspace, LETTERS), [letter]);
    assert.equal(await port.drop(workspace, idsOf([waiting, other]), "expired"), 1);
    assert.equal(await port.drop(workspace, idsOf([waiting, other]), "erased"), 1);
    assert.equal((await port.find(workspace, other.eventId))?.reason, "expired");
  },

  "drops each event once, however many ask at once, and keeps the first reason": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = Array.from({ length: 250 }, (_, n) =>
      anEvent({ workspace, folds: false, receivedAt: NOW + n, payload: Buffer.from("x".repeat(n * 7)) }),
    );
    await port.insert(workspace, events);
    const ids = [...idsOf(events), newId<EventId>(), "no-uuid" as EventId];
    const counts = await Promise.all([1, 2, 3].map(() => port.drop(workspace, ids, "expired")));
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      250,
    );
    assert.equal(await port.drop(workspace, ids, "erased"), 0);
    for (const event of [events[0]!, events[249]!])
      assert.deepEqual(await port.find(workspace, event.eventId), left(event, "expired"));
    assert.equal(await port.drop(workspace, [], "erased"), 0);
  },

  "takes the dead letters of an id that is not stored": async ({ port }) => {
    const letter = aDeadLetter();
    const workspace = letter.workspace!;
    await port.bury(letter);
    assert.equal(await port.drop(workspace, [letter.eventId!], "erased"), 0);
    assert.deepEqual(await port.deadLetters(workspace, LETTERS), []);
    assert.equal(await port.find(workspace, letter.eventId!), null);
  },

  "lists the events of one schema that are not dropped, oldest first, and says into which facet each is folded":
    async ({ port }) => {
      const workspace = newId<WorkspaceId>();
      const events = [5, 1, 3, 3, 9, 0].map((ms) => anEvent({ workspace, receivedAt: NOW + ms }));
      const others = ["check", "checkout2", "Checkout"].map((schemaId) =>
        anEvent({ workspace, receivedAt: NOW + 3, schemaId: schemaId as SchemaId }),
      );
      await port.insert(workspace, [...events, ...others]);
      const fold = aFold(events[2]!);
      await port.fold(workspace, [fold]);
      const facetOf = (eventId: EventId) => (eventId === fold.eventId ? fold.facet : null);
      const sorted = events
        .toSorted((a, b) => a.receivedAt - b.receivedAt || (a.eventId < b.eventId ? -1 : 1))
        .map(({ eventId, receivedAt }) => ({ eventId, receivedAt, facet: facetOf(eventId) }));
      assert.deepEqual(await port.ofSchema(workspace, SCHEMA, ALL), sorted);
      assert.deepEqual(await port.ofSchema(workspace, SCHEMA, { ...ALL, until: NOW + 3 }), sorted.slice(0, 2));
      const paged: SchemaArrival[] = [];
      for (let after: Arrival | null = null; ;) {
        const page: readonly SchemaArrival[] = await port.ofSchema(workspace, SCHEMA, { ...ALL, after, limit: 2 });
        paged.push(...page);
        if (page.length === 0) break;
        after = page.at(-1)!;
      }
      assert.deepEqual(paged, sorted);
      await port.drop(workspace, [sorted[0]!.eventId, sorted[3]!.eventId], "erased");
      const rest = sorted.filter((_, n) => n !== 0 && n !== 3);
      assert.deepEqual(await port.ofSchema(workspace, SCHEMA, ALL), rest);
      assert.deepEqual(await port.ofSchema(workspace, "none" as SchemaId, ALL), []);
    },

  "drop and ofSchema keep workspaces apart": async ({ port }) => {
    const eventId = newId<EventId>();
    const [a, b] = [anEvent({ eventId }), anEvent({ eventId })];
    for (const event of [a, b]) {
      await port.insert(event.workspace, [event]);
      await port.bury(aDeadLetter({ workspace: event.workspace, eventId }));
    }
    assert.equal(await port.drop(a.workspace, [eventId], "erased"), 1);
    assert.equal((await port.find(b.workspace, eventId))?.status, "dead");
    assert.equal((await port.deadLetters(b.workspace, LETTERS)).length, 1);
    assert.deepEqual(await port.ofSchema(a.workspace, SCHEMA, ALL), []);
    assert.deepEqual(idsOf(await port.ofSchema(b.workspace, SCHEMA, ALL)), [eventId]);
  },

  "refuses drop and ofSchema after close as unavailable": async ({ port }) => {
    await port.close();
    await rejectsAsUnavailable(() => port.drop(newId<WorkspaceId>(), [newId<EventId>()], "erased"));
    await rejectsAsUnavailable(() => port.ofSchema(newId<WorkspaceId>(), SCHEMA, ALL));
  },
};
