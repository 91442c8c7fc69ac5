import type { Found, Item, Problem } from "./item.js";

/** Where batches go, and in which form. */
export interface Target {
  readonly path: string;
  readonly member: "batch" | "events";
}

export interface Batch {
  readonly items: readonly Item[];
  /** JSON text. */
  readonly body: string;
}

const ITEMS_MAX = 1_000;
const BYTES_MAX = 2_000_000;

export const batchOf = (items: readonly Item[], { member }: Target): Batch => ({
  items,
  body: `{"${member}":[${items.map(({ text }) => text).join(",")}]}`,
});

/** What is found, in batches that the service takes. `onProblem` is told of what cannot be in one. */
export async function* batchesOf(
  found: AsyncIterable<Found>,
  target: Target,
  onProblem: (problem: Problem) => void,
): AsyncGenerator<Batch> {
  let items: Item[] = [];
  let bytes = 0;
  for await (const one of found) {
    if (one.kind === "problem") {
      onProblem(one);
      continue;
    }
    if (items.length === ITEMS_MAX || (items.length > 0 && bytes + one.bytes > BYTES_MAX)) {
      yield batchOf(items, target);
      items = [];
      bytes = 0;
    }
    items.push(one);
    bytes += one.bytes + 1;
  }
  if (items.length > 0) yield batchOf(items, target);
}
