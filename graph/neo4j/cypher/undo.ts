/**
 * What taking back writes, and what the rules leave with an identifier: all behind the lock, in parts that the plan is cut into. Each
 * answers in one row how many things it wrote; when that is fewer than it was given, something that the plan names does not exist.
 */

import { MOVE_MEMBERS } from "./writes.js";

/** Of a plan with very many of them, before the rest. */
export const MOVE = `CYPHER replan=skip ${MOVE_MEMBERS}
CALL () {
  UNWIND $q.moves AS move
  MATCH (into:Profile {id: move.into}) USING INDEX SEEK into:Profile(id)
  MATCH (gone:Profile {id: move.gone}) USING INDEX SEEK gone:Profile(id)
  WITH into, max(gone.rev) AS rev
  WHERE rev > coalesce(into.rev, 0)
  SET into.rev = rev
}`;

/** All at once and as late as possible: deletions in a transaction make every later seek in it slower. */
export const DROP = `CYPHER replan=skip
UNWIND $q.ids AS id
MATCH (gone:Profile {id: id}) USING INDEX SEEK gone:Profile(id)
DELETE gone`;

/** The links come anew with their new evidence, and perhaps the other way round. */
export const REVIVE = `CYPHER replan=skip
UNWIND $q.pairs AS pair
MATCH ()-[l:LINKED {key: pair}]->() USING INDEX SEEK l:LINKED(key)
WHERE l.removed_at IS NOT NULL
DELETE l
RETURN count(*)`;

/** The part that stays keeps the node; it may lose the smallest uid, and with it the id. */
export const STAY = `CYPHER replan=skip
UNWIND $q.stays AS stay
MATCH (p:Profile {id: stay.was}) USING INDEX SEEK p:Profile(id)
SET p.id = stay.id, p.size = stay.size, p.rev = coalesce(p.rev, 0) + 1, p.counts = stay.counts, p.forbidden = stay.forbidden
RETURN count(*)`;

/** As far on as the one that they come from, so that an id which comes back never shows a `rev` again. */
export const PART = `CYPHER replan=skip
UNWIND $q.parts AS part
MATCH (from:Profile {id: part.from}) USING INDEX SEEK from:Profile(id)
CREATE (:Profile {
  ws: $q.ws, id: part.id, hub: part.hub, size: part.size, rev: from.rev, counts: part.counts, forbidden: part.forbidden
})
RETURN count(*)`;

export const LEAVE = `CYPHER replan=skip
UNWIND $q.leaves AS leave
MATCH (part:Profile {id: leave.part}) USING INDEX SEEK part:Profile(id)
UNWIND leave.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
MATCH (i)-[old:OF]->(from)
WHERE from.id = leave.from OR from.id = leave.was
DELETE old
CREATE (i)-[:OF {hub: part.hub, uid: uid}]->(part)
RETURN count(*)`;

/** The profiles of both ends, as they are by now, have changed: by `raise`. */
export const CHANGE_ENDS = `CYPHER replan=skip
UNWIND $q.pairs AS pair
MATCH (a)-[l:LINKED {key: pair}]->(b) USING INDEX SEEK l:LINKED(key)
UNWIND [a, b] AS end
MATCH (end)-[:OF]->(place)
OPTIONAL MATCH (place)-[:ANNEX_OF]->(main)
WITH DISTINCT coalesce(main, place) AS p
SET p.rev = coalesce(p.rev, 0) + $q.raise`;

/** Links that lead out of sets of identifiers, with the sets' members by profile. */
export const BORDER = `CYPHER replan=skip
UNWIND range(0, size($q.sets) - 1) AS n
UNWIND $q.sets[n] AS key
MATCH (i:Identifier {key: key}) USING INDEX SEEK i:Identifier(key)
MATCH (i)-[:OF]->(p)
WHERE p.id IS NOT NULL
WITH n, p.id AS profile, collect(i) AS members
CALL (members) {
  UNWIND members AS m
  MATCH (m)-[l:LINKED]-(other)
  WHERE l.removed_at IS NULL AND NOT other IN members
  RETURN collect([m.uid, other.key, other.uid]) AS out
}
RETURN n, profile, [m IN members | m.uid] AS uids, out`;

/** The first member of a profile by uid that is not inside, also of those that are staged. */
export const FIRST_OUTSIDE = `CYPHER replan=skip
MATCH (p:Profile {id: $q.id}) USING INDEX SEEK p:Profile(id)
OPTIONAL MATCH (x:Annex)-[:ANNEX_OF]->(p)
WITH p, collect(x.hub) AS others
UNWIND [p.hub] + others AS hub
CALL (hub) {
  MATCH (m:Identifier)-[o:OF]->() USING INDEX SEEK o:OF(hub, uid)
  WHERE o.hub = hub AND o.uid > "" AND NOT o.uid IN $q.inside
  WITH o
  ORDER BY o.hub, o.uid
  LIMIT 1
  RETURN o.uid AS uid
}
RETURN uid
ORDER BY uid
LIMIT 1`;

export const REMOVE = `CYPHER replan=skip
UNWIND $q.removes AS r
MATCH (a)-[l:LINKED {key: r.key}]->(b) USING INDEX SEEK l:LINKED(key)
WHERE a.ws = $q.ws AND l.removed_at IS NULL
SET l.removed_at = datetime({epochMillis: r.at}), l.by = r.change
RETURN count(*)`;

export const RESTORE = `CYPHER replan=skip
UNWIND $q.restores AS r
MATCH (a)-[l:LINKED {key: r.key}]->(b) USING INDEX SEEK l:LINKED(key)
WHERE a.ws = $q.ws AND l.removed_at IS NOT NULL
SET l.removed_at = null, l.by = r.change
RETURN count(*)`;

export const UNLINK_MARKS = `CYPHER replan=skip
UNWIND $q.keys AS key
MATCH (i:Identifier {key: key}) USING INDEX SEEK i:Identifier(key)
WHERE i.ws = $q.ws
RETURN key, i.unlinked_at.epochMillis, i.unlinked_by, i.unlinked_before`;

export const UNLINK = `CYPHER replan=skip
UNWIND $q.unlinked AS u
MATCH (i:Identifier {key: u.key}) USING INDEX SEEK i:Identifier(key)
WHERE i.ws = $q.ws
SET i.unlinked_at = CASE WHEN u.at IS NULL THEN null ELSE datetime({epochMillis: u.at}) END, i.unlinked_by = u.change,
  i.unlinked_before = u.before
RETURN count(*)`;

export const NOTE_SEEN_WITH = `CYPHER replan=skip
UNWIND $q.seenWith AS t
MATCH (i:Identifier {key: t.key}) USING INDEX SEEK i:Identifier(key)
WHERE i.ws = $q.ws
SET i.seen_with = coalesce(i.seen_with, []) + [key IN t.seenWith WHERE NOT key IN coalesce(i.seen_with, [])]
FOREACH (_ IN CASE WHEN t.isShared THEN [1] ELSE [] END | SET i:SharedIdentifier)
FOREACH (_ IN CASE WHEN t.isShared THEN [] ELSE [1] END | REMOVE i:SharedIdentifier)
RETURN count(*)`;

export const FORBID = `CYPHER replan=skip
UNWIND $q.forbids AS f
MATCH (a:Identifier {key: f.from}) USING INDEX SEEK a:Identifier(key)
MATCH (b:Identifier {key: f.to}) USING INDEX SEEK b:Identifier(key)
CREATE (a)-[:FORBIDDEN {id: f.id, ws: $q.ws, change: f.change, key_id: f.key_id, at: datetime({epochMillis: f.at})}]->(b)
RETURN count(*)`;

export const ALLOW = `CYPHER replan=skip
UNWIND $q.allows AS id
MATCH ()-[n:FORBIDDEN {id: id}]->() USING INDEX SEEK n:FORBIDDEN(id)
WHERE n.ws = $q.ws
DELETE n
RETURN count(*)`;

/** Identifiers that a change names and that the step did not look at: they are its subjects too, if they exist. */
export const NAME = `CYPHER replan=skip
UNWIND $q.named AS named
MATCH (c:Change {id: named.change}) USING INDEX SEEK c:Change(id)
UNWIND named.keys AS key
MATCH (i:Identifier {key: key}) USING INDEX SEEK i:Identifier(key)
MERGE (c)-[:ABOUT]->(i)`;
