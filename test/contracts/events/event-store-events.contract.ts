import assert from "node:assert/strict";
import type { EventRecord, StoredEvent } from "../../../core/event/event.js";
import { newId, type EventId, type KeyId, type ProfileId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { aDeadLetter, anEvent, aUidOf, aFold, HOSTILE_TEXTS, counted } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";

const asStored = (event: EventRecord): StoredEvent => ({
  ...event,
  status: "stored",
  facet: null,
  profileIdThen: null,
  reason: null,
});
const eventsOf = (workspace: WorkspaceId, count: number): readonly EventRecord[] =>
  Array.from({ length: count }, (_, n) => anEvent({ workspace, payload: Buffer.from(`{"n":${n}}`) }));
const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();

export const eventSentences: Contract<EventStore> = {
  "gives back an event as it was inserted": async ({ port }) => {
    const event = anEvent({
      fingerprint: "f".repeat(64),
      folds: false,
      scoped: true,
      identifiers: [],
      dropped: [{ identifier: { namespace: "email", value: "null" }, rule: "blocked" }],
    });
    assert.deepEqual(await port.insert(event.workspace, [event]), [asStored(event)]);
    assert.deepEqual(await port.find(event.workspace, event.eventId), asStored(event));
  },

  "gives back the payload byte for byte": async ({ port }) => {
    const payloads = [
      '{"__proto__":{"a":1},"constructor":2,"$where":"x","a.b":1,"":0,"_bsontype":"ObjectID"}',
      '{ "big": 12345678901234567890, "exp": 1e400, "same": 1.0 }\n\n',
      '"\\u0000 \u2028 \u{1F600}"',
      `{"long":"${"x".repeat(262_000)}"}`,
      "\0\n\0",
    ].map((text) => Buffer.from(text));
    for (const payload of payloads) {
      const event = anEvent({ payload });
      await port.insert(event.workspace, [event]);
      assert.deepEqual((await port.find(event.workspace, event.eventId))?.payload, payload);
    }
  },

  "gives back any text of an identifier": async ({ port }) => {
    const identifiers = HOSTILE_TEXTS.map((value) => ({ namespace: "user_id", value }));
    const dropped = identifiers.map((identifier) => ({ identifier, rule: "blocked" as const }));
    const event = anEvent({ identifiers, dropped });
    await port.insert(event.workspace, [event]);
    assert.deepEqual(await port.find(event.workspace, event.eventId), asStored(event));
  },

  "answers for a duplicate the event stored first, whatever the copy says": async ({ port }) => {
    const event = anEvent();
    await port.insert(event.workspace, [event]);
    const copy = anEvent({
      workspace: event.workspace,
      eventId: event.eventId,
      schemaId: "other" as SchemaId,
      effectiveTs: "2030-01-01T00:00:00.000000000Z",
      folds: false,
      keyId: "otherkeyid" as KeyId,
      payload: Buffer.from("{}"),
    });
    assert.deepEqual(await port.insert(event.workspace, [copy]), [asStored(event)]);
    assert.deepEqual(await port.find(event.workspace, event.eventId), asStored(event));
  },

  "answers for a duplicate what became of it": async ({ port }) => {
    const event = anEvent();
    const mark = aFold(event);
    await port.insert(event.workspace, [event]);
    await port.fold(event.workspace, [mark]);
    const [again] = await port.insert(event.workspace, [event]);
    assert.deepEqual(again, {
      ...asStored(event),
      status: "folded",
      facet: mark.facet,
      profileIdThen: mark.profileIdThen,
    });
  },

  "answers in order when some events of a call are new, some known and some twice in it": async ({ port }) => {
    const workspace = newWorkspace();
    const events = eventsOf(workspace, 70);
    const known = events.filter((_, n) => n % 3 === 0);
    await port.insert(workspace, known);
    const changed = events.map((event) => ({ ...event, timestamp: "2026-09-09T09:09:09Z" }));
    const call = [...changed, ...changed.toReversed().map((event) => ({ ...event, folds: false }))];
    const first = changed.map((event, n) => asStored(n % 3 === 0 ? events[n]! : event));
    assert.deepEqual(await port.insert(workspace, call), [...first, ...first.toReversed()]);
    assert.deepEqual(await port.insert(workspace, []), []);
  },

  "stores one of many concurrent inserts of an id, and answers the same to all": async ({ port }) => {
    const event = anEvent();
    const copies = Array.from({ length: 100 }, (_, n) => ({ ...event, payload: Buffer.from(`{"n":${n}}`) }));
    const answers = await Promise.all(copies.map((copy) => port.insert(event.workspace, [copy])));
    const stored = await port.find(event.workspace, event.eventId);
    assert.ok(stored !== null && copies.some((copy) => copy.payload.equals(stored.payload)));
    for (const answer of answers) assert.deepEqual(answer, [stored]);
  },

  "finds null for an unknown id": async ({ port }) => {
    const event = anEvent();
    await port.insert(event.workspace, [event]);
    assert.equal(await port.find(event.workspace, newId<EventId>()), null);
    for (const odd of [
      "",
      "no-uuid",
      event.eventId.toUpperCase(),
      `${event.eventId}\0`,
      event.eventId.replaceAll("-", ""),
    ])
      assert.equal(await port.find(event.workspace, odd as EventId), null);
  },

  "marks an event as folded, with the profile of that moment": async ({ port }) => {
    const event = anEvent();
    const mark = aFold(event);
    await port.insert(event.workspace, [event]);
    await port.fold(event.workspace, [mark]);
    assert.deepEqual(await port.find(event.workspace, event.eventId), {
      ...asStored(event),
      status: "folded",
      facet: mark.facet,
      profileIdThen: mark.profileIdThen,
    });
  },

  "shows what was dropped at acceptance and what at the fold, each once": async ({ port }) => {
    const [junk, extra] = ["junk", "extra\0"].map((value) => ({
      identifier: { namespace: "email", value },
      rule: "blocked" as const,
    }));
    const event = anEvent({ dropped: [junk!] });
    await port.insert(event.workspace, [event]);
    await port.fold(event.workspace, [aFold(event, { dropped: [junk!, extra!] })]);
    assert.deepEqual((await port.find(event.workspace, event.eventId))?.dropped, [junk, extra]);
  },

  "keeps the first mark when a mark is repeated": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    const [first, second] = [aFold(event), aFold(event, { facet: aUidOf(workspace, "other") })];
    await port.insert(workspace, [event]);
    await port.fold(workspace, [first, second]);
    await port.fold(workspace, [second]);
    assert.equal((await port.find(workspace, eventId))?.profileIdThen, first.profileIdThen);
    assert.equal(await counted(port, workspace, [first.facet]), 1);
    assert.equal(await counted(port, workspace, [second.facet]), 0);
  },

  "marks many events in one call": async ({ port }) => {
    const workspace = newWorkspace();
    const events = eventsOf(workspace, 150);
    await port.insert(workspace, events);
    const marks = events.map((event) => aFold(event));
    await port.fold(workspace, marks);
    for (const [n, { eventId }] of events.entries())
      assert.equal((await port.find(workspace, eventId))?.profileIdThen, marks[n]!.profileIdThen);
  },

  "insert and find keep workspaces apart": async ({ port }) => {
    const eventId = newId<EventId>();
    const [a, b] = [anEvent({ eventId, payload: Buffer.from("1") }), anEvent({ eventId, payload: Buffer.from("2") })];
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const alone = anEvent({ workspace: one.workspace });
      await port.insert(one.workspace, [one, alone]);
      assert.equal(await port.find(other.workspace, alone.eventId), null);
    }
    for (const event of [a, b]) assert.deepEqual(await port.find(event.workspace, event.eventId), asStored(event));
  },

  "fold keeps the events of workspaces apart": async ({ port }) => {
    const eventId = newId<EventId>();
    const [a, b] = [anEvent({ eventId }), anEvent({ eventId })];
    for (const event of [a, b]) await port.insert(event.workspace, [event]);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const lone = anEvent({ workspace: one.workspace });
      await port.insert(one.workspace, [lone]);
      await port.fold(other.workspace, [{ ...aFold(lone), facet: aUidOf(other.workspace, "x") }]);
      await port.fold(other.workspace, [aFold(lone)]).catch(() => {});
      assert.equal((await port.find(one.workspace, lone.eventId))?.status, "stored");
      assert.equal(await counted(port, other.workspace, [aUidOf(other.workspace, "x")]), 0);
    }
    await port.fold(a.workspace, [aFold(a)]);
    assert.equal((await port.find(a.workspace, eventId))?.status, "folded");
    assert.equal((await port.find(b.workspace, eventId))?.status, "stored");
  },

  "keeps events, marks and dead letters across close and reopen": async ({ port, reopen }) => {
    const workspace = newWorkspace();
    const [plain, folded, dead] = eventsOf(workspace, 3) as [EventRecord, EventRecord, EventRecord];
    const mark = aFold(folded, { profileIdThen: newId<ProfileId>() });
    const letter = aDeadLetter({ workspace, eventId: dead.eventId });
    await port.insert(workspace, [plain, folded, dead]);
    await port.fold(workspace, [mark]);
    await port.bury(letter);
    const again = await reopen();
    assert.deepEqual(await again.find(workspace, plain.eventId), asStored(plain));
    assert.equal((await again.find(workspace, folded.eventId))?.profileIdThen, mark.profileIdThen);
    assert.equal((await again.find(workspace, dead.eventId))?.status, "dead");
    assert.equal(await counted(again, workspace, [mark.facet]), 1);
    const page = { limit: 10, before: null, eventId: null, reason: null };
    assert.deepEqual(await again.deadLetters(workspace, page), [letter]);
    assert.deepEqual(await again.insert(workspace, [{ ...plain, folds: false }]), [asStored(plain)]);
  },

  "is ready while it is open, and may be closed twice": async ({ port }) => {
    await port.ready();
    await port.close();
    await port.close();
  },

  "refuses every method after close as unavailable": async ({ port }) => {
    const event = anEvent();
    const { workspace, eventId } = event;
    const page = { limit: 10, bytesMax: 1, before: null };
    await port.close();
    await rejectsAsUnavailable(() => port.insert(workspace, [event]));
    await rejectsAsUnavailable(() => port.find(workspace, eventId));
    await rejectsAsUnavailable(() => port.fold(workspace, [aFold(event)]));
    await rejectsAsUnavailable(() => port.timeline(workspace, [aUidOf(workspace, "x")], page));
    await rejectsAsUnavailable(() => port.bury(aDeadLetter()));
    await rejectsAsUnavailable(() =>
      port.deadLetters(workspace, { ...page, before: null, eventId: null, reason: null }),
    );
    await rejectsAsUnavailable(() => port.ready());
  },
};
