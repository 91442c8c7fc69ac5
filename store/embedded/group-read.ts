/** The reads of one turn of the event loop share a transaction: opening one costs more than the read itself. */
export interface GroupRead {
  read<T>(work: () => T): Promise<T>;
  /** Runs what is waiting now. */
  flush(): void;
}

interface Waiting {
  readonly run: () => void;
  readonly fail: (error: unknown) => void;
}

/** `transact` runs its work between BEGIN and COMMIT. An error of one read does not affect the others. */
export function createGroupRead(transact: (work: () => void) => void): GroupRead {
  let waiting: Waiting[] = [];
  let scheduled: NodeJS.Immediate | null = null;

  const runAll = (group: readonly Waiting[]): void => {
    for (const item of group) {
      try {
        item.run();
      } catch (error) {
        item.fail(error);
      }
    }
  };
  const flush = (): void => {
    if (scheduled) clearImmediate(scheduled);
    scheduled = null;
    const group = waiting;
    waiting = [];
    if (group.length < 2) return runAll(group);
    try {
      transact(() => runAll(group));
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
  };

  return {
    flush,
    read: (work) =>
      new Promise((resolve, reject) => {
        waiting.push({ run: () => resolve(work()), fail: reject });
        scheduled ??= setImmediate(flush);
      }),
  };
}
