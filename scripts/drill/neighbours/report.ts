import { limitOf, OPERATIONS, type Latency, type Measured } from "./latency.js";
import type { Statuses } from "./wire.js";

/** What one flood did to the neighbour. */
export interface FloodResult {
  readonly name: string;
  /** Processors that the service used meanwhile. */
  readonly cores: number;
  readonly megabytes: number;
  readonly before: Measured;
  readonly during: Measured;
  /** Under ordinary requests that burn the same. */
  readonly control: Measured;
  readonly statuses: Statuses;
}

const MEGABYTES_MAX = 600;

/** What is not as it should be. */
export function complaintsOf({ megabytes, during, control }: FloodResult): readonly string[] {
  const slow = OPERATIONS.filter(
    (operation) => !(during.latencies[operation].p99 <= limitOf(control.latencies[operation])),
  );
  return [
    ...slow.map((operation) => `${operation} is slow`),
    ...(during.failures > 0 ? [`${during.failures} failures`] : []),
    ...(megabytes >= MEGABYTES_MAX ? [`${Math.round(megabytes)} MB`] : []),
  ];
}

const show = (millis: number): string => (Number.isNaN(millis) ? "-" : millis.toFixed(millis < 10 ? 1 : 0));
const showPair = ({ p50, p99 }: Latency): string => `${show(p50)}/${show(p99)}`;

/** Milliseconds as p50/p99. One line for each flood, ended by the verdict. */
export function lineOf(result: FloodResult): string {
  const { name, cores, megabytes, before, during, control, statuses } = result;
  const cells = OPERATIONS.map((operation) => {
    const [was, is] = [before.latencies[operation], during.latencies[operation]];
    return `${showPair(was)} > ${showPair(is)} (${show(limitOf(control.latencies[operation]))})`;
  });
  const complaints = complaintsOf(result);
  const answers = Object.entries(statuses).map(([status, count]) => `${status}x${count}`);
  const verdict = complaints.length === 0 ? "holds" : `BROKEN: ${complaints.join(", ")}`;
  return `| ${[name, cores.toFixed(2), Math.round(megabytes), ...cells, answers.join(" ") || "-", verdict].join(" | ")} |`;
}

export const HEAD = `The neighbour's p50/p99 before > during a flood (the goal: twice the p99 under ordinary requests of the same CPU, plus 50), milliseconds.
| flood | cores | MB | ${OPERATIONS.join(" | ")} | answers to the flood | verdict |
|${" --- |".repeat(OPERATIONS.length + 5)}`;
