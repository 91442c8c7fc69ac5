/** This much reaches the server and its journal well within the deadline of one call, and fits into one reply. */
const BATCH_BYTES = 8 * 1024 * 1024;
const BATCH_ITEMS = 1_000;

/** The items in order, made into documents only when their batch is due: a thousand large ones are never held twice at once. */
export function* batchesOf<T extends object>(
  items: readonly T[],
  bytesOf: (item: T) => number,
): Generator<readonly T[], void, undefined> {
  let batch: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const more = bytesOf(item);
    if (batch.length > 0 && (bytes + more > BATCH_BYTES || batch.length === BATCH_ITEMS)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(item);
    bytes += more;
  }
  if (batch.length > 0) yield batch;
}

/** Slices of at most `size`. */
export function* slicesOf<T>(items: readonly T[], size: number): Generator<readonly T[], void, undefined> {
  for (let next = 0; next < items.length; next += size) yield items.slice(next, next + size);
}
