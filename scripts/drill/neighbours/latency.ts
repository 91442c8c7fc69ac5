/** What the neighbour does all the time, each of them many times a second. */
export const OPERATIONS = ["collect", "identify", "look-up", "fold"] as const;
export type Operation = (typeof OPERATIONS)[number];

export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export interface Measured {
  /** Milliseconds. */
  readonly latencies: Readonly<Record<Operation, Latency>>;
  /** Answers 5xx, and requests without any answer in time. */
  readonly failures: number;
}

/** By nearest rank; NaN of nothing. */
export function latencyOf(millis: readonly number[]): Latency {
  const sorted = millis.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

const FACTOR = 2;
const ALLOWANCE_MS = 50;
/** The goal: twice the p99 under ordinary requests that burn the same CPU, plus 50 ms. */
export const limitOf = (control: Latency): number => FACTOR * control.p99 + ALLOWANCE_MS;
