import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { isWhole, offsetOf, PAGE_BYTES, PAGE_COUNT_AT, tombstone, VERSION_AT } from "./page.js";

export const PAGES_AT_ONCE = 256;

/** Calls `found` for each page of the range that is damaged or missing. `descriptor` is open for reading. */
export function checkPages(descriptor: number, from: number, to: number, found: (number: number) => void): void {
  const chunk = Buffer.alloc(PAGES_AT_ONCE * PAGE_BYTES);
  for (let first = from; first <= to; first += PAGES_AT_ONCE) {
    const pages = Math.min(PAGES_AT_ONCE, to - first + 1);
    const read = readSync(descriptor, chunk, 0, pages * PAGE_BYTES, offsetOf(first));
    chunk.fill(0, read);
    for (let next = 0; next < pages; next += 1)
      if (!isWhole(chunk.subarray(next * PAGE_BYTES, (next + 1) * PAGE_BYTES), first + next)) found(first + next);
  }
}

/** What the first page says of the file, right or wrong. */
export function readVersion(file: string): number {
  const descriptor = openSync(file, "r");
  try {
    const head = Buffer.alloc(100);
    readSync(descriptor, head, 0, head.length, 0);
    return head.readUInt32BE(VERSION_AT);
  } finally {
    closeSync(descriptor);
  }
}

/** What a write-ahead log holds in the place of the file. */
export interface Logged {
  readonly pages: ReadonlySet<number>;
  /** How many pages the database has behind the log; null when the log is empty. */
  readonly pageCount: number | null;
}

/** The pages of a closed file that are damaged or missing. Reads it all. */
export function damagedPages(file: string, { pages, pageCount }: Logged): readonly number[] {
  const descriptor = openSync(file, "r");
  const damaged: number[] = [];
  try {
    const count = pageCount ?? readPageCount(descriptor);
    checkPages(descriptor, 1, count, (number) => {
      if (!pages.has(number)) damaged.push(number);
    });
  } finally {
    closeSync(descriptor);
  }
  return damaged;
}

/** How many pages the first page says there are, but no more than a damaged one could make us read. */
function readPageCount(descriptor: number): number {
  const head = Buffer.alloc(PAGE_BYTES);
  readSync(descriptor, head, 0, PAGE_BYTES, 0);
  return isWhole(head, 1) ? head.readUInt32BE(PAGE_COUNT_AT) : Math.ceil(fstatSync(descriptor).size / PAGE_BYTES);
}

/** Puts tombstones in the place of damaged pages, in a file that nobody has open, and keeps what stood there beside it. */
export function buryPages(file: string, damaged: readonly number[]): void {
  if (damaged.length === 0) return;
  const descriptor = openSync(file, "r+");
  try {
    const page = Buffer.alloc(PAGE_BYTES);
    for (const number of damaged) {
      const read = readSync(descriptor, page, 0, PAGE_BYTES, offsetOf(number));
      keepPage(file, number, page.subarray(0, read));
      writeSync(descriptor, tombstone(number), 0, PAGE_BYTES, offsetOf(number));
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** As `<file>-page-<number>`; the first find stays. */
export function keepPage(file: string, number: number, page: Buffer): void {
  const kept = `${file}-page-${number}`;
  if (!existsSync(kept)) writeFileSync(kept, page, { mode: 0o600, flush: true });
}
