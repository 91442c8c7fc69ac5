/** What erasures left: see `erasure.ts`. */

/** Of keys and their tombs, by position. */
export const TOMBSTONES = `CYPHER replan=skip
CALL () {
  UNWIND range(0, size($q.tombs) - 1) AS n
  MATCH (t:Tombstone {tomb: $q.tombs[n]}) USING INDEX SEEK t:Tombstone(tomb)
  MATCH (t)-[:LEFT_BY]->(e)
  RETURN n, e, t.uid AS uid
  UNION ALL
  UNWIND range(0, size($q.keys) - 1) AS n
  MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
  MATCH (i)-[:OF]->(:Sealed)-[:SEALED_BY]->(e)
  RETURN n, e, i.uid AS uid
}
RETURN n, e.id, e.erased_at.epochMillis, e.suppress AND e.readmitted_at IS NULL, uid`;

/** Positions of those that are in a profile. */
export const LIVING_KEYS = `CYPHER replan=skip
UNWIND range(0, size($q.keys) - 1) AS n
MATCH (i:Identifier {key: $q.keys[n]}) USING INDEX SEEK i:Identifier(key)
MATCH (i)-[:OF]->(p)
WHERE i.ws = $q.ws AND p.id IS NOT NULL
RETURN n`;

export const LIVING_UIDS = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws AND NOT EXISTS { (i)-[:OF]->(:Sealed) }
RETURN uid`;

/** Here and as tombstones, of other workspaces. */
export const FOREIGN_UIDS = `CYPHER replan=skip
CALL () {
  UNWIND $q.uids AS uid
  MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
  WHERE i.ws <> $q.ws
  RETURN uid
  UNION
  UNWIND $q.uids AS uid
  MATCH (t:Tombstone {uid: uid}) USING INDEX SEEK t:Tombstone(uid)
  WHERE t.ws <> $q.ws
  RETURN uid
}
RETURN uid`;

export const BURIED = `CYPHER replan=skip
MATCH (t:Tombstone) USING INDEX SEEK t:Tombstone(erasure, tomb)
WHERE t.erasure = $q.id AND t.tomb > $q.after AND t.ws = $q.ws
WITH t
ORDER BY t.erasure, t.tomb
LIMIT toInteger($q.limit)
RETURN t.tomb, t.uid`;
