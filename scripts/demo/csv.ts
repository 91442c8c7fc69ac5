const QUOTE = '"';

/**
 * RFC 4180: the rows of a CSV text, with quoted fields, CRLF or LF, an optional BOM. A final line end makes no row of its own.
 * Throws an error that names the line for anything else: a guess would shift columns silently.
 */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const row: string[] = [];
    const width = rows[0]?.length ?? null;
    for (let more = true; more;) {
      const field = text[at] === QUOTE ? quoted(text, at, line) : plain(text, at, line);
      row.push(field.value);
      line += field.lines;
      more = text[field.end] === ",";
      at = more ? field.end + 1 : afterLineEnd(text, field.end, line);
    }
    if (width !== null && row.length !== width)
      throw new Error(`line ${line}: has ${row.length} fields, the first line has ${width}`);
    rows.push(row);
    line++;
  }
  return rows;
}

interface Field {
  readonly value: string;
  /** Position behind the field: a comma, a line end or the end of the text. */
  readonly end: number;
  readonly lines: number;
}

const PLAIN_END = /[,\r\n"]/g;

function plain(text: string, start: number, line: number): Field {
  PLAIN_END.lastIndex = start;
  const end = PLAIN_END.exec(text)?.index ?? text.length;
  if (text[end] === QUOTE) throw new Error(`line ${line}: a quote inside a field that does not begin with one`);
  return { value: text.slice(start, end), end, lines: 0 };
}

function quoted(text: string, start: number, line: number): Field {
  let end = text.indexOf(QUOTE, start + 1);
  while (end >= 0 && text[end + 1] === QUOTE) end = text.indexOf(QUOTE, end + 2);
  if (end < 0) throw new Error(`line ${line}: a quoted field is never closed`);
  const raw = text.slice(start + 1, end);
  return { value: raw.replaceAll('""', QUOTE), end: end + 1, lines: raw.split("\n").length - 1 };
}

function afterLineEnd(text: string, end: number, line: number): number {
  if (end >= text.length) return end;
  if (text[end] === "\n") return end + 1;
  if (text[end] === "\r" && text[end + 1] === "\n") return end + 2;
  throw new Error(`line ${line}: a field must be followed by a comma or a line end`);
}
