import { setTimeout as sleep } from "node:timers/promises";
import { MongoClient, type Db, type MongoClientOptions } from "mongodb";
import { ConfigError } from "../../core/config.js";
import { AppError } from "../../core/errors.js";
import { networkCodeOf, refusalOf, toAppError } from "./failure.js";
import { closeFor, renewWhereHung } from "./renewal.js";

export interface MongoOptions {
  /** `mongodb://user:password@host:port/database`; without a database it is `onym`. */
  readonly url: string;
  /** Called once when the server stops answering; not for errors that a caller sees. */
  readonly onError: (message: string, error: unknown) => void;
  /** Of one call of the driver; a method of a port makes several. */
  readonly deadlineMs?: number;
  /** How long the start waits for the server. */
  readonly startMs?: number;
  /** After so long without an answer, the driver is taken for hung, and connects anew. */
  readonly hungMs?: number;
}

/** The connection that all ports on MongoDB share. Who opens it closes it, after the ports. */
export interface Mongo {
  readonly db: Db;
  /**
   * Every call of the driver goes through here: ends within the deadline and rejects with `unavailable` for all that may work
   * again later. A duplicate key and a mistake of ours reject as the driver says them.
   */
  call<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the server answers; rejects with `unavailable` when it does not. */
  ready(): Promise<void>;
  /** Closing twice is allowed. */
  close(): Promise<void>;
}

/** Below the 4 s within which a silent server must show, above the socket's own limit, which frees the connection. */
const DEADLINE_MS = 3_500;
const START_MS = 8_000;
/** Above the 14 s of a call that finds a server, a connection and an answer at the last moment, and is repeated once. */
const HUNG_MS = 30_000;
/** A silent server must not hold up the stop. */
const CLOSE_MS = 2_000;
const PING_MS = 900;
const RETRY_MS = 250;
const DEFAULT_DATABASE = "onym";

/** Each explicitly, so that neither the URL nor a new version of the driver changes what an answer means. */
const OPTIONS = {
  appName: "onym",
  // An acknowledged write survives the loss of the primary and a kill of the server; one fsync serves a batch.
  writeConcern: { w: "majority", journal: true, wtimeoutMS: 2_500 },
  // Reads what the primary has now. If it is rolled back, what was saved on top of it is rolled back too, so `majority` would only add
  // races.
  readConcern: { level: "local" },
  readPreference: "primary",
  // Takes effect on replica sets alone, where the server knows a repeat and answers it as it did at first. On a standalone
  // server a lost reply is `unavailable`: every write here may be sent again.
  retryWrites: true,
  retryReads: true,
  serverSelectionTimeoutMS: 2_000,
  // Of one answer while connecting and of a heartbeat: above the 2 s that a slow server may take.
  connectTimeoutMS: 2_500,
  // Frees the connection of a silent server; the driver's own default waits for ever.
  socketTimeoutMS: 3_000,
  waitQueueTimeoutMS: 2_000,
  // Notices a silent server, and that it is back, within a few seconds.
  heartbeatFrequencyMS: 2_000,
  // Two batches of a worker at once, and point reads of a gateway; each connection costs the server up to 1 MB.
  maxPoolSize: 32,
  minPoolSize: 1,
  // After a restart of the server all connections are new.
  maxConnecting: 8,
  // Below the minutes after which firewalls forget a quiet connection.
  maxIdleTimeMS: 60_000,
  // An undefined that slips into a filter becomes null, which matches nothing; ignored, it would match everything.
  ignoreUndefined: false,
  // Bytes come back as `Buffer`; integers stay below 2^53 and come back as numbers.
  promoteBuffers: true,
  promoteValues: true,
  promoteLongs: true,
  serializeFunctions: false,
} as const satisfies MongoClientOptions;

/**
 * Connects and makes sure that the user may write. Rejects with `ConfigError` that names `MONGODB_URL` and repeats no password: at
 * once for what waiting does not mend, and after `startMs` when no server answers.
 */
export async function openMongo(options: MongoOptions): Promise<Mongo> {
  const { url, onError, deadlineMs = DEADLINE_MS, startMs = START_MS, hungMs = HUNG_MS } = options;
  const { client, db } = createClient(url);
  const renewal = renewWhereHung(client, {
    hungMs,
    onRenew: () => onError("The driver of MongoDB hangs, so it connects anew.", new Error("hung")),
  });
  try {
    await firstAnswer(client, db, startMs);
  } catch (error) {
    await renewal.stop();
    throw error;
  }
  const isAway = watchSilence(client, (message, error) => {
    if (!renewal.isUnderWay()) onError(message, error);
  });
  let closing: Promise<void> | null = null;
  const callWithin = async <T>(limitMs: number, work: () => Promise<T>): Promise<T> => {
    if (closing !== null) throw new AppError("unavailable", "The database is closed.");
    // The driver would look for a server for 2 s each time; its monitor knows already, and tells when one is back.
    if (isAway() || renewal.isUnderWay()) throw new AppError("unavailable", "The database is away.");
    return within(limitMs, renewal.watch(work()));
  };
  return {
    db,
    call: (work) => callWithin(deadlineMs, work),
    ready: async () => void (await callWithin(PING_MS, () => db.command({ ping: 1 }))),
    close: () => (closing ??= renewal.stop().then(() => closeFor(client, CLOSE_MS))),
  };
}

/** The driver's errors about a URL may quote it, so they are not repeated. */
function createClient(url: string): { readonly client: MongoClient; readonly db: Db } {
  try {
    const client = new MongoClient(url, OPTIONS);
    return { client, db: client.db(databaseIn(url)) };
  } catch {
    throw new ConfigError(
      "MONGODB_URL: is not an address like mongodb://user:password@host:27017/database (in the password, percent-encode @ : / ? # %)",
    );
  }
}

const databaseIn = (url: string): string =>
  decodeURIComponent(/^[^/]+:\/\/[^/?]*\/([^?]*)/.exec(url)?.[1] ?? "") || DEFAULT_DATABASE;

async function firstAnswer(client: MongoClient, db: Db, startMs: number): Promise<void> {
  const end = performance.now() + startMs;
  let reason = "";
  for (;;) {
    try {
      return await within(Math.max(end - performance.now(), RETRY_MS), probe(client, db));
    } catch (error) {
      const cause = error instanceof AppError ? error.cause : error;
      const refusal = refusalOf(cause);
      reason = networkCodeOf(cause) ?? reason;
      if (refusal === null && performance.now() + RETRY_MS < end) {
        await sleep(RETRY_MS);
        continue;
      }
      await closeFor(client, CLOSE_MS);
      const silence = `no MongoDB server answers at ${hostsOf(client)}${reason === "" ? "" : ` (${reason})`}`;
      throw new ConfigError(`MONGODB_URL: ${refusal ?? silence}`);
    }
  }
}

async function probe(client: MongoClient, db: Db): Promise<void> {
  // Where no server could be found, the driver looks for none again before it is told to.
  await client.connect();
  // Deletes from a collection that does not exist: the server checks it like any write, and it leaves no trace.
  await db.collection<{ _id: string }>("probe").deleteOne({ _id: "none" });
}

const hostsOf = (client: MongoClient): string => client.options.hosts.map(String).join(", ") || "this address";

/** Rejects with `unavailable` after the time is over, whatever becomes of the work then. */
function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new AppError("unavailable", "The database did not answer in time.")),
      limitMs,
    );
    work.then(resolve, (error: unknown) => reject(toAppError(error))).finally(() => clearTimeout(timer));
  });
}

/** Whether the driver's monitor knows no server that answers. Every failing request is logged already; the silence is told once. */
function watchSilence(client: MongoClient, onError: MongoOptions["onError"]): () => boolean {
  let isAway = false;
  client.on("topologyDescriptionChanged", ({ newDescription }) => {
    const wasAway = isAway;
    const servers = [...newDescription.servers.values()];
    isAway = servers.every(({ type }) => type === "Unknown");
    if (isAway && !wasAway) onError("MongoDB does not answer.", servers.find(({ error }) => error)?.error);
  });
  return () => isAway;
}
