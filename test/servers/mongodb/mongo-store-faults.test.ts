import assert from "node:assert/strict";
import type { Document } from "mongodb";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { createMongoEventStore } from "../../../store/mongo/events/events.js";
import { createMongoProfileStore } from "../../../store/mongo/profiles.js";
import { openMongo, type Mongo } from "../../../store/mongo/open.js";
import { aDeadLetter, anEvent, aUidOf, aFold, tombOf } from "../../support/builders.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { aDatabaseUrl, dropMongo, openTestMongo } from "../../support/servers/mongo-backend.js";
import { openFakeMongo, openMongoProxy, type MongoProxy } from "../../support/servers/mongo-faults.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();
const SILENCE_LIMIT_MS = 4_000;
const KILLED_LIMIT_MS = 4_000;

async function withProxy(
  use: (bench: { proxy: MongoProxy; mongo: Mongo; events: EventStore; reported: string[] }) => Promise<void>,
): Promise<void> {
  const own = aDatabaseUrl(MONGODB_URL);
  const proxy = await openMongoProxy(own);
  const reported: string[] = [];
  const mongo = await openMongo({ url: proxy.url, onError: (message) => reported.push(message) });
  try {
    await use({ proxy, mongo, events: await createMongoEventStore({ mongo, tombOf }), reported });
  } finally {
    await mongo.close();
    await proxy.close();
    await dropMongo(own);
  }
}

const works = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );

/** All methods at once: each is refused by itself within the limit. */
async function refusesAll(mongo: Mongo, events: EventStore, limitMs: number): Promise<void> {
  const event = anEvent();
  const { workspace, eventId } = event;
  const page = { limit: 10, bytesMax: 1, before: null };
  const profiles = { ...event, uids: [aUidOf(workspace, "ada")] };
  const calls: readonly (() => Promise<unknown>)[] = [
    () => events.ready(),
    () => mongo.ready(),
    () => events.insert(workspace, [event]),
    () => events.find(workspace, eventId),
    () => events.fold(workspace, [aFold(event)]),
    () => events.timeline(workspace, profiles.uids, page),
    () => events.bury(aDeadLetter()),
    () => events.deadLetters(workspace, { ...page, eventId: null, reason: null }),
  ];
  const began = performance.now();
  await Promise.all(calls.map((call) => rejectsAsUnavailable(call)));
  const took = performance.now() - began;
  assert.ok(took < limitMs, `${Math.round(took)} ms`);
}

describe("MongoDB away", () => {
  it("a silent server is unavailable within four seconds, at first and later, and works again when it answers", () =>
    withProxy(async ({ proxy, mongo, events, reported }) => {
      const event = anEvent();
      await events.insert(event.workspace, [event]);
      proxy.silence();
      await refusesAll(mongo, events, SILENCE_LIMIT_MS);
      await refusesAll(mongo, events, SILENCE_LIMIT_MS);
      await eventually("it is reported", () => reported.length > 0);
      await refusesAll(mongo, events, SILENCE_LIMIT_MS);
      assert.deepEqual(reported, ["MongoDB does not answer."], "once");
      proxy.resume();
      await eventually("it answers", () => works(mongo.ready()));
      assert.equal((await events.insert(event.workspace, [event]))[0]?.eventId, event.eventId);
    }));

  it("a killed server is unavailable within four seconds, and works again by itself after its restart", () =>
    withProxy(async ({ proxy, mongo, events }) => {
      const event = anEvent();
      await events.insert(event.workspace, [event]);
      await proxy.kill();
      await refusesAll(mongo, events, KILLED_LIMIT_MS);
      await proxy.restart();
      await eventually("it answers", () => works(mongo.ready()));
      assert.equal((await events.find(event.workspace, event.eventId))?.status, "stored");
    }));

  it("a server that takes two seconds for each answer is slow, not away", () =>
    withProxy(async ({ proxy, events }) => {
      const event = anEvent();
      proxy.slow(2_000);
      await eventually("it is stored", () => works(events.insert(event.workspace, [event])));
      assert.equal((await events.find(event.workspace, event.eventId))?.status, "stored");
      await rejectsAsUnavailable(() => events.ready());
    }));

  it("writes under way when the server dies reject as unavailable, and may be sent again", () =>
    withProxy(async ({ proxy, events }) => {
      const workspace = newId<WorkspaceId>();
      const all = Array.from({ length: 200 }, () => anEvent({ workspace, payload: Buffer.alloc(20_000, "x") }));
      const sent = all.map((event) => events.insert(workspace, [event]).then(() => true));
      await Promise.race(sent);
      await proxy.kill();
      const outcomes = await Promise.allSettled(sent);
      const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome] : []));
      assert.ok(failures.length > 0, "the fault was met");
      for (const { reason } of failures) await rejectsAsUnavailable(() => Promise.reject(reason));
      await proxy.restart();
      await eventually("all are stored", () => works(events.insert(workspace, all)));
      for (const { eventId } of all) assert.equal((await events.find(workspace, eventId))?.status, "stored");
    }));

  it("closes within seconds though the server is silent, and refuses what is under way", () =>
    withProxy(async ({ proxy, mongo, events }) => {
      const event = anEvent();
      proxy.silence();
      const under = rejectsAsUnavailable(() => events.find(event.workspace, event.eventId));
      const began = performance.now();
      await mongo.close();
      await under;
      assert.ok(performance.now() - began < SILENCE_LIMIT_MS);
      await rejectsAsUnavailable(() => mongo.ready());
      await rejectsAsUnavailable(() => events.find(event.workspace, event.eventId));
    }));
});

describe("MongoDB answers that a write is not safe", () => {
  const NOT_REPLICATED = { code: 64, codeName: "WriteConcernTimeout", errmsg: "waiting for replication timed out" };
  const DUPLICATE = { index: 0, code: 11_000, errmsg: "E11000 duplicate key error" };
  const cases: Readonly<Record<string, Document>> = {
    "not on a majority": { ok: 1, n: 1, nModified: 1, writeConcernError: NOT_REPLICATED },
    "a duplicate, and not on a majority": {
      ok: 1,
      n: 0,
      nModified: 0,
      writeErrors: [DUPLICATE],
      writeConcernError: NOT_REPLICATED,
    },
    "a duplicate and another failure": {
      ok: 1,
      n: 0,
      nModified: 0,
      writeErrors: [DUPLICATE, { index: 0, code: 14_031, errmsg: "no space left" }],
    },
    "the disk is full": { ok: 0, code: 14_031, codeName: "OutOfDiskSpace", errmsg: "no space left" },
    "no longer the primary": { ok: 0, code: 10_107, codeName: "NotWritablePrimary", errmsg: "not primary" },
  };

  for (const [what, reply] of Object.entries(cases))
    it(`${what}: unavailable`, async () => {
      let isReady = false;
      const fake = await openFakeMongo((command) =>
        isReady && ("insert" in command || "update" in command) ? reply : null,
      );
      const mongo = await openTestMongo(`mongodb://${fake.host}/onym`);
      try {
        const [events, profiles] = [
          await createMongoEventStore({ mongo, tombOf }),
          await createMongoProfileStore({ mongo }),
        ];
        isReady = true;
        const event = anEvent();
        const uid = aUidOf(event.workspace, "ada");
        const facet = { traits: new Map(), firstSeen: null, lastSeen: null, eventCount: 0 };
        await rejectsAsUnavailable(() => events.insert(event.workspace, [event]));
        await rejectsAsUnavailable(() => events.fold(event.workspace, [aFold(event)]));
        await rejectsAsUnavailable(() => profiles.save(event.workspace, [{ uid, facet, pending: [], expectedRev: 0 }]));
        await rejectsAsUnavailable(() => profiles.save(event.workspace, [{ uid, facet, pending: [], expectedRev: 3 }]));
        if (reply["writeErrors"] === undefined || reply["writeConcernError"] !== undefined)
          await rejectsAsUnavailable(() => events.bury(aDeadLetter()));
      } finally {
        await mongo.close();
        await fake.close();
      }
    });
});
