import { escapeAt } from "./escape.js";
import { DIGITS_ALWAYS_KEPT, isNumberByte, isUnsafeNumber } from "./number.js";

/** One member of the top-level object: `body.subarray(start, end)` is its value as sent. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

// Its own, as are those of the careful walk: names from another module would cost a third of the time.
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SMALL_E = 0x65;
const SMALL_T = 0x74;
const SMALL_F = 0x66;
const SMALL_N = 0x6e;
/** From an opening bracket to its closing one, of either kind. */
const TO_CLOSING = 2;

/** The hash of each key is compared with all before it, so there must not be too many. */
const KEYS_MAX = 128;
const DEPTH_MAX = 128;
/** Of the keys of all open objects, innermost last: hash, start, end. Used by one pass at a time: a pass never waits. */
const keys = new Int32Array(3 * KEYS_MAX * DEPTH_MAX);
/** Of each open object or array, where in `keys` those of the one around it begin. */
const outer = new Int32Array(DEPTH_MAX);
const IN_ARRAY = -1;
const UNUSUAL = -1;

/**
 * The members of an object in UTF-8 that has nothing to refuse and few keys at each place. Null for everything else, good or bad: the
 * careful walk of `scan.ts`, which can also say what and where, looks at that in several times the time. The budget needs both: 2 KB
 * take 3.3 µs here and 6.2 there (decision 32). Numbers, words and
 * what else JSON.parse finds are left to it. Without recursion, and a byte is read once where that can be: every event comes here.
 */
export function plainMembers(body: Buffer, depthMax: number): readonly Member[] | null {
  const limit = Math.min(depthMax, DEPTH_MAX);
  const members: Member[] = [];
  let at = skipSpace(body, 0);
  if (body[at] !== OPEN_BRACE || limit < 1) return null;
  at += 1;
  let depth = 1;
  let first = 0;
  let top = 0;
  let start = 0;
  for (;;) {
    if (first !== IN_ARRAY) {
      at = readKey(body, at, first, top);
      if (at === UNUSUAL) return null;
      top += 3;
    }
    let byte = body[at]!;
    if (byte <= SPACE) {
      at = skipSpace(body, at);
      byte = body[at]!;
    }
    if (depth === 1) start = at;
    if (byte === QUOTE) at = readString(body, at + 1);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === limit) return null;
      at = skipSpace(body, at + 1);
      if (body[at] !== byte + TO_CLOSING) {
        outer[depth] = first;
        depth += 1;
        first = byte === OPEN_BRACE ? top : IN_ARRAY;
        continue;
      }
      at += 1;
    } else at = readWord(body, byte, at);
    if (at === UNUSUAL) return null;
    // A value ended here, and with it perhaps what holds it.
    for (;;) {
      if (depth === 1) members.push({ name: body.toString("utf8", keys[top - 2], keys[top - 1]), start, end: at });
      byte = body[at]!;
      if (byte <= SPACE) {
        at = skipSpace(body, at);
        byte = body[at]!;
      }
      at += 1;
      if (byte === COMMA) break;
      if (byte !== (first === IN_ARRAY ? CLOSE_BRACKET : CLOSE_BRACE)) return null;
      if (depth === 1) return skipSpace(body, at) === body.length ? members : null;
      if (first !== IN_ARRAY) top = first;
      depth -= 1;
      first = outer[depth]!;
    }
  }
}

const isSpace = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(body: Buffer, start: number): number {
  let at = start;
  while (isSpace(body[at]!)) at += 1;
  return at;
}

/** Keeps the key that comes next at `top`, and answers what follows its colon. `first` is where its object's keys begin. */
function readKey(body: Buffer, at: number, first: number, top: number): number {
  const start = (body[at] === QUOTE ? at : skipSpace(body, at)) + 1;
  if (body[start - 1] !== QUOTE || top - first === 3 * KEYS_MAX) return UNUSUAL;
  let end = start;
  let hash = 0;
  let byte = body[end]!;
  while (byte !== QUOTE && byte !== BACKSLASH && byte >= SPACE) {
    hash = (Math.imul(hash, 31) + byte) | 0;
    end += 1;
    byte = body[end]!;
  }
  if (byte !== QUOTE) return UNUSUAL;
  // The same hash of another key is rare, and then the careful walk tells them apart.
  for (let other = first; other < top; other += 3) if (keys[other] === hash) return UNUSUAL;
  keys[top] = hash;
  keys[top + 1] = start;
  keys[top + 2] = end;
  const colon = body[end + 1] === COLON ? end + 1 : skipSpace(body, end + 1);
  return body[colon] === COLON ? colon + 1 : UNUSUAL;
}

/** From behind its first quote to behind its last. */
function readString(body: Buffer, start: number): number {
  for (let at = start; ; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) {
      const escape = escapeAt(body, at);
      if (escape === null || escape.isLone) return UNUSUAL;
      at += escape.length - 1;
    } else if (!(byte >= SPACE)) return UNUSUAL;
  }
}

/** A number that a double keeps, or as many letters as true, false or null has. */
function readWord(body: Buffer, letter: number, start: number): number {
  let at = start;
  let byte = letter;
  while ((byte >= 0x30 && byte <= 0x39) || byte === 0x2e || byte === 0x2d) {
    at += 1;
    byte = body[at]!;
  }
  if (at > start)
    return at - start <= DIGITS_ALWAYS_KEPT && (byte | 0x20) !== SMALL_E ? at : readLongNumber(body, start, at);
  if (byte === SMALL_T || byte === SMALL_N) return at + 4;
  return byte === SMALL_F ? at + 5 : UNUSUAL;
}

function readLongNumber(body: Buffer, start: number, known: number): number {
  let at = known;
  while (isNumberByte(body[at]!)) at += 1;
  return isUnsafeNumber(body.toString("latin1", start, at)) ? UNUSUAL : at;
}
