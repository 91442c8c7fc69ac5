/**
 * The graph's tables, step by step; a step that was released never changes.
 * Keys are BLOBs, since they hold what clients chose; uids and ids are ours and plain text. Rows name each other by small
 * integers, so that a merge writes few bytes. `identifiers_of_component` finds members by age and what a merge relabels. A link
 * stands once, the smaller row first; `forward` says whether it was asserted that way round, and its evidence is that of its
 * change. `links_reverse` finds the neighbours on the other side: paths and splits search both ways.
 */
export const GRAPH_MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE components (
    id INTEGER PRIMARY KEY,
    ws TEXT NOT NULL,
    profile_id TEXT NOT NULL,
    size INTEGER NOT NULL CHECK (size > 0)
  );
  CREATE TABLE identifiers (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    uid TEXT NOT NULL UNIQUE,
    component INTEGER NOT NULL REFERENCES components (id)
  );
  CREATE INDEX identifiers_of_component ON identifiers (component, uid);
  CREATE TABLE changes (
    id INTEGER PRIMARY KEY,
    change_id TEXT NOT NULL UNIQUE,
    ws TEXT NOT NULL,
    record BLOB NOT NULL
  );
  CREATE TABLE links (
    a INTEGER NOT NULL REFERENCES identifiers (id),
    b INTEGER NOT NULL REFERENCES identifiers (id),
    forward INTEGER NOT NULL,
    change INTEGER NOT NULL REFERENCES changes (id),
    PRIMARY KEY (a, b),
    CHECK (a < b)
  ) WITHOUT ROWID;
  CREATE INDEX links_reverse ON links (b, a)
  `,
];
