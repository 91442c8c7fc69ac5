import type { Database, SqlValue } from "../../core/database.js";

/** Enough rows to spread the cost of a statement; more gains nothing. */
const ROWS_PER_STATEMENT = 16;

/**
 * A statement over many rows at once: `sql` gets the text of a VALUES list, each row of `columns` parameters.
 * The answer runs it for all rows, in order, and counts what changed.
 */
export function prepareRows(
  database: Database,
  columns: number,
  sql: (values: string) => string,
): (rows: readonly (readonly SqlValue[])[]) => number {
  const row = `(${Array(columns).fill("?").join(",")})`;
  const many = database.prepare(sql(Array(ROWS_PER_STATEMENT).fill(row).join(",")));
  const single = database.prepare(sql(row));
  return (rows) => {
    let changes = 0;
    let next = 0;
    for (; next + ROWS_PER_STATEMENT <= rows.length; next += ROWS_PER_STATEMENT) {
      const parameters: SqlValue[] = [];
      for (let index = next; index < next + ROWS_PER_STATEMENT; index += 1) parameters.push(...rows[index]!);
      changes += many.run(parameters).changes;
    }
    for (; next < rows.length; next += 1) changes += single.run(rows[next]!).changes;
    return changes;
  };
}
