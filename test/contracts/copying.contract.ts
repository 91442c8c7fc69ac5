import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import type { EventRecord } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import type { EventId, TallyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Copying, DocumentRows, GraphCopying, GraphRows } from "../../core/ports/copying.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { EventStore } from "../../core/ports/event-store.js";
import type { ProfileStore } from "../../core/ports/profile-store.js";
import { newId } from "../../core/ids.js";
import { aDeadLetter, aFold, anEvent, aUidOf, HOSTILE_TEXTS } from "../support/builders.js";
import type { Contract } from "../support/contract.js";
import { aRandomGraph, dumpAll, dumpedInOneTurn, loadAll, sorted, type Dumped } from "../support/copying/rows.js";

/** The servers are shared by all tests. */
const ofWorkspaces = <Rows>(all: Dumped<Rows>, workspaces: ReadonlySet<WorkspaceId>): Dumped<Rows> =>
  Object.fromEntries(
    Object.entries<readonly { readonly workspace: WorkspaceId }[]>(all as never).map(([kind, rows]) => [
      kind,
      rows.filter(({ workspace }) => workspaces.has(workspace)),
    ]),
  ) as unknown as Dumped<Rows>;

const ALL = { limit: 1_000, after: null };

/** What the port answers of a workspace, through every read. */
async function answersOf(port: IdentityGraph, workspace: WorkspaceId): Promise<unknown> {
  const profiles = await port.walk(workspace, { ...ALL, membersMax: 1_000 });
  const each = [];
  for (const { profileId } of profiles)
    each.push({
      members: await port.members(workspace, profileId, ALL),
      links: await port.links(workspace, profileId, ALL),
      history: await port.history(workspace, profileId, { limit: 1_000, before: null }),
    });
  const changes = await port.changes(workspace, null, { limit: 1_000, before: null });
  const pairs = await port.forbiddenPairs(workspace, ALL);
  const shared = await port.sharedIdentifiers(workspace, ALL);
  const traces = [];
  for (const change of changes) {
    const links = await port.linksOfChange(workspace, change);
    traces.push(links.map((link) => JSON.stringify({ ...link, pair: link.pair.toSorted() })).toSorted());
  }
  return { profiles, each, changes, pairs, shared, traces };
}

export type CopiedGraph = IdentityGraph & { readonly copying: GraphCopying };

export const graphCopyingContract: Contract<CopiedGraph> = {
  "dumps what it loaded from another engine, each row once, and answers as the other one": async ({ port, reopen }) => {
    const source = await aRandomGraph(6);
    const given = await dumpAll<GraphRows>(source.copying);
    const workspaces = new Set(given.profiles.map(({ workspace }) => workspace));
    assert.ok(given.links.some(({ removedAt }) => removedAt !== null));
    assert.ok(given.forbiddenPairs.length > 0);
    assert.ok(given.identifiers.some(({ unlinkMarks }) => unlinkMarks.length > 1));
    assert.ok(given.identifiers.some(({ isReturned }) => isReturned));
    assert.deepEqual([given.erasures.length, given.tombstones.length], [1, 2]);
    assert.ok(given.mentions.length > 0);
    assert.ok(given.watched.length > 0 && given.moved.length > 0);
    await loadAll(port.copying, given);
    const standing = await reopen();
    const dumped = ofWorkspaces(await dumpAll<GraphRows>(standing.copying, 500), workspaces);
    assert.deepEqual(sorted(dumped), sorted(given));
    for (const workspace of [...workspaces].slice(0, 3))
      assert.deepEqual(await answersOf(standing, workspace), await answersOf(source.port, workspace));
    await source.close();
  },

  "the event loop turns before each page": async ({ port }) => {
    assert.deepEqual(await dumpedInOneTurn(port.copying), []);
  },

  "what stands stays as it stands when it is loaded again, in any portions": async ({ port }) => {
    const source = await aRandomGraph(3);
    const given = await dumpAll<GraphRows>(source.copying);
    const workspaces = new Set(given.profiles.map(({ workspace }) => workspace));
    for (const kind of ["changes", "profiles"] as const)
      for (const row of given[kind].slice(0, 5)) await port.copying.load(kind, [row] as never);
    await loadAll(port.copying, given);
    const changed = given.profiles.map((row) => ({ ...row, rev: row.rev + 100 }));
    await port.copying.load("profiles", changed);
    await loadAll(port.copying, given);
    const dumped = ofWorkspaces(await dumpAll<GraphRows>(port.copying, 500), workspaces);
    assert.deepEqual(sorted(dumped), sorted(given));
    await source.close();
  },

  "refuses a row that names what was not loaded, and stores none of its portion": async ({ port }) => {
    const source = await aRandomGraph(1);
    const given = await dumpAll<GraphRows>(source.copying);
    await assert.rejects(port.copying.load("links", given.links), { code: "conflict" });
    await port.copying.load("changes", given.changes);
    await assert.rejects(port.copying.load("identifiers", given.identifiers), { code: "conflict" });
    const [workspace] = given.profiles.map((row) => row.workspace);
    const dumped = ofWorkspaces(await dumpAll<GraphRows>(port.copying, 500), new Set([workspace!]));
    assert.equal(dumped.identifiers.length + dumped.links.length, 0);
    await source.close();
  },
};

export interface CopiedDocuments {
  readonly events: EventStore;
  readonly profiles: ProfileStore;
  readonly copying: Copying<DocumentRows>;
  readonly close: () => Promise<void>;
}

/** Events of each status, facets and dead letters, of two workspaces. */
async function fill({ events, profiles, copying }: CopiedDocuments): Promise<void> {
  for (const workspace of [newId<WorkspaceId>(), newId<WorkspaceId>()]) {
    const all = HOSTILE_TEXTS.map((text, n) => {
      const payload = Buffer.from(JSON.stringify({ text, n }));
      return anEvent({ workspace, receivedAt: 1_772_359_200_000 + n, payload });
    });
    // Killed before it was marked: it has a facet.
    await copying.load("events", [begun(all[5]!)]);
    await events.insert(workspace, all);
    await events.fold(
      workspace,
      all.slice(0, 5).map((event, n) => aFold(event, { tallies: talliesOf(n) })),
    );
    const kills = { workspace, eventId: all[6]!.eventId, killsEvent: true };
    await events.bury(aDeadLetter({ ...kills, reason: "tries_exceeded" }));
    await events.bury(aDeadLetter({ workspace, killsEvent: false, times: 3, replayed: 2, replayedAt: 1 }));
    // Some name somebody and never fold, and two are gone.
    const quiet = all.slice(7, 9).map((event) => ({ ...event, eventId: newId<EventId>(), folds: false }));
    await events.insert(workspace, quiet);
    const gone = [all[4]!.eventId, quiet[1]!.eventId];
    await events.drop(workspace, gone.slice(0, 1), "expired");
    await events.drop(workspace, gone.slice(1), "erased");
    const facet = {
      traits: new Map([["city", { merge: "min" as const, value: "Paris" }]]),
      firstSeen: null,
      lastSeen: null,
      eventCount: 1,
    };
    const pending = [all[5]!.eventId];
    await profiles.save(workspace, [{ uid: aUidOf(workspace, "ada"), facet, pending, expectedRev: 0 }]);
  }
  await events.bury(aDeadLetter({ workspace: null, eventId: null, killsEvent: false }));
}

/** The first counts for nothing, the next for one tally, and so on; each adds another number. */
const talliesOf = (n: number) =>
  Array.from({ length: n }, (_, i) => ({ tallyId: newId<TallyId>(), amount: i === 0 ? null : n + i / 10 }));

function begun(event: EventRecord): DocumentRows["events"] {
  const message = encodeMessage(event);
  const fold = { facet: aUidOf(event.workspace, "ada"), profileId: newId<Uid>(), dropped: null, isDone: false };
  return { ...event, message, crc: crc32(message), reason: null, gone: null, fold };
}

export const documentCopyingContract: Contract<CopiedDocuments> = {
  "the event loop turns before each page": async ({ port }) => {
    assert.deepEqual(await dumpedInOneTurn(port.copying), []);
  },

  "dumps what it loaded, each row once, and the ports answer the same": async ({ port, reopen }) => {
    await fill(port);
    const given = await dumpAll<DocumentRows>(port.copying);
    assert.equal(given.events.length, 2 * HOSTILE_TEXTS.length + 4);
    assert.equal(given.deadLetters.length, 5);
    // Of the fourth and what follows nothing stands, or they count for nothing.
    assert.equal(given.tallies.length, 2 * (1 + 2 + 3));
    assert.equal(given.facets.length, 4);
    const again = await dumpAll((await reopen()).copying, 500);
    assert.deepEqual(sorted(again), sorted(given));
  },

  "ends a page behind the row with which its texts have 8 MB": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const payload = Buffer.from(JSON.stringify({ text: "x".repeat(3_000_000) }));
    const all = Array.from({ length: 7 }, () => anEvent({ workspace, payload }));
    for (const event of all) await port.events.insert(workspace, [event]);
    for (const { eventId } of all.slice(0, 4))
      await port.events.bury(aDeadLetter({ workspace, eventId, message: payload }));
    for (const [kind, sizes] of [
      ["events", [3, 3, 1]],
      ["deadLetters", [3, 1]],
    ] as const) {
      const found: number[] = [];
      const seen = new Set<string>();
      for (let after: string | null = null; ;) {
        const page: Awaited<ReturnType<typeof port.copying.dump<typeof kind>>> = await port.copying.dump(kind, {
          limit: 500,
          after,
        });
        found.push(page.rows.length);
        for (const row of page.rows) seen.add("letter" in row ? row.letter.deadLetterId : row.eventId);
        if (page.next === null) break;
        after = page.next;
      }
      assert.deepEqual([kind, found, seen.size], [kind, sizes, sizes.reduce((sum, size) => sum + size, 0)]);
    }
  },

  "goes on with a fold that was begun: what is in the facet counts once, and is marked in it": async ({ port }) => {
    const [workspace, other] = [newId<WorkspaceId>(), aUidOf(newId<WorkspaceId>(), "other")];
    const [counted, pinned] = [anEvent({ workspace }), anEvent({ workspace })];
    await port.copying.load("events", [begun(counted), begun(pinned)]);
    const { gain: facet } = aFold(counted);
    const uid = aUidOf(workspace, "ada");
    await port.profiles.save(workspace, [{ uid, facet, pending: [counted.eventId], expectedRev: 0 }]);
    const folds = [counted, pinned].map((event) => aFold(event, { facet: other }));
    for (const _ of [1, 2]) await port.events.fold(workspace, folds);
    const found = await port.profiles.find(workspace, [uid, other]);
    assert.deepEqual(
      [...found].map(([at, stored]) => [at, stored.facet.eventCount]),
      [[uid, 2]],
    );
    for (const { eventId } of folds) assert.equal((await port.events.find(workspace, eventId))?.status, "folded");
  },

  "drops as expired, with its letter, what died after its fold was begun, and never goes on with that fold": async ({
    port,
  }) => {
    const dead = anEvent();
    const { workspace, eventId } = dead;
    await port.copying.load("events", [begun(dead)]);
    assert.equal(await port.events.drop(workspace, [eventId], "expired"), 0);
    await port.events.bury(aDeadLetter({ workspace, eventId }));
    assert.equal(await port.events.drop(workspace, [eventId], "expired"), 1);
    const page = { limit: 10, before: null, eventId: null, reason: null };
    assert.deepEqual(await port.events.deadLetters(workspace, page), []);
    await port.events.fold(workspace, [aFold(dead)]);
    assert.equal((await port.events.find(workspace, eventId))?.status, "dropped");
    assert.equal((await port.profiles.find(workspace, [aUidOf(workspace, "ada"), aFold(dead).facet])).size, 0);
  },

  "what stands stays as it stands when it is loaded": async ({ port }) => {
    await fill(port);
    const given = await dumpAll<DocumentRows>(port.copying);
    await loadAll(port.copying, { ...given, facets: given.facets.map((row) => ({ ...row, rev: row.rev + 1 })) });
    assert.deepEqual(sorted(await dumpAll<DocumentRows>(port.copying)), sorted(given));
  },
};

export const fillDocuments = fill;
