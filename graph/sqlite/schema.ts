import type { Tables } from "../../core/database.js";

/**
 * The graph's tables. Keys are BLOBs, since they hold what clients chose; uids and ids are ours and plain text. Of a key, the
 * namespace begins behind the 36 characters of the workspace and a colon. Rows name each other by small integers, so that a merge
 * writes few bytes; changes have their ids, 16 bytes in the order of age, and their evidence beside the record, because pages of links
 * show it for each. `components_by_id` is what a walk over all profiles
 * follows, and `identifiers_of_component` finds members by age and what a merge relabels. `shared` is the workspace of an
 * identifier beyond the shared identifier limit, so that few entries list them. A link stands once, the smaller row first; `forward`
 * says whether it was asserted that way round, and `by_change` is null while it stands as `change` asserted it. `links_reverse` finds
 * the neighbours on the other side: paths and splits search both ways. `change_subjects` says whom a change is about, so that a page
 * of a history reads no more than it shows.
 *
 * A profile that is erased is sealed first: its component gets a negative size and no workspace, so that nobody finds it or its members,
 * however many they are. Then it is taken apart. A member that comes back meanwhile loses its key to its successor. `returned` is 1 for
 * an identifier that was erased before. `unlinked_at` and `unlinked_by` are the latest mark of an unlink, by which the rules go, and
 * `unlinked_before` those behind it. `tombstones` are what is left: the HMAC of the key (`tomb`) and the uid, null for one that was in
 * no profile. `mentions` finds records of changes that name an identifier which did not exist then, or that they are not about.
 *
 * A step of a workspace in `watched` leaves in `moved` the ids of the profiles whose identifiers it changed.
 */
export const GRAPH_TABLES: Tables = {
  part: "graph",
  format: 8,
  sql: `
  CREATE TABLE components (
    id INTEGER PRIMARY KEY,
    ws TEXT NOT NULL,
    profile_id TEXT NOT NULL,
    size INTEGER NOT NULL CHECK (size <> 0),
    rev INTEGER NOT NULL DEFAULT 1,
    counts TEXT NOT NULL,
    forbidden TEXT
  );
  CREATE INDEX components_by_id ON components (ws, profile_id);
  CREATE TABLE identifiers (
    id INTEGER PRIMARY KEY,
    key BLOB UNIQUE,
    uid TEXT NOT NULL UNIQUE,
    component INTEGER NOT NULL REFERENCES components (id),
    unlinked_at INTEGER,
    unlinked_by BLOB,
    unlinked_before TEXT,
    shared TEXT,
    returned INTEGER,
    seen_with BLOB
  );
  CREATE INDEX identifiers_of_component ON identifiers (component, uid);
  CREATE INDEX shared_identifiers ON identifiers (shared, uid) WHERE shared IS NOT NULL;
  CREATE TABLE changes (
    id BLOB PRIMARY KEY,
    ws TEXT NOT NULL,
    outcome TEXT NOT NULL,
    source TEXT NOT NULL,
    key_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    record BLOB NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX changes_of_outcome ON changes (ws, outcome, id);
  CREATE TABLE change_subjects (
    identifier INTEGER NOT NULL,
    change BLOB NOT NULL,
    PRIMARY KEY (identifier, change)
  ) WITHOUT ROWID;
  CREATE TABLE links (
    a INTEGER NOT NULL REFERENCES identifiers (id),
    b INTEGER NOT NULL REFERENCES identifiers (id),
    forward INTEGER NOT NULL,
    change BLOB NOT NULL REFERENCES changes (id),
    by_change BLOB REFERENCES changes (id),
    removed_at INTEGER,
    PRIMARY KEY (a, b),
    CHECK (a < b)
  ) WITHOUT ROWID;
  CREATE INDEX links_reverse ON links (b, a);
  CREATE TABLE forbidden_pairs (
    ws TEXT NOT NULL,
    forbidden_pair_id TEXT NOT NULL,
    a INTEGER NOT NULL REFERENCES identifiers (id),
    b INTEGER NOT NULL REFERENCES identifiers (id),
    change BLOB NOT NULL REFERENCES changes (id),
    key_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (ws, forbidden_pair_id)
  ) WITHOUT ROWID;
  CREATE INDEX forbidden_pairs_a ON forbidden_pairs (a);
  CREATE INDEX forbidden_pairs_b ON forbidden_pairs (b);
  CREATE TABLE erasures (
    id TEXT PRIMARY KEY,
    ws TEXT NOT NULL,
    erased_at INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    profile_id TEXT,
    counts TEXT NOT NULL,
    suppress INTEGER NOT NULL,
    readmitted_at INTEGER,
    component INTEGER,
    strangers TEXT NOT NULL,
    links INTEGER NOT NULL,
    changes INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    rev INTEGER NOT NULL,
    removed TEXT NOT NULL,
    cursor TEXT,
    late_events INTEGER NOT NULL,
    late_last_at INTEGER,
    completed_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX erasures_of_workspace ON erasures (ws, id);
  CREATE INDEX erasures_by_time ON erasures (ws, erased_at);
  CREATE INDEX erasures_of_component ON erasures (component) WHERE component IS NOT NULL;
  CREATE INDEX erasures_under_way ON erasures (ws) WHERE gone = 0;
  CREATE INDEX open_erasures ON erasures (id) WHERE completed_at IS NULL;
  CREATE TABLE tombstones (
    erasure TEXT NOT NULL REFERENCES erasures (id),
    tomb TEXT NOT NULL,
    uid TEXT,
    PRIMARY KEY (erasure, tomb)
  ) WITHOUT ROWID;
  CREATE INDEX tombstones_by_tomb ON tombstones (tomb);
  CREATE INDEX tombstones_by_uid ON tombstones (uid) WHERE uid IS NOT NULL;
  CREATE TABLE mentions (
    tomb TEXT NOT NULL,
    change BLOB NOT NULL,
    PRIMARY KEY (tomb, change)
  ) WITHOUT ROWID;
  CREATE TABLE watched (ws TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE moved (
    ws TEXT NOT NULL,
    id TEXT NOT NULL,
    cause TEXT NOT NULL,
    profiles TEXT NOT NULL,
    PRIMARY KEY (ws, id)
  ) WITHOUT ROWID
  `,
};
