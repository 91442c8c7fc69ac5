import type { Database } from "../../core/database.js";
import { failureOf } from "./failure.js";

/** Statements separated by semicolons, none of which stands inside a literal. A step that was released never changes. */
export type Migration = string;

/**
 * Brings one part's tables up to date: each part counts its own steps. All in one transaction, before anything else is written.
 * Throws when the file was made by a newer build: an older one would read it wrongly.
 */
export function migrate(database: Database, part: string, steps: readonly Migration[]): void {
  atOnce(database, () => {
    database.prepare("CREATE TABLE IF NOT EXISTS migrations (part TEXT PRIMARY KEY, version INTEGER NOT NULL)").run([]);
    const version = Number(database.prepare("SELECT version FROM migrations WHERE part = ?").get([part])?.[0] ?? 0);
    if (version > steps.length)
      throw new Error(
        `The data was written by a newer version of Onym: ${part} ${version}, this one knows ${steps.length}.`,
      );
    for (const step of steps.slice(version)) runStep(database, step);
    if (version < steps.length)
      database.prepare("INSERT OR REPLACE INTO migrations (part, version) VALUES (?, ?)").run([part, steps.length]);
  });
}

function runStep(database: Database, step: Migration): void {
  for (const statement of step.split(";")) if (statement.trim() !== "") database.prepare(statement).run([]);
}

/** A transaction of its own, now: for the start, when nobody else writes. */
export function atOnce<T>(database: Database, work: () => T): T {
  database.prepare("BEGIN IMMEDIATE").run([]);
  try {
    const answer = work();
    database.prepare("COMMIT").run([]);
    return answer;
  } catch (error) {
    // A full disk has already undone it; what went wrong first is what the caller must see.
    if (failureOf(error) === null) database.prepare("ROLLBACK").run([]);
    throw error;
  }
}

/**
 * The tables of queue, events, profiles and catalog. Client-chosen text is a BLOB, because the driver cuts text at a NUL;
 * JSON that we wrote is TEXT, because it escapes the NUL and text is read in half the time.
 */
export const STORE_MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE queue (
    seq INTEGER PRIMARY KEY,
    message BLOB NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX queue_crashed ON queue (crashes, seq) WHERE crashes > 0;
  CREATE TABLE queue_lease (id INTEGER PRIMARY KEY CHECK (id = 1), seqs TEXT NOT NULL);

  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    effective_ts TEXT NOT NULL,
    crc INTEGER NOT NULL,
    reason BLOB,
    message BLOB NOT NULL
  );
  CREATE TABLE folds (
    seq INTEGER PRIMARY KEY,
    facet BLOB NOT NULL,
    position TEXT NOT NULL,
    profile_id TEXT NOT NULL,
    dropped TEXT
  );
  CREATE INDEX folds_timeline ON folds (facet, position);
  CREATE TABLE dead_letters (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    ws TEXT,
    event_id TEXT,
    at INTEGER NOT NULL,
    kills_event INTEGER NOT NULL,
    reason BLOB NOT NULL,
    message BLOB NOT NULL
  );
  CREATE INDEX dead_letters_age ON dead_letters (ws, at, id);
  CREATE INDEX dead_letters_reason ON dead_letters (ws, reason, at, id);
  CREATE INDEX dead_letters_event ON dead_letters (ws, event_id, at, id);

  CREATE TABLE facets (seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, rev INTEGER NOT NULL, facet TEXT NOT NULL);

  CREATE TABLE secrets (id INTEGER PRIMARY KEY CHECK (id = 1), secret BLOB NOT NULL);
  CREATE TABLE workspaces (id TEXT PRIMARY KEY, name BLOB NOT NULL, created_at INTEGER NOT NULL);
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    ws TEXT NOT NULL,
    role TEXT NOT NULL,
    ingest_only INTEGER NOT NULL,
    name BLOB,
    hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    successor TEXT
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
  CREATE TABLE traits (ws TEXT NOT NULL, name BLOB NOT NULL, merge TEXT NOT NULL, PRIMARY KEY (ws, name)) WITHOUT ROWID;
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
    registered_itself INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    PRIMARY KEY (ws, name)
  ) WITHOUT ROWID
  `,
  "CREATE TABLE identity_settings (ws TEXT PRIMARY KEY, settings TEXT NOT NULL) WITHOUT ROWID",
];
