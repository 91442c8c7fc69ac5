/** Runs `work` on each item, at most `width` at a time. */
export async function each<T>(items: Iterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]() as Iterator<T, undefined>;
  const runLane = async (): Promise<void> => {
    for (;;) {
      const next = queue.next();
      if (next.done === true) return;
      await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: width }, runLane));
}
