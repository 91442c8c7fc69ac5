import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;
const VERSION = 3_007_000;

/**
 * Refuses a damaged write-ahead log. SQLite takes a log whose head is wrong for an empty one, and stops at the first frame whose
 * checksum fails; both silently forget every commit behind the damage. SQLite syncs the head before the first frame, so a crash
 * leaves no frame behind a wrong head. It leaves at most one unfinished commit behind a wrong frame; two are damage.
 */
export function requireWholeLog(file: string): void {
  const log = openLog(file);
  if (log === null) return;
  try {
    const what = damageOf(log);
    if (what !== null) throw new Error(`${file} is damaged: ${what}. ${WHAT_TO_DO}`);
  } finally {
    closeSync(log.descriptor);
  }
}

const WHAT_TO_DO =
  "Restore the whole folder from a backup. To go on without the commits of this log, move the log to another folder and start again.";

function damageOf(log: Log): string | null {
  if (!isHeadWhole(log)) return holdsData(log) ? "its head is wrong, and commits stand behind it" : null;
  const lost = countBehindDamage(log);
  return lost < 2 ? null : `${lost} commits stand behind a frame that is not whole`;
}

interface Log {
  readonly descriptor: number;
  readonly header: Buffer;
  readonly frames: number;
  readonly frameBytes: number;
}

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
  const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
  const frames = Math.floor((fstatSync(descriptor).size - HEADER_BYTES) / frameBytes);
  if (read === HEADER_BYTES) return { descriptor, header, frames, frameBytes };
  closeSync(descriptor);
  return null;
}

const isBigEndian = ({ header }: Log): boolean => (header.readUInt32BE(0) & 1) === 1;

const isHeadWhole = (log: Log): boolean =>
  (log.header.readUInt32BE(0) & ~1) >>> 0 === MAGIC &&
  log.header.readUInt32BE(4) === VERSION &&
  matches(checksum([0, 0], log.header.subarray(0, 24), isBigEndian(log)), log.header, 24);

/** A file that was made longer before anything was written holds zeros alone. */
function holdsData({ descriptor }: Log): boolean {
  const { size } = fstatSync(descriptor);
  const chunk = Buffer.alloc(65_536);
  for (let at = HEADER_BYTES; at < size; at += chunk.length) {
    const read = readSync(descriptor, chunk, 0, chunk.length, at);
    if (chunk.subarray(0, read).some((byte) => byte !== 0)) return true;
  }
  return false;
}

/** Commit frames of this log (its salts) behind the last frame up to which all checksums hold. */
function countBehindDamage(log: Log): number {
  const { descriptor, header, frames, frameBytes } = log;
  const salts = header.subarray(16, 24);
  const bigEndian = isBigEndian(log);
  let sums: Sums = [header.readUInt32BE(24), header.readUInt32BE(28)];
  let whole = true;
  let behind = 0;
  const frame = Buffer.alloc(frameBytes);
  for (let index = 0; index < frames; index += 1) {
    readSync(descriptor, frame, 0, frameBytes, HEADER_BYTES + index * frameBytes);
    const ours = frame.subarray(8, 16).equals(salts);
    if (whole) {
      sums = checksum(checksum(sums, frame.subarray(0, 8), bigEndian), frame.subarray(FRAME_HEADER_BYTES), bigEndian);
      whole = ours && matches(sums, frame, 16);
    }
    if (!whole && ours && frame.readUInt32BE(4) !== 0) behind += 1;
  }
  return behind;
}

const matches = ([first, second]: Sums, buffer: Buffer, offset: number): boolean =>
  buffer.readUInt32BE(offset) === first && buffer.readUInt32BE(offset + 4) === second;

type Sums = readonly [number, number];

/** SQLite's running checksum of its log, over words in the byte order that the header names. */
function checksum([first, second]: Sums, bytes: Buffer, bigEndian: boolean): Sums {
  let [one, two] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0;
    two = (two + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0;
  }
  return [one, two];
}
