import assert from "node:assert/strict";
import {
  MongoServerError,
  type Collection,
  type CollectionOptions,
  type Db,
  type Document,
  type Filter,
  type FindOneAndUpdateOptions,
} from "mongodb";
import type { Mongo } from "../../../store/mongo/open.js";
import { createMongoRateWindows } from "../../../store/mongo/rate-windows.js";
import { rateWindowsContract } from "../../contracts/rate-windows.contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";
import { OF_TEST } from "../../support/mongo-shapes/shape.js";

const { MONGODB_URL } = serversUnderTest();
const MINUTE_MS = 60_000;

/** Beginning a window meets, so many times, one that another process began at the same moment. */
function losingRaces(mongo: Mongo, races: number): Mongo {
  let left = races;
  const lose = (collection: Collection): Collection =>
    new Proxy(collection, {
      get: (target, property) => {
        if (property !== "findOneAndUpdate") return Reflect.get(target, property) as unknown;
        return async (filter: Filter<Document>, update: Document, options: FindOneAndUpdateOptions) => {
          if (options.upsert === true && left-- > 0) throw new MongoServerError({ code: 11_000, message: "E11000" });
          return target.findOneAndUpdate(filter, update, options);
        };
      },
    });
  const collection = (name: string, options: CollectionOptions) => lose(mongo.db.collection(name, options));
  return { ...mongo, db: { collection } as unknown as Db };
}

describe("RateWindows on MongoDB", () => {
  for (const [sentence, check] of Object.entries(rateWindowsContract))
    it(sentence, () =>
      withDatabase(MONGODB_URL, async (open) => {
        const clock = { aheadMs: 0 };
        const now = (): number => Date.now() + clock.aheadMs;
        return check(await createMongoRateWindows({ mongo: await open(), now }), clock);
      }),
    );

  it("two processes share one count", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const [one, other] = [
        await createMongoRateWindows({ mongo: await open() }),
        await createMongoRateWindows({ mongo: await open() }),
      ];
      const hits = await Promise.all(
        Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? one : other).hit("auth:192.0.2.7", MINUTE_MS)),
      );
      assert.equal(Math.max(...hits.map((window) => window.hits)), 200);
      assert.equal(new Set(hits.map((window) => window.hits)).size, 200);
      assert.equal(new Set(hits.map((window) => window.resetAt)).size, 1);
    }));

  it("counts on when another process begins the window first, and gives up only after five times", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const four = await createMongoRateWindows({ mongo: losingRaces(mongo, 4) });
      assert.equal((await four.hit("a", MINUTE_MS)).hits, 1);
      assert.equal((await four.hit("a", MINUTE_MS)).hits, 2);
      const five = await createMongoRateWindows({ mongo: losingRaces(mongo, 5) });
      await rejectsAsUnavailable(() => five.hit("b", MINUTE_MS));
      assert.equal((await five.hit("b", MINUTE_MS)).hits, 1, "the next hit counts");
    }));

  it("keeps no client's address, and lets the server remove what ended", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const windows = await createMongoRateWindows({ mongo });
      const { resetAt } = await windows.hit("auth:192.0.2.7", MINUTE_MS);
      const collection = mongo.db.collection("rateWindows");
      const kept = await collection.find({}, OF_TEST).toArray();
      assert.equal(kept.length, 1);
      assert.ok(!JSON.stringify(kept).includes("192.0.2.7"));
      assert.deepEqual(kept[0]!["resetAt"], new Date(resetAt), "a date: only dates expire");
      const expiry = (await collection.indexes()).find(({ name }) => name === "expiry");
      assert.equal(expiry?.["expireAfterSeconds"], 0);
    }));

  it("is unavailable once the connection is closed", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const windows = await createMongoRateWindows({ mongo });
      await mongo.close();
      await rejectsAsUnavailable(() => windows.hit("a", MINUTE_MS));
    }));
});
