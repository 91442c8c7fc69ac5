/** What pages, records and lists are read by; the model stands with the statements of the hot paths. Each answers one row or a few. */

const IDENTIFIER = `
MATCH (i:Identifier {uid: $q.uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws`;

/** The profile of an identifier, with its staging nodes: no two states of it look the same. */
export const LOCATION = `CYPHER replan=skip ${IDENTIFIER}
OPTIONAL MATCH (i)-[:OF]->(place)
OPTIONAL MATCH (place)-[:ANNEX_OF]->(main)
WITH coalesce(main, place) AS p
OPTIONAL MATCH (x:Annex)-[:ANNEX_OF]->(p)
WITH p, collect(x.hub) AS others
RETURN p.size AS size, p.rev AS rev, p.stir AS stir, [p.hub] + others AS hubs`;

const WHOLE = `
  WITH p
  WHERE p.size <= $q.wholeMax AND p.annexed IS NULL
  MATCH (m)-[:OF]->(p)`;

/** A page of a profile that is small enough to be read as a whole, and its present number of members. */
const whole = (page: string): string => `CYPHER replan=skip ${IDENTIFIER}
OPTIONAL MATCH (i)-[:OF]->(p)
CALL (p) {${WHOLE}
  RETURN count(m) AS seen
}
CALL (p) {${WHOLE}
  ${page}
}
RETURN p.size AS size, p.rev AS rev, p.stir AS stir, [p.hub] AS hubs, p.annexed AS annexed, seen, found`;

/** By the index, in its order: a page costs what it shows, however large the profile is. */
const indexed = (from: string, part: string, page: string): string => `CYPHER replan=skip
UNWIND $q.hubs AS hub
CALL (hub) {
  MATCH (m:Identifier)-[o:OF]->() USING INDEX SEEK o:OF(hub, uid)
  WHERE o.hub = hub AND ${from}
  ${part}
}
${page}`;

const MEMBER = "[m.uid, m.ns, m.value, m:SharedIdentifier]";

export const WHOLE_MEMBERS = whole(`
  WITH m
  WHERE m.uid > $q.after
  WITH m
  ORDER BY m.uid
  LIMIT toInteger($q.limit)
  RETURN collect(${MEMBER}) AS found`);

export const WALK = `CYPHER replan=skip
MATCH (p:Profile) USING INDEX SEEK p:Profile(ws, id)
WHERE p.ws = $q.ws AND p.id > $q.after
WITH p
ORDER BY p.ws, p.id
LIMIT toInteger($q.limit)
CALL (p) {
  WITH p
  WHERE p.size <= $q.membersMax AND p.annexed IS NULL
  MATCH (m:Identifier)-[:OF]->(p)
  WITH m
  ORDER BY m.uid
  RETURN collect(${MEMBER}) AS members
}
WITH p, members
ORDER BY p.id
RETURN collect([p.id, p.size, members]) AS found`;

export const PAGE_OF_MEMBERS = indexed(
  "o.uid > $q.after",
  `WITH m, o
  ORDER BY o.hub, o.uid
  LIMIT toInteger($q.limit)
  RETURN m`,
  `WITH m
ORDER BY m.uid
LIMIT toInteger($q.limit)
RETURN collect(${MEMBER}) AS found`,
);

const LINK = "[m.uid, other.uid, l.change, coalesce(l.event, l.source), l.key_id, l.at.epochMillis, l.by]";
const LINKS_OF_MEMBER = `
  MATCH (m)-[l:LINKED]->(other)
  WHERE l.removed_at IS NULL AND (m.uid > $q.from OR (m.uid = $q.from AND other.uid > $q.to))`;

export const WHOLE_LINKS = whole(`${LINKS_OF_MEMBER}
  WITH m, l, other
  ORDER BY m.uid, other.uid
  LIMIT toInteger($q.limit)
  RETURN collect(${LINK}) AS found`);

/** Where there are few links the planner would rather read all of them; for each member alone it cannot. */
export const PAGE_OF_LINKS = indexed(
  "o.uid >= $q.from",
  `CALL (m) {
    ${LINKS_OF_MEMBER}
    RETURN l, other
  }
  WITH m, o, l, other
  ORDER BY o.hub, o.uid, other.uid
  LIMIT toInteger($q.limit)
  RETURN m, l, other`,
  `WITH m, l, other
ORDER BY m.uid, other.uid
LIMIT toInteger($q.limit)
RETURN collect(${LINK}) AS found`,
);

export const CHANGE = `[c.id, c.at.epochMillis, c.asked_at.epochMillis, c.outcome, coalesce(c.event, c.source), c.key_id,
  c.identifiers, c.before, c.after, c.dropped, c.rule, c.reverts, c.forbids]`;

const NEWEST_ABOUT_MEMBER = `
  MATCH (m)<-[:ABOUT]-(c:Change)
  WITH DISTINCT c
  WHERE c.id < $q.before
  WITH c
  ORDER BY c.id DESC
  LIMIT toInteger($q.limit)
  RETURN collect([c.id]) AS found`;

export const WHOLE_HISTORY = whole(NEWEST_ABOUT_MEMBER);

/** The newest of each outcome by the index, then the newest of those. */
const newest = (most: "limit" | "looked"): string => `CYPHER replan=skip
UNWIND $q.outcomes AS outcome
CALL (outcome) {
  MATCH (c:Change) USING INDEX SEEK c:Change(ws, outcome, id)
  WHERE c.ws = $q.ws AND c.outcome = outcome AND c.id < $q.before
  WITH c
  ORDER BY c.ws DESC, c.outcome DESC, c.id DESC
  LIMIT toInteger($q.${most})
  RETURN c
}
WITH c
ORDER BY c.id DESC
LIMIT toInteger($q.${most})
`;

/** Those of the newest changes of the workspace that are about somebody; how many were looked at, and the oldest of these. */
const recent = (about: string): string => `${newest("looked")}WITH collect(c) AS looked, min(c.id) AS oldest
CALL (looked) {
  UNWIND looked AS c
  WITH c
  WHERE EXISTS { ${about} }
  WITH c
  ORDER BY c.id DESC
  LIMIT toInteger($q.limit)
  RETURN collect([c.id]) AS found
}
RETURN found, size(looked), oldest`;

export const RECENT_HISTORY = recent("(c)-[:ABOUT]->()-[o:OF]->() WHERE o.hub IN $q.hubs");

export const RECENT_OWN_HISTORY = recent(
  "(c)-[:ABOUT]->(m) WHERE m.uid = $q.uid AND NOT EXISTS { (m)-[:OF]->(:Sealed) }",
);

/**
 * The newest changes about a share of so many members, the young first, that are newer than `floor`; whether there are so many, and the
 * oldest of them. The ids are compared behind the match: within it, on a graph that is empty at first, the planner reads all changes for
 * each member.
 */
export const PART_OF_HISTORY = `CYPHER replan=skip
UNWIND $q.hubs AS hub
CALL (hub) {
  MATCH (m:Identifier)-[o:OF]->() USING INDEX SEEK o:OF(hub, uid)
  WHERE o.hub = hub AND o.uid < $q.below
  WITH m, o
  ORDER BY o.hub DESC, o.uid DESC
  LIMIT toInteger($q.members * $q.share)
  RETURN m
}
WITH m
ORDER BY m.uid DESC
LIMIT toInteger($q.members * $q.share)
WITH collect(m) AS members, min(m.uid) AS oldest
CALL (members) {
  UNWIND members AS m
  MATCH (m)<-[:ABOUT]-(c)
  WITH DISTINCT c
  WHERE c.id > $q.floor AND c.id < $q.before
  WITH c
  ORDER BY c.id DESC
  LIMIT toInteger($q.limit)
  RETURN collect([c.id]) AS found
}
RETURN found, size(members) = toInteger($q.members * $q.share), oldest`;

/** Records never leave the identifiers that they are about, so this reads them as they are: none, where there are more than `most`. */
export const OWN_HISTORY = `CYPHER replan=skip ${IDENTIFIER} AND NOT EXISTS { (i)-[:OF]->(:Sealed) }
  AND COUNT { (i)<-[:ABOUT]-() } <= $q.most
WITH i AS m
${NEWEST_ABOUT_MEMBER}`;

export const CHANGES_BY_ID = `CYPHER replan=skip
UNWIND $q.changes AS change
MATCH (c:Change {id: change}) USING INDEX SEEK c:Change(id)
WHERE c.ws = $q.ws
RETURN collect(${CHANGE}) AS found`;

export const CHANGES = `${newest("limit")}RETURN collect(${CHANGE}) AS found`;

const LINK_STATE = "a.key, b.key, l.change, coalesce(l.by, l.change), l.removed_at IS NULL";

/** A sealed profile is being taken apart. */
const NONE_SEALED = "NOT EXISTS { (a)-[:OF]->(:Sealed) } AND NOT EXISTS { (b)-[:OF]->(:Sealed) }";

export const LINKS_OF_PAIRS = `CYPHER replan=skip
UNWIND $q.pairs AS pair
MATCH (a)-[l:LINKED {key: pair}]->(b) USING INDEX SEEK l:LINKED(key)
WHERE a.ws = $q.ws AND (l.change = $q.change OR l.by = $q.change) AND ${NONE_SEALED}
RETURN ${LINK_STATE}`;

export const LINKS_OF_ONE = `CYPHER replan=skip
MATCH (i:Identifier {key: $q.key}) USING INDEX SEEK i:Identifier(key)
MATCH (i)-[l:LINKED]-()
WHERE i.ws = $q.ws AND (l.change = $q.change OR l.by = $q.change)
WITH l, startNode(l) AS a, endNode(l) AS b
WHERE ${NONE_SEALED}
RETURN ${LINK_STATE}`;

/** Shown are those of no sealed profile: the others count for the page. */
export const PAGE_OF_REMOVED = `CYPHER replan=skip
MATCH (i:Identifier {key: $q.key}) USING INDEX SEEK i:Identifier(key)
MATCH (i)-[l:LINKED]-()
WHERE i.ws = $q.ws AND l.by = $q.change AND l.removed_at IS NOT NULL AND l.key > $q.after
WITH l
ORDER BY l.key
LIMIT toInteger($q.limit)
WITH l, startNode(l) AS a, endNode(l) AS b
RETURN ${LINK_STATE}, l.key AS key, ${NONE_SEALED} AS isShown
ORDER BY key`;

export const MARKS_OF = `CYPHER replan=skip
MATCH (i:Identifier {key: $q.key}) USING INDEX SEEK i:Identifier(key)
WHERE i.ws = $q.ws AND NOT EXISTS { (i)-[:OF]->(:Sealed) }
RETURN i.unlinked_at.epochMillis, i.unlinked_by, i.unlinked_before`;

const FORBIDDEN = "[n.id, a.ns, a.value, b.ns, b.value, n.change, n.key_id, n.at.epochMillis]";

export const FIND_FORBIDDEN_PAIRS = `CYPHER replan=skip
UNWIND $q.forbiddenPairs AS id
MATCH (a)-[n:FORBIDDEN {id: id}]->(b) USING INDEX SEEK n:FORBIDDEN(id)
WHERE n.ws = $q.ws
RETURN collect(${FORBIDDEN}) AS found`;

export const PAGE_OF_FORBIDDEN_PAIRS = `CYPHER replan=skip
MATCH (a)-[n:FORBIDDEN]->(b) USING INDEX SEEK n:FORBIDDEN(ws, id)
WHERE n.ws = $q.ws AND n.id > $q.after
WITH a, n, b
ORDER BY n.ws, n.id
LIMIT toInteger($q.limit)
RETURN collect(${FORBIDDEN}) AS found`;

export const PAGE_OF_SHARED_IDENTIFIERS = `CYPHER replan=skip
MATCH (m:SharedIdentifier) USING INDEX SEEK m:SharedIdentifier(ws, uid)
WHERE m.ws = $q.ws AND m.uid > $q.after AND NOT EXISTS { (m)-[:OF]->(:Sealed) }
WITH m
ORDER BY m.ws, m.uid
LIMIT toInteger($q.limit)
RETURN collect(${MEMBER}) AS found`;

export const IDENTIFIERS_OF = `CYPHER replan=skip
UNWIND $q.uids AS uid
MATCH (i:Identifier {uid: uid}) USING INDEX SEEK i:Identifier(uid)
WHERE i.ws = $q.ws AND NOT EXISTS { (i)-[:OF]->(:Sealed) }
RETURN collect([i.uid, i.ns, i.value]) AS found`;

export const ANY_OF_NAMESPACE = `CYPHER replan=skip
MATCH (i:Identifier) USING INDEX SEEK i:Identifier(key)
WHERE i.key STARTS WITH $q.prefix AND NOT EXISTS { (i)-[:OF]->(:Sealed) }
RETURN i.uid
LIMIT 1`;
