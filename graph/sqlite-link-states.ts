import type { Database } from "../core/database.js";
import { identifierKey } from "../core/event.js";
import type { ChangeId, IdentifierKey, WorkspaceId } from "../core/ids.js";
import type { Change, LinkState } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { keyBlob, keyOf } from "./sqlite-sight.js";
import { nextTurn, ROWS_PER_TURN, type Read } from "./sqlite-turns.js";

const STATE = "l.forward, l.removed_at IS NULL, c.change_id, y.change_id";
type StateRow = readonly [forward: number, isActive: number, ChangeId, by: ChangeId | null];
/** The far end of a link is there only if the change is behind it. */
type IncidentRow = readonly [far: number, key: Buffer | null, ...StateRow];

/** What a change did to links and marks, as they stand now. */
export function createChangeTraces(
  database: Database,
  read: Read,
): Pick<IdentityGraph, "linksOfChange" | "isUnlinkedBy"> {
  const findRow = database.prepare("SELECT id FROM identifiers WHERE key = ?");
  const findChange = database.prepare("SELECT id FROM changes WHERE change_id = ?");
  const unlinkedBy = database.prepare(
    `SELECT 1 FROM identifiers i CROSS JOIN changes c ON c.id = i.unlinked_by
     WHERE i.key = ? AND c.change_id = ? AND c.ws = ?`,
  );
  const linkOfPair = prepareLinkOfPair(database);
  const incident = createIncident(database, read);

  const endsOf = (workspace: WorkspaceId, { identifiers }: Change): readonly End[] =>
    identifiers.flatMap((identifier) => {
      const key = identifierKey(workspace, identifier);
      const row = findRow.get([keyBlob(key)])?.[0] as number | undefined;
      return row === undefined ? [] : { key, row };
    });

  return {
    linksOfChange: async (workspace, change) => {
      const named = await read(() => {
        const row = findChange.get([change.changeId])?.[0] as number | undefined;
        return row === undefined ? null : { change: row, ends: endsOf(workspace, change) };
      });
      if (named === null) return [];
      // What names two or more has its links among them; what names one has all of that one's.
      if (change.identifiers.length > 1)
        return read(() => pairsOf(named.ends).flatMap(([x, y]) => linkOfPair(x, y, named.change)));
      return (await Promise.all(named.ends.map((end) => incident(end, named.change)))).flat();
    },
    isUnlinkedBy: (workspace, key, changeId) =>
      read(() => unlinkedBy.get([keyBlob(key), changeId, workspace]) !== undefined),
  };
}

interface End {
  readonly key: IdentifierKey;
  readonly row: number;
}

const pairsOf = (ends: readonly End[]): readonly (readonly [End, End])[] =>
  ends.flatMap((x) => ends.filter((y) => x.row < y.row).map((y) => [x, y] as const));

function prepareLinkOfPair(database: Database) {
  const find = database.prepare(
    `SELECT ${STATE} FROM links l CROSS JOIN changes c ON c.id = l.change LEFT JOIN changes y ON y.id = l.by_change
     WHERE l.a = ?1 AND l.b = ?2 AND (l.change = ?3 OR l.by_change = ?3)`,
  );
  return (a: End, b: End, change: number): readonly LinkState[] => {
    const row = find.get([a.row, b.row, change]) as StateRow | undefined;
    return row === undefined ? [] : [stateOf(a.key, b.key, row)];
  };
}

/** Links of one identifier that the change is behind, on both sides, in turns: it may have any number of others. */
function createIncident(database: Database, read: Read) {
  const sides = (["a", "b"] as const).map((own) => {
    const far = own === "a" ? "b" : "a";
    const statement = database.prepare(
      `SELECT l.far, i.key, ${STATE}
       FROM (SELECT ${far} AS far, forward, change, by_change, removed_at FROM links
             WHERE ${own} = ?1 AND ${far} > ?2 ORDER BY ${far} LIMIT ?4) l
       LEFT JOIN identifiers i ON i.id = l.far AND (l.change = ?3 OR l.by_change = ?3)
       LEFT JOIN changes c ON c.id = l.change AND i.id IS NOT NULL
       LEFT JOIN changes y ON y.id = l.by_change AND i.id IS NOT NULL
       ORDER BY l.far`,
    );
    return { own, statement };
  });
  return async (end: End, change: number): Promise<readonly LinkState[]> => {
    const states: LinkState[] = [];
    for (const { own, statement } of sides)
      for (let last = 0, isDone = false; !isDone;) {
        const parameters = [end.row, last, change, ROWS_PER_TURN];
        const rows = (await read(() => statement.all(parameters))) as readonly IncidentRow[];
        for (const [, key, ...row] of rows) {
          if (key === null) continue;
          const far = keyOf(key);
          states.push(own === "a" ? stateOf(end.key, far, row) : stateOf(far, end.key, row));
        }
        last = rows.at(-1)?.[0] ?? last;
        isDone = rows.length < ROWS_PER_TURN;
        if (!isDone) await nextTurn();
      }
    return states;
  };
}

const stateOf = (a: IdentifierKey, b: IdentifierKey, [forward, isActive, changeId, by]: StateRow): LinkState => ({
  pair: forward === 1 ? [a, b] : [b, a],
  changeId,
  by: by ?? changeId,
  isActive: isActive === 1,
});
