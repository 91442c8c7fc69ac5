import { setTimeout as sleep } from "node:timers/promises";
import type { Collection } from "mongodb";
import { bodyOf, NO_AUDIENCES, type AudienceBody, type AudienceSet } from "../../../core/audience/audience.js";
import { followTallies } from "../../../core/audience/tallies.js";
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
  readonly body: string;
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
    return { version: found.version, ...(JSON.parse(found.body) as AudienceBody) };
  };
  const put = async (
    workspace: WorkspaceId,
    change: (current: AudienceSet) => AudienceBody | null,
  ): Promise<AudienceSet> => {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      // A random delay, so that two processes that collided do not collide again.
      if (tries > 0) await sleep(Math.random() * Math.min(tries, PAUSE_MS_MAX));
      const current = await read(workspace);
      const changed = change(current);
      if (changed === null) return current;
      const next: AudienceSet = { version: newId<string>(), ...bodyOf(changed) };
      if (await swap({ documents, session }, workspace, current, next)) return next;
    }
    throw new AppError("unavailable", "Others keep changing the audiences of this workspace.");
  };
  return {
    audiences: async (workspace, known) => {
      if (known === undefined) return read(workspace);
      const projection = { version: 1 } as const;
      const found = await session.call(() => documents.findOne({ _id: workspace }, { projection }));
      return (found?.version ?? NO_AUDIENCES.version) === known.version ? known : read(workspace);
    },
    changeAudiences: (workspace, change) =>
      put(workspace, (current) => {
        const changed = change(current);
        return changed === null ? null : followTallies(current, changed);
      }),
    changeTallies: (workspace, change) =>
      put(workspace, (current) => {
        const changed = change(current);
        return changed === null ? null : { ...bodyOf(current), ...changed };
      }),
    watching: async ({ limit, after }) => {
      const filter = after === null ? {} : { _id: { $gt: after } };
      const options = { sort: { _id: 1 }, limit, projection: { _id: 1 } } as const;
      const found = await session.call(() => documents.find(filter, options).toArray());
      return found.map(({ _id }) => _id);
    },
    ready: session.ready,
    close: session.close,
  };
}

async function swap(
  { documents, session }: { readonly documents: Collection<AudiencesDocument>; readonly session: Session },
  workspace: WorkspaceId,
  { version }: AudienceSet,
  { version: fresh, ...body }: AudienceSet,
): Promise<boolean> {
  const changed = { version: fresh, body: JSON.stringify(body) };
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
