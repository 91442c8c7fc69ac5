/** Runs `work` on each item, at most `width` at a time. */
export async function each<T>(items: Iterable<T>, width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const runLane = async (): Promise<void> => {
    for (;;) {
      const { done, value } = queue.next();
      if (done === true) return;
      await work(value);
    }
  };
  await Promise.all(Array.from({ length: width }, runLane));
}
