import { newId, type MarkId } from "../../../core/ids.js";
import type { MarkStore } from "../../../core/ports/mark-store.js";
import { slicesOf } from "../events/batches.js";
import { isDuplicateKey, duplicatesOf } from "../failure.js";
import type { Mongo } from "../open.js";
import { idIn, ownId, workspaceIn } from "../own-id.js";
import { createSession } from "../session.js";

export interface MarkDocument {
  /** Of the uid: see `ownId`. */
  readonly _id: string;
  readonly mark: MarkId;
  readonly since: number;
  /** Its place among the others: `since`, and the id where that is the same. */
  readonly age: string;
}

const SINCE_DIGITS = 16;

export const ageOf = (id: string, since: number): string => `${String(since).padStart(SINCE_DIGITS, "0")}:${id}`;

const MARKS_PER_WRITE = 1_000;

/** Marks, each a document of its own. Makes its index. */
export async function createMongoMarkStore({ mongo }: { readonly mongo: Mongo }): Promise<MarkStore> {
  const session = createSession(mongo);
  const documents = mongo.db.collection<MarkDocument>("marks");
  await session.call(() => documents.createIndex({ age: 1 }, { name: "age" }));
  return {
    mark: async (workspace, uids, at) => {
      session.requireOpen();
      for (const some of slicesOf([...new Set(uids)], MARKS_PER_WRITE)) {
        const ids = some.map((uid) => ownId(workspace, uid));
        const operations = ids.map((_id) => ({
          updateOne: {
            filter: { _id },
            update: { $set: { mark: newId<MarkId>() }, $setOnInsert: { since: at, age: ageOf(_id, at) } },
            upsert: true,
          },
        }));
        const write = () => session.call(() => documents.bulkWrite(operations, { ordered: false }));
        // Two that mark the same one first at the same moment; for the second try it is there.
        await write().catch((error: unknown) => {
          if (!isDuplicateKey(error) && duplicatesOf(error) === null) throw error;
          return write();
        });
      }
    },
    marks: async (limit, after = null) => {
      const filter = after === null ? {} : { age: { $gt: ageOf(ownId(after.workspace, after.uid), after.since) } };
      const found = await session.call(() => documents.find(filter, { sort: { age: 1 }, limit }).toArray());
      return found.map(({ _id, mark, since }) => ({
        workspace: workspaceIn(_id),
        uid: idIn(_id),
        markId: mark,
        since,
      }));
    },
    clear: async (marks) => {
      session.requireOpen();
      for (const some of slicesOf(marks, MARKS_PER_WRITE)) {
        const operations = some.map(({ workspace, uid, markId }) => ({
          deleteOne: { filter: { _id: ownId(workspace, uid), mark: markId } },
        }));
        await session.call(() => documents.bulkWrite(operations, { ordered: false }));
      }
    },
    ready: session.ready,
    close: session.close,
  };
}
