import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Logged } from "./check.js";
import { PAGE_BYTES } from "./page.js";
import { advance, checksumOfLog, isBitFlip, type Sums } from "./log-checksum.js";

export const HEADER_BYTES = 32;
export const FRAME_HEADER_BYTES = 24;
export const FRAME_BYTES = FRAME_HEADER_BYTES + PAGE_BYTES;
/** While the store is open its log is at least this long. */
export const LOG_BYTES = 4 * 1_024 * 1_024;
const MAGIC = 0x377f0682;
const VERSION = 3_007_000;
const NOTHING: Logged = { pages: new Set(), pageCount: null };

/**
 * Refuses a damaged write-ahead log, and answers what a whole one holds. SQLite takes a log whose head is wrong for an empty one, and
 * stops at the first frame whose checksum fails; both silently forget every commit behind the damage. SQLite syncs the head before the
 * first frame, so a crash leaves no frame behind a wrong head. It leaves at most one unfinished commit behind a wrong frame; two are
 * damage, and so is a frame that is right but for one bit. `isOpen`: the store was not closed, so the log must have its length.
 */
export function requireWholeLog(file: string, isOpen: boolean): Logged {
  const log = openLog(file);
  try {
    const bytes = log === null ? 0 : fstatSync(log.descriptor).size;
    if (isOpen && bytes < LOG_BYTES) throw damaged(file, log === null ? "it is missing or empty" : "it was cut");
    if (log === null) return NOTHING;
    if (!isHeadWhole(log)) {
      if (holdsData(log)) throw damaged(file, "its head is wrong, and commits stand behind it");
      return NOTHING;
    }
    const { behind, isFlipped, ...logged } = scan(log);
    if (behind >= 2) throw damaged(file, `${behind} commits stand behind a frame that is not whole`);
    if (isFlipped) throw damaged(file, "a bit of its last commit has flipped");
    return logged;
  } finally {
    if (log !== null) closeSync(log.descriptor);
  }
}

const damaged = (file: string, what: string): Error => new Error(`${file} is damaged: ${what}. ${WHAT_TO_DO}`);
const WHAT_TO_DO =
  "Restore the whole folder from a backup. To go on without the commits of this log, move the log to another folder and start again.";

interface Log {
  readonly descriptor: number;
  readonly header: Buffer;
  readonly frames: number;
}

/** Null when there is none, or one without a head. */
function openLog(file: string): Log | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const header = Buffer.alloc(HEADER_BYTES);
  const read = readSync(descriptor, header, 0, HEADER_BYTES, 0);
  const frames = Math.floor((fstatSync(descriptor).size - HEADER_BYTES) / FRAME_BYTES);
  if (read === HEADER_BYTES) return { descriptor, header, frames };
  closeSync(descriptor);
  return null;
}

const isBigEndian = ({ header }: Log): boolean => (header.readUInt32BE(0) & 1) === 1;

const isHeadWhole = (log: Log): boolean =>
  (log.header.readUInt32BE(0) & ~1) >>> 0 === MAGIC &&
  log.header.readUInt32BE(4) === VERSION &&
  log.header.readUInt32BE(8) === PAGE_BYTES &&
  matches(checksumOfLog([0, 0], log.header.subarray(0, 24), isBigEndian(log)), log.header, 24);

/** A file that was made longer before anything was written holds zeros alone. */
function holdsData({ descriptor }: Log): boolean {
  const { size } = fstatSync(descriptor);
  const chunk = Buffer.alloc(65_536);
  const zeros = Buffer.alloc(chunk.length);
  for (let at = HEADER_BYTES; at < size; at += chunk.length) {
    const read = readSync(descriptor, chunk, 0, chunk.length, at);
    if (!chunk.subarray(0, read).equals(zeros.subarray(0, read))) return true;
  }
  return false;
}

interface Scan extends Logged {
  /** Commit frames of this log (its salts) behind the last frame up to which all checksums hold. */
  readonly behind: number;
  /** Whether the first wrong frame differs from a right one by one bit: a crash does not do that. */
  readonly isFlipped: boolean;
}

function scan(log: Log): Scan {
  const { descriptor, header, frames } = log;
  const salts = header.subarray(16, 24);
  const bigEndian = isBigEndian(log);
  const pages = new Set<number>();
  let pageCount: number | null = null;
  let sums: Sums = [header.readUInt32BE(24), header.readUInt32BE(28)];
  let [whole, behind, isFlipped] = [true, 0, false];
  let open: number[] = [];
  const frame = Buffer.alloc(FRAME_BYTES);
  for (let index = 0; index < frames; index += 1) {
    readSync(descriptor, frame, 0, FRAME_BYTES, HEADER_BYTES + index * FRAME_BYTES);
    const ours = frame.subarray(8, 16).equals(salts);
    const commit = frame.readUInt32BE(4);
    if (!whole) {
      if (ours && commit !== 0) behind += 1;
      continue;
    }
    const before = sums;
    sums = advance(before, frame, bigEndian);
    if (ours && matches(sums, frame, 16)) {
      open.push(frame.readUInt32BE(0));
      if (commit === 0) continue;
      for (const page of open) pages.add(page);
      [open, pageCount] = [[], commit];
    } else {
      whole = false;
      isFlipped = isBitFlip(before, frame, salts, bigEndian);
      behind = ours && commit !== 0 ? 1 : 0;
    }
  }
  return { pages, pageCount, behind, isFlipped };
}

const matches = ([first, second]: Sums, buffer: Buffer, offset: number): boolean =>
  buffer.readUInt32BE(offset) === first && buffer.readUInt32BE(offset + 4) === second;
