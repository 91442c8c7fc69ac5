import { randomUUID } from "node:crypto";
import type { Connection } from "rabbitmq-client";
import { acceptedAt, workspaceOf } from "../../../core/event/message.js";
import type { DeliveryOutcome } from "../../../core/ports/event-queue.js";
import { createAlarm } from "../../queue/alarm.js";
import { crashesOnReturn, goesAlone } from "../../queue/crashes.js";
import { closeConnection, createConnection, type OnError } from "../connection.js";
import { createCopies } from "./copies.js";
import { outcomesOf, sharedPostpone, type HandlerDeps } from "../../queue/outcomes.js";
import type { RabbitPublisher } from "../publisher/publisher.js";
import { createSchedule, now, type Batch } from "../../queue/schedule.js";
import { keepBalanced } from "./balance.js";
import type { Held } from "./held.js";
import { openIntake, type Incoming, type Intake } from "./intake.js";
import { keepSubscribed } from "./subscription.js";
import { answerCalls, type Present } from "../roll-call.js";
import { WAITS, type QueueNames } from "../topology.js";
import { createWindow } from "./window.js";
import { within } from "../within.js";

export interface ConsumerDeps extends HandlerDeps {
  readonly url: string;
  readonly names: QueueNames;
  /** Those that stand, asked on this connection. */
  readonly partitions: (connection: Connection) => Promise<readonly string[]>;
  readonly balanceMs?: number | undefined;
  readonly batchMax: number;
  readonly publisher: Pick<RabbitPublisher, "copy">;
  /** While the broker is short of memory or disk it hears nothing more of a connection that published, not even what is done. To answer a call is to publish. */
  readonly publishing: Connection;
  /** Called when a queue is gone. */
  readonly onMissing: () => void;
  /** The longest time that a message is handled without an outcome, milliseconds. */
  readonly heldMsMax: number;
  /** The largest message that a gateway publishes, bytes. */
  readonly messageBytesMax: number;
  /** For the messages that this process holds, bytes. */
  readonly heldBytesMax?: number | undefined;
  readonly onError: OnError;
}

export interface RunningConsumer {
  isSubscribed(): boolean;
  close(): Promise<void>;
}

/** One batch is handled while the next one is ready. */
const PREFETCH_MIN = 300;
/** Messages that wait for their next try are held here, so they must not fill the window of the fresh ones. */
const PREFETCH_RETRY = 500;
/** The broker gives up on a message after this many deliveries; above every setting of ours. */
export const CRASHES_GIVEN_UP = 1_000_000;
const ANSWER_MS = 1_000;
const GIVE_BACK_MS = 2_000;
/** So long nothing is handled alone after a process died: what it held is handled first, else whatever kills this one, too, would make all of that go alone. */
const CALM_MS = 2_000;

/** What is delivered while a workspace's batch is under way makes up its next one. */
export function startConsumer(deps: ConsumerDeps): RunningConsumer {
  const { names, batchMax, publisher, heldMsMax, onError, onMissing } = deps;
  const connection = createConnection(deps.url, "consumer", onError);
  const express = createConnection(deps.url, "express consumer", onError);
  const closing = new AbortController();
  const alarm = createAlarm();
  const handling = new Set<Promise<void>>();
  const keep = (held: Held): void => {
    if (held.intake.isOpen()) schedule.hold(held);
    alarm.ring();
  };
  // A copy of one may come back before the move of it is confirmed.
  const schedule = createSchedule<Held>({ batchMax, takesSuspects: () => !copies.isMoving() });
  const copies = createCopies({ names, publisher, keep, onMoved: () => alarm.ring(), closing: closing.signal });

  let calmAt = 0;
  /** What a process died on is not held for long: it takes a place of others, and a crash would count against it. */
  const setAside = (held: Held): void => copies.toRetry({ ...held, dueAt: now() + WAITS[0].ms });
  const receive = (held: Held): void => {
    if (schedule.waitsLong(held) || (held.source === "suspects" && now() < calmAt)) setAside(held);
    // It was set aside or given back; its turn is among the suspects.
    else if (goesAlone(held) && held.source === "retry" && held.dueAt <= held.heldSince) copies.move(held);
    else keep(held);
  };
  const takeBack = (held: Held): void => {
    if (!goesAlone(held)) calmAt = now() + CALM_MS;
    copies.move(held);
  };
  const onDelivery = (incoming: Incoming): void => {
    const all = incoming.messages.map((message) => heldOf(incoming, message));
    if (incoming.isRedelivered && incoming.source !== "dead") for (const held of all) takeBack(held);
    else if (incoming.isExcess) copies.passOn(incoming.body, all);
    // What the queues to wait in do not add up to, such as the rest of an hour: it would fill the window of those that are due.
    else if (incoming.source === "retry" && incoming.headers.delayMs >= WAITS[0].ms)
      for (const held of all) copies.toRetry(held);
    else for (const held of all) receive(held);
    window.check(incoming.intake);
  };
  const window = createWindow({
    prefetchMax: prefetchOf(batchMax),
    messageBytesMax: deps.messageBytesMax,
    bytesMax: deps.heldBytesMax,
  });
  // Not on the one that publishes: while the broker is short of memory or disk it reads nothing of that one, and workers are to drain the queue.
  const partitions = () => deps.partitions(connection);
  const worker = randomUUID();
  let subscriptions = 0;
  const present = async (): Promise<Present | null> => {
    const intake = await subscription.next();
    // Without one the broker does not count this worker, or will not in a moment.
    if (intake === null || !(await catchUp(intake))) return null;
    const times = intake.firsts().flatMap((message) => acceptedAt(message) ?? []);
    return {
      worker: `${worker} ${subscriptions}`,
      held: intake.unsettled(),
      oldest: times.length === 0 ? null : Math.min(...times),
      copied: copies.forgotten(),
    };
  };
  const calls = answerCalls(deps.publishing, names, present, onError);
  const subscription = keepSubscribed({
    open: async () => {
      await calls.heard;
      const prefetch = { ...window.prefetch(), suspects: 1, dead: 1 };
      const connections = { express, others: connection };
      return openIntake({ connections, names, partitions: await partitions(), prefetch, onDelivery });
    },
    onOpen: () => {
      subscriptions += 1;
      alarm.ring();
    },
    onLost: () => void schedule.remove(),
    onMissing,
    onError,
    closing: closing.signal,
  });

  const settle = (held: Held, outcome: DeliveryOutcome): void => {
    if (!held.intake.isOpen()) return;
    if (outcome.kind === "done") return held.intake.settled(held);
    const dueAt = now() + outcome.delayMs;
    if (outcome.kind === "postpone" && held.crashes > 0) setAside(held);
    else if (outcome.kind === "postpone") schedule.hold({ ...held, dueAt });
    else copies.toRetry({ ...held, attempts: held.attempts + 1, failedAt: held.failedAt ?? outcome.failedAt, dueAt });
  };
  const handle = async (batch: Batch<Held>): Promise<void> => {
    const outcomes = await outcomesOf(deps, batch.items);
    for (const [index, held] of batch.items.entries()) settle(held, outcomes[index]!);
    const pauseMs = sharedPostpone(outcomes) ?? 0;
    schedule.ended(batch, pauseMs);
    if (pauseMs > 0) for (const held of schedule.remove((item) => isOfAway(batch, item))) setAside(held);
    alarm.ring();
  };
  const start = (batch: Batch<Held>): void => {
    const handled = handle(batch).finally(() => handling.delete(handled));
    handling.add(handled);
  };
  const run = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const isSubscribed = subscription.current() !== null;
      const batch = isSubscribed ? schedule.take() : null;
      if (batch !== null) {
        start(batch);
        continue;
      }
      await alarm.sleep(isSubscribed ? schedule.idleMs() : null);
      // Messages come one by one; a turn later all of one network packet are there.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(handling);
  };
  const running = run();

  /** Long before the broker takes it away, which would count as a crash. */
  const refresh = setInterval(() => {
    const heldSinceMax = now() - heldMsMax;
    for (const held of schedule.remove(({ heldSince }) => heldSince <= heldSinceMax)) copies.toRetry(held);
  }, heldMsMax / 10);
  refresh.unref();

  const balanced = keepBalanced({
    // Each takes these once. Of a partition the broker counts only the one that it hands out to.
    countWorkers: async () => (await connection.queueDeclare({ queue: names.suspects, passive: true })).consumerCount,
    current: () => subscription.current(),
    find: partitions,
    everyMs: deps.balanceMs,
    onError,
    closing: closing.signal,
  });

  const late = new AbortController();
  /** Handles what may be handled now, until it is time to go. */
  const finish = async (): Promise<void> => {
    while (!late.signal.aborted) {
      const batch = schedule.take();
      if (batch !== null) start(batch);
      else if (handling.size > 0) await Promise.race(handling);
      else return;
    }
  };
  const leave = async (intake: Intake): Promise<void> => {
    await copies.settled();
    // Only now, when we publish no more copies.
    await intake.cancel(["retry", "suspects", "dead"]);
    // What came until then is copied, too.
    await copies.settled();
    const left = await copies.giveBack(schedule.remove());
    // It would look like a crash, and while the broker raises an alarm that is all of it: what may be handled now is.
    for (const held of left) keep(held);
    if (left.length > 0) await finish();
    await intake.close();
  };
  const close = async (): Promise<void> => {
    clearInterval(refresh);
    window.close();
    closing.abort();
    alarm.ring();
    const intake = await within(ANSWER_MS, subscription.next()).catch(() => null);
    // First, so that the broker delivers nothing more to this process.
    const isCancelled = await within(ANSWER_MS, intake?.cancel(["express", "main", "lists"]) ?? Promise.resolve()).then(
      () => true,
      () => false,
    );
    await running;
    // A broker that does not answer now takes nothing back either; it hands all out again by itself.
    if (intake && isCancelled) await within(GIVE_BACK_MS, leave(intake)).catch(() => undefined);
    late.abort();
    await Promise.all(handling);
    await calls.close();
    await Promise.all([closeConnection(connection), closeConnection(express)]);
    await subscription.ended;
    await balanced;
  };
  let closed: Promise<void> | null = null;
  return {
    isSubscribed: () => subscription.current() !== null,
    close: () => (closed ??= close()),
  };
}

/** What a process died on, of the workspace of a batch that was postponed. */
const isOfAway = ({ workspace }: Batch<Held>, item: Held): boolean => item.crashes > 0 && item.workspace === workspace;

/** Then all is counted that the broker had handed out before. False where the intake ends before. */
const catchUp = (intake: Intake): Promise<boolean> =>
  intake.caughtUp().then(
    () => intake.isOpen(),
    () => false,
  );

const prefetchOf = (batchMax: number) => ({
  // Whatever a process that dies held comes back as a copy.
  express: Math.max(PREFETCH_MIN, batchMax),
  main: Math.max(PREFETCH_MIN, batchMax),
  retry: PREFETCH_RETRY,
});

function heldOf({ intake, tag, source, headers, isRedelivered, returns }: Incoming, message: Buffer): Held {
  const heldSince = now();
  return {
    intake,
    source,
    tag,
    returns,
    message,
    workspace: workspaceOf(message),
    bytes: message.length,
    attempts: headers.attempts,
    failedAt: headers.failedAt === 0 ? null : headers.failedAt,
    crashes:
      source === "dead"
        ? CRASHES_GIVEN_UP
        : isRedelivered
          ? crashesOnReturn(headers.crashes, returns)
          : headers.crashes,
    heldSince,
    dueAt: heldSince + headers.delayMs,
  };
}
