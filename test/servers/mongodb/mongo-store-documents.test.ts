import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import { newId, type EventId, type TallyId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { FacetSave } from "../../../core/ports/profile-store.js";
import { createMongoCopying } from "../../../store/mongo/copy/copy.js";
import { createMongoEventStore } from "../../../store/mongo/events/events.js";
import type { AroundFold } from "../../../store/fold-by-pending.js";
import { createMongoProfileStore } from "../../../store/mongo/profiles.js";
import { aDeadLetter, anEvent, aUidOf, aFold, tombOf } from "../../support/builders.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";
import { OF_TEST } from "../../support/mongo-shapes/shape.js";

const { MONGODB_URL } = serversUnderTest();
const isDamaged = (error: unknown): boolean => error instanceof AppError && error.code === "damaged";
const facetNamed = (name: string): FacetSave["facet"] => ({
  traits: new Map([[name, { merge: "min", value: 1 }]]),
  firstSeen: null,
  lastSeen: null,
  eventCount: 0,
});
const named = (facet: FacetSave["facet"] | undefined): string | undefined => [...(facet?.traits.keys() ?? [])][0];

describe("events in MongoDB", () => {
  it("a flipped byte is damaged, wherever it is read", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const events = await createMongoEventStore({ mongo, tombOf });
      const event = anEvent();
      const { workspace, eventId } = event;
      const mark = aFold(event);
      await events.insert(workspace, [event]);
      await events.fold(workspace, [mark]);
      const documents = mongo.db.collection<{ _id: string; message: Buffer }>("events");
      const stored = await documents.findOne({ _id: `${workspace}:${eventId}` });
      const message = Buffer.from(stored!.message);
      message[message.length - 3]! ^= 1;
      await documents.updateOne({ _id: `${workspace}:${eventId}` }, { $set: { message } });
      await assert.rejects(events.find(workspace, eventId), isDamaged);
      await assert.rejects(events.insert(workspace, [event]), isDamaged);
      await assert.rejects(
        events.timeline(workspace, [mark.facet], { limit: 1, bytesMax: 1, before: null }),
        isDamaged,
      );
    }));

  it("an event that stands under another's id is damaged", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const events = await createMongoEventStore({ mongo, tombOf });
      const event = anEvent();
      await events.insert(event.workspace, [event]);
      const documents = mongo.db.collection<{ _id: string }>("events");
      const stored = await documents.findOne({ _id: `${event.workspace}:${event.eventId}` });
      const other = newId<EventId>();
      await documents.insertOne({ ...stored, _id: `${event.workspace}:${other}` });
      await assert.rejects(events.find(event.workspace, other), isDamaged);
    }));

  it("an event that counts in another facet than its own is dumped with that one, for those who compare", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const events = await createMongoEventStore({ mongo, tombOf });
      const event = anEvent();
      const { workspace, eventId } = event;
      const [tallyId, uid] = [newId<TallyId>(), newId<Uid>()];
      await events.insert(workspace, [event]);
      await events.fold(workspace, [aFold(event, { tallies: [{ tallyId, amount: 2 }] })]);
      const documents = mongo.db.collection<{ _id: string }>("events");
      const tallies = [`${tallyId}:${workspace}:${uid}`];
      await documents.updateOne({ _id: `${workspace}:${eventId}` }, { $set: { tallies } });
      const { rows } = await createMongoCopying({ mongo, tombOf }).dump("tallies", { limit: 10, after: null });
      assert.deepEqual(rows, [{ workspace, eventId, effectiveTs: event.effectiveTs, uid, tallyId, amount: 2 }]);
    }));

  it("what two processes insert at once is stored once, and both are told the same", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const stores = await Promise.all(
        [1, 2, 3].map(async () => createMongoEventStore({ mongo: await open(), tombOf })),
      );
      const workspace = newId<WorkspaceId>();
      const ids = Array.from({ length: 100 }, () => newId<EventId>());
      const answers = await Promise.all(
        stores.map((store, n) =>
          store.insert(
            workspace,
            ids.map((eventId) => anEvent({ workspace, eventId, payload: Buffer.from(`{"process":${n}}`) })),
          ),
        ),
      );
      for (const answer of answers) assert.deepEqual(answer, answers[0]);
    }));

  it("many large events go in one call, and come back as duplicates in one", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const events = await createMongoEventStore({ mongo: await open(), tombOf });
      const workspace = newId<WorkspaceId>();
      const all = Array.from({ length: 100 }, (_, n) => anEvent({ workspace, payload: Buffer.alloc(262_144, n) }));
      for (const answer of [await events.insert(workspace, all), await events.insert(workspace, all)])
        for (const [n, { payload }] of answer.entries()) assert.ok(payload.equals(all[n]!.payload));
    }));

  it("keeps what a client chose out of the names of fields", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const events = await createMongoEventStore({ mongo, tombOf });
      const payload = Buffer.from('{"$where":"x","a.b":1,"_bsontype":"ObjectID","__proto__":1,"canary":2}');
      const event = anEvent({ payload });
      await events.insert(event.workspace, [event]);
      await events.fold(event.workspace, [aFold(event)]);
      await events.bury(aDeadLetter({ workspace: event.workspace, eventId: event.eventId }));
      const kept = await mongo.db.collection("events").findOne({}, OF_TEST);
      const names = [
        "_id",
        "arrival",
        "crc",
        "dropped",
        "facet",
        "folded",
        "keyId",
        "message",
        "ofSchema",
        "position",
        "profileId",
        "reason",
        "schemaId",
      ];
      assert.deepEqual(Object.keys(kept!).toSorted(), names);
      for (const [name, value] of Object.entries(kept!))
        assert.ok(name === "message" || ["string", "number", "boolean"].includes(typeof value) || value === null, name);
    }));

  it("an event counts once, in the facet that it was given first, after a fold that failed at any of its steps", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const profiles = await createMongoProfileStore({ mongo });
      for (const failing of ["read", "marked", "save", "mark"] as const)
        for (const moment of ["before", "after"] as const) {
          const aroundFold: AroundFold = async (step, work) => {
            if (step === failing && moment === "before") throw new Error("the fold failed");
            const answer = await work();
            if (step === failing) throw new Error("the fold failed");
            return answer;
          };
          const cut = await createMongoEventStore({ mongo, tombOf, aroundFold });
          const whole = await createMongoEventStore({ mongo, tombOf });
          const event = anEvent();
          const { workspace, eventId } = event;
          const [first, other] = [aFold(event), aFold(event, { facet: aUidOf(workspace, "other") })];
          await whole.insert(workspace, [event]);
          await assert.rejects(cut.fold(workspace, [first]), /the fold failed/);
          const isSaved = failing === "mark" || (failing === "save" && moment === "after");
          const left = (await profiles.find(workspace, [first.facet])).get(first.facet);
          assert.equal(left?.pending.length ?? 0, isSaved ? 1 : 0, `${moment} ${failing}`);
          await whole.fold(workspace, [other]);
          assert.equal((await whole.find(workspace, eventId))?.facet, first.facet);
          const next = anEvent({ workspace });
          await whole.insert(workspace, [next]);
          await whole.fold(workspace, [aFold(next, { facet: first.facet })]);
          const found = await profiles.find(workspace, [first.facet, other.facet]);
          assert.deepEqual([...found.keys()], [first.facet]);
          const { facet, pending } = found.get(first.facet)!;
          assert.deepEqual([facet.eventCount, pending], [2, [next.eventId]], `${moment} ${failing}`);
        }
    }));

  it("makes its indexes once, however many processes start together", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const opened = await Promise.all([1, 2, 3, 4].map(open));
      await Promise.all(opened.map((mongo) => createMongoEventStore({ mongo, tombOf })));
      await Promise.all(opened.map((mongo) => createMongoProfileStore({ mongo })));
      const indexesOf = async (name: string): Promise<readonly string[]> =>
        (await opened[0]!.db.collection(name).indexes()).map((index) => String(index.name)).toSorted();
      assert.deepEqual(await indexesOf("events"), ["_id_", "arrival", "named", "ofSchema", "tallies", "timeline"]);
      assert.deepEqual(await indexesOf("deadLetters"), [
        "_id_",
        "named",
        "newest",
        "ofEvent",
        "ofKey",
        "ofReason",
        "open",
        "received",
      ]);
      assert.deepEqual(await indexesOf("facets"), ["_id_", "guard"]);
      assert.equal(await opened[0]!.db.collection("facets").countDocuments({}, OF_TEST), 1, "one guard");
    }));
});

describe("facets in MongoDB", () => {
  it("says exactly which saves of a call lost", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const [one, other] = [
        await createMongoProfileStore({ mongo: await open() }),
        await createMongoProfileStore({ mongo: await open() }),
      ];
      const workspace = newId<WorkspaceId>();
      const uids = Array.from({ length: 120 }, (_, n) => aUidOf(workspace, `user-${n}`));
      const save = (n: number, name: string, expectedRev: number): FacetSave => ({
        uid: uids[n]!,
        facet: facetNamed(name),
        pending: [],
        expectedRev,
      });
      const all = uids.map((_, n) => n);
      // A third is new to all, a third stands at rev 1, a third was raised to rev 2 by another process.
      await other.save(
        workspace,
        all.filter((n) => n % 3 > 0).map((n) => save(n, "other", 0)),
      );
      await other.save(
        workspace,
        all.filter((n) => n % 3 === 2).map((n) => save(n, "other", 1)),
      );
      const saves = all.map((n) => save(n, "one", n % 2));
      const expected = all.map((n) => (n % 3 === 0 ? n % 2 === 0 : n % 3 === 1 && n % 2 === 1));
      assert.deepEqual(await one.save(workspace, saves), expected);
      const found = await one.find(workspace, uids);
      for (const n of all) {
        const standing = n % 3 === 0 && !expected[n] ? undefined : expected[n] ? "one" : "other";
        assert.equal(named(found.get(uids[n]!)?.facet), standing, `facet ${n}`);
      }
    }));

  it("in races of three processes one wins each rev of each facet, and is told so", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const stores = await Promise.all([1, 2, 3].map(async () => createMongoProfileStore({ mongo: await open() })));
      const workspace = newId<WorkspaceId>();
      const uids = Array.from({ length: 40 }, (_, n) => aUidOf(workspace, `user-${n}`));
      for (let rev = 0; rev < 10; rev += 1) {
        const answers = await Promise.all(
          stores.map((store, process) => {
            const shuffled = process === 1 ? uids.toReversed() : uids;
            const facet = facetNamed(`process-${process}`);
            return store.save(
              workspace,
              shuffled.map((uid) => ({ uid, facet, pending: [], expectedRev: rev })),
            );
          }),
        );
        const found = await stores[0]!.find(workspace, uids);
        for (const [n, uid] of uids.entries()) {
          const winners = answers.flatMap((answer, process) =>
            answer[process === 1 ? uids.length - 1 - n : n] ? [`process-${process}`] : [],
          );
          assert.deepEqual(winners, [named(found.get(uid)?.facet)], `rev ${rev} of facet ${n}`);
          assert.equal(found.get(uid)?.rev, rev + 1);
        }
      }
    }));
});
