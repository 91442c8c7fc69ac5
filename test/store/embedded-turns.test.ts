import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import Libsql from "libsql";
import { newId, type DeadLetterId, type EventId, type Uid } from "../../core/ids.js";
import type { EventStore } from "../../core/ports/event-store.js";
import { emptyFacet } from "../../core/profile/fold.js";
import { createEmbeddedEventStore } from "../../store/embedded/events/events.js";
import { openEmbedded, type EmbeddedStore } from "../../store/embedded/open.js";
import { createEmbeddedProfileStore } from "../../store/embedded/profiles.js";
import { STORE_TABLES } from "../../store/embedded/schema.js";
import { onError, temporaryFolder } from "../support/backends.js";
import { aDeadLetter, aFold, aKeyId, anEvent, aWorkspace, tombOf } from "../support/builders.js";

describe("What is large goes in turns in the embedded store, and others write between them", () => {
  const { workspaceId: workspace } = aWorkspace();
  let folder: string;
  let store: EmbeddedStore;
  let events: EventStore;

  before(async () => {
    folder = await temporaryFolder();
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError });
    events = createEmbeddedEventStore({ database: store.database, tombOf });
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  /** How many writes of others end while it runs. */
  const othersDuring = async (work: () => Promise<unknown>, look?: () => Promise<void>): Promise<number> => {
    let others = 0;
    const left = new Set([work]);
    const working = work().finally(() => left.clear());
    for (; left.size > 0; others += 1) {
      await store.database.write(() => undefined);
      await look?.();
    }
    await working;
    return others;
  };

  const aLetter = (eventId: EventId) =>
    aDeadLetter({ workspace, eventId, killsEvent: false, message: Buffer.alloc(250_000, "x") });

  /** An event for each of so many facets, whose text is that long. */
  const foldsOf = async (count: number, length: number) => {
    const profiles = createEmbeddedProfileStore(store);
    const facet = {
      ...emptyFacet,
      traits: new Map([["filler", { merge: "min", value: "x".repeat(length) } as const]]),
    };
    const made = Array.from({ length: count }, () => anEvent({ workspace }));
    await events.insert(workspace, made);
    const folds = made.map((event) => aFold(event, { facet: newId<Uid>() }));
    for (const { facet: uid } of folds) await profiles.save(workspace, [{ uid, facet, pending: [], expectedRev: 0 }]);
    return folds;
  };

  it("events of large facets are folded a megabyte of facets at a time", async () => {
    const folds = await foldsOf(12, 600_000);
    const others = await othersDuring(() => events.fold(workspace, folds));
    assert.ok(others >= 6, `${others} writes`);
    for (const { eventId } of folds) assert.equal((await events.find(workspace, eventId))?.status, "folded");
  });

  const payload = Buffer.from(JSON.stringify("x".repeat(250_000)));
  const PAGE = { limit: 100, before: null, eventId: null, reason: null };

  it("large events are dropped two megabytes at a time, with their letters", async () => {
    const made = Array.from({ length: 40 }, () => anEvent({ workspace, folds: false, payload }));
    await events.insert(workspace, made);
    const ids = made.map(({ eventId }) => eventId);
    let dropped = 0;
    const others = await othersDuring(async () => {
      dropped = await events.drop(workspace, ids, "expired");
    });
    assert.deepEqual([dropped, others >= 4], [ids.length, true], `${others} writes`);
    for (const eventId of ids) await events.bury(aLetter(eventId));
    const again = await othersDuring(() => events.drop(workspace, ids, "expired"));
    assert.ok(again >= 4, `${again} writes`);
    assert.deepEqual(await events.deadLetters(workspace, PAGE), []);
  });

  it("large letters of one event go two megabytes at a time, and the event with the last of them", async () => {
    const payload = Buffer.from("1");
    const event = anEvent({ workspace, payload });
    await events.insert(workspace, [event]);
    const { eventId } = event;
    const message = Buffer.alloc(250_000, "x");
    for (let n = 0; n < 40; n += 1) await events.bury(aLetter(eventId));
    await events.bury(aDeadLetter({ workspace, eventId, message, reason: "killing" }));
    let [dropped, cut] = [0, 0];
    const look = async (): Promise<void> => {
      const { length } = await events.deadLetters(workspace, PAGE);
      if (length === 0 || length === 41) return;
      cut += 1;
      const [killing] = await events.deadLetters(workspace, { ...PAGE, limit: 1, reason: "killing" });
      assert.deepEqual([killing?.killsEvent, (await events.find(workspace, eventId))?.status], [true, "dead"]);
    };
    const others = await othersDuring(async () => {
      dropped = await events.drop(workspace, [eventId], "erased");
    }, look);
    assert.deepEqual([dropped, others >= 4, cut >= 4], [1, true, true], `${others} writes, ${cut} looks`);
    assert.deepEqual(await events.deadLetters(workspace, PAGE), []);
    assert.equal((await events.find(workspace, eventId))?.status, "dropped");
  });

  it("large letters are removed two megabytes at a time", async () => {
    const letters = Array.from({ length: 40 }, () => aLetter(newId<EventId>()));
    for (const letter of letters) await events.bury(letter);
    const ids = letters.map(({ deadLetterId }) => deadLetterId);
    let removed = 0;
    const others = await othersDuring(async () => {
      removed = await events.removeLetters(workspace, ids);
    });
    assert.deepEqual([removed, others >= 4], [ids.length, true], `${others} writes`);
    assert.equal(await events.removeLetters(workspace, ids), 0);
  });

  it("letters are listed by an index that holds what is asked for, or by that of what is looked at", async () => {
    const asked: string[] = [];
    const prepare = (sql: string) => {
      if (sql.includes("FROM dead_letters")) asked.push(sql);
      return store.database.prepare(sql);
    };
    const watched = createEmbeddedEventStore({ database: { ...store.database, prepare }, tombOf });
    const tables = new Libsql(":memory:");
    tables.exec(STORE_TABLES.sql);
    const position = { at: 1, deadLetterId: newId<DeadLetterId>() };
    const [keyId, reason, state] = [aKeyId(), "rejected", "open"] as const;
    for (const [filter, index] of [
      [{ state }, "dead_letters_open"],
      [{ keyId, reason }, "dead_letters_key"],
      [{ keyId, reason, state }, "dead_letters_key"],
      [{ reason, state }, "dead_letters_reason"],
      [{ eventId: newId<EventId>(), keyId, reason, state }, "dead_letters_event"],
    ] as const)
      for (const range of [{}, { before: position }, { before: position, downTo: position }]) {
        await watched.deadLetters(workspace, { ...PAGE, ...filter, ...range });
        const sql = asked.at(-1)!;
        const parameters = Array<number>(sql.split("?").length - 1).fill(1);
        const plan = tables.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(parameters);
        assert.match(JSON.stringify(plan), new RegExp(`USING INDEX ${index} `), sql);
      }
    tables.close();
  });

  it("events of small facets are folded all at once", async () => {
    const folds = await foldsOf(200, 1_000);
    const others = await othersDuring(() => events.fold(workspace, folds));
    assert.ok(others <= 2, `${others} writes`);
  });
});
