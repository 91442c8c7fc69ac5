import { ConfigError } from "../../core/config.js";
import type { Database, Tables } from "../../core/database.js";
import { failureOf } from "./failure.js";

/**
 * Makes one part's tables in a file that has none of them, in one transaction. Throws when those that stand there have another format
 * than this build knows: it would read them wrongly.
 */
export function createTables(database: Database, { part, format, sql }: Tables): void {
  atOnce(database, () => {
    const isNew = database.prepare("SELECT count(*) FROM sqlite_master").get([])![0] === 0;
    database.prepare("CREATE TABLE IF NOT EXISTS formats (part TEXT PRIMARY KEY, format INTEGER NOT NULL)").run([]);
    const hasFormats = database.prepare("SELECT count(*) FROM formats").get([])![0] !== 0;
    const found = database.prepare("SELECT format FROM formats WHERE part = ?").get([part])?.[0];
    // A file with tables and no number was written before there were numbers.
    const stored = found ?? (isNew || hasFormats ? null : 0);
    if (stored === format) return;
    if (stored !== null)
      throw new ConfigError(
        `DATA_DIR: the data there has format ${Number(stored)} (${part}), and this build knows format ${format} alone`,
      );
    for (const statement of sql.split(";")) if (statement.trim() !== "") database.prepare(statement).run([]);
    database.prepare("INSERT INTO formats (part, format) VALUES (?, ?)").run([part, format]);
  });
}

/** A transaction of its own, now: for the start, when nobody else writes. */
export function atOnce<T>(database: Database, work: () => T): T {
  database.prepare("BEGIN IMMEDIATE").run([]);
  try {
    const answer = work();
    database.prepare("COMMIT").run([]);
    return answer;
  } catch (error) {
    // A full disk has already rolled it back; the caller must see the first error.
    if (failureOf(error) === null) database.prepare("ROLLBACK").run([]);
    throw error;
  }
}

/**
 * The tables of queue, events, profiles and catalog. Client-chosen text is a BLOB, because the driver cuts text at a NUL;
 * JSON that we wrote is TEXT, because it escapes the NUL and text is read in half the time. The position of an event that has a facet and
 * is not folded is empty: only a load from another store leaves one.
 */
export const STORE_TABLES: Tables = {
  part: "store",
  format: 19,
  sql: `
  CREATE TABLE messages (seq INTEGER PRIMARY KEY, message BLOB NOT NULL);
  CREATE TABLE queue (
    seq INTEGER PRIMARY KEY,
    attempts INTEGER NOT NULL DEFAULT 0,
    failed_at INTEGER,
    crashes INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE queue_lease (id INTEGER PRIMARY KEY CHECK (id = 1), seqs TEXT NOT NULL);

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    effective_ts TEXT NOT NULL,
    arrival BLOB NOT NULL,
    schema_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    crc INTEGER NOT NULL,
    reason BLOB,
    gone TEXT
  );
  CREATE INDEX events_of_schema ON events (schema_id, arrival) WHERE gone IS NULL;
  CREATE INDEX events_arrival ON events (arrival, schema_id, key_id);
  CREATE TABLE folds (
    seq INTEGER PRIMARY KEY,
    facet BLOB NOT NULL,
    position BLOB NOT NULL,
    profile_id BLOB NOT NULL,
    dropped TEXT
  );
  CREATE INDEX folds_timeline ON folds (facet, position);
  CREATE TABLE tallies (
    facet BLOB NOT NULL,
    tally BLOB NOT NULL,
    position BLOB NOT NULL,
    amount REAL,
    PRIMARY KEY (facet, tally, position)
  ) WITHOUT ROWID;
  CREATE TABLE dead_letters (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    ws TEXT,
    event_id TEXT,
    at INTEGER NOT NULL,
    kills_event INTEGER NOT NULL,
    reason BLOB NOT NULL,
    message BLOB NOT NULL,
    times INTEGER NOT NULL,
    replayed INTEGER NOT NULL,
    replayed_at INTEGER,
    key_id TEXT,
    schema_id TEXT,
    received_at INTEGER
  );
  CREATE INDEX dead_letters_open ON dead_letters (ws, at, id) WHERE times > replayed;
  -- What tells the open ones from the replayed is in them too: in its row, it stands behind the message.
  CREATE INDEX dead_letters_age ON dead_letters (ws, at, id, times, replayed);
  CREATE INDEX dead_letters_reason ON dead_letters (ws, reason, at, id, times, replayed);
  CREATE INDEX dead_letters_key ON dead_letters (ws, key_id, at, id, times, replayed);
  -- All that retention asks, so that a damaged page of the letters themselves keeps none of the others.
  CREATE INDEX dead_letters_received ON dead_letters (ws, schema_id, received_at, id, event_id, kills_event);
  CREATE INDEX dead_letters_event ON dead_letters (ws, event_id, at, id);

  CREATE TABLE names (
    tomb BLOB NOT NULL,
    is_letter INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (tomb, is_letter, seq)
  ) WITHOUT ROWID;

  CREATE TABLE facets (seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, rev INTEGER NOT NULL, facet TEXT NOT NULL);

  CREATE TABLE secrets (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL);
  CREATE TABLE workspaces (id TEXT PRIMARY KEY, name BLOB NOT NULL, created_at INTEGER NOT NULL);
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    ws TEXT NOT NULL,
    role TEXT NOT NULL,
    send TEXT,
    origins TEXT,
    per_minute INTEGER,
    name BLOB,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    successor TEXT,
    sender TEXT NOT NULL
  );
  CREATE INDEX keys_of_workspace ON keys (ws, id);
  CREATE TABLE schemas (
    ws TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    compatibility TEXT NOT NULL,
    linear INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    traits TEXT NOT NULL,
    schema BLOB NOT NULL,
    PRIMARY KEY (ws, id, version)
  );
  CREATE TABLE traits (
    ws TEXT NOT NULL,
    name BLOB NOT NULL,
    merge TEXT NOT NULL,
    registered_itself INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ws, name)
  ) WITHOUT ROWID;
  CREATE TABLE sdk (ws TEXT PRIMARY KEY, sdk TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE imports (ws TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE datasets (
    ws TEXT NOT NULL,
    id TEXT NOT NULL,
    schema_id TEXT NOT NULL,
    unified INTEGER NOT NULL,
    retention_days INTEGER,
    created_at INTEGER NOT NULL,
    name BLOB NOT NULL,
    PRIMARY KEY (ws, id)
  );
  CREATE INDEX datasets_unified ON datasets (ws, schema_id) WHERE unified = 1;
  CREATE TABLE namespaces (
    ws TEXT NOT NULL,
    name TEXT NOT NULL,
    namespace TEXT NOT NULL,
    PRIMARY KEY (ws, name)
  ) WITHOUT ROWID;
  CREATE TABLE identity_settings (ws TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID
  `,
};
