/** What keeps notes of profiles whose identifiers changed; the steps themselves write them: see `writes.ts`. */

export const WATCH = `CYPHER replan=skip
MERGE (w:Workspace {id: $q.ws})
SET w.watched = true
RETURN 1`;

export const MOVED_OF = `CYPHER replan=skip
MATCH (m:Moved) USING INDEX m:Moved(ws, id)
WHERE m.ws = $q.ws AND m.id > ''
RETURN m.id, m.cause, m.profiles
ORDER BY m.id
LIMIT toInteger($q.limit)`;

export const CLEAR_MOVED = `CYPHER replan=skip
UNWIND $q.ids AS id
MATCH (m:Moved {ws: $q.ws, id: id}) USING INDEX m:Moved(ws, id)
DELETE m
RETURN count(*)`;
