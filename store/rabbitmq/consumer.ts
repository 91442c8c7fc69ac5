import { setTimeout as sleep } from "node:timers/promises";
import { createAlarm } from "./alarm.js";
import { closeConnection, createConnection, type OnError } from "./connection.js";
import { outcomesOf, sharedPostpone, type HandlerDeps } from "./outcomes.js";
import type { Outcome } from "../../core/ports.js";
import type { RabbitPublisher } from "./publisher.js";
import { createSchedule, now, type Held } from "./schedule.js";
import { openSession, type Incoming, type Session } from "./session.js";
import { isMissing, type QueueNames } from "./topology.js";
import { within } from "./within.js";

export interface ConsumerDeps extends HandlerDeps {
  readonly url: string;
  readonly names: QueueNames;
  readonly batchMax: number;
  readonly publisher: Pick<RabbitPublisher, "copy">;
  /** Told that a queue is gone. */
  readonly onMissing: () => void;
  /** Longest time that a message is kept in hand without an outcome, milliseconds. */
  readonly heldMsMax: number;
  readonly onError: OnError;
}

export interface RunningConsumer {
  isSubscribed(): boolean;
  /** Messages that this process holds. Resolves once all are counted that the broker had handed out before. */
  countHeld(): Promise<number>;
  /** Messages that were replaced by a copy so far. */
  copied(): number;
  close(): Promise<void>;
}

/** One batch is handled while the next one lies ready. */
const PREFETCH_MIN = 300;
/** Messages that wait for their next try are held here, so they must not fill the window of the fresh ones. */
const PREFETCH_RETRY = 500;
const RESUBSCRIBE_MS = 250;
const COPY_AGAIN_MS = 1_000;
/** What the broker gave up on, above every setting. */
const CRASHES_GIVEN_UP = 1_000_000;
const ANSWER_MS = 1_000;
const GIVE_BACK_MS = 2_000;

export function startConsumer(deps: ConsumerDeps): RunningConsumer {
  const { url, names, batchMax, publisher, heldMsMax, onError } = deps;
  const connection = createConnection(url, "consumer", onError);
  const schedule = createSchedule();
  const alarm = createAlarm();
  const closing = new AbortController();
  const isClosing = (): boolean => closing.signal.aborted;
  const copies = new Set<Promise<void>>();
  let session: Session | null = null;
  let opening: Promise<Session> | null = null;
  let moves = 0;
  let copied = 0;

  /** False when that failed. */
  const copy = async (queue: string, { message, attempts, crashes }: Held, delayMs: number): Promise<boolean> => {
    const headers = { attempts, crashes, delayMs: Math.max(0, Math.round(delayMs)) };
    return publisher.copy(queue, message, headers).then(
      () => true,
      () => false,
    );
  };
  const forget = ({ session, tag }: Held): void => {
    copied += 1;
    session.ack(tag);
  };
  /** The copy is safe before the original is forgotten. False when the original stands. */
  const replace = async (queue: string, held: Held, delayMs: number): Promise<boolean> => {
    const isCopied = await copy(queue, held, delayMs);
    if (isCopied) forget(held);
    return isCopied;
  };
  const holdAgain = (held: Held): void => {
    if (!held.session.isOpen()) return;
    schedule.hold(held);
    alarm.ring();
  };
  const track = (work: Promise<void>): void => {
    const tracked = work.finally(() => copies.delete(tracked));
    copies.add(tracked);
  };
  /** To the tail of the suspects, so that it keeps nobody back and only what was alone in hand is blamed again. */
  const move = async (held: Held): Promise<void> => {
    moves += 1;
    let isMoved = await replace(names.suspects, held, 0);
    while (!isMoved && held.session.isOpen() && !isClosing()) {
      await sleep(COPY_AGAIN_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      isMoved = await replace(names.suspects, held, 0);
    }
    moves -= 1;
    if (isMoved) alarm.ring();
    else holdAgain(held);
  };
  const toRetry = async (held: Held): Promise<void> => {
    if (!(await replace(names.retry, held, held.dueAt - now()))) holdAgain(held);
  };

  const onMessage = (incoming: Incoming): void => {
    const held = heldOf(incoming);
    if (incoming.isRedelivered && incoming.source !== "dead") return track(move(held));
    schedule.hold(held);
    alarm.ring();
  };
  const settle = (held: Held, outcome: Outcome): void => {
    if (!held.session.isOpen()) return;
    if (outcome.kind === "done") return held.session.ack(held.tag);
    const dueAt = now() + outcome.delayMs;
    if (outcome.kind === "postpone") return schedule.hold({ ...held, dueAt });
    track(toRetry({ ...held, attempts: held.attempts + 1, dueAt }));
  };

  const run = async (): Promise<void> => {
    while (!isClosing()) {
      const batch = session === null ? [] : schedule.take(batchMax, moves === 0);
      if (batch.length === 0) {
        await alarm.sleep(session === null ? null : schedule.idleMs(moves === 0));
        // Messages come one by one; a turn later all of one network packet are there.
        await new Promise((resolve) => setImmediate(resolve));
        continue;
      }
      const outcomes = await outcomesOf(deps, batch);
      const pauseMs = sharedPostpone(outcomes);
      if (pauseMs !== null) schedule.pause(pauseMs);
      for (const [index, held] of batch.entries()) settle(held, outcomes[index]!);
    }
  };

  const subscribe = async (): Promise<void> => {
    opening = openSession({ connection, names, prefetch: prefetchOf(batchMax), onMessage });
    session = await opening;
    alarm.ring();
    await session.ended;
  };
  const keepSubscribed = async (): Promise<void> => {
    let isTold = false;
    while (!isClosing()) {
      try {
        await subscribe();
        isTold = false;
      } catch (error) {
        if (!isTold && !isClosing()) onError("the consumer cannot subscribe", error);
        isTold = true;
        if (isMissing(error)) deps.onMissing();
      }
      session = null;
      // The broker hands it all out again.
      schedule.remove();
      if (!isClosing()) await sleep(RESUBSCRIBE_MS, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  };

  /** Long before the broker takes it away, which would count as a crash. */
  const refresh = setInterval(() => {
    for (const held of schedule.remove(now() - heldMsMax)) track(toRetry(held));
  }, heldMsMax / 10);
  refresh.unref();

  /** As copies: what the broker takes back by itself looks like a crash. All are acknowledged in one turn. */
  const giveBack = async (all: readonly Held[]): Promise<void> => {
    const areCopied = await Promise.all(all.map((held) => copy(names.retry, held, 0)));
    for (const [index, held] of all.entries()) if (areCopied[index]) forget(held);
  };

  const subscribed = keepSubscribed();
  const running = run();
  const leave = async (current: Session): Promise<void> => {
    // Only then comes nothing more from ourselves to the queue of the copies.
    await Promise.all(copies);
    await current.cancel(["retry", "suspects", "dead"]);
    await giveBack(schedule.remove());
    await current.close();
  };
  const close = async (): Promise<void> => {
    clearInterval(refresh);
    closing.abort();
    alarm.ring();
    const current = await within(ANSWER_MS, opening ?? Promise.resolve(null)).catch(() => null);
    // First of all, so that nothing new is handed to a process that takes no more.
    const isCancelled = await within(ANSWER_MS, current?.cancel(["main"]) ?? Promise.resolve()).then(
      () => true,
      () => false,
    );
    await running;
    // A broker that does not answer now takes nothing back either; it hands all out again by itself.
    if (current && isCancelled) await within(GIVE_BACK_MS, leave(current)).catch(() => undefined);
    await closeConnection(connection);
    await subscribed;
  };
  let closed: Promise<void> | null = null;
  return {
    isSubscribed: () => session !== null,
    countHeld: async () => {
      const current = await opening?.catch(() => null);
      await current?.caughtUp();
      return current?.unsettled() ?? 0;
    },
    copied: () => copied,
    close: () => (closed ??= close()),
  };
}

const prefetchOf = (batchMax: number) => ({
  main: Math.max(PREFETCH_MIN, 2 * batchMax),
  retry: PREFETCH_RETRY,
  suspects: 1,
  dead: 1,
});

function heldOf({ session, tag, source, message, headers, isRedelivered }: Incoming): Held {
  const heldSince = now();
  const crashes = source === "dead" ? CRASHES_GIVEN_UP : headers.crashes + (isRedelivered ? 1 : 0);
  return { session, tag, message, attempts: headers.attempts, crashes, heldSince, dueAt: heldSince + headers.delayMs };
}
