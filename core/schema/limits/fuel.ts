/**
 * What a validation in the event loop may still spend, in nanoseconds at worst. A regular expression costs what its string and its
 * program are long, which no look at the schema can tell; so it is counted while it happens. Synchronous, hence one counter will do.
 */
let left = Infinity;

/** Thrown out of a validation whose fuel is gone; the thread, which has a deadline instead, must answer it. */
export const OUT_OF_FUEL = new Error("too long for the event loop");

export function spend(nanoseconds: number): void {
  left -= nanoseconds;
  if (left < 0) throw OUT_OF_FUEL;
}

export function withFuel<T>(nanoseconds: number, run: () => T): T {
  left = nanoseconds;
  try {
    return run();
  } finally {
    left = Infinity;
  }
}
