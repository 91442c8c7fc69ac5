import { setTimeout as sleep } from "node:timers/promises";
import type { Http } from "../client/http.js";
import { read } from "./command.js";

interface Stats {
  /** Of the whole installation; null: nobody knows. */
  readonly queue: { readonly waiting: number | null; readonly oldest_at: string | null };
  /** The last one is the present one, by the clock of the service. */
  readonly minutes: readonly { readonly at: string }[];
}

const MINUTE_MS = 60_000;
/** What the service says of its queue may be so old: what it accepted just before is not in it. */
export const STALE_MS = 1_100;

/** Answers, each time it is called, whether what the service accepted before the first time is processed. */
export function createQueueWatch(http: Http) {
  let begunBy: number | null = null;
  let fewest = Infinity;
  let movedAt = Date.now();
  let knownAt = Date.now();
  return async () => {
    const { queue, minutes } = await read<Stats>(http, "/v1/stats");
    const { waiting, oldest_at: oldest } = queue;
    begunBy ??= Date.parse(minutes.at(-1)!.at) + MINUTE_MS;
    if (waiting !== null && waiting < fewest) [fewest, movedAt] = [waiting, Date.now()];
    if (oldest !== null) knownAt = Date.now();
    const isDone = waiting === 0 || (oldest !== null && Date.parse(oldest) >= begunBy);
    // As far as one can see nothing was processed for so long, and nobody knew since when the oldest waits.
    return { isDone, waiting, quietMs: Date.now() - movedAt, unknownMs: Date.now() - knownAt };
  };
}

/**
 * Waits until what the service accepted before is processed, and answers null. Else says what is in the way: when nothing is done for
 * `waitMs`, or for `unknownMs` while nobody knows since when the oldest waits. Then events that came later may keep the queue from ever
 * being empty; but it may also be that for a moment no worker runs.
 */
export async function awaitQueue(
  http: Http,
  { waitMs, unknownMs: unknownMaxMs }: { readonly waitMs: number; readonly unknownMs: number },
  tell: (text: string) => void,
): Promise<string | null> {
  const look = createQueueWatch(http);
  for (let isTold = false; ;) {
    await sleep(STALE_MS);
    const { isDone, waiting, quietMs, unknownMs } = await look();
    if (isDone) return null;
    if (!isTold && waiting !== null) {
      tell(`waits until the queue is empty; events that wait: ${waiting}`);
      isTold = true;
    }
    if (quietMs >= waitMs || Math.min(quietMs, unknownMs) >= unknownMaxMs)
      return waiting === null
        ? "nobody knows whether events wait to be processed"
        : `events still wait to be processed, ${waiting}`;
  }
}
