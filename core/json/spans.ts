import { decodeKey } from "./keys.js";

/** Where a value stands in a body: `body.subarray(start, end)`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object, from the first quote of its key. */
export interface MemberSpan extends Span {
  readonly name: string;
  readonly keyStart: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const NONE = -1;

/**
 * Finds the parts of an array or object by its brackets, quotes and commas alone, so that a part which is wrong in itself does not hide
 * the others. What stands in a part is not looked at: `scanJson` does that, part by part. Null: the brackets do not fit.
 */
export function elementsOf(body: Buffer, { start, end }: Span, max: number): readonly Span[] | null {
  const found: Span[] = [];
  const at = eachPart(body, { start, end }, OPEN_BRACKET, (from) => {
    const to = endOfValue(body, from, end);
    if (to !== NONE && found.length <= max) found.push({ start: from, end: to });
    // Those beyond are not counted: one more than `max` says enough.
    return found.length > max ? STOP : to;
  });
  return at === NONE ? null : found;
}

/**
 * The elements of an object's only member, if it has this name and is an array of `max` objects at most, in half the time of `membersOf`
 * and `elementsOf`. Null: look again by these.
 */
export function elementsOfOnly(body: Buffer, { start, end }: Span, name: string, max: number): readonly Span[] | null {
  const keyStart = skipSpace(body, start + 1, end);
  const keyEnd = body[start] === OPEN_BRACE && body[keyStart] === QUOTE ? endOfString(body, keyStart, end) : NONE;
  if (keyEnd === NONE || body.toString("latin1", keyStart + 1, keyEnd - 1) !== name) return null;
  const colon = skipSpace(body, keyEnd, end);
  if (body[colon] !== COLON || body[end - 1] !== CLOSE_BRACE) return null;
  // Nothing may follow it, so it ends before the object's own bracket.
  let last = end - 1;
  while (isSpace(body[last - 1]!)) last -= 1;
  const found = elementsOf(body, { start: skipSpace(body, colon + 1, last), end: last }, max);
  const areObjects = found?.every(({ start: from }) => body[from] === OPEN_BRACE) === true;
  return areObjects && found.length <= max ? found : null;
}

/** In order, a repeated one each time. What follows the first `max` is not looked at. */
export function membersOf(body: Buffer, { start, end }: Span, max = Infinity): readonly MemberSpan[] | null {
  const found: MemberSpan[] = [];
  const at = eachPart(body, { start, end }, OPEN_BRACE, (keyStart) => {
    const keyEnd = body[keyStart] === QUOTE ? endOfString(body, keyStart, end) : NONE;
    const colon = keyEnd === NONE ? NONE : skipSpace(body, keyEnd, end);
    if (colon === NONE || body[colon] !== COLON) return NONE;
    const from = skipSpace(body, colon + 1, end);
    const to = endOfValue(body, from, end);
    const name = to === NONE ? null : keyOf(body, keyStart + 1, keyEnd - 1);
    if (name === null) return NONE;
    found.push({ name, keyStart, start: from, end: to });
    return found.length < max ? to : STOP;
  });
  return at === NONE ? null : found;
}

/** Whether the brackets of the value fit, and it ends there. */
export const isClosed = (body: Buffer, { start, end }: Span): boolean => endOfValue(body, start, end) === end;

/** The object's bytes without some of its members; what is left stays as it was sent. */
export function withoutMembers(
  body: Buffer,
  span: Span,
  members: readonly MemberSpan[],
  isCut: (name: string) => boolean,
): Buffer {
  const kept = members.filter(({ name }) => !isCut(name));
  if (kept.length === members.length) return body.subarray(span.start, span.end);
  const parts: Buffer[] = [Buffer.from("{")];
  for (const [index, { keyStart, end }] of kept.entries()) {
    if (index > 0) parts.push(Buffer.from(","));
    parts.push(body.subarray(keyStart, end));
  }
  parts.push(Buffer.from("}"));
  return Buffer.concat(parts);
}

const NODE_BYTES = 64;
const VALUE_BYTES = 24;

/** About what the values of the text take of the memory once they are read: many empty objects take twenty times their text. */
export function readBytes(body: Buffer): number {
  let bytes = body.length;
  for (const byte of body) {
    if (byte === COMMA) bytes += VALUE_BYTES;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) bytes += NODE_BYTES;
  }
  return bytes;
}

/** Without the space around it. */
export function trimmed(body: Buffer): Span {
  let end = body.length;
  while (end > 0 && isSpace(body[end - 1]!)) end -= 1;
  return { start: skipSpace(body, 0, end), end };
}

const STOP = -2;

/** Calls `read` with the beginning of each part; it answers where the part ends. */
function eachPart(body: Buffer, { start, end }: Span, open: number, read: (from: number) => number): number {
  if (body[start] !== open) return NONE;
  const close = open === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
  let at = skipSpace(body, start + 1, end);
  if (body[at] === close && at < end) return at + 1 === end ? end : NONE;
  while (at < end) {
    const to = read(at);
    if (to === STOP) return end;
    if (to === NONE) return NONE;
    at = skipSpace(body, to, end);
    if (at >= end) return NONE;
    if (body[at] === close) return at + 1 === end ? end : NONE;
    if (body[at] !== COMMA) return NONE;
    at = skipSpace(body, at + 1, end);
  }
  return NONE;
}

function endOfValue(body: Buffer, start: number, end: number): number {
  const first = start < end ? body[start]! : COMMA;
  if (first === QUOTE) return endOfString(body, start, end);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return endOfScalar(body, start, end);
  let depth = 0;
  for (let at = start; at < end; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE) {
      at = endOfString(body, at, end) - 1;
      if (at < start) return NONE;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return NONE;
}

function endOfString(body: Buffer, start: number, end: number): number {
  for (let at = start + 1; at < end; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  return NONE;
}

function endOfScalar(body: Buffer, start: number, end: number): number {
  let at = start;
  for (; at < end; at += 1) {
    const byte = body[at]!;
    if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte)) break;
  }
  return at === start ? NONE : at;
}

/** Null: its escapes are none. */
function keyOf(body: Buffer, start: number, end: number): string | null {
  try {
    return decodeKey(body, start, end);
  } catch {
    return null;
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(body: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(body[at]!)) at += 1;
  return at;
}
