/**
 * Erasing a person. In one step the profile becomes a (:Sealed)-[:SEALED_BY]->(:Erasure): it loses its id, its size and the name of its
 * index, so no read finds it or its members any more, however many they are. Then it is taken apart, and each member leaves a
 * (:Tombstone {tomb, uid, ws, erasure})-[:LEFT_BY]->(:Erasure): the HMAC of its key and its dead uid. A member that comes back meanwhile
 * leaves its key to its successor, as its links do when they are asserted anew, and its tombstone at once. An identifier that was erased
 * before is (:Returned) too.
 * (:Change)-[:NAMES]->(:Mention {tomb}) finds records that name an identifier which did not exist then, or that they are not about.
 */

const PLACE = `
MATCH (i)-[:OF]->(place)
OPTIONAL MATCH (place)-[:ANNEX_OF]->(main)
WITH n, coalesce(main, place) AS p`;

const PROFILE = "p.id, p.rev, p.counts, p.forbidden";

export const PROFILE_OF_UID = `CYPHER replan=skip
MATCH (i:Identifier {uid: $q.uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws
WITH 0 AS n, i ${PLACE}
WHERE p.id IS NOT NULL
RETURN n, ${PROFILE}`;

export const PROFILES_OF_KEYS = `CYPHER replan=skip
UNWIND range(0, size($q.keys) - 1) AS n
MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
WHERE i.ws = $q.ws
WITH n, i ${PLACE}
WHERE p.id IS NOT NULL
RETURN n, ${PROFILE}`;

export const ERASURE_OF_UID = `CYPHER replan=skip
CALL () {
  MATCH (t:Tombstone {uid: $q.uid}) USING INDEX SEEK t:Tombstone(uid)
  WHERE t.ws = $q.ws
  RETURN t.erasure AS id
  UNION
  MATCH (i:Identifier {uid: $q.uid}) USING INDEX SEEK i:Identifier(uid)
  MATCH (i)-[:OF]->(:Sealed)-[:SEALED_BY]->(e)
  WHERE i.ws = $q.ws
  RETURN e.id AS id
}
RETURN id
LIMIT 1`;

export const ERASURE = `[e.id, e.ws, e.erased_at.epochMillis, e.key_id, e.profile, e.counts, e.suppress, e.readmitted_at.epochMillis,
  e.links, e.changes, e.gone, e.rev, e.removed, e.cursor, e.late_events, e.late_last_at.epochMillis,
  e.completed_at.epochMillis, e.strangers]`;

const ONE = `
MATCH (e:Erasure {id: $q.id}) USING INDEX SEEK e:Erasure(id)
WHERE e.ws = $q.ws`;

export const FIND_ERASURE = `CYPHER replan=skip ${ONE} RETURN ${ERASURE}`;

export const FIND_ERASURES = `CYPHER replan=skip
UNWIND $q.ids AS id
MATCH (e:Erasure {id: id}) USING INDEX SEEK e:Erasure(id)
WHERE e.ws = $q.ws
RETURN ${ERASURE}`;

export const ERASURES = `CYPHER replan=skip
MATCH (e:Erasure) USING INDEX SEEK e:Erasure(ws, id)
WHERE e.ws = $q.ws AND e.id < $q.before
WITH e
ORDER BY e.ws DESC, e.id DESC
LIMIT toInteger($q.limit)
RETURN ${ERASURE}`;

export const LAST_ERASED = `CYPHER replan=skip
MATCH (e:Erasure) USING INDEX SEEK e:Erasure(ws, erased_at)
WHERE e.ws = $q.ws AND e.erased_at >= datetime({epochMillis: 0})
WITH e
ORDER BY e.ws DESC, e.erased_at DESC
LIMIT 1
RETURN e.erased_at.epochMillis`;

export const OPEN_ERASURES = `CYPHER replan=skip
MATCH (e:Erasure) USING INDEX SEEK e:Erasure(open, id)
WHERE e.open = true AND e.id > $q.after
WITH e
ORDER BY e.open, e.id
LIMIT toInteger($q.limit)
RETURN ${ERASURE}`;

export const UNDER_WAY = `CYPHER replan=skip
MATCH (e:Erasure) USING INDEX SEEK e:Erasure(ws, gone)
WHERE e.ws = $q.ws AND e.gone = false
RETURN e.id`;

export const HAS_ERASURES = `CYPHER replan=skip
MATCH (w:Workspace {id: $q.ws}) USING INDEX SEEK w:Workspace(id)
WHERE w.erased
RETURN w.id`;

const dateOf = (ms: string): string => `CASE WHEN ${ms} IS NULL THEN null ELSE datetime({epochMillis: ${ms}}) END`;

export const ON_CREATE_ERASURE = `ON CREATE SET e.ws = $q.ws, e.erased_at = datetime({epochMillis: $q.erased_at}), e.key_id = $q.key_id, e.profile = $q.profile,
  e.counts = $q.counts, e.suppress = $q.suppress, e.readmitted_at = ${dateOf("$q.readmitted_at")}, e.links = $q.links,
  e.changes = $q.changes, e.gone = $q.gone, e.rev = $q.rev, e.removed = $q.removed, e.cursor = $q.cursor,
  e.late_events = $q.late_events, e.late_last_at = ${dateOf("$q.late_last_at")},
  e.completed_at = ${dateOf("$q.completed_at")}, e.open = CASE WHEN $q.completed_at IS NULL THEN true ELSE null END,
  e.strangers = $q.strangers`;

/** Also tells the workspace that it has erasures: nobody writes there any more without looking at tombstones. */
export const WRITE_ERASURE = `CYPHER replan=skip
MERGE (w:Workspace {id: $q.ws})
SET w.erased = true
MERGE (e:Erasure {id: $q.id})
${ON_CREATE_ERASURE}`;

/** One that is given twice leaves one tombstone: no row sees what another one creates. */
export const BURY = `CYPHER replan=skip
MATCH (e:Erasure {id: $q.id}) USING INDEX SEEK e:Erasure(id)
WHERE e.ws = $q.ws
UNWIND $q.buried AS given
WITH e, given.tomb AS tomb, head(collect(given)) AS b
OPTIONAL MATCH (old:Tombstone {erasure: e.id, tomb: tomb}) USING INDEX SEEK old:Tombstone(erasure, tomb)
WITH e, b, old
WHERE old IS NULL
CREATE (:Tombstone {tomb: b.tomb, uid: b.uid, ws: e.ws, erasure: e.id})-[:LEFT_BY]->(e)`;

/** One of the records that name each of these: it tells who that is. */
export const RECORD_NAMING = `CYPHER replan=skip
UNWIND $q.tombs AS tomb
MATCH (m:Mention {tomb: tomb}) USING INDEX SEEK m:Mention(tomb)
CALL (m) {
  MATCH (m)<-[:NAMES]-(c:Change)
  RETURN c
  LIMIT 1
}
RETURN tomb, c.identifiers, c.dropped`;

/** Before they are buried: those whom records name and whom it has not buried yet become its strangers, and it is open for that. */
export const OPEN_FOR_STRANGERS = `CYPHER replan=skip ${ONE}
UNWIND $q.strangers AS tomb
OPTIONAL MATCH (old:Tombstone {erasure: e.id, tomb: tomb}) USING INDEX SEEK old:Tombstone(erasure, tomb)
WITH e, tomb, old
WHERE old IS NULL
WITH e, collect(tomb) AS strangers
SET e.strangers = e.strangers + strangers, e.gone = false, e.open = true, e.completed_at = null, e.rev = e.rev + 1`;

/** Its forbidden pairs end, and with them what the profiles on the other side know of them; answers the ids of those. */
export const END_PAIRS = `CYPHER replan=skip
UNWIND $q.forbidden AS id
MATCH (a)-[f:FORBIDDEN {id: id}]->(b) USING INDEX SEEK f:FORBIDDEN(id)
WHERE f.ws = $q.ws
UNWIND [a, b] AS end
MATCH (end)-[:OF]->(place)
OPTIONAL MATCH (place)-[:ANNEX_OF]->(main)
WITH f, id, coalesce(main, place) AS p
SET p.rev = p.rev + CASE WHEN p.id = $q.profile THEN 0 ELSE 1 END,
  p.forbidden = CASE WHEN all(one IN coalesce(p.forbidden, []) WHERE one = id) THEN null
    ELSE [one IN p.forbidden WHERE one <> id] END
WITH p.id AS profile, collect(DISTINCT f) AS pairs
FOREACH (f IN pairs | DELETE f)
RETURN DISTINCT profile`;

export const SEAL = `CYPHER replan=skip
MATCH (p:Profile {id: $q.profile}) USING INDEX SEEK p:Profile(id)
MATCH (e:Erasure {id: $q.id}) USING INDEX SEEK e:Erasure(id)
OPTIONAL MATCH (x:Annex)-[of:ANNEX_OF]->(p)
WITH p, e, collect(x) AS annexes, collect(of) AS ofs
FOREACH (of IN ofs | DELETE of)
FOREACH (s IN annexes + [p] |
  SET s:Sealed, s.ws = null, s.id = null, s.hub = null, s.size = null, s.rev = null, s.stir = null, s.counts = null,
    s.forbidden = null, s.annexed = null, s.until = null
  REMOVE s:Profile, s:Annex
  CREATE (s)-[:SEALED_BY]->(e)
)
RETURN 1`;

/** Members that are still there; one without a key came back meanwhile. */
export const SEALED_MEMBERS = `CYPHER replan=skip
MATCH (e:Erasure {id: $q.id}) USING INDEX SEEK e:Erasure(id)
MATCH (s:Sealed)-[:SEALED_BY]->(e)
MATCH (i:Identifier)-[:OF]->(s)
RETURN i.uid, i.key
LIMIT toInteger($q.max)`;

export const TOMBS_OF_UIDS = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (t:Tombstone {uid: uid}) USING INDEX SEEK t:Tombstone(uid)
RETURN uid, t.tomb`;

export const TAKE_LINKS = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
MATCH (i)-[l:LINKED]-()
WITH DISTINCT l
LIMIT toInteger($q.max)
DELETE l
RETURN count(*)`;

const RECORD = "c.id, c.identifiers, c.dropped";

/** Records about the members, no longer found by them. */
export const TAKE_RECORDS = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
MATCH (i)<-[about:ABOUT]-(c:Change)
WITH about, c
LIMIT toInteger($q.max)
DELETE about
RETURN ${RECORD}`;

export const TAKE_MENTIONS = `CYPHER replan=skip
UNWIND $q.tombs AS tomb
MATCH (m:Mention {tomb: tomb}) USING INDEX SEEK m:Mention(tomb)
MATCH (m)<-[names:NAMES]-(c:Change)
WITH names, c
LIMIT toInteger($q.max)
DELETE names
RETURN ${RECORD}`;

export const DROP_MENTIONS = `CYPHER replan=skip
UNWIND $q.tombs AS tomb
MATCH (m:Mention {tomb: tomb}) USING INDEX SEEK m:Mention(tomb)
WHERE NOT EXISTS { (m)<-[:NAMES]-() }
DELETE m`;

export const REWRITE_RECORDS = `CYPHER replan=skip
UNWIND $q.records AS r
MATCH (c:Change {id: r.id}) USING INDEX SEEK c:Change(id)
SET c.identifiers = r.identifiers, c.dropped = r.dropped`;

export const TAKE_MEMBERS = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
DETACH DELETE i`;

export const TOOK = `CYPHER replan=skip ${ONE} SET e.links = e.links + $q.links, e.changes = e.changes + $q.changes`;

/** Nothing is left of it. */
export const END_ERASURE = `CYPHER replan=skip ${ONE}
SET e.gone = true, e.strangers = []
WITH e
MATCH (s:Sealed)-[:SEALED_BY]->(e)
DETACH DELETE s`;

/** Members of a sealed profile leave their keys, and the keys of their links, to whoever comes now. A restore may have buried them before. */
export const TAKE_OUT = `CYPHER replan=skip
UNWIND $q.taken AS t
MATCH (i:Identifier {key: t.key}) USING INDEX SEEK i:Identifier(key)
MATCH (i)-[:OF]->(:Sealed)-[:SEALED_BY]->(e)
OPTIONAL MATCH (old:Tombstone {erasure: e.id, tomb: t.tomb}) USING INDEX SEEK old:Tombstone(erasure, tomb)
REMOVE i.key
WITH i, e, t, old
WHERE old IS NULL
CREATE (:Tombstone {tomb: t.tomb, uid: i.uid, ws: e.ws, erasure: e.id})-[:LEFT_BY]->(e)`;

export const TAKE_OUT_LINKS = `CYPHER replan=skip
UNWIND $q.pairs AS pair
MATCH (a)-[l:LINKED {key: pair}]->(b) USING INDEX SEEK l:LINKED(key)
WHERE EXISTS { (a)-[:OF]->(:Sealed) } OR EXISTS { (b)-[:OF]->(:Sealed) }
REMOVE l.key`;

export const MARK_RETURNED = `CYPHER replan=skip
UNWIND $q.keys AS key
MATCH (i:Identifier {key: key}) USING INDEX SEEK i:Identifier(key)
SET i:Returned`;

export const MENTION = `CYPHER replan=skip
UNWIND $q.mentions AS mention
MATCH (c:Change {id: mention.change}) USING INDEX SEEK c:Change(id)
UNWIND mention.tombs AS tomb
MERGE (m:Mention {tomb: tomb})
CREATE (c)-[:NAMES]->(m)`;

export const ADVANCE_ERASURE = `CYPHER replan=skip ${ONE} AND e.rev = $q.rev
SET e.rev = e.rev + 1, e.removed = $q.removed, e.cursor = $q.cursor, e.completed_at = ${dateOf("$q.completed_at")},
  e.open = CASE WHEN $q.completed_at IS NULL THEN true ELSE null END
RETURN ${ERASURE}`;

/** Once, however often a call is repeated whose answer was lost: `late_calls` are the last that were counted. */
export const COUNT_LATE = `CYPHER replan=skip ${ONE} AND NOT $q.call IN coalesce(e.late_calls, [])
SET e.late_calls = (coalesce(e.late_calls, []) + [$q.call])[-20..], e.late_events = e.late_events + $q.events,
  e.late_last_at = CASE
    WHEN e.late_last_at IS NULL OR e.late_last_at.epochMillis < $q.at THEN datetime({epochMillis: $q.at})
    ELSE e.late_last_at
  END`;

export const READMIT = `CYPHER replan=skip ${ONE}
FOREACH (_ IN CASE WHEN e.suppress AND e.readmitted_at IS NULL THEN [1] ELSE [] END |
  SET e.readmitted_at = datetime({epochMillis: $q.at})
)
RETURN ${ERASURE}`;

export const RENEW = `CYPHER replan=skip ${ONE}
SET e.rev = $q.rev, e.suppress = $q.suppress, e.erased_at = ${dateOf("$q.erased_at")},
  e.readmitted_at = ${dateOf("$q.readmitted_at")}, e.completed_at = ${dateOf("$q.completed_at")},
  e.open = CASE WHEN $q.completed_at IS NULL THEN true ELSE null END`;
