/**
 * All that is said to Neo4j. Each text is fixed, so its plan is made once: what a client sent stands in the one map `$q` alone.
 * The hints keep the plans right on an empty database as on a full one; then `replan=skip` saves the stalls of planning anew.
 *
 * (:Identifier {key, uid, ws, ns, value})-[:OF {hub, uid}]->(:Profile {ws, id, hub, size}): `hub` is the id that the profile
 * began with and keeps, so that its members stand in the index of `OF` in their order.
 * (:Identifier)-[:LINKED {key, change, source, event, key_id, at}]->(:Identifier), as asserted; a link that is taken back gets a
 * `removed_at` and stays. (:Change {id, ws, at, outcome, source, event, key_id, identifiers, before, after}): `id` sorts by age.
 * (:Workspace {id, seq}): its lock is the lock of all identity writes of the workspace.
 */

/** Made at every start, by several processes at once. */
export const SCHEMA: readonly string[] = [
  "CREATE CONSTRAINT onym_identifier_key IF NOT EXISTS FOR (i:Identifier) REQUIRE i.key IS UNIQUE",
  "CREATE CONSTRAINT onym_identifier_uid IF NOT EXISTS FOR (i:Identifier) REQUIRE i.uid IS UNIQUE",
  "CREATE CONSTRAINT onym_profile_id IF NOT EXISTS FOR (p:Profile) REQUIRE p.id IS UNIQUE",
  "CREATE CONSTRAINT onym_workspace_id IF NOT EXISTS FOR (w:Workspace) REQUIRE w.id IS UNIQUE",
  "CREATE CONSTRAINT onym_change_id IF NOT EXISTS FOR (c:Change) REQUIRE c.id IS UNIQUE",
  "CREATE CONSTRAINT onym_linked_key IF NOT EXISTS FOR ()-[l:LINKED]-() REQUIRE l.key IS UNIQUE",
  "CREATE INDEX onym_members IF NOT EXISTS FOR ()-[o:OF]-() ON (o.hub, o.uid)",
];

export const AWAIT_SCHEMA = "CALL db.awaitIndexes(8)";

export const PING = "RETURN 1";

/** A property is written first: that takes the lock, and what is read after it is what stands. */
const TAKE_LOCK = "MERGE (w:Workspace {id: $q.ws}) SET w.seq = coalesce(w.seq, 0) + 1 WITH w";

/** Positions instead of keys come back: they are shorter. */
const LOOK_PARTS = (scope: string): string => `
CALL (${scope}) {
  UNWIND range(0, size($q.keys) - 1) AS n
  MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
  MATCH (i)-[:OF]->(p:Profile)
  RETURN collect([n, i.uid, p.id, p.size]) AS found
}
CALL (${scope}) {
  UNWIND range(0, size($q.pairs) - 1) AS n
  MATCH ()-[l:LINKED {key: $q.pairs[n]}]->() USING INDEX SEEK l:LINKED(key)
  WHERE l.removed_at IS NULL
  RETURN collect(n) AS linked
}
RETURN found, linked`;

export const LOOK = `CYPHER replan=skip ${LOOK_PARTS("")}`;

export const LOCK = `CYPHER replan=skip ${TAKE_LOCK} RETURN w.seq`;

export const LOCK_AND_LOOK = `CYPHER replan=skip ${TAKE_LOCK} ${LOOK_PARTS("w")}`;

export const FIND_CHANGE = `CYPHER replan=skip
MATCH (c:Change {id: $q.change}) USING INDEX SEEK c:Change(id)
WHERE c.ws = $q.ws
RETURN c.id`;

const NEW_IDENTIFIER = "(:Identifier {key: m.key, uid: m.uid, ws: $q.ws, ns: m.ns, value: m.value})";

const FRESH = `
CALL () {
  UNWIND $q.fresh AS f
  CREATE (p:Profile {ws: $q.ws, id: f.id, hub: f.id, size: f.size})
  WITH p, f
  UNWIND f.members AS m
  CREATE ${NEW_IDENTIFIER}-[:OF {hub: f.id, uid: m.uid}]->(p)
}`;

/** The absorbed profiles go before the others take their ids over. */
const MOVES = `
CALL () {
  UNWIND $q.moves AS move
  MATCH (into:Profile {id: move.into}) USING INDEX SEEK into:Profile(id)
  MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
  MATCH (m)-[old:OF]->(gone)
  DELETE old
  CREATE (m)-[:OF {hub: into.hub, uid: m.uid}]->(into)
}
CALL () {
  UNWIND $q.moves AS move
  MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
  DELETE gone
}
CALL () {
  UNWIND $q.grown AS g
  MATCH (p:Profile {id: g.was}) USING INDEX SEEK p:Profile(id)
  SET p.id = g.id, p.size = g.size
}
CALL () {
  UNWIND $q.joins AS m
  MATCH (p:Profile {id: m.profile}) USING INDEX SEEK p:Profile(id)
  CREATE ${NEW_IDENTIFIER}-[:OF {hub: p.hub, uid: m.uid}]->(p)
}`;

const LINKS_AND_CHANGES = `
CALL () {
  UNWIND $q.links AS l
  MATCH (a:Identifier {key: l.from}) USING INDEX SEEK a:Identifier(key)
  MATCH (b:Identifier {key: l.to}) USING INDEX SEEK b:Identifier(key)
  CREATE (a)-[:LINKED {
    key: l.key, change: l.change, source: l.source, event: l.event, key_id: l.key_id, at: datetime({epochMillis: l.at})
  }]->(b)
}
CALL () {
  UNWIND $q.changes AS c
  CREATE (:Change {
    id: c.id, ws: $q.ws, at: datetime({epochMillis: c.at}), outcome: c.outcome, source: c.source, event: c.event,
    key_id: c.key_id, identifiers: c.identifiers, before: c.before, after: c.after
  })
}`;

/** Writes a plan whose names all stand in the picture that was read behind the lock. */
export const WRITE = `CYPHER replan=skip ${FRESH} ${MOVES} ${LINKS_AND_CHANGES}`;

/** Lock and plan in one, for identifiers that are all new: the constraint on their keys refuses it when one is not. */
export const WRITE_NEW = `CYPHER replan=skip ${TAKE_LOCK} ${FRESH.replace("()", "(w)")} ${LINKS_AND_CHANGES}`;

/** An identifier without a profile is one that a merge moves just then: its id and size come back as null. */
export const RESOLVE = `CYPHER replan=skip
CALL () {
  UNWIND range(0, size($q.uids) - 1) AS n
  MATCH (i:Identifier {uid: $q.uids[n]}) USING INDEX SEEK i:Identifier(uid)
  OPTIONAL MATCH (i)-[:OF]->(p:Profile)
  RETURN collect([n, i.ws, p.id, p.size]) AS found
}
RETURN found`;

/** The members of a profile that fits into the page as a whole; none of a larger one. */
export const WHOLE_PROFILE = `CYPHER replan=skip
MATCH (i:Identifier {uid: $q.uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws
OPTIONAL MATCH (i)-[:OF]->(p:Profile)
CALL (p) {
  WITH p
  WHERE p.size <= $q.limit
  MATCH (m)-[:OF]->(p)
  WITH m
  ORDER BY m.uid
  RETURN collect([m.uid, m.ns, m.value]) AS members
}
RETURN p.size AS size, members`;

/** By the index, in its order: a page costs what it shows, however large the profile is. */
export const PAGE_OF_MEMBERS = `CYPHER replan=skip
MATCH (i:Identifier {uid: $q.uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws
MATCH (i)-[:OF]->(p:Profile)
WITH p.hub AS hub
CALL (hub) {
  MATCH (m:Identifier)-[o:OF]->(:Profile) USING INDEX SEEK o:OF(hub, uid)
  WHERE o.hub = hub AND o.uid > $q.after
  WITH m, o
  ORDER BY o.hub, o.uid
  LIMIT toInteger($q.limit)
  RETURN collect([m.uid, m.ns, m.value]) AS members
}
RETURN members`;
