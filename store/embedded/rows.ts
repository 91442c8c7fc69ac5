import type { Database, SqlValue, Statement } from "../../core/database.js";

/** Enough rows to spread the cost of a statement; more gains nothing. */
const ROWS_PER_STATEMENT = 16;

/**
 * A statement over many rows at once: `sql` gets the text of a VALUES list, each row of `columns` parameters.
 * The answer runs it for all rows, in order, and counts what changed.
 */
export const prepareRows = (database: Database, columns: number, sql: (values: string) => string): OverRows =>
  prepareOver(database, columns, sql, (statement, parameters) => statement.run(parameters).changes);

/** The same of a query whose one value is a number: their sum. */
export const prepareSum = (database: Database, columns: number, sql: (values: string) => string): OverRows =>
  prepareOver(database, columns, sql, (statement, parameters) => statement.get(parameters)![0] as number);

type OverRows = (rows: readonly (readonly SqlValue[])[]) => number;

function prepareOver(
  database: Database,
  columns: number,
  sql: (values: string) => string,
  execute: (statement: Statement, parameters: readonly SqlValue[]) => number,
): OverRows {
  const row = `(${Array(columns).fill("?").join(",")})`;
  const many = database.prepare(sql(Array(ROWS_PER_STATEMENT).fill(row).join(",")));
  const single = database.prepare(sql(row));
  return (rows) => {
    let sum = 0;
    let next = 0;
    for (; next + ROWS_PER_STATEMENT <= rows.length; next += ROWS_PER_STATEMENT) {
      const parameters: SqlValue[] = [];
      for (let index = next; index < next + ROWS_PER_STATEMENT; index += 1) parameters.push(...rows[index]!);
      sum += execute(many, parameters);
    }
    for (; next < rows.length; next += 1) sum += execute(single, rows[next]!);
    return sum;
  };
}

/** Of what is read few rows often come alone. */
const READ_AT_ONCE = [16, 4, 1] as const;

/**
 * A query over many rows at once whose one value is a text: JSON values, separated by commas. Answers all of them, in any order: the
 * driver takes longer to hand out a row than SQLite to find it. What `sql` asks for before the rows comes first.
 */
export function prepareJson(
  database: Database,
  columns: number,
  sql: (values: string) => string,
): (rows: readonly (readonly SqlValue[])[], first?: readonly SqlValue[]) => readonly unknown[] {
  const row = `(${Array(columns).fill("?").join(",")})`;
  const statements = READ_AT_ONCE.map((count) => database.prepare(sql(Array(count).fill(row).join(","))));
  return (rows, first = []) => {
    const texts: string[] = [];
    let next = 0;
    for (const [i, count] of READ_AT_ONCE.entries())
      for (; next + count <= rows.length; next += count) {
        const parameters = [...first];
        for (let index = next; index < next + count; index += 1) parameters.push(...rows[index]!);
        const text = statements[i]!.get(parameters)![0] as string | null;
        if (text !== null) texts.push(text);
      }
    return JSON.parse(`[${texts.join(",")}]`) as readonly unknown[];
  };
}

interface OverSeqs {
  readonly get: (seqs: readonly number[]) => number;
  readonly all: (seqs: readonly number[]) => readonly (readonly unknown[])[];
  readonly run: (seqs: readonly number[]) => void;
}

/** A statement over rows with some positions (`seq`). `sql` gets the text of the condition. */
export function prepareOverSeqs(database: Database, sql: (are: string) => string): OverSeqs {
  const ranged = database.prepare(sql("BETWEEN ? AND ?"));
  const listed = database.prepare(sql("IN (SELECT value FROM json_each(?))"));
  const prepared = (seqs: readonly number[]) => {
    const range = rangeOf(seqs);
    return range === null
      ? { statement: listed, parameters: [JSON.stringify(seqs)] }
      : { statement: ranged, parameters: range };
  };
  return {
    get: (seqs) => {
      const { statement, parameters } = prepared(seqs);
      return statement.get(parameters)![0] as number;
    },
    all: (seqs) => {
      const { statement, parameters } = prepared(seqs);
      return statement.all(parameters);
    },
    run: (seqs) => {
      const { statement, parameters } = prepared(seqs);
      statement.run(parameters);
    },
  };
}

/** The ends of positions that follow each other without a gap: one range names them faster than a list. */
function rangeOf(seqs: readonly number[]): readonly [number, number] | null {
  const [first, last] = [seqs[0]!, seqs.at(-1)!];
  return last - first + 1 === seqs.length && seqs.every((seq, index) => seq === first + index) ? [first, last] : null;
}
