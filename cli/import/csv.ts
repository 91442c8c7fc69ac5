import { isUtf8 } from "node:buffer";
import { CliError, EXIT } from "../fail.js";
import { LINE_BYTES_MAX, rawLinesOf } from "./lines.js";

/** A row: column name to value, both trimmed; blank values are absent. */
export type Row = ReadonlyMap<string, string>;

export interface NumberedRow {
  readonly line: number;
  readonly row: Row;
  readonly text: string;
}

/**
 * RFC 4180, row by row; the first names the columns, those that are `needed` among them. Throws an error that names the line for anything
 * else: a guess would shift columns silently.
 */
export async function* rowsOf(
  chunks: AsyncIterable<Uint8Array>,
  needed: readonly string[],
): AsyncGenerator<NumberedRow> {
  let columns: readonly string[] | null = null;
  for await (const { line, text } of recordsOf(chunks)) {
    const fields = fieldsOf(text);
    if (fields === null) throw wrong(line, "a field must be plain, or in quotes with the quotes in it doubled");
    if (columns === null) columns = columnsOf(fields, needed);
    else if (fields.length !== columns.length)
      throw wrong(line, `has ${fields.length} fields, the first line has ${columns.length}`);
    else yield { line, text, row: rowOf(columns, fields) };
  }
}

const wrong = (line: number, message: string): CliError => new CliError(EXIT.refused, `line ${line}: ${message}`);

function columnsOf(fields: readonly string[], needed: readonly string[]): readonly string[] {
  const columns = fields.map((field) => field.trim());
  if (columns.includes("")) throw wrong(1, "every column needs a name");
  if (new Set(columns).size < columns.length) throw wrong(1, "two columns have the same name");
  const missing = needed.find((column) => !columns.includes(column));
  if (missing !== undefined) throw wrong(1, `there is no column ${JSON.stringify(missing)}`);
  return columns;
}

const rowOf = (columns: readonly string[], fields: readonly string[]): Row =>
  new Map(columns.map((column, at) => [column, fields[at]!.trim()] as const).filter(([, value]) => value !== ""));

/** A record goes on behind the end of a line while a quote is open. */
async function* recordsOf(chunks: AsyncIterable<Uint8Array>) {
  let open: { readonly line: number; readonly texts: string[]; length: number } | null = null;
  let isQuoted = false;
  for await (const { number, bytes } of rawLinesOf(chunks)) {
    if (!isUtf8(bytes)) throw wrong(number, "is not UTF-8");
    const text = bytes.toString("utf8");
    if (open === null && text.trim() === "") continue;
    open ??= { line: number, texts: [], length: 0 };
    open.texts.push(text);
    open.length += text.length + 1;
    if (open.length > LINE_BYTES_MAX) throw wrong(open.line, "a quote is not closed");
    if (hasOddQuotes(text)) isQuoted = !isQuoted;
    if (isQuoted) continue;
    yield { line: open.line, text: open.texts.join("\n").replace(/\r$/, "") };
    open = null;
  }
  if (open !== null) throw wrong(open.line, "a quote is not closed");
}

function hasOddQuotes(text: string): boolean {
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes += 1;
  return quotes % 2 === 1;
}

/** Null where the quotes are wrong. */
function fieldsOf(text: string): readonly string[] | null {
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (;;) {
    const [, quoted, plain, end] = field.exec(text) ?? [];
    if (end === undefined) return null;
    fields.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === "") return fields;
  }
}
