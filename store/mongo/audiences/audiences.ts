import { setTimeout as sleep } from "node:timers/promises";
import type { Collection } from "mongodb";
import { NO_AUDIENCES, type Audience, type AudienceSet } from "../../../core/audience/audience.js";
import { AppError } from "../../../core/errors.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { AudienceStore } from "../../../core/ports/audience-store.js";
import { isDuplicateKey } from "../failure.js";
import type { Mongo } from "../open.js";
import { createSession, type Session } from "../session.js";

interface AudiencesDocument {
  readonly _id: WorkspaceId;
  readonly version: string;
  /** JSON text: what clients name is a value in it and never a field's name. */
  readonly audiences: string;
}

const TRIES_MAX = 50;
const PAUSE_MS_MAX = 20;

/** The audiences of a workspace: one document, changed by compare and swap on its version. */
export async function createMongoAudienceStore({ mongo }: { readonly mongo: Mongo }): Promise<AudienceStore> {
  const session = createSession(mongo);
  const documents = mongo.db.collection<AudiencesDocument>("audiences");
  const read = async (workspace: WorkspaceId): Promise<AudienceSet> => {
    const found = await session.call(() => documents.findOne({ _id: workspace }));
    if (found === null) return NO_AUDIENCES;
    return { version: found.version, audiences: JSON.parse(found.audiences) as readonly Audience[] };
  };
  return {
    audiences: async (workspace, known) => {
      if (known === undefined) return read(workspace);
      const projection = { version: 1 } as const;
      const found = await session.call(() => documents.findOne({ _id: workspace }, { projection }));
      return (found?.version ?? NO_AUDIENCES.version) === known.version ? known : read(workspace);
    },
    changeAudiences: async (workspace, change) => {
      for (let tries = 0; tries < TRIES_MAX; tries += 1) {
        // A random delay, so that two processes that collided do not collide again.
        if (tries > 0) await sleep(Math.random() * Math.min(tries, PAUSE_MS_MAX));
        const current = await read(workspace);
        const audiences = change(current);
        if (audiences === null) return current;
        const next: AudienceSet = { version: newId<string>(), audiences };
        if (await swap({ documents, session }, workspace, current, next)) return next;
      }
      throw new AppError("unavailable", "Others keep changing the audiences of this workspace.");
    },
    ready: session.ready,
    close: session.close,
  };
}

async function swap(
  { documents, session }: { readonly documents: Collection<AudiencesDocument>; readonly session: Session },
  workspace: WorkspaceId,
  { version }: AudienceSet,
  next: AudienceSet,
): Promise<boolean> {
  const changed = { version: next.version, audiences: JSON.stringify(next.audiences) };
  try {
    if (version === NO_AUDIENCES.version)
      return (await session.call(() => documents.insertOne({ _id: workspace, ...changed }))).acknowledged;
    const filter = { _id: workspace, version };
    return (await session.call(() => documents.updateOne(filter, { $set: changed }))).matchedCount > 0;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}
