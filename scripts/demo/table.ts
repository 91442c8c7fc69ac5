import { readFileSync } from "node:fs";

/** One row: column name to value, both trimmed; blank values are absent. */
export type CsvRecord = ReadonlyMap<string, string>;

export interface Table {
  readonly columns: readonly string[];
  readonly records: readonly CsvRecord[];
}

/** All files as one table. They must have the same columns. */
export function readTable(files: readonly string[]): Table {
  const tables = files.map((file) => tableOf(file, readFileSync(file, "utf8")));
  const columns = tables[0]?.columns ?? [];
  for (const [i, table] of tables.entries())
    if (table.columns.join("\n") !== columns.join("\n"))
      throw new Error(`${files[i]}: has other columns than ${files[0]}`);
  return { columns, records: tables.flatMap(({ records }) => records) };
}

/** The first row names the columns. Throws an error that names the file. */
export function tableOf(name: string, text: string): Table {
  try {
    const [head, ...rows] = parseCsv(text);
    const columns = (head ?? []).map((column) => column.trim());
    if (columns.length === 0 || columns.includes("")) throw new Error("line 1: every column needs a name");
    if (new Set(columns).size < columns.length) throw new Error("line 1: two columns have the same name");
    return { columns, records: rows.map((row) => recordOf(columns, row)) };
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

const recordOf = (columns: readonly string[], row: readonly string[]): CsvRecord =>
  new Map(columns.map((column, i) => [column, row[i]!.trim()] as const).filter(([, value]) => value !== ""));

/** A field, in quotes or plain, and what ends it. */
const FIELD = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;

/**
 * RFC 4180: the rows of a CSV text, with quoted fields, CRLF or LF, an optional BOM. A final line end makes no row of its own.
 * Throws an error that names the line for anything else: a guess would shift columns silently.
 */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  let line = 1;
  FIELD.lastIndex = text.startsWith("\uFEFF") ? 1 : 0;
  while (FIELD.lastIndex < text.length || row.length > 0) {
    const [, quoted, plain, end] = FIELD.exec(text) ?? [];
    if (end === undefined)
      throw new Error(`line ${line}: a field must be plain, or in quotes with the quotes in it doubled`);
    row.push(quoted?.replaceAll('""', '"') ?? plain!);
    line += (quoted ?? "").split("\n").length - 1;
    if (end === ",") continue;
    if (row.length !== (rows[0] ?? row).length)
      throw new Error(`line ${line}: has ${row.length} fields, the first line has ${rows[0]!.length}`);
    rows.push(row);
    row = [];
    line++;
  }
  return rows;
}
