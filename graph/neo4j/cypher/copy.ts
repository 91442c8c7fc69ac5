/**
 * What dumps and loads say: each reads a page by the index of a unique id, and writes only what does not stand. A dump runs while nobody
 * writes, or is content with what each page sees. Without the hint, a small graph is scanned for each page, also once it is large.
 */
import { ERASURE, ON_CREATE_ERASURE } from "./erasure.js";
import { CHANGE } from "./reads.js";
import { NEW_CHANGE } from "./writes.js";

const page = (match: string, id: string, row: string): string => `CYPHER replan=skip
${match}
WHERE ${id} > $q.after
WITH *
ORDER BY ${id}
LIMIT toInteger($q.limit)
RETURN ${id}, ${row}`;

/** By an index of two properties, none of which holds a space: what has the same first one, and what comes after it. */
const pageByTwo = (label: string, first: string, second: string, row: string): string => `CYPHER replan=skip
CALL () {
  MATCH (n:${label}) USING INDEX SEEK n:${label}(${first}, ${second})
  WHERE n.${first} = split($q.after, ' ')[0] AND n.${second} > split($q.after, ' ')[1]
  WITH n
  ORDER BY n.${first}, n.${second}
  LIMIT toInteger($q.limit)
  RETURN n
  UNION ALL
  MATCH (n:${label}) USING INDEX SEEK n:${label}(${first}, ${second})
  WHERE n.${first} > split($q.after, ' ')[0] AND n.${second} IS NOT NULL
  WITH n
  ORDER BY n.${first}, n.${second}
  LIMIT toInteger($q.limit)
  RETURN n
}
WITH n
ORDER BY n.${first}, n.${second}
LIMIT toInteger($q.limit)
RETURN n.${first} + ' ' + n.${second}, ${row}`;

export const DUMP_CHANGES = page("MATCH (c:Change) USING INDEX SEEK c:Change(id)", "c.id", `c.ws, ${CHANGE}`);

export const DUMP_PROFILES = page(
  "MATCH (p:Profile) USING INDEX SEEK p:Profile(id)",
  "p.id",
  "p.ws, p.size, p.rev, p.counts, p.forbidden",
);

/** Through a staging node too: it says of itself what its profile does. */
export const DUMP_IDENTIFIERS = page(
  "MATCH (i:Identifier) USING INDEX SEEK i:Identifier(uid)",
  "i.uid",
  `i.ws, i.ns, i.value, [(i)-[:OF]->(p) | p.id][0], i.unlinked_at.epochMillis, i.unlinked_by, i.unlinked_before,
  i:SharedIdentifier, i:Returned, i.seen_with, EXISTS { (i)-[:OF]->(:Sealed) }`,
);

export const DUMP_LINKS = page(
  "MATCH (a)-[l:LINKED]->(b) USING INDEX SEEK l:LINKED(key)",
  "l.key",
  `a.ws, a.uid, b.uid, l.change, coalesce(l.event, l.source), l.key_id, l.at.epochMillis, l.by, l.removed_at.epochMillis`,
);

export const DUMP_FORBIDDEN_PAIRS = page(
  "MATCH (a)-[n:FORBIDDEN]->(b) USING INDEX SEEK n:FORBIDDEN(id)",
  "n.id",
  "n.ws, a.ns, a.value, b.ns, b.value, n.change, n.key_id, n.at.epochMillis",
);

/** A page of changes, with all that each is about. */
export const DUMP_SUBJECTS = page(
  "MATCH (c:Change) USING INDEX SEEK c:Change(id)",
  "c.id",
  "c.ws, [(c)-[:ABOUT]->(i) | i.uid]",
);

export const DUMP_ERASURES = page("MATCH (e:Erasure) USING INDEX SEEK e:Erasure(id)", "e.id", ERASURE);

export const DUMP_TOMBSTONES = pageByTwo("Tombstone", "erasure", "tomb", "n.ws, n.erasure, n.tomb, n.uid");

/** A page of changes, with all that each mentions. */
export const DUMP_MENTIONS = page(
  "MATCH (c:Change) USING INDEX SEEK c:Change(id)",
  "c.id",
  "c.ws, [(c)-[:NAMES]->(m) | m.tomb]",
);

export const DUMP_WATCHED = page("MATCH (w:Workspace {watched: true}) USING INDEX SEEK w:Workspace(id)", "w.id", "1");

export const DUMP_MOVED = pageByTwo("Moved", "ws", "id", "n.ws, n.id, n.cause, n.profiles");

export const LOAD_WATCHED = `CYPHER replan=skip
UNWIND $q.workspaces AS ws
MERGE (w:Workspace {id: ws})
SET w.watched = true
RETURN count(*)`;

export const LOAD_MOVED = `CYPHER replan=skip
UNWIND $q.moved AS m
MERGE (old:Moved {ws: m.ws, id: m.id})
ON CREATE SET old.cause = m.cause, old.profiles = m.profiles
RETURN count(*)`;

export const LOAD_ERASURES = `CYPHER replan=skip
UNWIND $q.erasures AS r
MERGE (w:Workspace {id: r.ws})
SET w.erased = true
MERGE (e:Erasure {id: r.id})
${ON_CREATE_ERASURE.replaceAll("$q.", "r.")}
RETURN count(*)`;

export const LOAD_TOMBSTONES = `CYPHER replan=skip
UNWIND $q.tombstones AS t
MATCH (e:Erasure {id: t.id}) USING INDEX SEEK e:Erasure(id)
MERGE (old:Tombstone {erasure: t.id, tomb: t.tomb})
ON CREATE SET old.uid = t.uid, old.ws = t.ws
MERGE (old)-[:LEFT_BY]->(e)
RETURN count(*)`;

export const LOAD_MENTIONS = `CYPHER replan=skip
UNWIND $q.mentions AS mention
MATCH (c:Change {id: mention.change}) USING INDEX SEEK c:Change(id)
MERGE (m:Mention {tomb: mention.tomb})
MERGE (c)-[:NAMES]->(m)
RETURN count(*)`;

export const LOAD_CHANGES = `CYPHER replan=skip
UNWIND $q.changes AS c
OPTIONAL MATCH (standing:Change {id: c.id}) USING INDEX SEEK standing:Change(id)
FOREACH (_ IN CASE WHEN standing IS NULL THEN [1] ELSE [] END | CREATE ${NEW_CHANGE.replace("ws: $q.ws", "ws: c.ws")})
RETURN count(*)`;

export const LOAD_PROFILES = `CYPHER replan=skip
UNWIND $q.profiles AS f
MERGE (p:Profile {id: f.id})
ON CREATE SET p.ws = f.ws, p.hub = f.id, p.size = f.size, p.rev = f.rev, p.counts = f.counts, p.forbidden = f.forbidden
RETURN count(*)`;

export const LOAD_IDENTIFIERS = `CYPHER replan=skip
UNWIND $q.identifiers AS m
MATCH (p:Profile {id: m.profile}) USING INDEX SEEK p:Profile(id)
MERGE (i:Identifier {key: m.key})
ON CREATE SET i.uid = m.uid, i.ws = m.ws, i.ns = m.ns, i.value = m.value, i.seen_with = m.seen_with,
  i.unlinked_at = CASE WHEN m.unlinked.at IS NULL THEN null ELSE datetime({epochMillis: m.unlinked.at}) END,
  i.unlinked_by = m.unlinked.change, i.unlinked_before = m.unlinked.before
FOREACH (_ IN CASE WHEN m.is_shared THEN [1] ELSE [] END | SET i:SharedIdentifier)
FOREACH (_ IN CASE WHEN m.is_returned THEN [1] ELSE [] END | SET i:Returned)
FOREACH (_ IN CASE WHEN EXISTS { (i)-[:OF]->() } THEN [] ELSE [1] END | CREATE (i)-[:OF {hub: p.hub, uid: i.uid}]->(p))
RETURN count(*)`;

export const LOAD_LINKS = `CYPHER replan=skip
UNWIND $q.links AS l
MATCH (a:Identifier {uid: l.from}) USING INDEX SEEK a:Identifier(uid)
MATCH (b:Identifier {uid: l.to}) USING INDEX SEEK b:Identifier(uid)
OPTIONAL MATCH ()-[standing:LINKED {key: l.key}]->() USING INDEX SEEK standing:LINKED(key)
FOREACH (_ IN CASE WHEN standing IS NULL THEN [1] ELSE [] END |
  CREATE (a)-[:LINKED {
    key: l.key, change: l.change, source: l.source, event: l.event, key_id: l.key_id, at: datetime({epochMillis: l.at}),
    by: l.by, removed_at: CASE WHEN l.removed_at IS NULL THEN null ELSE datetime({epochMillis: l.removed_at}) END
  }]->(b)
)
RETURN count(*)`;

export const LOAD_FORBIDDEN_PAIRS = `CYPHER replan=skip
UNWIND $q.pairs AS f
MATCH (a:Identifier {key: f.from}) USING INDEX SEEK a:Identifier(key)
MATCH (b:Identifier {key: f.to}) USING INDEX SEEK b:Identifier(key)
OPTIONAL MATCH ()-[standing:FORBIDDEN {id: f.id}]->() USING INDEX SEEK standing:FORBIDDEN(id)
FOREACH (_ IN CASE WHEN standing IS NULL THEN [1] ELSE [] END |
  CREATE (a)-[:FORBIDDEN {id: f.id, ws: f.ws, change: f.change, key_id: f.key_id, at: datetime({epochMillis: f.at})}]->(b)
)
RETURN count(*)`;

export const LOAD_SUBJECTS = `CYPHER replan=skip
UNWIND $q.subjects AS s
MATCH (c:Change {id: s.change}) USING INDEX SEEK c:Change(id)
MATCH (i:Identifier {uid: s.uid}) USING INDEX SEEK i:Identifier(uid)
MERGE (c)-[:ABOUT]->(i)
RETURN count(*)`;

export const KEYS = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
RETURN uid, i.key`;

export const MARK = "MATCH (v:Onym {name: 'move'}) RETURN v.mark";

export const SET_MARK = "MERGE (v:Onym {name: 'move'}) SET v.mark = $q.mark";

export const UNMARK = "MATCH (v:Onym {name: 'move'}) DELETE v";

/** Without the names of formats and marks, and of workspaces, which hold nothing but a lock. */
export const COUNT_ALL = `
MATCH (n)
WHERE NOT n:Onym AND NOT n:Workspace
RETURN labels(n)[0] AS label, count(*)
ORDER BY label`;

/** One that is put together or taken apart just now mends itself. */
export const MEND_PROFILE = `CYPHER replan=skip
MATCH (p:Profile {id: $q.id}) USING INDEX SEEK p:Profile(id)
WHERE p.rev = $q.rev AND p.annexed IS NULL
SET p.size = $q.size, p.counts = $q.counts, p.forbidden = $q.forbidden, p.rev = p.rev + 1
RETURN count(*)`;
