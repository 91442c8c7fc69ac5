import type { AnyBulkWriteOperation, Collection } from "mongodb";
import { facetFromJson, facetToJson } from "../../core/profile/facet-json.js";
import type { Uid, WorkspaceId } from "../../core/ids.js";
import type { FacetSave, ProfileStore, StoredFacet } from "../../core/ports/profile-store.js";
import { batchesOf, slicesOf } from "./events/batches.js";
import { duplicatesOf, isDuplicateKey } from "./failure.js";
import type { Mongo } from "./open.js";
import { idIn, ownId } from "./own-id.js";
import { createSession, type Session } from "./session.js";

interface FacetDocument {
  /** Of the identifier's uid: see `ownId`. */
  readonly _id: string;
  readonly rev: number;
  /** JSON text: a trait's name is a value in it and never a field's name. */
  readonly body: string;
}
interface GuardedDocument extends FacetDocument {
  readonly isGuard?: true;
}

const FACETS_PER_FIND = 500;
/** What a server answers at first where nobody says how many. */
const FACETS_PER_REPLY = 101;
const USUAL_BYTES_MAX = 16_384;
/** So many, however small they are, come with one call. */
const repliedOf = (bytesMax: number): number =>
  Math.min(Math.max(Math.ceil(bytesMax / USUAL_BYTES_MAX), FACETS_PER_REPLY), FACETS_PER_FIND);
/** No id of a facet: those begin with a workspace. */
const GUARD: GuardedDocument = { _id: "guard", rev: 0, body: "", isGuard: true };

export async function createMongoProfileStore({ mongo }: { readonly mongo: Mongo }): Promise<ProfileStore> {
  const session = createSession(mongo);
  return { ...(await openFacets(mongo, session, "local")), ready: session.ready, close: session.close };
}

/** `majority`: what is read, no crash of a server takes back. */
type ReadLevel = "local" | "majority";

/** Facets, each a document of its own. Makes their index and their guard; two processes may do so at once. */
export async function openFacets(
  { db }: Pick<Mongo, "db">,
  session: Session,
  level: ReadLevel,
): Promise<Pick<ProfileStore, "find" | "findSome" | "save" | "remove">> {
  const facets = db.collection<GuardedDocument>("facets");
  await keepGuard(facets, session);
  return {
    ...createFind(facets, session, level),
    ...createFindSome(facets, session, level),
    ...createSave(facets, session),
    remove: async (workspace, uids) => {
      session.requireOpen();
      let gone = 0;
      for (const some of slicesOf(uids, FACETS_PER_FIND)) {
        const filter = { _id: { $in: some.map((uid) => ownId(workspace, uid)) } };
        gone += (await session.call(() => facets.deleteMany(filter))).deletedCount;
      }
      return gone;
    },
  };
}

/** Sparse: it holds the guard alone. Every save that finds no document to change is refused by it; see `toOperation`. */
async function keepGuard(facets: Collection<GuardedDocument>, session: Session): Promise<void> {
  await session.call(() => facets.createIndex({ isGuard: 1 }, { name: "guard", unique: true, sparse: true }));
  try {
    await session.call(() => facets.insertOne({ ...GUARD }));
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

const createFind = (
  facets: Collection<GuardedDocument>,
  session: Session,
  level: ReadLevel,
): Pick<ProfileStore, "find"> => ({
  find: async (workspace, uids) => {
    session.requireOpen();
    const found = new Map<Uid, StoredFacet>();
    const own = [...new Set(uids)].map((uid) => ownId(workspace, uid));
    for (const some of slicesOf(own, FACETS_PER_FIND)) {
      const filter = { _id: { $in: some } };
      const documents = await session.call(() =>
        facets.find(filter, { batchSize: FACETS_PER_FIND, readConcern: { level } }).toArray(),
      );
      for (const { _id, rev, body } of documents) found.set(idIn(_id), { rev, ...facetFromJson(body) });
    }
    return found;
  },
});

function createFindSome(
  facets: Collection<GuardedDocument>,
  session: Session,
  level: ReadLevel,
): Pick<ProfileStore, "findSome"> {
  /** Null where they take more and there are further ones: in which order they come is the server's choice. */
  const read = (ids: readonly string[], bytesMax: number): Promise<readonly FacetDocument[] | null> =>
    session.call(async () => {
      const documents: FacetDocument[] = [];
      let bytes = 0;
      // Leaving the loop closes the cursor.
      const options = { batchSize: repliedOf(bytesMax), readConcern: { level } };
      for await (const document of facets.find({ _id: { $in: ids } }, options)) {
        if (bytes >= bytesMax) return null;
        documents.push(document);
        bytes += document.body.length;
      }
      return documents;
    });

  return {
    findSome: async (workspace, uids, bytesMax) => {
      session.requireOpen();
      const found = new Map<Uid, StoredFacet>();
      let [looked, bytes, size] = [0, 0, FACETS_PER_FIND];
      while (looked < uids.length && bytes < bytesMax) {
        const some = uids.slice(looked, looked + size);
        const documents = await read(
          [...new Set(some)].map((uid) => ownId(workspace, uid)),
          bytesMax - bytes,
        );
        if (documents === null) size = Math.ceil(some.length / 2);
        else {
          looked += some.length;
          for (const { _id, rev, body } of documents) {
            bytes += body.length;
            found.set(idIn(_id), { rev, ...facetFromJson(body) });
          }
        }
      }
      return { found, looked };
    },
  };
}

function createSave(facets: Collection<GuardedDocument>, session: Session): Pick<ProfileStore, "save"> {
  const saveBatch = async (batch: readonly Save[]): Promise<ReadonlySet<number>> => {
    try {
      await session.call(() => facets.bulkWrite(batch.map(toOperation), { ordered: false }));
      return new Set();
    } catch (error) {
      const lost = duplicatesOf(error);
      if (lost === null) throw error;
      return lost;
    }
  };

  return {
    save: async (workspace, saves) => {
      session.requireOpen();
      const prepared = saves.map((save, index) => prepare(workspace, save, index));
      // Of two saves of one facet the second meets what the first made; sent together, they could run in either order.
      const first = new Map<string, Save>();
      for (const save of prepared) if (!first.has(save.id)) first.set(save.id, save);
      const saved = saves.map(() => false);
      for (const batch of batchesOf([...first.values()], ({ body }) => body.length)) {
        const lost = await saveBatch(batch);
        for (const [n, { index }] of batch.entries()) saved[index] = !lost.has(n);
      }
      return saved;
    },
  };
}

interface Save {
  readonly index: number;
  readonly id: string;
  readonly expectedRev: number;
  readonly body: string;
}

const prepare = (workspace: WorkspaceId, { uid, expectedRev, ...folded }: FacetSave, index: number): Save => ({
  index,
  id: ownId(workspace, uid),
  expectedRev,
  body: facetToJson(folded),
});

/**
 * A bulk write counts its matches but does not say which. So a change that finds no document of its rev tries to insert one, which
 * a unique index refuses by position: `_id` when the facet has another rev, the guard's when there is no such facet.
 */
const toOperation = ({ id, expectedRev, body }: Save): AnyBulkWriteOperation<GuardedDocument> =>
  expectedRev === 0
    ? { insertOne: { document: { _id: id, rev: 1, body } } }
    : {
        updateOne: {
          filter: { _id: id, rev: expectedRev },
          update: { $set: { rev: expectedRev + 1, body }, $setOnInsert: { isGuard: true } },
          upsert: true,
        },
      };
