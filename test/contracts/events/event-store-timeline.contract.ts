import assert from "node:assert/strict";
import type { EventRecord, StoredEvent } from "../../../core/event/event.js";
import { newId, type EventId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { anEvent, aUidOf, aFold, HOSTILE_TEXTS, counted } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const bytesMax = 1_048_576;
const ALL = { limit: 100, bytesMax, before: null };
const instant = (n: number): string => `2026-01-01T00:00:00.${String(n).padStart(9, "0")}Z`;
const ids = (events: readonly EventRecord[]): readonly EventId[] => events.map(({ eventId }) => eventId);
const newestFirst = (a: EventRecord, b: EventRecord): number =>
  a.effectiveTs === b.effectiveTs ? (a.eventId < b.eventId ? 1 : -1) : a.effectiveTs < b.effectiveTs ? 1 : -1;

/** Stores one folded event of the facet `user_id = user` for each time. */
async function fold(port: EventStore, workspace: WorkspaceId, user: string, times: readonly number[]) {
  const identifiers = [{ namespace: "user_id", value: user }];
  const events = times.map((n) => anEvent({ workspace, identifiers, effectiveTs: instant(n) }));
  await port.insert(workspace, events);
  await port.fold(
    workspace,
    events.map((event) => aFold(event)),
  );
  return events;
}

async function pages(port: EventStore, ws: WorkspaceId, facets: readonly Uid[], limit: number) {
  const all: StoredEvent[] = [];
  for (let before: StoredEvent | null = null; ; before = all.at(-1)!) {
    const page: readonly StoredEvent[] = await port.timeline(ws, facets, { limit, bytesMax, before });
    assert.ok(page.length <= limit);
    all.push(...page);
    if (page.length < limit) return all;
  }
}

export const timelineSentences: Contract<EventStore> = {
  "counts and lists only folded events": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = [anEvent({ workspace }), anEvent({ workspace })] as const;
    const mark = aFold(events[0]);
    await port.insert(workspace, events);
    assert.deepEqual(await port.timeline(workspace, [mark.facet], ALL), []);
    assert.equal(await counted(port, workspace, [mark.facet]), 0);
    await port.fold(workspace, [mark]);
    assert.deepEqual(await port.timeline(workspace, [mark.facet], ALL), [
      await port.find(workspace, events[0].eventId),
    ]);
    assert.equal(await counted(port, workspace, [mark.facet]), 1);
  },

  "lists the newest first, and those of one instant by event id": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = await fold(port, workspace, "ada", [5, 1, 9, 5, 5, 0, 999_999_999, 1]);
    const listed = await port.timeline(workspace, [aUidOf(workspace, "ada")], ALL);
    assert.deepEqual(ids(listed), ids(events.toSorted(newestFirst)));
  },

  "merges the facets that are asked for, and only these": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const ada = await fold(port, workspace, "ada", [1, 4, 7]);
    const bob = await fold(port, workspace, "bob", [2, 4, 9]);
    await fold(port, workspace, "eve", [3, 8]);
    const facets = [aUidOf(workspace, "ada"), aUidOf(workspace, "bob"), aUidOf(workspace, "nobody")];
    const listed = await port.timeline(workspace, facets, ALL);
    assert.deepEqual(ids(listed), ids([...ada, ...bob].toSorted(newestFirst)));
    assert.equal(await counted(port, workspace, facets), 6);
    assert.deepEqual(await port.timeline(workspace, [], ALL), []);
    assert.equal(await counted(port, workspace, []), 0);
  },

  "takes a facet that is named twice once": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const events = await fold(port, workspace, "ada", [1, 2]);
    const facets = [aUidOf(workspace, "ada"), aUidOf(workspace, "ada")];
    assert.deepEqual(ids(await port.timeline(workspace, facets, ALL)), ids(events.toReversed()));
    assert.equal(await counted(port, workspace, facets), 2);
  },

  "gives each event once over the pages, whatever their size": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const users = ["ada", "bob", "eve"];
    const events: EventRecord[] = [];
    for (const [n, user] of users.entries())
      events.push(
        ...(await fold(
          port,
          workspace,
          user,
          [1, 1, 1, 2, 2, 3, 5, 8, 13].map((time) => time + 9 - 4 * n),
        )),
      );
    const facets = users.map((user) => aUidOf(workspace, user));
    for (const limit of [1, 2, 5, 26, 27, 28])
      assert.deepEqual(ids(await pages(port, workspace, facets, limit)), ids(events.toSorted(newestFirst)));
  },

  "goes on behind a position when newer events come in between": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const facets = [aUidOf(workspace, "ada")];
    const events = (await fold(port, workspace, "ada", [1, 2, 3, 4])).toSorted(newestFirst);
    const first = await port.timeline(workspace, facets, { limit: 2, bytesMax, before: null });
    await fold(port, workspace, "ada", [50, 60]);
    const second = await port.timeline(workspace, facets, { limit: 2, bytesMax, before: first[1]! });
    assert.deepEqual([...ids(first), ...ids(second)], ids(events));
  },

  "leaves out what is dropped while it reads, and goes on behind that": async ({ port }) => {
    for (const facetCount of [1, 401]) {
      const workspace = newId<WorkspaceId>();
      const events = (
        await fold(
          port,
          workspace,
          "ada",
          Array.from({ length: 150 }, (_, n) => n),
        )
      ).toSorted(newestFirst);
      const facets = Array.from({ length: facetCount }, (_, n) => aUidOf(workspace, n === 0 ? "ada" : `none-${n}`));
      // The oldest of what one read finds, and those in its middle.
      const going = [...events.slice(10, 20), ...events.slice(60, 100)];
      const left = events.filter((event) => !going.includes(event));
      const [first] = await Promise.all([
        port.timeline(workspace, facets, { limit: 100, bytesMax, before: null }),
        port.drop(workspace, ids(going), "expired"),
      ]);
      assert.equal(first.length, 100);
      assert.ok(first.every(({ status }) => status === "folded"));
      const last = first.at(-1)!;
      const behind = await port.timeline(workspace, facets, { limit: 100, bytesMax, before: last });
      assert.deepEqual(ids(behind), ids(left.filter((event) => newestFirst(event, last) > 0)));
      const listed = new Set(ids(first));
      assert.ok(left.every((event) => newestFirst(event, last) > 0 || listed.has(event.eventId)));
      assert.deepEqual(ids(first), ids(first.toSorted(newestFirst)));
    }
  },

  "ends a list with the event that takes it over its bytes, but never with the first": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const identifiers = [{ namespace: "user_id", value: "ada" }];
    const payload = Buffer.from(JSON.stringify("x".repeat(998)));
    const events = Array.from({ length: 60 }, (_, n) =>
      anEvent({ workspace, identifiers, payload, effectiveTs: instant(n) }),
    );
    await port.insert(workspace, events);
    await port.fold(
      workspace,
      events.map((event) => aFold(event)),
    );
    const facets = [aUidOf(workspace, "ada")];
    const newest = ids(events.toReversed());
    for (const [bytes, length] of [
      [0, 2],
      [1_999, 2],
      [2_000, 3],
      [6_999, 7],
      [7_000, 8],
      [8_000, 9],
      [40_000, 41],
      [60_000, 60],
    ] as const)
      assert.deepEqual(
        ids(await port.timeline(workspace, facets, { limit: 100, bytesMax: bytes, before: null })),
        newest.slice(0, length),
        `${bytes} bytes`,
      );
    const few = await port.timeline(workspace, facets, { limit: 3, bytesMax: 60_000, before: null });
    assert.deepEqual(ids(few), newest.slice(0, 3));
  },

  "reads ten thousand facets, in pages": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const users = Array.from({ length: 10_000 }, (_, n) => `user-${n}`);
    const busy = [0, 199, 200, 4_321, 9_999].map((n) => users[n]!);
    const events: EventRecord[] = [];
    for (const [n, user] of busy.entries())
      events.push(...(await fold(port, workspace, user, [n, 10 + n, 10, 100 - n])));
    const facets = users.map((user) => aUidOf(workspace, user));
    assert.deepEqual(ids(await pages(port, workspace, facets, 7)), ids(events.toSorted(newestFirst)));
    assert.equal(await counted(port, workspace, facets), 20);
  },

  "keeps facets apart whatever their values hold": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const values = [...HOSTILE_TEXTS, "nul", "nul\0", "a:b", "a"];
    for (const value of values) await fold(port, workspace, value, [1]);
    for (const value of values) {
      const facets = [aUidOf(workspace, value)];
      const listed = await port.timeline(workspace, facets, ALL);
      assert.deepEqual(
        listed.map(({ identifiers }) => identifiers[0]!.value),
        [value],
      );
      assert.equal(await counted(port, workspace, facets), 1);
    }
  },

  "timeline keeps workspaces apart": async ({ port }) => {
    const [a, b] = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    const own = new Map<WorkspaceId, readonly EventRecord[]>();
    for (const workspace of [a, b]) own.set(workspace, await fold(port, workspace, "ada", [1, 2]));
    for (const workspace of [a, b]) {
      const facets = [aUidOf(a, "ada"), aUidOf(b, "ada")];
      assert.deepEqual(ids(await port.timeline(workspace, facets, ALL)), ids(own.get(workspace)!.toReversed()));
      assert.equal(await counted(port, workspace, facets), 2);
    }
  },
};
