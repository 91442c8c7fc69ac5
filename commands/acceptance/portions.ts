/** What a portion may have: some milliseconds of work. */
const ITEMS_MAX = 64;
const BYTES_MAX = 65_536;

/** Works on all, a portion in each turn of the event loop, so that the requests of others go on meanwhile. Answers in order. */
export async function inPortions<Item, Result>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let next = 0; next < items.length;) {
    const portion: Promise<Result>[] = [];
    for (let bytes = 0; next < items.length && portion.length < ITEMS_MAX && bytes < BYTES_MAX; next += 1) {
      bytes += bytesOf(items[next]!);
      portion.push(work(items[next]!, next));
    }
    for (const result of await Promise.all(portion)) results.push(result);
    if (next < items.length) await new Promise((resolve) => setImmediate(resolve));
  }
  return results;
}
