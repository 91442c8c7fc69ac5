import type { Database, SqlValue } from "../../core/database.js";

/** Rows in a statement. A wide one spreads its cost; but SQLite keeps a journal for it, which is not worth it for a few rows. */
const WIDTHS = [16, 1] as const;

/**
 * Inserts rows, many in a statement, and answers the row ids that they got, in their order: SQLite gives each row of an INSERT the
 * number behind the greatest there is.
 */
export function prepareInsert(database: Database, into: string, columns: number) {
  const row = `(${Array(columns).fill("?").join(",")})`;
  const statements = WIDTHS.map((width) =>
    database.prepare(`INSERT ${into} VALUES ${Array(width).fill(row).join(",")}`),
  );
  return (rows: readonly (readonly SqlValue[])[]): readonly number[] => {
    const ids: number[] = [];
    for (const [i, width] of WIDTHS.entries())
      while (rows.length - ids.length >= width) {
        const parameters: SqlValue[] = [];
        for (let row = ids.length; row < ids.length + width; row++)
          for (const value of rows[row]!) parameters.push(value);
        const last = statements[i]!.run(parameters).lastInsertRowid;
        for (let back = width - 1; back >= 0; back--) ids.push(last - back);
      }
    return ids;
  };
}
