const BACKSLASH = 0x5c;
const SMALL_U = 0x75;

export interface Escape {
  /** Bytes; the two halves of a surrogate pair count as one escape. */
  readonly length: number;
  /** Half of a surrogate pair without the other half: not a character. */
  readonly isLone: boolean;
}

const SHORT: Escape = { length: 2, isLone: false };
const UNIT: Escape = { length: 6, isLone: false };
const LONE: Escape = { length: 6, isLone: true };
const PAIR: Escape = { length: 12, isLone: false };
const SHORT_LETTERS: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

/** The escape whose backslash is at `at`, or null when it is none. */
export function escapeAt(body: Buffer, at: number): Escape | null {
  const letter = body[at + 1] ?? 0;
  if (letter !== SMALL_U) return SHORT_LETTERS.has(letter) ? SHORT : null;
  const unit = hexUnit(body, at + 2);
  if (unit < 0) return null;
  if (unit < 0xd800 || unit > 0xdfff) return UNIT;
  const next = body[at + 6] === BACKSLASH && body[at + 7] === SMALL_U ? hexUnit(body, at + 8) : -1;
  return unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff ? PAIR : LONE;
}

/** The number that four hexadecimal digits write, or -1. */
function hexUnit(body: Buffer, at: number): number {
  let unit = 0;
  for (let index = at; index < at + 4; index += 1) {
    const digit = hexDigit(body[index] ?? 0);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
