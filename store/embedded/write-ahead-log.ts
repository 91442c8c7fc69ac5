import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682;

/**
 * Refuses a write-ahead log with a damaged middle. SQLite stops at the first frame whose checksum fails and silently forgets
 * every commit behind it. A crash can leave at most one unfinished commit there, so two are damage and not a torn end.
 */
export function requireWholeLog(file: string): void {
  const lost = commitsBehindDamage(file);
  if (lost < 2) return;
  throw new Error(
    `${file} is damaged: ${lost} commits stand behind a frame that is not whole. Restore it, or take it away.`,
  );
}

function commitsBehindDamage(file: string): number {
  const log = openLog(file);
  if (log === null) return 0;
  try {
    return countBehindDamage(log);
  } finally {
    closeSync(log.descriptor);
  }
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

/** Commit frames of this log (its salts) behind the last frame up to which all checksums hold. */
function countBehindDamage({ descriptor, header, frames, frameBytes }: Log): number {
  const salts = header.subarray(16, 24);
  const bigEndian = (header.readUInt32BE(0) & 1) === 1;
  let sums = checksum([0, 0], header.subarray(0, 24), bigEndian);
  let whole = (header.readUInt32BE(0) & ~1) === MAGIC && matches(sums, header, 24);
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
