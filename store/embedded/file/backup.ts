import { randomUUID } from "node:crypto";
import { existsSync, read as readWithCallback } from "node:fs";
import { link, open, rename, rm, statfs, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { AppError } from "../../../core/errors.js";
import { PAGES_AT_ONCE } from "./check.js";
import { syncFolder } from "./create.js";
import { checksumOf, CHECKSUM_AT, isWhole, offsetOf, PAGE_BYTES, PAGE_COUNT_AT, VERSION_AT } from "./page.js";

const readAt = promisify(readWithCallback);

/** So many pages are copied while no checkpoint writes: a moment, in which the log grows a little. */
const LAST_PAGES = 2_048;
/** A file that changes faster than it is copied is held longer. */
const ROUNDS_MAX = 8;
/** The copy must leave room for what the service writes meanwhile: it may stand on the same disk. */
const ROOM_FACTOR = 1.1;
/** One sync of a large file at the end would hold up every commit. */
const SYNC_BYTES = 16 * 1_048_576;

/** The file of an open store. Only the checkpoint writes to it. */
export interface Source {
  /** Of the file; a second one may not be closed, because that would take the locks of this process off the file. */
  readonly descriptor: number;
  /** Brings all that is committed into the file; false if something is left. */
  readonly checkpoint: () => boolean;
  /** Is told each page that a checkpoint writes, from now on; null ends it. */
  readonly watch: (wrote: ((page: number) => void) | null) => void;
}

export interface Copied {
  readonly pages: number;
  /** Those that were damaged in the file are so in the copy. */
  readonly damaged: readonly number[];
}

export interface Backups {
  /**
   * Copies the open store into a file that is not there yet; it has all that was committed before the call. The copy is whole or not
   * there at all. Replaces no file, also none that comes meanwhile. Rejects with `unavailable` when the store closes meanwhile.
   */
  copyTo(file: string): Promise<Copied>;
  /** No checkpoint may write now. */
  isHolding(): boolean;
  /** Null when none is being made. */
  stop(): Promise<void> | null;
}

/** Copies the pages while the store works, then again those that changed meanwhile, the last of them while none can change. */
export function createBackups(source: Source, roomIn = freeBytesIn): Backups {
  let [running, stopped, held]: [Promise<unknown> | null, boolean, boolean] = [null, false, false];

  const requireOn = (): void => {
    if (stopped) throw new AppError("unavailable", "The store is closed.");
  };

  const requireCheckpoint = (): void => {
    if (!source.checkpoint()) throw new AppError("unavailable", "The log could not be written into the file.");
  };

  const copyPages = async (target: FileHandle, runs: Iterable<Run>): Promise<void> => {
    const chunk = Buffer.alloc(PAGES_AT_ONCE * PAGE_BYTES);
    let unsynced = 0;
    for (const [first, count] of runs) {
      requireOn();
      const { bytesRead } = await readAt(source.descriptor, chunk, 0, count * PAGE_BYTES, offsetOf(first));
      // Where the disk is full only a part is written, without an error; the rest would seem damaged.
      const { bytesWritten } = await target.write(chunk, 0, bytesRead, offsetOf(first));
      if (bytesWritten < bytesRead) throw new AppError("unavailable", "The disk of the copy is full.");
      unsynced += bytesRead;
      if (unsynced < SYNC_BYTES) continue;
      await target.datasync();
      unsynced = 0;
    }
    await target.datasync();
  };

  const requireRoom = async (folder: string, pages: number): Promise<void> => {
    const [needed, free] = [pages * PAGE_BYTES * ROOM_FACTOR, await roomIn(folder)];
    if (free < needed)
      throw new AppError(
        "unavailable",
        `A copy needs ${inMb(needed)} MB in ${folder}, where ${inMb(free)} MB are free.`,
      );
  };

  const copyAll = async (target: FileHandle, folder: string): Promise<void> => {
    requireCheckpoint();
    const changed = new Set<number>();
    source.watch((page) => changed.add(page));
    try {
      const count = await pageCountOf((page) => readAt(source.descriptor, page, 0, PAGE_BYTES, 0));
      await requireRoom(folder, count);
      await copyPages(target, runsUpTo(count));
      for (let round = 1; changed.size > LAST_PAGES && round < ROUNDS_MAX; round += 1) {
        const runs = takeRuns(changed);
        await copyPages(target, runs);
      }
      requireOn();
      requireCheckpoint();
      held = true;
      await copyPages(target, takeRuns(changed));
    } finally {
      held = false;
      source.watch(null);
    }
  };

  const copy = async (file: string): Promise<Copied> => {
    if (existsSync(file)) throw isThere(file);
    // A name that nobody has, so that no file of another is lost.
    const draft = `${file}.${randomUUID()}.part`;
    const target = await open(draft, "wx+", 0o600);
    try {
      await copyAll(target, dirname(file));
      const copied = await finish(target, requireOn);
      await publish(draft, file);
      syncFolder(dirname(file));
      return copied;
    } finally {
      await rm(draft, { force: true });
      await target.close();
    }
  };

  return {
    copyTo: async (file) => {
      requireOn();
      if (running !== null) throw new AppError("conflict", "A backup is being made already.");
      const made = copy(file);
      running = made;
      try {
        return await made;
      } finally {
        running = null;
      }
    },
    isHolding: () => held,
    stop: () => {
      stopped = true;
      return running && running.then(nothing, nothing);
    },
  };
}

const nothing = (): void => {};
const inMb = (bytes: number): number => Math.ceil(bytes / 1_048_576);

/** A file system that does not count says 0 of all. */
async function freeBytesIn(folder: string): Promise<number> {
  const { blocks, bavail, bsize } = await statfs(folder);
  return blocks === 0 ? Infinity : bavail * bsize;
}

const isThere = (file: string): AppError => new AppError("conflict", `${file} is there already.`);

/** Gives the draft its name, unless a file has that by now: a rename would replace it. */
async function publish(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    if (existsSync(file)) throw isThere(file);
    // Some file systems have no hard links; there a file that comes in this moment is replaced.
    if (!LINKLESS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return rename(draft, file);
  }
  await rm(draft);
}
const LINKLESS = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

/** As a store that was closed leaves it: its log is empty, so it needs none. Reads it all once more. */
async function finish(target: FileHandle, requireOn: () => void): Promise<Copied> {
  const head = Buffer.alloc(PAGE_BYTES);
  const pages = await pageCountOf(() => target.read(head, 0, PAGE_BYTES, 0), head);
  head.writeUInt32BE(0, VERSION_AT);
  head.writeUInt32BE(checksumOf(head, 1), CHECKSUM_AT);
  await target.write(head, 0, PAGE_BYTES, 0);
  await target.truncate(pages * PAGE_BYTES);
  await target.sync();
  const damaged: number[] = [];
  const chunk = Buffer.alloc(PAGES_AT_ONCE * PAGE_BYTES);
  for (const [first, count] of runsUpTo(pages)) {
    requireOn();
    await target.read(chunk, 0, count * PAGE_BYTES, offsetOf(first));
    for (let next = 0; next < count; next += 1)
      if (!isWhole(chunk.subarray(next * PAGE_BYTES, (next + 1) * PAGE_BYTES), first + next))
        damaged.push(first + next);
  }
  return { pages, damaged };
}

/** What the first page says; a store whose first page is damaged is never open. */
async function pageCountOf(readHead: (page: Buffer) => Promise<unknown>, page = Buffer.alloc(PAGE_BYTES)) {
  await readHead(page);
  return page.readUInt32BE(PAGE_COUNT_AT);
}

/** Pages that stand side by side, at most as many as are copied at once. */
type Run = readonly [first: number, count: number];

function* runsUpTo(last: number): Generator<Run, void, undefined> {
  for (let first = 1; first <= last; first += PAGES_AT_ONCE) yield [first, Math.min(PAGES_AT_ONCE, last - first + 1)];
}

/** Empties the set. */
function takeRuns(changed: Set<number>): Iterable<Run> {
  const pages = [...changed].toSorted((a, b) => a - b);
  changed.clear();
  return runsOf(pages);
}

function* runsOf(pages: readonly number[]): Generator<Run, void, undefined> {
  for (let at = 0; at < pages.length;) {
    let count = 1;
    while (count < PAGES_AT_ONCE && pages[at + count] === pages[at]! + count) count += 1;
    yield [pages[at]!, count];
    at += count;
  }
}
