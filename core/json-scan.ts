import { isUtf8 } from "node:buffer";
import {
  addKey,
  closeScope,
  decodeKey,
  HASH_START,
  hashOf,
  hashStep,
  openScope,
  type KeyScope,
  type KeyStack,
} from "./json-keys.js";
import { escapeAt } from "./json-escape.js";
import { DIGITS_ALWAYS_KEPT, isNumberByte, isUnsafeNumber } from "./json-number.js";

/** The first four make a body that readers of JSON may read differently; the others are JSON that cannot be stored as sent. */
export type ScanProblemKind =
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

/** One member of the top-level object: `body.subarray(start, end)` is its value as sent. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
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
  const { fatal, found, members } = walk(body, depthMax, 1);
  const first = fatal ?? found[0];
  return { problem: first === undefined ? null : toProblem(first), members: fatal === null ? members : null };
}

/** The first 100 values and keys that cannot be stored as sent, of a body in which `scanJson` finds nothing worse. */
export const scanAll = (body: Buffer, depthMax: number): readonly ScanProblem[] =>
  walk(body, depthMax, PROBLEMS_MAX).found.map(toProblem);

const MESSAGES: Readonly<Record<ScanProblemKind, string>> = {
  bom: "must not begin with a byte order mark",
  invalid_utf8: "must be UTF-8",
  malformed: "is not valid JSON",
  duplicate_key: "is there twice",
  too_deep: "is nested too deeply",
  lone_surrogate: "must not hold half of a surrogate pair",
  nul_in_key: "must not have NUL in a key",
  unsafe_number: "is a number that a double cannot hold; send it as a string",
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

/** State of one pass. The functions below answer false to end it, having set `fatal`. */
interface Walk {
  readonly body: Buffer;
  readonly depthMax: number;
  readonly problemsMax: number;
  at: number;
  readonly keys: KeyStack;
  fatal: Found | null;
  readonly found: Found[];
  members: Member[] | null;
}

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

/** Used by one pass at a time: a pass never waits. */
const SLOTS: number[] = [];

function walk(body: Buffer, depthMax: number, problemsMax: number): Walk {
  const keys = { slots: SLOTS, top: 0 };
  const state: Walk = { body, depthMax, problemsMax, at: 0, keys, fatal: null, found: [], members: null };
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) stop(state, "bom");
  else if (!isUtf8(body)) stop(state, "invalid_utf8");
  else {
    skipSpace(state);
    if (readValue(state, 1)) {
      skipSpace(state);
      if (state.at < body.length) stop(state, "malformed");
    }
  }
  return state;
}

function stop(state: Walk, kind: ScanProblemKind): false {
  state.fatal = { kind, path: [] };
  return false;
}

function note(state: Walk, kind: ScanProblemKind): void {
  if (state.found.length < state.problemsMax) state.found.push({ kind, path: [] });
}

function skipSpace(state: Walk): void {
  const { body } = state;
  while (state.at < body.length && isSpace(body[state.at]!)) state.at += 1;
}
const isSpace = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** `depth` is that of the value if it is an object or array. */
function readValue(state: Walk, depth: number): boolean {
  const byte = state.body[state.at];
  if (byte === QUOTE) return readString(state);
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
    if (depth > state.depthMax) return stop(state, "too_deep");
    return byte === OPEN_BRACE ? readObject(state, depth) : readArray(state, depth);
  }
  return readScalar(state);
}

function readArray(state: Walk, depth: number): boolean {
  state.at += 1;
  skipSpace(state);
  if (state.body[state.at] === CLOSE_BRACKET) return ends(state);
  for (let index = 0; ; index += 1) {
    const before = state.found.length;
    const going = readValue(state, depth + 1);
    if (!going || state.found.length > before) addToPaths(state, before, String(index));
    if (!going) return false;
    skipSpace(state);
    if (state.body[state.at] === CLOSE_BRACKET) return ends(state);
    if (state.body[state.at] !== COMMA) return stop(state, "malformed");
    state.at += 1;
    skipSpace(state);
  }
}

function readObject(state: Walk, depth: number): boolean {
  state.at += 1;
  if (depth === 1) state.members = [];
  skipSpace(state);
  if (state.body[state.at] === CLOSE_BRACE) return ends(state);
  const scope = openScope(state.keys);
  for (;;) {
    if (!readMember(state, scope, depth)) return false;
    skipSpace(state);
    if (state.body[state.at] === CLOSE_BRACE) break;
    if (state.body[state.at] !== COMMA) return stop(state, "malformed");
    state.at += 1;
    skipSpace(state);
  }
  closeScope(state.keys, scope);
  return ends(state);
}

const ends = (state: Walk): true => {
  state.at += 1;
  return true;
};

function readMember(state: Walk, scope: KeyScope, depth: number): boolean {
  const { body } = state;
  const before = state.found.length;
  if (body[state.at] !== QUOTE) return stop(state, "malformed");
  const keyStart = state.at + 1;
  const isNew = readKey(state, scope);
  if (state.fatal !== null) return false;
  const keyEnd = state.at - 1;
  const going = isNew ? readMemberValue(state, depth, keyStart, keyEnd) : stop(state, "duplicate_key");
  if (!going || state.found.length > before) addToPaths(state, before, pathKey(body, keyStart, keyEnd));
  return going;
}

function readMemberValue(state: Walk, depth: number, keyStart: number, keyEnd: number): boolean {
  skipSpace(state);
  if (state.body[state.at] !== COLON) return stop(state, "malformed");
  state.at += 1;
  skipSpace(state);
  const start = state.at;
  const going = readValue(state, depth + 1);
  if (depth === 1) state.members?.push({ name: decodeKey(state.body, keyStart, keyEnd), start, end: state.at });
  return going;
}

/** False, without `fatal`, for a key that the object has already. */
function readKey(state: Walk, scope: KeyScope): boolean {
  const { body } = state;
  const start = state.at + 1;
  let at = start;
  let hash = HASH_START;
  for (; at < body.length; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
    hash = hashStep(hash, byte);
  }
  if (body[at] === QUOTE) {
    state.at = at + 1;
    return addKey(state.keys, scope, body, hash, start, at);
  }
  if (!readString(state)) return false;
  const end = state.at - 1;
  if (decodeKey(body, start, end).includes("\0")) note(state, "nul_in_key");
  return addKey(state.keys, scope, body, hashOf(body, start, end), start, end);
}

function readString(state: Walk): boolean {
  const { body } = state;
  let at = state.at + 1;
  for (; at < body.length; at += 1) {
    const byte = body[at]!;
    if (byte === QUOTE) {
      state.at = at + 1;
      return true;
    }
    if (byte < SPACE) break;
    if (byte === BACKSLASH) {
      const escape = escapeAt(body, at);
      if (escape === null) break;
      if (escape.isLone) note(state, "lone_surrogate");
      at += escape.length - 1;
    }
  }
  return stop(state, "malformed");
}

/** A number, or one of the words, which JSON.parse tells apart. */
function readScalar(state: Walk): boolean {
  const { body } = state;
  const start = state.at;
  let at = start;
  let isShort = true;
  for (; at < body.length && isNumberByte(body[at]!); at += 1) if ((body[at]! | 0x20) === SMALL_E) isShort = false;
  if (at === start) return readWord(state);
  state.at = at;
  if (isShort && at - start <= DIGITS_ALWAYS_KEPT) return true;
  if (state.found.length < state.problemsMax && isUnsafeNumber(body.toString("latin1", start, at)))
    note(state, "unsafe_number");
  return true;
}

function readWord(state: Walk): boolean {
  const length = WORD_LENGTHS.get(state.body[state.at] ?? 0);
  if (length === undefined || state.at + length > state.body.length) return stop(state, "malformed");
  state.at += length;
  return true;
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
