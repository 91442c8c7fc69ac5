/** The size of the next step of a long work, so that a step holds its workspace for about the same time however fast the server is. */
export interface Pace {
  /** Things that the next step may take. */
  readonly size: () => number;
  /** Runs a step, and makes the next one up to twice or half as large by the time that it took. */
  readonly timed: <T>(step: () => Promise<T>) => Promise<T>;
}

/** Others of the workspace wait for one step, and for what was in the queue before them: together 100 ms at most. */
const AIM_MS = 50;

/** Begins with the largest step; `min` may be larger than `max`. */
export function createPace({ min, max }: { readonly min: number; readonly max: number }): Pace {
  let size = max;
  return {
    size: () => size,
    timed: async (step) => {
      const began = performance.now();
      const result = await step();
      const factor = AIM_MS / (performance.now() - began);
      size = Math.min(max, Math.max(min, Math.round(size * Math.min(2, Math.max(0.5, factor)))));
      return result;
    },
  };
}
