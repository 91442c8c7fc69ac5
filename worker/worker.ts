import { setTimeout as sleep } from "node:timers/promises";
import type { Consumer, Delivery, DeliveryOutcome } from "../core/ports/event-queue.js";
import type { WorkerDeps } from "./deps.js";
import { createProcessBatch, type Result } from "./process-batch.js";

export interface Worker {
  /** Starts to handle messages. */
  start(): void;
  /** Stops, and resolves when the current batch is settled. */
  close(): Promise<void>;
}

const AWAY_MS_MIN = 100;
const AWAY_MS_MAX = 5_000;

/** Handles messages of the queue. A message is done only when its event is stored, linked, folded and marked, or is a dead letter. */
export function createWorker(deps: WorkerDeps): Worker {
  const processBatch = createProcessBatch(deps);
  const closing = new AbortController();
  let consumer: Consumer | null = null;
  /** Batches in a row during which a dependency was away. */
  let awayInARow = 0;
  /** On the monotonic clock, milliseconds. If the queue pauses by itself, the time is used up. */
  let resumeAt = 0;

  const handle = async (batch: readonly Delivery[]): Promise<readonly DeliveryOutcome[]> => {
    await pause(resumeAt - performance.now(), closing.signal);
    if (closing.signal.aborted) return batch.map(() => ({ kind: "postpone", delayMs: 0 }));
    const results = await processBatch(batch);
    awayInARow = results.some(isAway) ? awayInARow + 1 : 0;
    const delayMs = awayInARow === 0 ? 0 : Math.min(AWAY_MS_MIN * 2 ** (awayInARow - 1), AWAY_MS_MAX);
    // While nothing succeeds, the rest of the queue would only be taken and put back.
    resumeAt = results.every(isAway) ? performance.now() + delayMs : 0;
    report(results, delayMs);
    return results.map((result) => (result.kind === "away" ? { kind: "postpone", delayMs } : result));
  };

  const report = (results: readonly Result[], delayMs: number): void => {
    const postponed = results.filter(isAway).length;
    if (postponed > 0) deps.log.warn({ postponed, delayMs, awayInARow }, "events wait for a dependency");
  };

  return {
    start: () => {
      consumer ??= deps.queue.consume(deps.batchMax, handle);
    },
    close: async () => {
      closing.abort();
      await consumer?.close();
    },
  };
}

const isAway = (result: Result): boolean => result.kind === "away";

/** Ends early when the worker closes. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return;
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
