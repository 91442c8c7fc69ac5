/** Takes from the files of this process what was deleted. */
export interface Purge {
  /** Something was deleted that must not stay in them. */
  due(): void;
  /** Whether that is a while ago: by then what was deleted is out of the queue, too. */
  isDue(): boolean;
  /** False: not just now. */
  run(): Promise<boolean>;
}

const SETTLED_MS = 1_000;

export function createPurge(purge: () => Promise<boolean>, now = () => performance.now()): Purge {
  let [since, lastAt]: [number | null, number] = [null, -Infinity];
  return {
    due: () => {
      lastAt = now();
      since ??= lastAt;
    },
    isDue: () => since !== null && now() - since >= SETTLED_MS,
    run: async () => {
      const at = now();
      if (!(await purge())) return false;
      // What was deleted just before may still be in the queue, or was deleted meanwhile: once more for it.
      since = lastAt <= at - SETTLED_MS ? null : lastAt;
      return true;
    },
  };
}
