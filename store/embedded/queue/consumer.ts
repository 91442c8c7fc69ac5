import type { DeliveryOutcome } from "../../../core/ports/event-queue.js";
import { createAlarm } from "../../queue/alarm.js";
import { backOff, outcomesOf, sharedPostpone, type HandlerDeps } from "../../queue/outcomes.js";
import type { QueueRow, QueueRows, Settlement } from "./rows.js";
import { now, type Later, type Schedule, type Source } from "./schedule.js";
import type { Session } from "../session.js";

export interface ConsumerDeps extends HandlerDeps {
  readonly session: Session;
  readonly rows: QueueRows;
  readonly schedule: Schedule;
  readonly batchMax: number;
  /** The last position published. */
  readonly tail: () => number;
  /** Told how many messages are done, once that is on disk. */
  readonly removed: (messages: number) => void;
}

export interface RunningConsumer {
  /** Something was published. */
  readonly wake: () => void;
  readonly close: () => Promise<void>;
}

/** One batch at a time. Its outcome, the next batch and its lease are one write: one fsync per batch. */
export function startConsumer(deps: ConsumerDeps): RunningConsumer {
  const { session, rows, schedule, batchMax, onError, tail, removed } = deps;
  const alarm = createAlarm();
  let closing = false;

  const take = (source: Source | null): readonly QueueRow[] => {
    if (source === null) return [];
    return source.kind === "fresh" ? rows.after(source.after, batchMax) : rows.listed(source.seqs);
  };
  /** Settles the batch before and leases the next one. */
  const step = (settlement: Settlement | null, source: Source | null): Promise<readonly QueueRow[]> =>
    session.write(() => {
      if (settlement) rows.settle(settlement);
      const batch = take(source);
      rows.lease(batch);
      return batch;
    });
  const deliver = async (batch: readonly QueueRow[], source: Source): Promise<Settlement> => {
    const outcomes = await outcomesOf(deps, batch);
    schedule.putBack(batch.flatMap((row, index) => laterOf(row, outcomes[index]!)));
    const pauseMs = sharedPostpone(outcomes);
    if (pauseMs !== null) schedule.pause(pauseMs);
    return settlementOf(batch, outcomes, source);
  };

  const run = async (): Promise<void> => {
    let settlement: Settlement | null = null;
    let failures = 0;
    for (;;) {
      const seen = tail();
      const source = closing ? null : schedule.next(seen);
      if (source === null && settlement === null) {
        if (closing) return;
        await alarm.sleep(schedule.idleMs());
        continue;
      }
      try {
        const batch = await step(settlement, source);
        failures = 0;
        if (settlement) removed(settlement.done.length);
        settlement = null;
        if (source) schedule.taken(source, batch, seen);
        if (source && batch.length > 0) settlement = await deliver(batch, source);
      } catch (error) {
        onError("the queue cannot write", error);
        // The next process delivers again what is not settled.
        if (closing) return;
        await alarm.sleep(backOff(failures));
        failures += 1;
      }
    }
  };

  const running = run();
  return {
    wake: () => alarm.ring(),
    close: () => {
      closing = true;
      alarm.ring();
      return running;
    },
  };
}

function settlementOf(batch: readonly QueueRow[], outcomes: readonly DeliveryOutcome[], source: Source): Settlement {
  const of = (kind: DeliveryOutcome["kind"]): readonly number[] =>
    batch.filter((_, index) => outcomes[index]!.kind === kind).map(({ seq }) => seq);
  const done = of("done");
  return { done, retry: of("retry"), wholeRange: source.kind === "fresh" && done.length === batch.length };
}

const laterOf = ({ seq, crashes }: QueueRow, outcome: DeliveryOutcome): readonly Later[] =>
  outcome.kind === "done" ? [] : [{ seq, dueAt: now() + outcome.delayMs, alone: crashes > 0 }];
