import { AppError } from "../core/errors.js";
import { workspaceOf } from "../core/event/message.js";
import type { Consumer, Delivery, DeliveryOutcome } from "../core/ports/event-queue.js";
import type { WorkerDeps } from "./deps.js";
import { createFaultAlarm } from "./fault-alarm.js";
import { createProcessBatch, type Result } from "./process-batch.js";

export interface Worker {
  /** Starts to handle messages. */
  start(): void;
  /** Rejects while the program fails on events. */
  ready(): Promise<void>;
  /** Stops, and resolves when the batches under way are settled. */
  close(): Promise<void>;
}

const AWAY_MS_MIN = 100;
const AWAY_MS_MAX = 5_000;

/** Handles messages of the queue. A message is done only when its event is stored, linked, folded and marked, or is a dead letter. */
export function createWorker(deps: WorkerDeps): Worker {
  const alarm = createFaultAlarm(deps.log, deps.now);
  const processBatch = createProcessBatch(deps, alarm);
  let consumer: Consumer | null = null;
  /** Batches in a row during which a dependency was away, of workspaces that wait for it. */
  const awayInARow = new Map<string, number>();

  const handle = async (batch: readonly Delivery[]): Promise<readonly DeliveryOutcome[]> => {
    const workspace = workspaceOf(batch[0]!.message);
    const results = await processBatch(batch);
    const delayMs = postponeFor(workspace, results);
    return results.map((result) => (result.kind === "away" ? { kind: "postpone", delayMs } : result));
  };

  /** Longer each time. While nothing of a batch succeeds, the queue holds back its workspace for so long. */
  const postponeFor = (workspace: string, results: readonly Result[]): number => {
    const postponed = results.filter(({ kind }) => kind === "away").length;
    if (postponed === 0) {
      awayInARow.delete(workspace);
      return 0;
    }
    const times = (awayInARow.get(workspace) ?? 0) + 1;
    awayInARow.set(workspace, times);
    const delayMs = Math.min(AWAY_MS_MIN * 2 ** (times - 1), AWAY_MS_MAX);
    deps.log.warn({ postponed, delayMs, awayInARow: times }, "events wait for a dependency");
    return delayMs;
  };

  return {
    start: () => {
      consumer ??= deps.queue.consume(deps.batchMax, handle);
    },
    ready: async () => {
      if (alarm.isRaised())
        throw new AppError("unavailable", "It fails on events by a fault of this program; the log says where.");
    },
    close: async () => {
      await consumer?.close();
    },
  };
}
