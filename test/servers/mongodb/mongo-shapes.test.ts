import assert from "node:assert/strict";
import type { IndexDescriptionInfo } from "mongodb";
import { createMongoAudienceStore } from "../../../store/mongo/audiences/audiences.js";
import { createMongoMarkStore } from "../../../store/mongo/audiences/marks.js";
import { createMongoSeatStore } from "../../../store/mongo/audiences/seats.js";
import { createMongoCatalog } from "../../../store/mongo/catalog/catalog.js";
import { createMongoEventStore } from "../../../store/mongo/events/events.js";
import type { Mongo } from "../../../store/mongo/open.js";
import { createMongoRateWindows } from "../../../store/mongo/rate-windows.js";
import { createMongoStats } from "../../../store/mongo/stats.js";
import { createMongoWebhookStore } from "../../../store/mongo/webhooks/webhooks.js";
import { tombOf } from "../../support/builders.js";
import { ASKS_ALL_SHARDS, isTargeted, SERVED_BY, SHARD_KEYS } from "../../support/mongo-shapes/served-by.js";
import { OF_TEST, textOf, type Shape } from "../../support/mongo-shapes/shape.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();

async function openAll(mongo: Mongo): Promise<void> {
  await createMongoEventStore({ mongo, tombOf });
  await createMongoCatalog({ mongo });
  await createMongoAudienceStore({ mongo });
  await createMongoSeatStore({ mongo });
  await createMongoMarkStore({ mongo });
  await createMongoWebhookStore({ mongo });
  await createMongoStats({ mongo });
  await createMongoRateWindows({ mongo });
}

const shapes: readonly Shape[] = Object.entries(SERVED_BY).flatMap(([collection, rows]) =>
  Object.keys(rows).map((row) => {
    const [filter = "", sort = ""] = row.split(/; sort |^; sort /);
    return { collection, filter, sort, isWrite: false };
  }),
);
const ID: IndexDescriptionInfo = { v: 2, name: "_id_", key: { _id: 1 } };

/** Whether a server can look the query up there: its first field is asked for, or is the order that all are read in. */
function isServed(
  { filter, sort }: Shape,
  { key, sparse, partialFilterExpression = {} }: IndexDescriptionInfo,
): boolean {
  const asked = filter.split(", ");
  const [first = ""] = Object.keys(key);
  const isLookedUp = ["", " in", " range", " begins", " type"].some((operator) => asked.includes(first + operator));
  const isRead = sort.split(" ")[0]?.slice(0, -1) === first;
  const has = (field: string): boolean => asked.some((one) => one === field || one.startsWith(`${field} `));
  const isWhole = Object.keys(partialFilterExpression).every(has) && (sparse !== true || has(first));
  return isWhole && (isLookedUp || isRead);
}

describe("What is asked of MongoDB", () => {
  it("has an index for each query, which its collection declares and which serves it", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      await openAll(mongo);
      const declared = new Map<string, readonly IndexDescriptionInfo[]>();
      for (const collection of Object.keys(SERVED_BY)) {
        const own = await mongo.db
          .collection(collection)
          .listIndexes()
          .toArray()
          .catch(() => []);
        declared.set(collection, [ID, ...(own as IndexDescriptionInfo[])]);
      }
      for (const shape of shapes) {
        const name = SERVED_BY[shape.collection]![shape.filter + (shape.sort === "" ? "" : `; sort ${shape.sort}`)];
        const index = declared.get(shape.collection)!.find((one) => one.name === name);
        assert.ok(index, `${textOf(shape)}: there is no index ${name}`);
        assert.ok(isServed(shape, index), `${textOf(shape)}: the index ${name} does not serve it`);
      }
    }));

  it("holds the shard key, or is listed as what all shards are asked", () => {
    const asking = shapes.filter((shape) => SHARD_KEYS[shape.collection] !== undefined && !isTargeted(shape));
    assert.deepEqual(asking.map(textOf).toSorted(), [...ASKS_ALL_SHARDS].toSorted());
  });

  it("looks at the documents that it finds, however many others there are", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const { db } = await open();
      const many = db.collection<{ _id: string; group: number; gone: null }>("many");
      await many.createIndex({ group: 1, at: 1 }, { name: "group" });
      await many.insertMany(
        Array.from({ length: 2_000 }, (_, n) => ({ _id: `id ${n}`, group: n % 100, at: n, gone: null })),
      );
      const examined = async (): Promise<number> => {
        const { metrics } = (await db.admin().serverStatus()) as {
          readonly metrics: { readonly queryExecutor: { readonly scannedObjects: number } };
        };
        return metrics.queryExecutor.scannedObjects;
      };
      const before = await examined();
      for (let n = 0; n < 10; n += 1) {
        await many.updateOne({ _id: `id ${n}`, gone: null }, { $set: { gone: null } }, OF_TEST);
        const page = await many
          .find({ group: n, at: { $gt: 1_000 } }, { sort: { at: -1 }, limit: 5, ...OF_TEST })
          .toArray();
        assert.equal(page.length, 5);
      }
      // Others use the server meanwhile; one look at all would be more than this alone.
      assert.ok((await examined()) - before < 20_000);
    }));
});
