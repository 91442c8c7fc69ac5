import assert from "node:assert/strict";
import type { Collection } from "mongodb";
import type { Entry } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { Copied, FeedRow } from "../../../core/ports/copying.js";
import type { SeatStore } from "../../../core/ports/seat-store.js";
import { createMongoSeatStore } from "../../../store/mongo/audiences/seats.js";
import { createMongoMemberCopying } from "../../../store/mongo/copy/members.js";
import type { Mongo } from "../../../store/mongo/open.js";
import { OF_TEST } from "../../support/mongo-shapes/shape.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();

type Feed = Collection<{ readonly _id: string }>;

/** The same database; these methods of the feed's collection, or of the other one that is named, are others. */
function withFeed(
  mongo: Mongo,
  methodsOf: (real: Feed) => Readonly<Partial<Record<keyof Feed, unknown>>>,
  changed = "feed",
): Mongo {
  const collection = (name: string) => {
    const real: Feed = mongo.db.collection(name);
    if (name !== changed) return real;
    const methods = methodsOf(real);
    return new Proxy(real, {
      get: (target, key) => {
        const value: unknown = Reflect.get(methods, key) ?? Reflect.get(target, key);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  };
  return { ...mongo, db: { collection } as unknown as Mongo["db"] };
}

/** Something else happens right before a chunk is inserted. */
const before = (mongo: Mongo, happens: () => Promise<unknown>): Mongo =>
  withFeed(mongo, (real) => ({
    insertOne: async (document: Parameters<Feed["insertOne"]>[0]) => {
      await happens();
      return real.insertOne(document);
    },
  }));

const entry = (type: "entered" | "left", audienceId: AudienceId, profileId: ProfileId): Entry => {
  return { type, at: 7, audienceId, profileId, cause: "changed", into: null };
};
async function save(store: SeatStore, workspace: WorkspaceId, profileId: ProfileId, entries: readonly Entry[]) {
  const claim = newId<ClaimId>();
  await store.claim(workspace, claim, [profileId]);
  const seat = { profileId, memberships: [], untils: [] };
  assert.deepEqual(await store.save(workspace, claim, [{ seat, entries }]), [true]);
}

describe("Seats and the feed in MongoDB", () => {
  it("what is saved, or appended by another, while a publish is under way is told once, and is not left in the seat", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const [workspace, profile, rich] = [newId<WorkspaceId>(), newId<ProfileId>(), newId<AudienceId>()];
      const plain = await createMongoSeatStore({ mongo });
      const other: Entry = { type: "audience_deleted", at: 9, audienceId: newId<AudienceId>() };
      let times = 0;
      const store = await createMongoSeatStore({
        mongo: before(mongo, async () => {
          if ((times += 1) > 1) return;
          await save(plain, workspace, profile, [entry("left", rich, profile)]);
          await plain.append(workspace, "other", [other]);
        }),
      });
      await save(store, workspace, profile, [entry("entered", rich, profile)]);
      while (await store.publish(workspace, 10));
      assert.equal(times, 2, "the number was taken, and it looked again");
      while (await store.publish(workspace, 10));
      const { entries } = await plain.feed(workspace, 0, 10);
      assert.deepEqual(
        entries.map((one) => one.entry),
        [other, entry("entered", rich, profile), entry("left", rich, profile)],
      );
      assert.equal(await mongo.db.collection("seats").countDocuments({ ws: workspace }, OF_TEST), 0);
    }));

  it("an empty seat of which nothing is told is taken away", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const workspace = newId<WorkspaceId>();
      const store = await createMongoSeatStore({ mongo });
      await save(store, workspace, newId<ProfileId>(), []);
      while (await store.publish(workspace, 10));
      assert.equal(await mongo.db.collection("seats").countDocuments({ ws: workspace }, OF_TEST), 0);
    }));

  it("a seat that is saved as empty in the midst of a publish is taken away by the next one", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const [workspace, profile, audienceId] = [newId<WorkspaceId>(), newId<ProfileId>(), newId<AudienceId>()];
      const plain = await createMongoSeatStore({ mongo });
      let times = 0;
      // The server does one operation after the other, and between two of them what others ask for.
      const parted = (real: Feed) => ({
        bulkWrite: async (operations: Parameters<Feed["bulkWrite"]>[0], options: object) => {
          const isLast = (one: object): boolean => "updateOne" in one && JSON.stringify(one).includes("$unset");
          if (!operations.some(isLast)) return real.bulkWrite(operations, options);
          for (const one of operations) {
            if (isLast(one) && (times += 1) === 1) await save(plain, workspace, profile, []);
            await real.bulkWrite([one], options);
          }
          return null;
        },
      });
      const store = await createMongoSeatStore({ mongo: withFeed(mongo, parted, "seats") });
      const claim = newId<ClaimId>();
      await plain.claim(workspace, claim, [profile]);
      const seat = { profileId: profile, memberships: [{ audienceId, since: 7 }], untils: [] };
      await plain.save(workspace, claim, [{ seat, entries: [entry("entered", audienceId, profile)] }]);
      while (await store.publish(workspace, 10));
      assert.equal(times, 1);
      while (await store.publish(workspace, 10));
      assert.equal(await mongo.db.collection("seats").countDocuments({ ws: workspace }, OF_TEST), 0);
    }));

  it("a feed of large chunks is copied in pages and inserts that end within their deadline", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const workspace = newId<WorkspaceId>();
      const store = await createMongoSeatStore({ mongo });
      const [audience, profile] = [newId<AudienceId>(), newId<ProfileId>()];
      const entries = Array.from({ length: 1_000 }, () => entry("entered", audience, profile));
      for (let n = 0; n < 40; n += 1) await store.append(workspace, `origin ${n}`, entries);
      const given: FeedRow[] = [];
      for (let after: string | null = null; ;) {
        const page: Copied<FeedRow> = await createMongoMemberCopying({ mongo }).dump("feed", { limit: 500, after });
        assert.ok(page.rows.length <= 32_000, `${page.rows.length} rows in one page`);
        given.push(...page.rows);
        if (page.next === null) break;
        after = page.next;
      }
      assert.deepEqual(
        given.map(({ seq }) => seq),
        Array.from({ length: 40_000 }, (_, n) => n + 1),
      );
      await mongo.db.collection("feed").deleteMany({}, OF_TEST);
      const inserted: number[] = [];
      const target = withFeed(mongo, (real) => ({
        insertMany: (documents: Parameters<Feed["insertMany"]>[0], options: object) => {
          inserted.push(documents.length);
          return real.insertMany(documents, options);
        },
      }));
      await createMongoMemberCopying({ mongo: target }).load("feed", given.slice(0, 2_500));
      assert.deepEqual(inserted, [1_000, 1_000, 500]);
      assert.deepEqual((await store.feed(workspace, 2_499, 9)).entries, [{ seq: 2_500, entry: entries[0] }]);
    }));
});
