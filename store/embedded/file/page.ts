import { crc32 } from "node:zlib";

export const PAGE_BYTES = 4_096;
/** At the end of each page, left alone by SQLite. The last four hold the page's checksum. */
export const RESERVED_BYTES = 8;
export const CHECKSUM_AT = PAGE_BYTES - 4;

/** The file's version (`user_version`, which begins at 0) while the store is open: its log must be there. */
export const OPEN = 1;
/** Where the first page says how many there are. */
export const PAGE_COUNT_AT = 28;
/** Where it has the file's version. */
export const VERSION_AT = 60;
/** SQLite locks bytes of this one, and never uses it (https://www.sqlite.org/fileformat2.html#the_lock_byte_page). */
const LOCK_PAGE = 0x40000000 / PAGE_BYTES + 1;

/** The number of the page goes in, so that a page which stands in another's place is wrong too. */
export const checksumOf = (page: Buffer, number: number): number => crc32(page.subarray(0, CHECKSUM_AT), number);

/** Where the page with this number begins in the file; the first is 1. */
export const offsetOf = (number: number): number => (number - 1) * PAGE_BYTES;

/**
 * What stands in the place of a damaged page. SQLite takes no page whose first byte is 0, so each use of it fails. Of a long row's page,
 * the first four bytes name the next one; this one names itself, so that the tree can be walked.
 */
export function tombstone(number: number): Buffer {
  const page = Buffer.alloc(PAGE_BYTES);
  page.writeUInt32BE(number);
  page.write(TOMBSTONE, 4, "latin1");
  page.writeUInt32BE(checksumOf(page, number), CHECKSUM_AT);
  return page;
}
const TOMBSTONE = "Onym found this page damaged";

/** Whether a page is whole: its checksum holds, and it is no tombstone. */
export function isWhole(page: Buffer, number: number): boolean {
  if (number === LOCK_PAGE) return true;
  if (page.readUInt32BE(CHECKSUM_AT) !== checksumOf(page, number)) return false;
  return page[4] !== TOMBSTONE.charCodeAt(0) || page.toString("latin1", 4, 4 + TOMBSTONE.length) !== TOMBSTONE;
}
