import { MINUTES, type StatCount, type StatsStore } from "../core/stats.js";
import type { WorkspaceId } from "../core/ids.js";

/** Of one combination, by minute; the place of a minute is taken by the one an hour later. */
interface Row extends Omit<StatCount, "minute" | "events"> {
  readonly events: Float64Array;
  newest: number;
}

interface Table {
  readonly rows: Map<string, Row>;
  /** The minute in which its old rows went last. */
  tidied: number;
}

/** About 700 bytes each. */
const ROWS_MAX = 20_000;
const WORKSPACE_ROWS_MAX = 500;

/** Counts of this process, which is the whole installation where the store is embedded. They begin anew with it. */
export function createMemoryStats(rowsMax = ROWS_MAX): StatsStore {
  /** The one that was added to last is at the end. */
  const tables = new Map<WorkspaceId, Table>();
  let size = 0;

  const tableOf = (workspace: WorkspaceId): Table => {
    const table = tables.get(workspace) ?? { rows: new Map(), tidied: -Infinity };
    tables.delete(workspace);
    tables.set(workspace, table);
    return table;
  };
  /** Without those that say nothing of the hour any more; once a minute, because a workspace with many would pay for it with each. */
  const tidy = (table: Table, minute: number): void => {
    if (minute <= table.tidied) return;
    table.tidied = minute;
    for (const [name, { newest }] of table.rows) if (newest <= minute - MINUTES && table.rows.delete(name)) size -= 1;
  };
  const rowOf = (table: Table, count: StatCount): Row => {
    const name = JSON.stringify([count.keyId, count.schemaId, count.outcome]);
    const known = table.rows.get(name);
    if (known !== undefined) return known;
    const isNamed = count.keyId !== null || count.schemaId !== null;
    if (isNamed && table.rows.size >= WORKSPACE_ROWS_MAX) tidy(table, count.minute);
    if (isNamed && table.rows.size >= WORKSPACE_ROWS_MAX)
      return rowOf(table, { ...count, keyId: null, schemaId: null });
    const { workspace, keyId, schemaId, outcome, minute } = count;
    const row: Row = { workspace, keyId, schemaId, outcome, events: new Float64Array(MINUTES), newest: minute };
    table.rows.set(name, row);
    size += 1;
    return row;
  };
  const forgetIdle = (): void => {
    for (const [workspace, { rows }] of tables) {
      if (size <= rowsMax || tables.size === 1) return;
      tables.delete(workspace);
      size -= rows.size;
    }
  };

  return {
    add: async (counts) => {
      for (const count of counts) {
        const row = rowOf(tableOf(count.workspace), count);
        advance(row, count.minute);
        if (count.minute > row.newest - MINUTES) row.events[count.minute % MINUTES]! += count.events;
      }
      forgetIdle();
    },
    read: async (workspace, fromMinute) => {
      const counts: StatCount[] = [];
      for (const { events, newest, ...row } of tables.get(workspace)?.rows.values() ?? [])
        for (let minute = newest; minute >= fromMinute && minute > newest - MINUTES; minute -= 1)
          if (events[minute % MINUTES]! > 0) counts.push({ ...row, minute, events: events[minute % MINUTES]! });
      return counts.toSorted((a, b) => b.minute - a.minute);
    },
  };
}

function advance(row: Row, minute: number): void {
  if (minute - row.newest >= MINUTES) row.events.fill(0);
  else for (let at = row.newest + 1; at <= minute; at += 1) row.events[at % MINUTES] = 0;
  row.newest = Math.max(row.newest, minute);
}
