import { CliError, EXIT } from "../fail.js";

export interface Line {
  readonly number: number;
  /** Without its end. */
  readonly bytes: Buffer;
}

/** Of a line that is too long to be held, only where it is. */
interface LongLine {
  readonly number: number;
  readonly bytes: null;
}

/** The service takes no larger body. */
export const LINE_BYTES_MAX = 3_500_000;
/** A facet may have 14 MB, and a payload 16 MiB where the settings allow it. */
export const EXPORT_LINE_BYTES_MAX = 67_108_864;
const NEW_LINE = 0x0a;
const RETURN = 0x0d;
const BOM = Buffer.from("\uFEFF");

const tooLong = (bytesMax: number): string => `has more than ${bytesMax} bytes`;
export const TOO_LONG = tooLong(LINE_BYTES_MAX);

type Chunks = AsyncIterable<string | Uint8Array>;

/** All lines, blank ones and those that are too long too. Holds one line, and never a whole file. */
export async function* allLinesOf(chunks: Chunks, bytesMax = LINE_BYTES_MAX): AsyncGenerator<Line | LongLine> {
  let number = 0;
  let rest: Buffer[] = [];
  let length = 0;
  const line = (end: Buffer): Line | LongLine => {
    const isLong = length > bytesMax;
    const whole = rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    length = 0;
    number += 1;
    if (isLong) return { number, bytes: null };
    const isMarked = number === 1 && whole.subarray(0, BOM.length).equals(BOM);
    return { number, bytes: isMarked ? whole.subarray(BOM.length) : whole };
  };
  for await (const chunk of chunks) {
    const bytes =
      typeof chunk === "string" ? Buffer.from(chunk) : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEW_LINE); end >= 0; end = bytes.indexOf(NEW_LINE, start)) {
      yield line(bytes.subarray(start, end));
      start = end + 1;
    }
    length += bytes.length - start;
    if (length > bytesMax) rest = [];
    else if (start < bytes.length) rest.push(bytes.subarray(start));
  }
  if (length > 0) yield line(Buffer.alloc(0));
}

/** As above. Throws at a line that is too long. */
export async function* rawLinesOf(chunks: Chunks, bytesMax = LINE_BYTES_MAX): AsyncGenerator<Line> {
  for await (const line of allLinesOf(chunks, bytesMax)) yield wholeOf(line, bytesMax);
}

/** The lines that hold something. Throws at one that is too long. */
export async function* linesOf(chunks: Chunks, bytesMax = LINE_BYTES_MAX): AsyncGenerator<Line> {
  for await (const line of rawLinesOf(chunks, bytesMax)) {
    const held = withoutReturn(line.bytes);
    if (held.length > 0) yield { number: line.number, bytes: held };
  }
}

export const withoutReturn = (line: Buffer): Buffer => (line.at(-1) === RETURN ? line.subarray(0, -1) : line);

function wholeOf({ number, bytes }: Line | LongLine, bytesMax: number): Line {
  if (bytes === null) throw new CliError(EXIT.refused, `line ${number}: ${tooLong(bytesMax)}`);
  return { number, bytes };
}
