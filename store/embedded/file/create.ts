import { closeSync, existsSync, fsyncSync, linkSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigError } from "../../../core/config.js";
import { CHECKSUM_AT, checksumOf, PAGE_BYTES, RESERVED_BYTES } from "./page.js";

/**
 * Makes an empty database where nothing stands yet. Throws when the file is empty, or missing beside one of `traces`, which only a store
 * leaves: SQLite would take both for a new database.
 */
export function requireDatabase(file: string, traces: readonly string[]): void {
  // Asked before the file itself: another process that starts here makes the file first.
  const trace = traces.find((one) => existsSync(one));
  if (!existsSync(file)) {
    if (trace !== undefined) throw new ConfigError(`DATA_DIR: ${file} is missing beside ${trace}. ${WHAT_TO_DO}`);
    createFile(file);
  } else if (statSync(file).isFile() && statSync(file).size < PAGE_BYTES) {
    const what = statSync(file).size === 0 ? "was emptied" : "was cut, or is not Onym's";
    throw new ConfigError(`DATA_DIR: ${file} ${what}. ${WHAT_TO_DO}`);
  }
}

const WHAT_TO_DO = "Restore the whole folder from a backup. To begin with an empty store, empty the whole folder.";

/** Makes an empty database, whole or not at all, whenever the process dies. Another process may be faster. */
export function createFile(file: string): void {
  const draft = `${file}.${process.pid}`;
  writeSynced(draft, emptyDatabase());
  try {
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  syncFolder(dirname(file));
}

function writeSynced(file: string, bytes: Buffer): void {
  const descriptor = openSync(file, "w", 0o600);
  try {
    writeSync(descriptor, bytes, 0, bytes.length, 0);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The first page of a database without tables (https://www.sqlite.org/fileformat2.html): only so does SQLite reserve bytes. */
function emptyDatabase(): Buffer {
  const page = Buffer.alloc(PAGE_BYTES);
  page.write("SQLite format 3\0", "latin1");
  page.writeUInt16BE(PAGE_BYTES, 16);
  page.set([2, 2, RESERVED_BYTES, 64, 32, 32], 18); // with a write-ahead log
  page.writeUInt32BE(1, 24); // changes
  page.writeUInt32BE(1, 28); // pages
  page.writeUInt32BE(4, 44); // format of the schema
  page.writeUInt32BE(1, 56); // UTF-8
  page.writeUInt32BE(1, 92); // the change that the number of pages is from
  page.writeUInt32BE(3_045_001, 96); // SQLite's version
  page[100] = 13; // a leaf of a table, empty
  page.writeUInt16BE(PAGE_BYTES - RESERVED_BYTES, 105);
  page.writeUInt32BE(checksumOf(page, 1), CHECKSUM_AT);
  return page;
}
