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
  /*
   * Taking back. `by_change` is null while a link stands as `change` asserted it. `shared_identifier` is the workspace of an identifier
   * beyond the shared identifier limit, so that few entries list them. Of a key, the namespace begins behind the 36 characters of the
   * workspace and a colon.
   * Changes get rows by their ids: 16 bytes in the order of age, one tree less to write to. Their evidence stands beside the
   * record, because pages of links show it for each. `change_subjects` says whom a change is about, so that a page of a history reads
   * no more than it shows.
   */
  `
  ALTER TABLE identifiers ADD COLUMN unlinked_at INTEGER;
  ALTER TABLE identifiers ADD COLUMN unlinked_by BLOB;
  ALTER TABLE identifiers ADD COLUMN shared TEXT;
  ALTER TABLE identifiers ADD COLUMN touched BLOB;
  CREATE INDEX shared_identifiers ON identifiers (shared, uid) WHERE shared IS NOT NULL;

  ALTER TABLE components ADD COLUMN rev INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE components ADD COLUMN counts TEXT NOT NULL DEFAULT '';
  ALTER TABLE components ADD COLUMN forbidden TEXT;
  UPDATE components SET counts = (
    SELECT group_concat(iif(found = 1, namespace, namespace || '=' || found)) FROM (
      SELECT CAST(substr(key, 38, instr(substr(key, 38), X'3A') - 1) AS TEXT) AS namespace, count(*) AS found
      FROM identifiers WHERE component = components.id GROUP BY namespace
    )
  );

  CREATE TABLE new_changes (
    id BLOB PRIMARY KEY,
    ws TEXT NOT NULL,
    outcome TEXT NOT NULL,
    source TEXT NOT NULL,
    key_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    record BLOB NOT NULL
  ) WITHOUT ROWID;
  INSERT INTO new_changes
    SELECT unhex(replace(change_id, '-', '')), ws, json ->> '$.outcome', json ->> '$.evidence.source',
      json ->> '$.evidence.keyId', json ->> '$.evidence.at', record
    FROM (SELECT change_id, ws, record, CAST(record AS TEXT) AS json FROM changes) ORDER BY change_id;
  CREATE TABLE new_links (
    a INTEGER NOT NULL REFERENCES identifiers (id),
    b INTEGER NOT NULL REFERENCES identifiers (id),
    forward INTEGER NOT NULL,
    change BLOB NOT NULL REFERENCES new_changes (id),
    by_change BLOB REFERENCES new_changes (id),
    removed_at INTEGER,
    PRIMARY KEY (a, b),
    CHECK (a < b)
  ) WITHOUT ROWID;
  INSERT INTO new_links (a, b, forward, change)
    SELECT l.a, l.b, l.forward, unhex(replace(c.change_id, '-', ''))
    FROM links l CROSS JOIN changes c ON c.id = l.change ORDER BY l.a, l.b;
  DROP TABLE links;
  DROP TABLE changes;
  ALTER TABLE new_changes RENAME TO changes;
  ALTER TABLE new_links RENAME TO links;
  CREATE INDEX links_reverse ON links (b, a);
  CREATE INDEX changes_of_outcome ON changes (ws, outcome, id);

  CREATE TABLE change_subjects (
    identifier INTEGER NOT NULL,
    change BLOB NOT NULL,
    PRIMARY KEY (identifier, change)
  ) WITHOUT ROWID;
  INSERT INTO change_subjects
    SELECT i.id, c.id
    FROM changes c CROSS JOIN json_each(CAST(c.record AS TEXT), '$.identifiers') named CROSS JOIN identifiers i
    WHERE i.key = CAST(c.ws || ':' || (named.value ->> '$.namespace') || ':' || (named.value ->> '$.value') AS BLOB)
    UNION
    SELECT i.id, c.id
    FROM changes c CROSS JOIN json_each(CAST(c.record AS TEXT), '$.before') profile CROSS JOIN identifiers i
    WHERE i.uid = profile.value
    UNION
    SELECT i.id, c.id
    FROM changes c CROSS JOIN identifiers i WHERE i.uid = CAST(c.record AS TEXT) ->> '$.after';

  CREATE TABLE forbidden_pairs (
    ws TEXT NOT NULL,
    forbidden_pair_id TEXT NOT NULL,
    a INTEGER NOT NULL REFERENCES identifiers (id),
    b INTEGER NOT NULL REFERENCES identifiers (id),
    change BLOB NOT NULL REFERENCES changes (id),
    key_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (ws, forbidden_pair_id)
  ) WITHOUT ROWID
  `,
];
