/**
 * What the hot paths say to Neo4j. Each text is fixed, so its plan is made once: what a client sent stands in the one map `$q` alone.
 * The hints keep the plans right on an empty database as on a full one; then `replan=skip` saves the stalls of planning anew.
 *
 * (:Identifier {key, uid, ws, ns, value, unlinked_at, unlinked_by, unlinked_before, seen_with})-[:OF {hub, uid}]->(:Profile {ws, id,
 * hub, size, rev, counts, never}). `hub` is a name that the profile keeps, so that its members stand in the index of `OF` in their
 * order. `rev` is higher after each step that changed it, `counts` says how many identifiers of each namespace it has (JSON),
 * `forbidden` which forbidden pairs have a side in it. `unlinked_at` and `unlinked_by` are time and change of the latest unlink that
 * nobody reverted, `unlinked_before` those of the others (texts, see `marks.ts`); `seen_with` are keys of limited namespaces that a rule
 * kept apart from it. One that is beyond the shared identifier limit is a (:SharedIdentifier) too.
 * While a large profile is put together or taken apart, some of its members stand with an (:Annex)-[:ANNEX_OF]->(:Profile) that
 * says of itself all that the profile does; `annexed` says on both that there are such. `stir` is higher whenever members changed
 * their place between them.
 * (:Identifier)-[:LINKED {key, change, source, event, key_id, at, by, removed_at}]->(:Identifier), as asserted; a link that is taken
 * back gets a `removed_at` and stays. `by` is the change that removed or restored it, absent while it is as `change` asserted it.
 * (:Identifier)-[:FORBIDDEN {id, ws, change, key_id, at}]->(:Identifier): a forbidden pair.
 * (:Change {id, ws, at, asked_at, outcome, source, event, key_id, identifiers, before, after, dropped, rule, reverts, forbids}): `id`
 * sorts by age; `asked_at` stands there when the request was older than `at`. (:Change)-[:ABOUT]->(:Identifier): those that it names, and
 * those whose uid is a profile id before or after it.
 * What erasures leave stands in `erasure.ts`; `erased` says that a workspace has any.
 * (:Moved {ws, id, cause, profiles}): profiles whose identifiers a step changed, in a workspace that is `watched`.
 * (:Workspace {id, seq, erased, watched}): its lock is the lock of all identity writes of the workspace. (:Onym {name, format}): the format of all this.
 */

/** Another number whenever the stored format changes; a build knows only one. */
export const FORMAT = 6;

/** Without it two processes could each create one. */
export const FORMAT_CONSTRAINT = "CREATE CONSTRAINT onym_name IF NOT EXISTS FOR (v:Onym) REQUIRE v.name IS UNIQUE";

/** The format of what stands there, now written if the graph is empty. What was written before there were numbers has format 0. */
export const TAKE_FORMAT = `
OPTIONAL MATCH (i:Identifier)
WITH i LIMIT 1
MERGE (v:Onym {name: 'identity graph'})
ON CREATE SET v.format = CASE WHEN i IS NULL THEN $q.format ELSE 0 END
RETURN coalesce(v.format, 0)`;

/** Created at every start, perhaps by several processes at once. */
export const SCHEMA: readonly string[] = [
  "CREATE CONSTRAINT onym_identifier_key IF NOT EXISTS FOR (i:Identifier) REQUIRE i.key IS UNIQUE",
  "CREATE CONSTRAINT onym_identifier_uid IF NOT EXISTS FOR (i:Identifier) REQUIRE i.uid IS UNIQUE",
  "CREATE CONSTRAINT onym_profile_id IF NOT EXISTS FOR (p:Profile) REQUIRE p.id IS UNIQUE",
  "CREATE CONSTRAINT onym_annex_hub IF NOT EXISTS FOR (x:Annex) REQUIRE x.hub IS UNIQUE",
  "CREATE CONSTRAINT onym_workspace_id IF NOT EXISTS FOR (w:Workspace) REQUIRE w.id IS UNIQUE",
  "CREATE CONSTRAINT onym_change_id IF NOT EXISTS FOR (c:Change) REQUIRE c.id IS UNIQUE",
  "CREATE CONSTRAINT onym_linked_key IF NOT EXISTS FOR ()-[l:LINKED]-() REQUIRE l.key IS UNIQUE",
  "CREATE CONSTRAINT onym_forbidden_pair_id IF NOT EXISTS FOR ()-[n:FORBIDDEN]-() REQUIRE n.id IS UNIQUE",
  "CREATE INDEX onym_members IF NOT EXISTS FOR ()-[o:OF]-() ON (o.hub, o.uid)",
  "CREATE INDEX onym_profiles IF NOT EXISTS FOR (p:Profile) ON (p.ws, p.id)",
  "CREATE INDEX onym_forbidden_pairs IF NOT EXISTS FOR ()-[n:FORBIDDEN]-() ON (n.ws, n.id)",
  "CREATE INDEX onym_changes IF NOT EXISTS FOR (c:Change) ON (c.ws, c.outcome, c.id)",
  "CREATE CONSTRAINT onym_erasure_id IF NOT EXISTS FOR (e:Erasure) REQUIRE e.id IS UNIQUE",
  "CREATE CONSTRAINT onym_mention_tomb IF NOT EXISTS FOR (m:Mention) REQUIRE m.tomb IS UNIQUE",
  "CREATE INDEX onym_erasures IF NOT EXISTS FOR (e:Erasure) ON (e.ws, e.id)",
  "CREATE INDEX onym_erasures_by_time IF NOT EXISTS FOR (e:Erasure) ON (e.ws, e.erased_at)",
  "CREATE INDEX onym_open_erasures IF NOT EXISTS FOR (e:Erasure) ON (e.open, e.id)",
  "CREATE INDEX onym_erasures_under_way IF NOT EXISTS FOR (e:Erasure) ON (e.ws, e.gone)",
  "CREATE INDEX onym_tombstones IF NOT EXISTS FOR (t:Tombstone) ON (t.tomb)",
  "CREATE INDEX onym_tombstones_by_uid IF NOT EXISTS FOR (t:Tombstone) ON (t.uid)",
  "CREATE INDEX onym_tombstones_of_erasure IF NOT EXISTS FOR (t:Tombstone) ON (t.erasure, t.tomb)",
  "CREATE INDEX onym_moved IF NOT EXISTS FOR (m:Moved) ON (m.ws, m.id)",
  "CREATE INDEX onym_shared_identifiers IF NOT EXISTS FOR (c:SharedIdentifier) ON (c.ws, c.uid)",
];

/** What stands and can be used, by name. The index of a constraint has its name, and an owner once the constraint stands as well. */
export const READY_SCHEMA =
  "SHOW INDEXES YIELD name, state, owningConstraint WHERE state = 'ONLINE' RETURN name, owningConstraint";

export const AWAIT_SCHEMA = "CALL db.awaitIndexes(45)";

export const PING = "RETURN 1";

/** Writing a property first takes the lock; what is read after it is current. */
const TAKE_LOCK = "MERGE (w:Workspace {id: $q.ws}) SET w.seq = coalesce(w.seq, 0) + 1 WITH w";

/** Answers positions instead of keys, because they are shorter. An end without a key is erased: its successor has the key, not its links. */
export const LOOK = `CYPHER replan=skip
CALL () {
  UNWIND range(0, size($q.keys) - 1) AS n
  MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
  MATCH (i)-[:OF]->(p)
  RETURN collect([n, i.uid, p.id, p.size, i:SharedIdentifier, i:Returned]) AS found
}
CALL () {
  UNWIND range(0, size($q.pairs) - 1) AS n
  MATCH (a)-[l:LINKED {key: $q.pairs[n]}]->(b) USING INDEX SEEK l:LINKED(key)
  WHERE l.removed_at IS NULL AND a.key IS NOT NULL AND b.key IS NOT NULL
  RETURN collect(n) AS linked
}
RETURN found, linked`;

/**
 * Of couples of keys and their links, each at its position: id and size of the profile that holds both, the positions of those that are
 * no repeats, which of these have an end that stands, and those with a shared identifier. It says the same as `repeatIn`, as the
 * contract of `repeats` checks: the order of its reads is what makes it true without a lock. The profile of each end is read before its
 * link is found to stand, so that what an unlink of the two takes apart meanwhile never looks whole. A link that is just replaced may
 * be met twice: no row stands for another's position.
 */
export const REPEATS = `CYPHER replan=skip
CALL () {
  UNWIND range(0, size($q.links) - 1) AS n
  OPTIONAL MATCH (a)-[l:LINKED {key: $q.links[n]}]->(b) USING INDEX SEEK l:LINKED(key)
  OPTIONAL MATCH (a)-[:OF]->(p)
  OPTIONAL MATCH (b)-[:OF]->(o)
  RETURN collect(n) AS at, collect(coalesce(p.id, "")) AS ids, collect(coalesce(p.size, 0)) AS sizes,
    collect(coalesce(CASE a.key WHEN $q.ends[2 * n] THEN a.uid ELSE b.uid END, "")) AS facets,
    collect([n, l, coalesce((o = p OR o.id = p.id) AND NOT a:Returned AND NOT b:Returned, false)]) AS seen,
    collect(CASE WHEN a:SharedIdentifier OR b:SharedIdentifier THEN n END) AS shared
}
WITH at, ids, sizes, facets, shared, [
  s IN seen WHERE NOT s[2] OR s[1].key IS NULL OR s[1].removed_at IS NOT NULL | s[0]
] AS missed
CALL (missed) {
  UNWIND missed AS n
  UNWIND [2 * n, 2 * n + 1] AS end
  MATCH (i:Identifier {key: $q.ends[end]}) USING INDEX SEEK i:Identifier(key)
  RETURN collect(n) AS known
}
RETURN at, ids, sizes, missed, known, facets, shared`;

export const LOCK = `CYPHER replan=skip ${TAKE_LOCK} RETURN w.seq`;

/** Also reads what the rules need. `$q.asked` are the positions whose neighbours count; none when no rule asks. */
const RULES_PARTS = (scope: string): string => `
CALL (${scope}) {
  UNWIND range(0, size($q.keys) - 1) AS n
  MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
  MATCH (i)-[:OF]->(p)
  WITH p, collect([
    n, i.uid, i.unlinked_at.epochMillis, i:SharedIdentifier, CASE WHEN $q.asked = [] THEN null ELSE i.seen_with END,
    i:Returned, CASE WHEN $q.keys[n] = $q.mark.key THEN
      i.unlinked_by = $q.mark.by OR any(one IN coalesce(i.unlinked_before, []) WHERE one ENDS WITH $q.mark.by)
    END
  ]) AS locations
  RETURN collect([p.id, p.size, p.rev, p.counts, p.forbidden, p.annexed, locations]) AS found
}
CALL (${scope}) {
  UNWIND range(0, size($q.pairs) - 1) AS n
  MATCH (a)-[l:LINKED {key: $q.pairs[n]}]->(b) USING INDEX SEEK l:LINKED(key)
  RETURN collect([n, l.removed_at.epochMillis, l.by, a.key IS NULL OR b.key IS NULL]) AS links
}
CALL (${scope}) {
  UNWIND $q.asked AS n
  MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
  CALL (i) {
    MATCH (i)-[l:LINKED]-(other)
    WITH l, other
    LIMIT 1000
    WHERE l.removed_at IS NULL AND other.ns IN $q.limited
    WITH other
    LIMIT toInteger($q.seenWithMax)
    RETURN collect(other.key) AS others
  }
  WITH n, others
  WHERE others <> []
  RETURN collect([n, others]) AS seenWith
}
RETURN found, links, seenWith, w.erased`;

export const RULES = `CYPHER replan=skip
OPTIONAL MATCH (w:Workspace {id: $q.ws}) USING INDEX SEEK w:Workspace(id)
WITH w ${RULES_PARTS("w")}`;

export const LOCK_AND_RULES = `CYPHER replan=skip ${TAKE_LOCK} ${RULES_PARTS("w")}`;

export const FIND_CHANGE = `CYPHER replan=skip
MATCH (c:Change {id: $q.change}) USING INDEX SEEK c:Change(id)
WHERE c.ws = $q.ws
RETURN c.id`;

const NEW_IDENTIFIER = "(:Identifier {key: m.key, uid: m.uid, ws: $q.ws, ns: m.ns, value: m.value})";

const FRESH = (scope: string, then: string): string => `
CALL (${scope}) {
  UNWIND $q.fresh AS f
  CREATE (p:Profile {ws: $q.ws, id: f.id, hub: f.id, size: f.size, rev: 1, counts: f.counts, forbidden: f.forbidden})
  WITH p, f
  UNWIND f.members AS m
  CREATE (i${NEW_IDENTIFIER.slice(1)}-[:OF {hub: f.id, uid: m.uid}]->(p)
  ${then}
}`;

/** Of the absorbed profiles. */
export const MOVE_MEMBERS = `
CALL () {
  UNWIND $q.moves AS move
  MATCH (into:Profile {id: move.into}) USING INDEX SEEK into:Profile(id)
  MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
  MATCH (m)-[old:OF]->(gone)
  DELETE old
  CREATE (m)-[:OF {hub: into.hub, uid: m.uid}]->(into)
}`;

/** The absorbed profiles go before the others take their ids over; no `rev` falls behind one that was handed out. */
const MOVES = `${MOVE_MEMBERS}
CALL () {
  UNWIND $q.moves AS move
  MATCH (into:Profile {id: move.into}) USING INDEX SEEK into:Profile(id)
  MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
  SET into.rev = CASE WHEN gone.rev > into.rev THEN gone.rev ELSE into.rev END
  DELETE gone
}`;

const GROWN = `
CALL () {
  UNWIND $q.grown AS g
  MATCH (p:Profile {id: g.was}) USING INDEX SEEK p:Profile(id)
  SET p.id = g.id, p.size = g.size, p.rev = p.rev + 1,
    p.counts = coalesce(g.counts, p.counts), p.forbidden = coalesce(g.forbidden, p.forbidden)
}
CALL () {
  UNWIND $q.joins AS m
  MATCH (p:Profile {id: m.profile}) USING INDEX SEEK p:Profile(id)
  CREATE ${NEW_IDENTIFIER}-[:OF {hub: p.hub, uid: m.uid}]->(p)
}`;

const NEW_LINK = `(a)-[:LINKED {
    key: l.key, change: l.change, source: l.source, event: l.event, key_id: l.key_id, at: datetime({epochMillis: l.at})
  }]->(b)`;

export const NEW_CHANGE = `(change:Change {
    id: c.id, ws: $q.ws, at: datetime({epochMillis: c.at}),
    asked_at: CASE WHEN c.asked_at IS NULL THEN null ELSE datetime({epochMillis: c.asked_at}) END,
    outcome: c.outcome, source: c.source, event: c.event, key_id: c.key_id, identifiers: c.identifiers,
    before: c.before, after: c.after, dropped: c.dropped, rule: c.rule, reverts: c.reverts, forbids: c.forbids
  })`;

const LINKS_AND_CHANGES = `
CALL () {
  UNWIND $q.links AS l
  MATCH (a:Identifier {key: l.from}) USING INDEX SEEK a:Identifier(key)
  MATCH (b:Identifier {key: l.to}) USING INDEX SEEK b:Identifier(key)
  CREATE ${NEW_LINK}
}
CALL () {
  UNWIND $q.changes AS c
  CREATE ${NEW_CHANGE}
  WITH change, c
  UNWIND c.about AS uid
  MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
  CREATE (change)-[:ABOUT]->(i)
}`;

const MOVED = "(:Moved {ws: $q.ws, id: m.id, cause: m.cause, profiles: m.profiles})";

const NOTE_MOVED_OF_WATCHED = `
CALL () {
  UNWIND $q.moved AS m
  MATCH (w:Workspace {id: $q.ws}) USING INDEX SEEK w:Workspace(id)
  WHERE w.watched
  CREATE ${MOVED}
}`;

/** Writes a plan that names only what the snapshot read under the lock has. */
export const WRITE = `CYPHER replan=skip ${FRESH("", "")} ${MOVES} ${GROWN} ${LINKS_AND_CHANGES} ${NOTE_MOVED_OF_WATCHED}`;

/**
 * Lock and plan in one, for identifiers that are all new: the constraint on their keys refuses it when one is not. Links and changes
 * name them by their positions. Answers no row, and writes nothing, if the workspace has erasures: one of them may be of somebody erased.
 */
export const WRITE_NEW = `CYPHER replan=skip ${TAKE_LOCK} WHERE w.erased IS NULL ${FRESH("w", "RETURN collect(i) AS made")}
CALL (made) {
  UNWIND $q.links AS l
  WITH l, made[l.from] AS a, made[l.to] AS b
  CREATE ${NEW_LINK}
}
CALL (made) {
  UNWIND $q.changes AS c
  CREATE ${NEW_CHANGE}
  WITH change, c, made
  UNWIND c.about AS n
  WITH change, made[n] AS i
  CREATE (change)-[:ABOUT]->(i)
}
CALL (w) {
  UNWIND CASE WHEN w.watched THEN $q.moved ELSE [] END AS m
  CREATE ${MOVED}
}
RETURN 1`;

/** An identifier without a profile is being moved by a merge: its id and size come back as null. */
export const RESOLVE = `CYPHER replan=skip
CALL () {
  UNWIND range(0, size($q.uids) - 1) AS n
  MATCH (i:Identifier {uid: $q.uids[n]}) USING INDEX SEEK i:Identifier(uid)
  OPTIONAL MATCH (i)-[:OF]->(p)
  RETURN collect([n, i.ws, p.id, p.size]) AS found
}
RETURN found`;
