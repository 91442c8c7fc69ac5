import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import type Libsql from "libsql";
import { checkPages, PAGES_AT_ONCE } from "./check.js";
import { checksumOf, CHECKSUM_AT, isWhole, offsetOf, OPEN, PAGE_BYTES, PAGE_COUNT_AT } from "./page.js";
import { setPragma } from "./pragma.js";
import { FRAME_BYTES, FRAME_HEADER_BYTES, HEADER_BYTES, LOG_BYTES } from "./write-ahead-log.js";

const FRAMES_AT_ONCE = 64;
/**
 * Everybody waits for a copy, so a log is copied before its time when that is expected to take so many milliseconds. Short copies write a
 * page that changes often more often, so they are shorter the more of its time the loop has left: one that is busy all the time would lose
 * a part of its rate.
 */
const COPY_MS = [
  { load: 0.985, ms: 60 },
  { load: 0.75, ms: 20 },
  { load: 0, ms: 2 },
] as const;
/** `load`: for which part of the time the loop was busy of late. */
export const copyMsAt = (load: number): number => COPY_MS.find((one) => load >= one.load)!.ms;
/** What is copied before its time at least: less says little of how fast a copy is, and hardly takes less time. */
const FRAMES_MIN = 100;
/** So many a millisecond are expected of the first copy, and no fewer later: on a slow disk short copies would not be shorter. */
const FRAMES_PER_MS_MIN = 17;

/** Its two salts, which each round of the log has anew. */
const NAME_BYTES = 8;
const NAME_AT = 16;
const NAME_IN_FRAME_AT = 8;
/** Of a log that was lengthened with zeros, and holds nothing. */
const NO_NAME = "\0".repeat(NAME_BYTES);
const nameIn = (head: Buffer, at: number): string => head.toString("latin1", at, at + NAME_BYTES);

export interface Checkpoint {
  /**
   * Copies the log into the file and gives the pages their checksums, all on disk once it returns. Answers whether all of the log is
   * in the file.
   */
  run(): boolean;
  /** Whether so much seems new in the log that a copy would take so long, milliseconds. Reads two heads. */
  isDue(copyMs: number): boolean;
  /** Makes the log empty: what stood in it is on the disk in the file alone. False where something of it is not there yet. */
  empty(): boolean;
  /** Is told each page that `run` writes, from now on; null ends it. */
  watch(wrote: ((page: number) => void) | null): void;
  /** Of the file. */
  readonly descriptor: number;
  /** Checks the next pages of the file, in turns of one megabyte; `found` is told each damaged one. Right behind `run`. */
  checkNext(found: (page: number) => void): void;
  /** Behind the close of the database: closing a descriptor takes this process's locks off the file. */
  close(): void;
}

interface Copied {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Without SQLite's own flush of the file, which would write each page to the disk now, and `seal` once more with its checksum. The log
 * needs none: each commit has flushed it. Once it is copied, whatever is thrown before `seal` is through must end all writing, because
 * the next commit may write the log over: an error without a code does.
 */
function copyLog(db: Libsql.Database): Copied {
  db.pragma("synchronous = OFF");
  try {
    const [copied] = db.pragma("wal_checkpoint(PASSIVE)") as readonly Copied[];
    return copied!;
  } finally {
    setFull(db);
  }
}

function setFull(db: Libsql.Database): void {
  try {
    setPragma(db, "synchronous", "FULL", 2);
  } catch (error) {
    throw new Error("the store cannot go back to flushing each commit", { cause: error });
  }
}

/**
 * SQLite writes the log over from its beginning once all of it is in the file, with the next commit. The checksums are on disk before:
 * a crash in between leaves the log, and a page in the log needs no checksum in the file.
 */
export function createCheckpoint(db: Libsql.Database, file: string): Checkpoint {
  const [data, log] = [openSync(file, "r+"), openSync(`${file}-wal`, "r+")];
  /** A crash cannot make the log shorter than this, so a log that is shorter was cut. */
  const lengthen = (): void => {
    if (fstatSync(log).size < LOG_BYTES) ftruncateSync(log, LOG_BYTES);
  };
  lengthen();
  const header = Buffer.alloc(HEADER_BYTES);
  const head = Buffer.alloc(FRAME_HEADER_BYTES);
  const chunk = Buffer.alloc(FRAMES_AT_ONCE * FRAME_BYTES);
  const first = Buffer.alloc(PAGE_BYTES);
  let sealed = { log: "", frames: 0 };

  let watcher: ((page: number) => void) | null = null;

  const seal = (from: number, to: number): void => {
    const done = new Set<number>();
    // Backwards: the last frame of a page is the one that is in the file.
    for (let end = to; end > from; end -= FRAMES_AT_ONCE) {
      const first = Math.max(from, end - FRAMES_AT_ONCE);
      readSync(log, chunk, 0, (end - first) * FRAME_BYTES, HEADER_BYTES + first * FRAME_BYTES);
      for (let next = end - first - 1; next >= 0; next -= 1) {
        const at = next * FRAME_BYTES;
        const number = chunk.readUInt32BE(at);
        if (done.has(number)) continue;
        done.add(number);
        watcher?.(number);
        const page = chunk.subarray(at + FRAME_HEADER_BYTES, at + FRAME_BYTES);
        page.writeUInt32BE(checksumOf(page, number), CHECKSUM_AT);
        writeSync(data, page, CHECKSUM_AT, PAGE_BYTES - CHECKSUM_AT, offsetOf(number) + CHECKSUM_AT);
      }
    }
    fdatasyncSync(data);
  };

  /** Of the copies before. */
  let framesPerMs = FRAMES_PER_MS_MIN;
  let wasDue = false;
  /**
   * The log seemed long, and then it could not be copied, or held nothing new: a transaction that was taken back leaves frames behind the
   * last one that was committed. The next copy at its time ends it.
   */
  let isMisled = false;

  const run = (): boolean => {
    const begin = performance.now();
    [wasDue, isMisled] = [false, wasDue];
    const { log: frames, checkpointed } = copyLog(db);
    if (frames <= 0 || checkpointed < frames) return frames === 0;
    readSync(log, header, 0, HEADER_BYTES, 0);
    const name = nameIn(header, NAME_AT);
    const from = sealed.log === name ? sealed.frames : 0;
    if (from < frames) seal(from, frames);
    sealed = { log: name, frames };
    if (frames - from >= FRAMES_MIN) {
      isMisled = false;
      framesPerMs = (framesPerMs + (frames - from) / (performance.now() - begin)) / 2; // one stall of the disk says little
    }
    return true;
  };

  /** A frame belongs to the log where it carries the log's name: the others were left by an earlier round. */
  const isDue = (copyMs: number): boolean => {
    if (isMisled) return false;
    readSync(log, header, 0, HEADER_BYTES, 0);
    const name = nameIn(header, NAME_AT);
    const frames = Math.max(FRAMES_MIN, Math.floor(copyMs * Math.max(FRAMES_PER_MS_MIN, framesPerMs)));
    const last = (sealed.log === name ? sealed.frames : 0) + frames - 1;
    const length = readSync(log, head, 0, FRAME_HEADER_BYTES, HEADER_BYTES + last * FRAME_BYTES);
    wasDue = length === FRAME_HEADER_BYTES && name !== NO_NAME && nameIn(head, NAME_IN_FRAME_AT) === name;
    return wasDue;
  };

  let next = 1;

  return {
    checkNext: (found) => {
      // The first page says how many there are; if it is wrong, none is checked but it.
      readSync(data, first, 0, PAGE_BYTES, 0);
      const last = isWhole(first, 1) ? first.readUInt32BE(PAGE_COUNT_AT) : 1;
      if (next > last) next = 1;
      const end = Math.min(last, next + PAGES_AT_ONCE - 1);
      checkPages(data, next, end, found);
      next = end + 1;
    },
    empty: () => {
      if (!run()) return false;
      // A crash in between leaves a file that says that it was closed, and then the log may be short.
      db.pragma("user_version = 0");
      const isThere = run();
      if (isThere) {
        db.pragma("wal_checkpoint(TRUNCATE)");
        lengthen();
      }
      db.pragma(`user_version = ${OPEN}`);
      return run() && isThere;
    },
    run,
    isDue,
    watch: (wrote) => {
      watcher = wrote;
    },
    descriptor: data,
    close: () => {
      closeSync(log);
      closeSync(data);
    },
  };
}
