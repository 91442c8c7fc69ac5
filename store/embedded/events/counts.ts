import type { Database } from "../../../core/database.js";
import type { TallyMark } from "../../../core/ports/event-store.js";
import { prepareRows } from "../rows.js";
import { uuidBytes } from "../uuid.js";

/** `key`: of the event. `facet`: it counts only if it is in this one; null: in whichever it is. */
export interface Count extends TallyMark {
  readonly key: Buffer;
  readonly facet: Buffer | null;
}

/** Within a write: has folded events count, in the facets that they are in. */
export function prepareCounts(database: Database): (counts: readonly Count[]) => void {
  const countAll = prepareRows(
    database,
    4,
    (values) =>
      `INSERT INTO tallies (facet, tally, position, amount)
       SELECT folds.facet, count.column2, folds.position, count.column3
       FROM (VALUES ${values}) AS count CROSS JOIN events ON events.id = count.column1 CROSS JOIN folds USING (seq)
       WHERE length(folds.position) > 0 AND folds.facet = coalesce(count.column4, folds.facet) ON CONFLICT DO NOTHING`,
  );
  return (counts) =>
    void countAll(counts.map(({ key, tallyId, amount, facet }) => [key, uuidBytes(tallyId), amount, facet]));
}

/** Within a write: the folded event with this `seq` counts for nothing any more. */
export function prepareUncount(database: Database): (seq: number) => void {
  const fold = database.prepare("SELECT facet, position FROM folds WHERE seq = ?");
  const next = database.prepare("SELECT tally FROM tallies WHERE facet = ? AND tally > ? ORDER BY tally LIMIT 1");
  const remove = database.prepare("DELETE FROM tallies WHERE facet = ? AND tally = ? AND position = ?");
  return (seq) => {
    const [facet, position] = (fold.get([seq]) ?? []) as readonly Buffer[];
    if (facet === undefined || position === undefined) return;
    // From one tally of the facet to the next: there are few, however many events it has.
    for (let tally = next.get([facet, FIRST]); tally !== undefined; tally = next.get([facet, tally[0] as Buffer]))
      remove.run([facet, tally[0] as Buffer, position]);
  };
}

/** Before every id. */
const FIRST = Buffer.alloc(0);
