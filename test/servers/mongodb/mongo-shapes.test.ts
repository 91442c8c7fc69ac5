import assert from "node:assert/strict";
import type { IndexDescriptionInfo } from "mongodb";
import { identifierKey } from "../../../core/event/event.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { createMongoAudienceStore } from "../../../store/mongo/audiences/audiences.js";
import { createMongoMarkStore } from "../../../store/mongo/audiences/marks.js";
import { createMongoSeatStore } from "../../../store/mongo/audiences/seats.js";
import { createMongoCatalog } from "../../../store/mongo/catalog/catalog.js";
import { createMongoEventStore } from "../../../store/mongo/events/events.js";
import type { Mongo } from "../../../store/mongo/open.js";
import { createMongoRateWindows } from "../../../store/mongo/rate-windows.js";
import { createMongoStats } from "../../../store/mongo/stats.js";
import { createMongoWebhookStore } from "../../../store/mongo/webhooks/webhooks.js";
import { anEvent, tombOf } from "../../support/builders.js";
import { ASKS_ALL_SHARDS, isTargeted, SERVED_BY, SHARD_KEYS } from "../../support/mongo-shapes/served-by.js";
import { OF_TEST, textOf, type Shape } from "../../support/mongo-shapes/shape.js";
import { withDatabase } from "../../support/servers/mongo-backend.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const { MONGODB_URL } = serversUnderTest();
type Named = Awaited<ReturnType<EventStore["naming"]>>;

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

/** Whether the index has what is found in the order that is asked for: each field before it is asked for by its values. */
function isOrdered({ filter, sort }: Shape, { key }: IndexDescriptionInfo): boolean {
  const [fields, order] = [Object.keys(key), sort.split(" ").map((one) => one.slice(0, -1))];
  const at = fields.indexOf(order[0]!);
  const asked = filter.split(", ");
  const isEqual = (field: string): boolean => asked.includes(field) || asked.includes(`${field} in`);
  return at >= 0 && fields.slice(0, at).every(isEqual) && order.every((field, n) => fields[at + n] === field);
}

/** So few are found that the server may sort them. */
const FEW: readonly string[] = [
  "backfills: _id; sort backfillId+",
  "backfills: coversUntil range, schemaId in, state ne, workspace; sort backfillId+",
];

/** How many documents the server has looked at. */
async function examined({ db }: Mongo): Promise<number> {
  const { metrics } = (await db.admin().serverStatus()) as {
    readonly metrics: { readonly queryExecutor: { readonly scannedObjects: number } };
  };
  return metrics.queryExecutor.scannedObjects;
}

describe("What is asked of MongoDB", () => {
  it("has an index for each query, which its collection declares and which serves it", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      await openAll(mongo);
      const declared = new Map<string, readonly IndexDescriptionInfo[]>();
      const sorted: string[] = [];
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
        if (shape.sort !== "" && !isOrdered(shape, index)) sorted.push(textOf(shape));
      }
      assert.deepEqual(sorted, FEW);
    }));

  it("holds the shard key, or is listed as what all shards are asked", () => {
    const asking = shapes.filter((shape) => SHARD_KEYS[shape.collection] !== undefined && !isTargeted(shape));
    assert.deepEqual(asking.map(textOf).toSorted(), [...ASKS_ALL_SHARDS].toSorted());
  });

  it("looks at the documents that it finds, however many others there are", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const many = mongo.db.collection<{ _id: string; group: number; gone: null }>("many");
      await many.createIndex({ group: 1, at: 1 }, { name: "group" });
      await many.insertMany(
        Array.from({ length: 2_000 }, (_, n) => ({ _id: `id ${n}`, group: n % 100, at: n, gone: null })),
      );
      const before = await examined(mongo);
      for (let n = 0; n < 10; n += 1) {
        await many.updateOne({ _id: `id ${n}`, gone: null }, { $set: { gone: null } }, OF_TEST);
        const page = await many
          .find({ group: n, at: { $gt: 1_000 } }, { sort: { at: -1 }, limit: 5, ...OF_TEST })
          .toArray();
        assert.equal(page.length, 5);
      }
      // Others use the server meanwhile; one look at all would be more than this alone.
      assert.ok((await examined(mongo)) - before < 20_000);
    }));

  it("looks at each event that names a person once, however many pages they are", () =>
    withDatabase(MONGODB_URL, async (open) => {
      const mongo = await open();
      const events = await createMongoEventStore({ mongo, tombOf });
      const { workspace, identifiers } = anEvent();
      const all = Array.from({ length: 2_000 }, () => anEvent({ workspace, identifiers, folds: false }));
      await events.insert(workspace, all);
      const tombs = identifiers.map((one) => tombOf(identifierKey(workspace, one)));
      const before = await examined(mongo);
      let found = 0;
      for (let after: string | null = null; ;) {
        const page: Named = await events.naming(workspace, tombs, { limit: 32, after });
        found += page.found.length;
        if (page.next === null) break;
        after = page.next;
      }
      assert.equal(found, all.length);
      // Others use the server meanwhile; to look at all the rest for each page would be three times this.
      assert.ok((await examined(mongo)) - before < 20_000);
    }));
});
