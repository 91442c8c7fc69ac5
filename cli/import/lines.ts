import { CliError, EXIT } from "../fail.js";

export interface Line {
  readonly number: number;
  /** Without its end. */
  readonly bytes: Buffer;
}

/** The service takes no larger body. */
export const LINE_BYTES_MAX = 3_500_000;
const NEW_LINE = 0x0a;
const RETURN = 0x0d;
const BOM = Buffer.from("\uFEFF");

/** All lines, blank ones too. Holds one line, and never a whole file. */
export async function* rawLinesOf(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<Line> {
  let number = 0;
  let rest: Buffer[] = [];
  let length = 0;
  const line = (end: Buffer): Line => {
    const whole = rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    length = 0;
    number += 1;
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
    if (length > LINE_BYTES_MAX)
      throw new CliError(EXIT.refused, `line ${number + 1}: has more than ${LINE_BYTES_MAX} bytes`);
    if (start < bytes.length) rest.push(bytes.subarray(start));
  }
  if (rest.length > 0) yield line(Buffer.alloc(0));
}

/** The lines that hold something. */
export async function* linesOf(chunks: AsyncIterable<string | Uint8Array>): AsyncGenerator<Line> {
  for await (const { number, bytes } of rawLinesOf(chunks)) {
    const held = bytes.at(-1) === RETURN ? bytes.subarray(0, -1) : bytes;
    if (held.length > 0) yield { number, bytes: held };
  }
}
