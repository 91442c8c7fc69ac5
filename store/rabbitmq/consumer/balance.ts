import { setTimeout as sleep } from "node:timers/promises";
import type { OnError } from "../connection.js";
import type { Intake } from "./intake.js";

export interface BalanceDeps {
  readonly countWorkers: () => Promise<number>;
  readonly current: () => Intake | null;
  /** The partitions that stand by now. */
  readonly find: () => Promise<readonly string[]>;
  readonly onError: OnError;
  readonly closing: AbortSignal;
  readonly everyMs?: number | undefined;
}

const EVERY_MS = 5_000;
/** Looking for partitions that others made leaves a line in the broker's log each time. */
const FIND_EACH = 12;

/**
 * The broker gives a partition to whoever subscribed first, so a worker that starts later would have none. One that was handed more than its
 * share since the last look goes to the end of a line: the next in it takes over. Also takes partitions that another number of them made.
 */
export async function keepBalanced(deps: BalanceDeps): Promise<void> {
  const { current, find, onError, closing, everyMs = EVERY_MS } = deps;
  for (let turn = 1; !closing.aborted; turn += 1) {
    await sleep(everyMs, undefined, { signal: closing }).catch(() => undefined);
    const intake = current();
    if (closing.aborted || intake?.isOpen() !== true) continue;
    try {
      if (turn % FIND_EACH === 0) await intake.join(await find());
      await giveUpOne(deps, intake);
    } catch (error) {
      if (intake.isOpen() && !closing.aborted) onError("the partitions cannot be shared", error);
    }
  }
}

async function giveUpOne({ countWorkers }: BalanceDeps, intake: Intake): Promise<void> {
  const handed = intake.handed();
  const [first] = handed;
  if (first === undefined) return;
  const share = Math.ceil(intake.partitions().length / Math.max(1, await countWorkers()));
  if (handed.length > share) await intake.goBehind(first);
}
