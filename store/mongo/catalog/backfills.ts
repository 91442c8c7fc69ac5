import type { Filter, IndexDescription } from "mongodb";
import type { Backfill } from "../../../core/catalog/backfill.js";
import type { BackfillMethods } from "../../../core/ports/catalog-store.js";
import type { Mongo } from "../open.js";
import { ownId } from "../own-id.js";
import type { Session } from "../session.js";
import { isDuplicateKey } from "../failure.js";

interface BackfillDocument extends Backfill {
  readonly _id: string;
}

const INDEXES: readonly IndexDescription[] = [
  { name: "age", key: { workspace: 1, backfillId: -1 } },
  { name: "ofSchema", key: { workspace: 1, schemaId: 1, coversUntil: 1 } },
  { name: "running", key: { state: 1, backfillId: 1 } },
];

export async function createBackfills(mongo: Mongo, session: Session): Promise<BackfillMethods> {
  const backfills = mongo.db.collection<BackfillDocument>("backfills");
  await session.call(() => backfills.createIndexes([...INDEXES]));
  const list = async (filter: Filter<BackfillDocument>, sort: 1 | -1, limit: number): Promise<readonly Backfill[]> => {
    const options = { sort: { backfillId: sort }, limit, projection: { _id: 0 } } as const;
    return session.call(() => backfills.find<Backfill>(filter, options).toArray());
  };

  return {
    createBackfill: async (backfill) => {
      try {
        await session.call(() => backfills.insertOne(toDocument(backfill)));
      } catch (error) {
        // The reply to a first try was lost.
        if (!isDuplicateKey(error)) throw error;
      }
    },
    findBackfill: async (workspace, backfillId) => {
      const [found = null] = await list({ _id: ownId(workspace, backfillId) }, 1, 1);
      return found;
    },
    backfills: (workspace, { limit, after }) =>
      list({ workspace, ...(after !== null && { backfillId: { $lt: after } }) }, -1, limit),
    saveBackfill: async (backfill) => {
      const own = { _id: ownId(backfill.workspace, backfill.backfillId), rev: backfill.rev - 1 };
      const { modifiedCount } = await session.call(() => backfills.replaceOne(own, toDocument(backfill)));
      return modifiedCount === 1;
    },
    backfillsOf: async (workspace, schemaIds, from) => {
      const filter = { workspace, schemaId: { $in: [...schemaIds] }, coversUntil: { $gt: from } };
      return list({ ...filter, state: { $ne: "stopped" as const } }, 1, 0);
    },
    runningBackfills: ({ limit, after }) =>
      list({ state: "running", ...(after !== null && { backfillId: { $gt: after } }) }, 1, limit),
  };
}

const toDocument = (backfill: Backfill): BackfillDocument => ({
  _id: ownId(backfill.workspace, backfill.backfillId),
  ...backfill,
});
