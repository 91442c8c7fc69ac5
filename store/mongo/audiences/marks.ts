import { newId, type MarkId, type Uid, type WorkspaceId } from "../../../core/ids.js";
import type { Mark, MarkStore } from "../../../core/ports/mark-store.js";
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
  /** Its place among the others: its workspace, `since`, and the uid where that is the same. */
  readonly age: string;
}

const SINCE_DIGITS = 16;

export const ageOf = (workspace: WorkspaceId, uid: Uid, since: number): string =>
  ownId(workspace, `${String(since).padStart(SINCE_DIGITS, "0")}:${uid}`);
/** The next character after the colon: behind all marks of the workspace. */
const endOf = (workspace: WorkspaceId): string => `${workspace};`;

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
        const operations = some.map((uid) => ({
          updateOne: {
            filter: { _id: ownId(workspace, uid) },
            update: { $set: { mark: newId<MarkId>() }, $setOnInsert: { since: at, age: ageOf(workspace, uid, at) } },
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
      const filter = after === null ? {} : { age: { $gt: placeOf(after) } };
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

const placeOf = (after: Mark | WorkspaceId): string =>
  typeof after === "string" ? endOf(after) : ageOf(after.workspace, after.uid, after.since);
