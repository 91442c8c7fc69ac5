import { isUtf8 } from "node:buffer";
import { decodeKey, keyText } from "./keys.js";
import { escapeAt } from "./escape.js";
import { plainMembers, type Member } from "./plain.js";
import { DIGITS_ALWAYS_KEPT, isNumberByte, isUnsafeNumber } from "./number.js";

/** The first five make a body that readers of JSON may read differently; the others are JSON that cannot be stored as sent. */
export type ScanProblemKind =
  | "empty"
  | "bom"
  | "invalid_utf8"
  | "malformed"
  | "duplicate_key"
  | "too_deep"
  | "lone_surrogate"
  | "nul_in_key"
  | "unsafe_number";

export interface ScanProblem {
  readonly kind: ScanProblemKind;
  /** Dotted from the top, array positions as numbers; long keys are cut. */
  readonly path: string;
  readonly message: string;
}

export interface Scan {
  readonly problem: ScanProblem | null;
  /** Null when the top is not an object or was not read to its end. */
  readonly members: readonly Member[] | null;
}

const PROBLEMS_MAX = 100;
const PATH_KEY_CHARACTERS_MAX = 128;

/**
 * Reads the body's bytes once, before JSON.parse does: what this lets pass, every JSON parser reads alike.
 * Answers what makes it unreadable or deeper than `depthMax` (the top counts as 1) if anything does, else the first value that
 * cannot be stored. Numbers and literals are left to JSON.parse, which must follow.
 */
export function scanJson(body: Buffer, depthMax: number): Scan {
  const members = isUtf8(body) ? plainMembers(body, depthMax) : null;
  return members === null ? scanCarefully(body, depthMax) : { problem: null, members };
}

/** The same of any body, slower. */
export function scanCarefully(body: Buffer, depthMax: number): Scan {
  const { fatal, found, members } = walk(body, depthMax, 1);
  const first = fatal ?? found[0];
  return { problem: first === undefined ? null : toProblem(first), members: fatal === null ? members : null };
}

/** The first 100 values and keys that cannot be stored as sent, of a body in which `scanJson` finds nothing worse. */
export const scanAll = (body: Buffer, depthMax: number): readonly ScanProblem[] =>
  walk(body, depthMax, PROBLEMS_MAX).found.map(toProblem);

/** What makes the body unreadable or too deep; numbers and words are read too, for a body that JSON.parse does not. */
export function scanStrictly(body: Buffer, depthMax: number): ScanProblem | null {
  const { fatal } = walk(body, depthMax, 0, true);
  return fatal === null ? null : toProblem(fatal);
}

const MESSAGES: Readonly<Record<ScanProblemKind, string>> = {
  empty: "is empty",
  bom: "must not begin with a byte order mark",
  invalid_utf8: "must be UTF-8",
  malformed: "is not valid JSON",
  duplicate_key: "is a duplicate key",
  too_deep: "is nested too deeply",
  lone_surrogate: "must not contain a lone surrogate",
  nul_in_key: "must not have NUL in a key",
  unsafe_number: "is a number that a double cannot represent; send it as a string",
};

interface Found {
  readonly kind: ScanProblemKind;
  /** From the inside out. */
  readonly path: string[];
}
const toProblem = ({ kind, path }: Found): ScanProblem => ({
  kind,
  path: path.toReversed().join("."),
  message: MESSAGES[kind],
});

/** State of one pass. The readers below answer where they ended; STOPPED, having set `fatal`, ends it. */
interface Walk {
  readonly body: Buffer;
  readonly depthMax: number;
  readonly problemsMax: number;
  /** Numbers and words are not left to JSON.parse. */
  readonly isStrict: boolean;
  fatal: Found | null;
  readonly found: Found[];
  members: Member[] | null;
}
const STOPPED = -1;

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

function walk(body: Buffer, depthMax: number, problemsMax: number, isStrict = false): Walk {
  const state: Walk = { body, depthMax, problemsMax, isStrict, fatal: null, found: [], members: null };
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) stop(state, "bom");
  else if (!isUtf8(body)) stop(state, "invalid_utf8");
  else if (skipSpace(body, 0) === body.length) stop(state, "empty");
  else {
    const end = readValue(state, skipSpace(body, 0), 1);
    if (end !== STOPPED && skipSpace(body, end) < body.length) stop(state, "malformed");
  }
  return state;
}

function stop(state: Walk, kind: ScanProblemKind): typeof STOPPED {
  state.fatal = { kind, path: [] };
  return STOPPED;
}

function note(state: Walk, kind: ScanProblemKind): void {
  if (state.found.length < state.problemsMax) state.found.push({ kind, path: [] });
}

const isSpace = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

function skipSpace(body: Buffer, start: number): number {
  let at = start;
  while (at < body.length && isSpace(body[at]!)) at += 1;
  return at;
}

/** `depth` is that of the value if it is an object or array. */
function readValue(state: Walk, start: number, depth: number): number {
  const byte = state.body[start];
  if (byte === QUOTE) return readString(state, start + 1);
  if (byte !== OPEN_BRACE && byte !== OPEN_BRACKET) return readScalar(state, start);
  if (depth > state.depthMax) return stop(state, "too_deep");
  return byte === OPEN_BRACE ? readObject(state, start + 1, depth) : readArray(state, start + 1, depth);
}

function readArray(state: Walk, start: number, depth: number): number {
  const { body, found } = state;
  let at = skipSpace(body, start);
  if (body[at] === CLOSE_BRACKET) return at + 1;
  for (let index = 0; ; index += 1) {
    const before = found.length;
    const end = readValue(state, at, depth + 1);
    if (end === STOPPED || found.length > before) addToPaths(state, before, String(index));
    if (end === STOPPED) return STOPPED;
    at = skipSpace(body, end);
    if (body[at] === CLOSE_BRACKET) return at + 1;
    if (body[at] !== COMMA) return stop(state, "malformed");
    at = skipSpace(body, at + 1);
  }
}

function readObject(state: Walk, start: number, depth: number): number {
  const { body } = state;
  if (depth === 1) state.members = [];
  let at = skipSpace(body, start);
  if (body[at] === CLOSE_BRACE) return at + 1;
  const keys = new Set<string>();
  for (;;) {
    const end = readMember(state, at, keys, depth);
    if (end === STOPPED) return STOPPED;
    at = skipSpace(body, end);
    if (body[at] === CLOSE_BRACE) return at + 1;
    if (body[at] !== COMMA) return stop(state, "malformed");
    at = skipSpace(body, at + 1);
  }
}

/** `keys` are those that its object has before it. */
function readMember(state: Walk, start: number, keys: Set<string>, depth: number): number {
  const { body, found } = state;
  if (body[start] !== QUOTE) return stop(state, "malformed");
  const before = found.length;
  const afterKey = readString(state, start + 1);
  if (afterKey === STOPPED) return STOPPED;
  const key = keyText(body, start + 1, afterKey - 1);
  if (key.includes("\0")) note(state, "nul_in_key");
  const isNew = keys.size < keys.add(key).size;
  const end = isNew ? readMemberValue(state, start, afterKey, depth) : stop(state, "duplicate_key");
  if (end === STOPPED || found.length > before) addToPaths(state, before, pathKey(body, start + 1, afterKey - 1));
  return end;
}

function readMemberValue(state: Walk, keyStart: number, keyEnd: number, depth: number): number {
  const { body } = state;
  const colon = skipSpace(body, keyEnd);
  if (body[colon] !== COLON) return stop(state, "malformed");
  const start = skipSpace(body, colon + 1);
  const end = readValue(state, start, depth + 1);
  if (depth === 1) state.members?.push({ name: decodeKey(body, keyStart + 1, keyEnd - 1), start, end });
  return end;
}

/** Where the next byte is that ends a string or means more than itself, or the body ends. */
function skipPlain(body: Buffer, start: number): number {
  let at = start;
  for (; at < body.length; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
  }
  return at;
}

/** A string from behind its first quote to behind its last. */
function readString(state: Walk, start: number): number {
  const { body } = state;
  let at = skipPlain(body, start);
  while (body[at] === BACKSLASH) {
    const escape = escapeAt(body, at);
    if (escape === null) return stop(state, "malformed");
    if (escape.isLone) note(state, "lone_surrogate");
    at = skipPlain(body, at + escape.length);
  }
  return body[at] === QUOTE ? at + 1 : stop(state, "malformed");
}

/** A number, or one of the words, which JSON.parse tells apart. */
function readScalar(state: Walk, start: number): number {
  const { body } = state;
  let at = start;
  let isShort = true;
  for (; at < body.length && isNumberByte(body[at]!); at += 1) if ((body[at]! | 0x20) === SMALL_E) isShort = false;
  if (at === start) return readWord(state, start);
  if (state.isStrict) return NUMBER.test(body.toString("latin1", start, at)) ? at : stop(state, "malformed");
  if (isShort && at - start <= DIGITS_ALWAYS_KEPT) return at;
  if (state.found.length < state.problemsMax && isUnsafeNumber(body.toString("latin1", start, at)))
    note(state, "unsafe_number");
  return at;
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const WORDS: ReadonlySet<string> = new Set(["true", "false", "null"]);

function readWord(state: Walk, start: number): number {
  const length = WORD_LENGTHS.get(state.body[start] ?? 0);
  if (length === undefined || start + length > state.body.length) return stop(state, "malformed");
  const isWord = !state.isStrict || WORDS.has(state.body.toString("latin1", start, start + length));
  return isWord ? start + length : stop(state, "malformed");
}
/** true, false, null: by their first letter. */
const WORD_LENGTHS: ReadonlyMap<number, number> = new Map([
  [0x74, 4],
  [0x66, 5],
  [0x6e, 4],
]);

/** Once the walk knows what it found, each level on the way out says where it was. */
function addToPaths(state: Walk, before: number, step: string): void {
  for (let index = before; index < state.found.length; index += 1) state.found[index]!.path.push(step);
  state.fatal?.path.push(step);
}

const pathKey = (body: Buffer, start: number, end: number): string => {
  const key = decodeKey(body, start, end);
  return key.length <= PATH_KEY_CHARACTERS_MAX ? key : `${key.slice(0, PATH_KEY_CHARACTERS_MAX)}...`;
};
