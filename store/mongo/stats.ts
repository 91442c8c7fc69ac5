import type { Collection } from "mongodb";
import type { KeyId, WorkspaceId } from "../../core/ids.js";
import { MINUTE_MS, type EventOutcome, type StatCount, type StatsStore } from "../../core/stats.js";
import type { Mongo } from "./open.js";
import { createSession, type Session } from "./session.js";

interface CountDocument {
  /** Workspace, minute and what the events have in common. */
  readonly _id: string;
  readonly workspace: WorkspaceId;
  readonly minute: number;
  readonly keyId: KeyId | null;
  readonly schemaId: string | null;
  readonly outcome: EventOutcome;
  readonly events: number;
  readonly at: Date;
}

/** Of one answer: what a workspace can count in an hour, several gateways or not, is far below. */
const COUNTS_MAX = 50_000;
const KEPT_S = 7_200;

/** Counts that all gateways share, one document for each combination and minute. */
export async function createMongoStats({ mongo }: { readonly mongo: Mongo }): Promise<StatsStore> {
  const session = createSession(mongo);
  // A count that the server loses in a crash is not worth an fsync for each write.
  const writeConcern = { w: 1, journal: false };
  const counts = mongo.db.collection<CountDocument>("stats", { writeConcern });
  await session.call(() => counts.createIndex({ workspace: 1, minute: -1 }, { name: "hour" }));
  // Removes what is old; no query uses it.
  await session.call(() => counts.createIndex({ at: 1 }, { name: "expiry", expireAfterSeconds: KEPT_S }));
  return {
    add: (some) => write(session, counts, some),
    read: async (workspace, fromMinute) => {
      const filter = { workspace, minute: { $gte: fromMinute } };
      const options = { sort: { minute: -1 }, limit: COUNTS_MAX, projection: { _id: 0, at: 0 } } as const;
      return session.call(() => counts.find<StatCount>(filter, options).toArray());
    },
  };
}

async function write(session: Session, counts: Collection<CountDocument>, some: readonly StatCount[]): Promise<void> {
  const operations = some.map(({ events, ...rest }) => ({
    updateOne: {
      filter: { _id: idOf(rest) },
      update: { $inc: { events }, $setOnInsert: { ...rest, at: new Date(rest.minute * MINUTE_MS) } },
      upsert: true,
    },
  }));
  await session.call(() => counts.bulkWrite(operations, { ordered: false }));
}

const idOf = ({ workspace, minute, keyId, schemaId, outcome }: Omit<StatCount, "events">): string =>
  JSON.stringify([workspace, minute, keyId, schemaId, outcome]);
