import assert from "node:assert/strict";
import type { EventRecord } from "../../../core/event/event.js";
import { newId, type EventId, type KeyId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { Arrival, ArrivalsPage, EventFilter, EventStore } from "../../../core/ports/event-store.js";
import { aDeadLetter, aKeyId, aFold, anEvent } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const NOW = 1_772_359_200_000;
const ALL: EventFilter = { schemaId: null, keyId: null, status: null, since: null, until: null };
const aPage = ({
  filter,
  ...changes
}: Omit<Partial<ArrivalsPage>, "filter"> & { filter?: Partial<EventFilter> } = {}): ArrivalsPage => ({
  filter: { ...ALL, ...filter },
  order: "newest",
  after: null,
  limit: 100,
  bytesMax: 1_048_576,
  looksMax: 10_000,
  ...changes,
});

const ids = (events: readonly EventRecord[]): readonly EventId[] => events.map(({ eventId }) => eventId);
const oldestFirst = (a: EventRecord, b: EventRecord): number =>
  a.receivedAt - b.receivedAt || (a.eventId < b.eventId ? -1 : 1);

/** Stores one event for each time, in the given order. */
async function receive(
  port: EventStore,
  workspace: WorkspaceId,
  times: readonly number[],
  changes: Partial<EventRecord> = {},
) {
  const events = times.map((ms) => anEvent({ workspace, receivedAt: NOW + ms, ...changes }));
  await port.insert(workspace, events);
  return events;
}

async function pages(port: EventStore, workspace: WorkspaceId, page: ArrivalsPage) {
  const all: EventRecord[] = [];
  const sizes: number[] = [];
  for (let after: Arrival | null = page.after; ;) {
    const { events, next } = await port.arrivals(workspace, { ...page, after });
    all.push(...events);
    sizes.push(events.length);
    if (next === null) return { ids: ids(all), sizes };
    after = next;
  }
}

export const arrivalSentences: Contract<EventStore> = {
  "lists all events of a workspace by when they were received, and those of one time by event id": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    assert.deepEqual(await port.arrivals(workspace, aPage()), { events: [], damaged: [], next: null });
    const events = (await receive(port, workspace, [5, 1, 9, 5, 5, 0, 86_400_000, 1])).toSorted(oldestFirst);
    for (const [order, expected] of [
      ["oldest", events],
      ["newest", events.toReversed()],
    ] as const) {
      const listed = await port.arrivals(workspace, aPage({ order }));
      assert.deepEqual(listed, {
        events: await Promise.all(expected.map(({ eventId }) => port.find(workspace, eventId))),
        damaged: [],
        next: null,
      });
    }
  },

  "gives each event once over the pages of either order, whatever their size": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const times = Array.from({ length: 43 }, (_, n) => (n * 17) % 11);
    const events = (await receive(port, workspace, times)).toSorted(oldestFirst);
    for (const limit of [1, 7, 42, 43, 44]) {
      const sizes = [...Array.from({ length: Math.ceil(43 / limit) - 1 }, () => limit), 43 % limit || limit];
      assert.deepEqual(await pages(port, workspace, aPage({ order: "oldest", limit })), { ids: ids(events), sizes });
      assert.deepEqual(await pages(port, workspace, aPage({ limit })), { ids: ids(events.toReversed()), sizes });
    }
  },

  "takes what was received from one time until before another": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = (await receive(port, workspace, [1, 2, 2, 3, 4])).toSorted(oldestFirst);
    const between = async (since: number | null, until: number | null, limit: number) => {
      const filter = { since: since && NOW + since, until: until && NOW + until };
      const oldest = await pages(port, workspace, aPage({ order: "oldest", limit, filter }));
      const newest = await pages(port, workspace, aPage({ limit, filter }));
      assert.deepEqual(newest.ids.toReversed(), oldest.ids);
      return oldest.ids;
    };
    for (const limit of [1, 100]) {
      assert.deepEqual(await between(2, 4, limit), ids(events.slice(1, 4)));
      assert.deepEqual(await between(2, 3, limit), ids(events.slice(1, 3)));
      assert.deepEqual(await between(3, null, limit), ids(events.slice(3)));
      assert.deepEqual(await between(null, 2, limit), ids(events.slice(0, 1)));
      assert.deepEqual(await between(5, null, limit), []);
      assert.deepEqual(await between(3, 2, limit), []);
    }
  },

  "takes the events of a schema, of a key, of a status, and of all three": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [order, visit] = ["order", "visit"] as SchemaId[];
    const [shop, till] = [aKeyId(), aKeyId()];
    const events: EventRecord[] = [];
    for (const schemaId of [order!, visit!])
      for (const keyId of [shop, till])
        events.push(...(await receive(port, workspace, [1, 2, 3], { schemaId, keyId })));
    const marked = events.filter(({ receivedAt }) => receivedAt === NOW + 1);
    const buried = events.filter(({ receivedAt }) => receivedAt === NOW + 2);
    await port.fold(
      workspace,
      marked.map((event) => aFold(event)),
    );
    for (const { eventId } of buried) await port.bury(aDeadLetter({ workspace, eventId }));
    const waiting = events.filter((event) => !marked.includes(event) && !buried.includes(event));
    const groups = [
      ["folded", marked],
      ["dead", buried],
      ["stored", waiting],
      [null, events],
    ] as const;
    for (const [status, ofStatus] of groups)
      for (const schemaId of [order!, null])
        for (const keyId of [till, null]) {
          const expected = ofStatus
            .filter(
              (event) => (schemaId ?? event.schemaId) === event.schemaId && (keyId ?? event.keyId) === event.keyId,
            )
            .toSorted(oldestFirst);
          const filter = { status, schemaId, keyId };
          assert.deepEqual(
            (await pages(port, workspace, aPage({ order: "oldest", limit: 2, filter }))).ids,
            ids(expected),
          );
        }
    const none = { keyId: "nobody" as KeyId };
    assert.deepEqual(await port.arrivals(workspace, aPage({ filter: none })), { events: [], damaged: [], next: null });
  },

  "looks at so many events for those that a filter takes, and goes on behind them": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const rare = "rare" as SchemaId;
    const [first] = await receive(port, workspace, [0], { schemaId: rare });
    await receive(
      port,
      workspace,
      Array.from({ length: 2_400 }, (_, n) => n + 1),
    );
    const [last] = await receive(port, workspace, [3_000], { schemaId: rare });
    const filter = { schemaId: rare };
    const one = await port.arrivals(workspace, aPage({ filter, looksMax: 1_500 }));
    assert.deepEqual(ids(one.events), [last!.eventId]);
    assert.equal(one.next?.receivedAt, NOW + 2_400 - 1_498);
    const two = await port.arrivals(workspace, aPage({ filter, looksMax: 800, after: one.next }));
    assert.deepEqual(two.events, []);
    const rest = await port.arrivals(workspace, aPage({ filter, after: two.next }));
    assert.deepEqual([ids(rest.events), rest.next], [[first!.eventId], null]);
    assert.deepEqual((await pages(port, workspace, aPage({ filter, order: "oldest" }))).ids, ids([first!, last!]));
  },

  "ends a list before the event that would take it over its bytes, but not before its first": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const payload = Buffer.from(JSON.stringify("x".repeat(998)));
    const times = Array.from({ length: 60 }, (_, n) => n);
    const events = await receive(port, workspace, times, { payload });
    for (const [bytesMax, length] of [
      [0, 1],
      [1_999, 1],
      [2_000, 2],
      [8_000, 8],
      [8_999, 8],
      [9_000, 9],
      [41_500, 41],
    ] as const) {
      const { events: listed, next } = await port.arrivals(workspace, aPage({ order: "oldest", bytesMax }));
      assert.deepEqual(ids(listed), ids(events.slice(0, length)), `${bytesMax} bytes`);
      assert.deepEqual(next, { receivedAt: NOW + length - 1, eventId: events[length - 1]!.eventId });
    }
    const few = await pages(port, workspace, aPage({ order: "oldest", bytesMax: 7_000 }));
    assert.deepEqual(few.ids, ids(events));
  },

  "goes on behind a position when other events come in between": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = await receive(port, workspace, [10, 20, 30, 40]);
    const first = await port.arrivals(workspace, aPage({ order: "oldest", limit: 2 }));
    const [late] = await receive(port, workspace, [25]);
    await receive(port, workspace, [5]);
    const second = await port.arrivals(workspace, aPage({ order: "oldest", after: first.next }));
    assert.deepEqual(
      ids([...first.events, ...second.events]),
      ids([events[0]!, events[1]!, late!, ...events.slice(2)]),
    );
  },

  "arrivals keep workspaces apart": async ({ port }) => {
    const [a, b] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const own = new Map<WorkspaceId, readonly EventRecord[]>();
    for (const workspace of [a, b]) own.set(workspace, await receive(port, workspace, [1, 2, 3]));
    for (const workspace of [a, b])
      for (const page of [aPage({ limit: 2 }), aPage({ limit: 2, filter: { since: NOW, until: NOW + 9 } })])
        assert.deepEqual((await pages(port, workspace, page)).ids, ids(own.get(workspace)!.toReversed()));
    const { next } = await port.arrivals(a, aPage({ limit: 2 }));
    assert.deepEqual(ids((await port.arrivals(b, aPage({ after: next }))).events), [own.get(b)![0]!.eventId]);
  },
};
