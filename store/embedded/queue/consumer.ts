import { AppError, isDamaged } from "../../../core/errors.js";
import type { Delivery, DeliveryOutcome } from "../../../core/ports/event-queue.js";
import { createAlarm } from "../../queue/alarm.js";
import { backOff, outcomesOf, sharedPostpone, type HandlerDeps } from "../../queue/outcomes.js";
import { createSchedule, now, type Batch } from "../../queue/schedule.js";
import { nextTurn, type Session } from "../session.js";
import { createKept } from "./kept.js";
import type { QueueMessage } from "./publisher.js";
import type { QueueRow } from "./reads.js";
import type { QueueRows, Settlement, Waiting } from "./rows.js";

export interface ConsumerDeps extends HandlerDeps {
  readonly session: Session;
  readonly rows: QueueRows;
  readonly batchMax: number;
  /** The last position published before: what lies up to there is found by the consumer itself. */
  readonly tail: number;
  /** Told how many messages are done, once that is on disk. */
  readonly removed: (messages: number) => void;
}

export interface RunningConsumer {
  /** These were published. */
  readonly add: (messages: readonly QueueMessage[]) => void;
  readonly close: () => Promise<void>;
}

/** What a write of the queue says. */
interface Turn {
  readonly settlement: Settlement;
  readonly batches: readonly Batch<Waiting>[];
}

/** One write settles what was handled and leases what comes next: one fsync for all batches that meet in it. */
export function startConsumer(deps: ConsumerDeps): RunningConsumer {
  const { session, rows, batchMax, tail, onError, removed } = deps;
  const schedule = createSchedule<Waiting>({ batchMax });
  const alarm = createAlarm();
  const kept = createKept();
  const handling = new Set<Promise<void>>();
  let settlements: Settlement[] = [];
  let closing = false;
  /** The last turn met damage, and is done again row by row. */
  let hasMetDamage = false;

  const settle = (batch: Batch<Waiting>, outcomes: readonly DeliveryOutcome[]): void => {
    const done: number[] = [];
    const retry: (readonly [number, number])[] = [];
    for (const [index, item] of batch.items.entries()) {
      const outcome = outcomes[index]!;
      if (outcome.kind === "done") done.push(item.seq);
      else schedule.hold({ ...item, dueAt: now() + outcome.delayMs });
      if (outcome.kind === "retry") retry.push([item.seq, outcome.failedAt]);
    }
    schedule.ended(batch, sharedPostpone(outcomes) ?? 0);
    settlements.push({ done, retry });
    alarm.ring();
  };
  const handle = async (batch: Batch<Waiting>, found: ReadonlyMap<number, QueueRow>): Promise<void> => {
    const deliveries = batch.items.map(({ seq }) => found.get(seq) ?? asPublished(kept.take(seq)!));
    settle(batch, await outcomesOf(deps, deliveries));
  };
  const start = (batch: Batch<Waiting>, found: ReadonlyMap<number, QueueRow>): void => {
    const handled = handle(batch, found).finally(() => handling.delete(handled));
    handling.add(handled);
  };

  const begin = (): Turn => {
    const settlement = {
      done: settlements.flatMap(({ done }) => done),
      retry: settlements.flatMap(({ retry }) => retry),
    };
    settlements = [];
    const batches: Batch<Waiting>[] = [];
    if (!closing) for (let batch = schedule.take(); batch !== null; batch = schedule.take()) batches.push(batch);
    return { settlement, batches };
  };
  const write = async (): Promise<void> => {
    let turn: Turn | null = null;
    try {
      const found = await session.write(() => {
        // As late as possible, so that much meets in it; once, though the write may run twice.
        turn ??= begin();
        rows.settle(turn.settlement, true);
        rows.lease(schedule.inHand().map(({ seq }) => seq));
        return rows.read(unread(turn));
      });
      started(turn!, turn!.settlement.done.length, found);
    } catch (error) {
      if (turn !== null) undo(turn);
      throw error;
    }
  };
  /**
   * Goes round damage, which ends the transaction that meets it: a write for each row, without a look at the events, so that bytes may
   * stay that are nobody's; and the messages are read behind the write. What cannot be settled stays in its row: it still counts, and the
   * next process is handed it again.
   */
  const writeApart = async (): Promise<void> => {
    const turn = begin();
    try {
      const { done, retry } = turn.settlement;
      const [, gone] = await Promise.all([
        wrote(() => rows.lease(schedule.inHand().map(({ seq }) => seq))),
        Promise.all(done.map((seq) => wrote(() => rows.settle({ done: [seq], retry: [] }, false)))),
        Promise.all(retry.map((one) => wrote(() => rows.settle({ done: [], retry: [one] }, false)))),
      ]);
      const found = await session.read(() => rows.readEach(unread(turn)));
      const lost = [...found.values()].filter(({ message }) => message.length === 0).map(({ seq }) => seq);
      if (lost.length > 0) onError(`the queue hands out damaged messages: positions ${lost.join(", ")}`, UNREADABLE);
      started(turn, gone.filter(Boolean).length, found);
    } catch (error) {
      undo(turn);
      throw error;
    }
  };
  /** Whether it met no damage. */
  const wrote = (work: () => void): Promise<boolean> =>
    session.write(work).then(
      () => true,
      (error: unknown) => {
        if (isDamaged(error)) return false;
        throw error;
      },
    );
  const unread = ({ batches }: Turn): readonly number[] =>
    batches.flatMap(({ items }) => items.map(({ seq }) => seq)).filter((seq) => !kept.has(seq));
  const started = ({ batches }: Turn, gone: number, found: ReadonlyMap<number, QueueRow>): void => {
    removed(gone);
    for (const batch of batches) start(batch, found);
  };
  const undo = ({ settlement, batches }: Turn): void => {
    settlements = [settlement, ...settlements];
    for (const batch of batches.toReversed()) schedule.putBack(batch);
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    for (;;) {
      const idleMs = closing ? null : schedule.idleMs();
      if (settlements.length === 0 && idleMs !== 0) {
        if (closing && handling.size === 0) return;
        await alarm.sleep(idleMs);
        continue;
      }
      try {
        await (hasMetDamage ? writeApart() : write());
        hasMetDamage = false;
        failures = 0;
      } catch (error) {
        onError("the queue cannot write", error);
        if (isDamaged(error) && !hasMetDamage) {
          hasMetDamage = true;
          continue;
        }
        // The next process delivers again what is not settled.
        if (closing) return void (await Promise.all(handling));
        await alarm.sleep(backOff(failures));
        failures += 1;
      }
    }
  };

  const hold = (messages: readonly Waiting[]): void => {
    for (const message of messages) schedule.hold(message);
    alarm.ring();
  };
  const scan = async (): Promise<void> => {
    for (let from = 0; ;) {
      const found = await session.read(() => rows.heads(from, tail));
      if (found.length === 0 || closing) return;
      hold(found.map(rows.waitingOf));
      from = found.at(-1)!.seq + 1;
      await nextTurn();
    }
  };

  const scanned = scan().catch((error: unknown) => onError("the queue cannot be read", error));
  const running = run();
  return {
    add: (messages) => {
      for (const [seq, message] of messages) kept.add(seq, message);
      hold(messages.map(([seq, head]) => rows.waitingOf({ seq, crashes: 0, bytes: head.length, head })));
    },
    close: () => {
      closing = true;
      alarm.ring();
      return Promise.all([scanned, running]).then(() => undefined);
    },
  };
}

/** What was published here and not handled yet; whatever happens to it later is in its row. */
const asPublished = (message: Buffer): Delivery => ({ message, attempts: 0, failedAt: null, crashes: 0 });

const UNREADABLE = new AppError("damaged", "Messages that wait cannot be read.");
