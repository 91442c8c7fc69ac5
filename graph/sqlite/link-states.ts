import type { Database } from "../../core/database.js";
import { identifierKey } from "../../core/event/event.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Change, LinkState } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { changeBytes, changeIdOf, keyBlob, keyOf, keyPrefix } from "./encoding.js";
import { nextTurn, ROWS_PER_TURN, type Read } from "./pages.js";

const STATE = "l.forward, l.removed_at IS NULL, hex(l.change), hex(coalesce(l.by_change, l.change))";
type StateRow = readonly [forward: number, isActive: number, changeHex: string, byHex: string];
/** The far end of a link is there only if the change is behind it. */
type IncidentRow = readonly [far: number, key: Buffer | null, ...StateRow];

/** What a change did to links and marks, as they stand now. */
export function createChangeTraces(
  database: Database,
  read: Read,
): Pick<IdentityGraph, "linksOfChange" | "isUnlinkedBy"> {
  const findRow = database.prepare("SELECT id FROM identifiers WHERE key = ?");
  const unlinkedBy = database.prepare("SELECT 1 FROM identifiers WHERE key = ? AND unlinked_by = ?");
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
      const bytes = changeBytes(change.changeId);
      const ends = await read(() => endsOf(workspace, change));
      // What names two or more has its links among them; what names one has all of that one's.
      if (change.identifiers.length > 1) return read(() => pairsOf(ends).flatMap(([x, y]) => linkOfPair(x, y, bytes)));
      return (await Promise.all(ends.map((end) => incident(end, bytes)))).flat();
    },
    isUnlinkedBy: (workspace, key, changeId) =>
      read(
        () =>
          key.startsWith(keyPrefix(workspace)) && unlinkedBy.get([keyBlob(key), changeBytes(changeId)]) !== undefined,
      ),
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
    `SELECT ${STATE} FROM links l WHERE l.a = ?1 AND l.b = ?2 AND (l.change = ?3 OR l.by_change = ?3)`,
  );
  return (a: End, b: End, change: Buffer): readonly LinkState[] => {
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
       ORDER BY l.far`,
    );
    return { own, statement };
  });
  return async (end: End, change: Buffer): Promise<readonly LinkState[]> => {
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

const stateOf = (a: IdentifierKey, b: IdentifierKey, [forward, isActive, change, by]: StateRow): LinkState => ({
  pair: forward === 1 ? [a, b] : [b, a],
  changeId: changeIdOf(change),
  by: changeIdOf(by),
  isActive: isActive === 1,
});
