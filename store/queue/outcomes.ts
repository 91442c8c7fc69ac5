import type { Delivery, DeliveryOutcome } from "../../core/ports/event-queue.js";

const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/** Before the next try after so many failures in a row, milliseconds. */
export const backOff = (failures: number): number => Math.min(DELAY_MS_MAX, DELAY_MS_MIN * 2 ** Math.min(failures, 10));

export interface HandlerDeps {
  readonly handler: (batch: readonly Delivery[]) => Promise<readonly DeliveryOutcome[]>;
  readonly onError: (message: string, error: unknown) => void;
}

/** One outcome for each. Never rejects: a handler that throws asks for a retry of all. */
export async function outcomesOf(
  { handler, onError }: HandlerDeps,
  batch: readonly Delivery[],
): Promise<readonly DeliveryOutcome[]> {
  try {
    const outcomes = await handler(
      batch.map(({ message, attempts, failedAt, crashes }) => ({ message, attempts, failedAt, crashes })),
    );
    if (outcomes.length === batch.length) return outcomes;
    throw new Error(`The handler answered ${outcomes.length} outcomes for ${batch.length} messages.`);
  } catch (error) {
    onError("the handler of a batch failed", error);
    return batch.map(({ attempts }) => ({ kind: "retry", delayMs: backOff(attempts), failedAt: Date.now() }));
  }
}

/** The shortest delay if the whole batch was postponed, else null. */
export function sharedPostpone(outcomes: readonly DeliveryOutcome[]): number | null {
  let shortestMs = Infinity;
  for (const outcome of outcomes) {
    if (outcome.kind !== "postpone") return null;
    shortestMs = Math.min(shortestMs, outcome.delayMs);
  }
  return shortestMs;
}
