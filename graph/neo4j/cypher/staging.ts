/**
 * A step can move only so many members: more would take too much memory, and others would wait too long. So what a large profile absorbs
 * stays where it is, on a staging node (`Annex`), and is moved afterwards, in portions. What leaves a large profile is first moved to a
 * staging node, in portions, which then becomes a profile. Readers see no difference: a staging node has the properties of its profile.
 */

/** The staging nodes of absorbed profiles belong to the profile that absorbs them. */
export const REPOINT = `CYPHER replan=skip
UNWIND $q.moves AS move
MATCH (into:Profile {id: move.into}) USING INDEX SEEK into:Profile(id)
MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
MATCH (x:Annex)-[old:ANNEX_OF]->(gone)
DELETE old
CREATE (x)-[:ANNEX_OF]->(into)
SET into.annexed = true`;

export const ANNEX = `CYPHER replan=skip
UNWIND $q.moves AS move
MATCH (into:Profile {id: move.into}) USING INDEX SEEK into:Profile(id)
MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
CREATE (gone)-[:ANNEX_OF]->(into)
SET into.annexed = true, gone:Annex,
  into.rev = CASE WHEN coalesce(gone.rev, 0) > coalesce(into.rev, 0) THEN gone.rev ELSE into.rev END
REMOVE gone:Profile
RETURN count(*)`;

/** A step may have raised the `rev` of a staging node only. */
export const CATCH_UP = `CYPHER replan=skip
UNWIND $q.ids AS id
MATCH (p:Profile {id: id}) USING INDEX SEEK p:Profile(id)
MATCH (x:Annex)-[:ANNEX_OF]->(p)
WITH p, max(x.rev) AS rev
WHERE rev > p.rev
SET p.rev = rev`;

export const SPREAD = `CYPHER replan=skip
UNWIND $q.ids AS id
MATCH (p:Profile {id: id}) USING INDEX SEEK p:Profile(id)
MATCH (x:Annex)-[:ANNEX_OF]->(p)
SET x.id = p.id, x.size = p.size, x.rev = p.rev, x.counts = p.counts, x.forbidden = p.forbidden, x.annexed = true`;

/** Moves members of a profile to staging, if its `rev` is still in that range. */
export const STAGE = `CYPHER replan=skip
UNWIND $q.leaves AS leave
MATCH (p:Profile {id: leave.from}) USING INDEX SEEK p:Profile(id)
WHERE coalesce(p.rev, 0) >= $q.from AND coalesce(p.rev, 0) < $q.below
MERGE (x:Annex {hub: leave.hub})
ON CREATE SET x.ws = p.ws, x.id = p.id, x.size = p.size, x.rev = p.rev, x.counts = p.counts, x.forbidden = p.forbidden, x.annexed = true
MERGE (x)-[:ANNEX_OF]->(p)
SET x.until = timestamp() + $q.ms, p.annexed = true, p.stir = coalesce(p.stir, 0) + 1
WITH p, x, leave
UNWIND leave.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
MATCH (i)-[old:OF]->(from)
WHERE from.id = p.id
DELETE old
CREATE (i)-[:OF {hub: x.hub, uid: uid}]->(x)
RETURN count(*)`;

/** A staging node that holds all of a part and nobody else becomes that part. */
export const PART_STAGED = `CYPHER replan=skip
UNWIND $q.parts AS part
MATCH (x:Annex {hub: part.hub}) USING INDEX SEEK x:Annex(hub)
MATCH (x)-[old:ANNEX_OF]->(from)
WHERE from.id = part.from AND COUNT { (x)<-[:OF]-() } = part.size
DELETE old
SET x.id = part.id, x.size = part.size, x.rev = from.rev, x.counts = part.counts, x.forbidden = part.forbidden,
  x.annexed = null, x.until = null, x:Profile
REMOVE x:Annex
RETURN count(*)`;

/** No undo will make profiles of them any more. */
export const RELEASE = `CYPHER replan=skip
UNWIND $q.hubs AS hub
MATCH (x:Annex {hub: hub}) USING INDEX SEEK x:Annex(hub)
SET x.until = null`;

/**
 * Moves members from staging nodes that no undo holds to their profile and deletes empty nodes. Answers how much it did, and for how many
 * milliseconds others are held.
 */
export const BRING_OVER = `CYPHER replan=skip
MATCH (i:Identifier {uid: $q.uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws
MATCH (i)-[:OF]->(place)
OPTIONAL MATCH (place)-[:ANNEX_OF]->(main)
WITH coalesce(main, place) AS p
WHERE p.annexed
SET p.stir = coalesce(p.stir, 0) + 1
WITH p
CALL (p) {
  MATCH (x:Annex)-[:ANNEX_OF]->(p)
  WHERE x.until IS NULL OR x.until < timestamp()
  MATCH (m)-[old:OF]->(x)
  WITH m, old, p
  LIMIT toInteger($q.limit)
  DELETE old
  CREATE (m)-[:OF {hub: p.hub, uid: m.uid}]->(p)
  RETURN count(*) AS moved
}
CALL (p) {
  MATCH (x:Annex)-[:ANNEX_OF]->(p)
  WHERE NOT EXISTS { (x)<-[:OF]-() } AND (x.until IS NULL OR x.until < timestamp())
  WITH x
  LIMIT toInteger($q.limit)
  DETACH DELETE x
  RETURN count(*) AS dropped
}
CALL (p) {
  WITH p
  WHERE NOT EXISTS { (p)<-[:ANNEX_OF]-() }
  REMOVE p.annexed
}
CALL (p) {
  MATCH (x:Annex)-[:ANNEX_OF]->(p)
  RETURN max(x.until) - timestamp() AS held
}
RETURN moved + dropped, CASE WHEN held < 0 THEN 0 ELSE held END`;

/** What a process left behind that ended halfway. Reads every staging node; there are few. */
export const LEFT_BEHIND = "MATCH (:Annex)-[:ANNEX_OF]->(p:Profile) RETURN DISTINCT p.ws AS ws, p.id AS uid LIMIT 1000";
