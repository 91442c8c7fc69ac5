import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { RabbitPublisher } from "../publisher/publisher.js";
import { goesAlone } from "../../queue/crashes.js";
import { now } from "../../queue/schedule.js";
import type { Held } from "./held.js";
import { DELIVERIES_MAX, WAITS, type QueueNames } from "../topology.js";

export interface CopiesDeps {
  readonly names: QueueNames;
  readonly publisher: Pick<RabbitPublisher, "copy">;
  /** Given back what could not be copied and still stands. */
  readonly keep: (held: Held) => void;
  /** Told when no move is under way any more: the copy may have come back before its confirm, and waits for that. */
  readonly onMoved: () => void;
  readonly closing: AbortSignal;
}

/**
 * A message in a queue cannot be changed. It is replaced by a copy with more headers, which is confirmed before the original is
 * acknowledged.
 */
export interface Copies {
  /**
   * With its count of crashes to where it belongs, so that it delays nobody: what goes alone to the end of the suspects, of which a worker
   * holds one, and the rest to what is tried again. Where it cannot be copied it is kept: no alarm of the broker ends while all that came
   * back waits for the end of the alarm.
   */
  move(held: Held): void;
  /** These messages of one delivery to the queues behind the express one, as they came. */
  passOn(body: Buffer, all: readonly Held[]): void;
  /** To wait for its time among the copies; what has long to wait lies in a queue that delivers it only then. */
  toRetry(held: Held): void;
  /** All at once, and due at once: what the broker requeues by itself would look like a crash. Answers what could not be copied. */
  giveBack(all: readonly Held[]): Promise<readonly Held[]>;
  /** Whether a move is under way. */
  isMoving(): boolean;
  /** How many originals were acknowledged so far. */
  forgotten(): number;
  /** Resolves when none is under way. */
  settled(): Promise<unknown>;
}

const AGAIN_MS = 1_000;
/** What the broker took back so often is kept no more: each further crash takes it, and what is held beside it, nearer to where the broker gives up. */
const RETURNS_MAX = DELIVERIES_MAX / 2;
/** Kept in any order, so that what kills the process does not come before the same others each time. */
const SPREAD_MS = 1_000;
/** The tries wait exactly as long as one of the queues to wait in, and a moment of that is over by now. */
const MOMENT_MS = 1_000;

export function createCopies({ names, publisher, keep, onMoved, closing }: CopiesDeps): Copies {
  const underWay = new Set<Promise<void>>();
  let moves = 0;
  let forgotten = 0;
  // Each that waits for its next try listens.
  setMaxListeners(0, closing);

  const copy = (queue: string, held: Held, delayMs: number): Promise<boolean> => {
    const { message, attempts, failedAt, crashes } = held;
    const headers = { attempts, failedAt: failedAt ?? 0, crashes, delayMs: Math.max(0, Math.round(delayMs)) };
    return publisher.copy(queue, message, headers).then(
      () => true,
      () => false,
    );
  };
  const forget = (held: Held): void => {
    forgotten += 1;
    held.intake.settled(held);
  };
  const replace = async (queue: string, held: Held, delayMs: number): Promise<boolean> => {
    const isCopied = await copy(queue, held, delayMs);
    if (isCopied) forget(held);
    return isCopied;
  };
  const moveOnce = async (held: Held): Promise<boolean> => {
    moves += 1;
    const isMoved = await replace(goesAlone(held) ? names.suspects : names.retry, held, 0);
    moves -= 1;
    if (moves === 0) onMoved();
    return isMoved;
  };
  const move = async (held: Held): Promise<void> => {
    let isMoved = await moveOnce(held);
    // Between its tries the others go on.
    while (!isMoved && held.returns >= RETURNS_MAX && held.intake.isOpen() && !closing.aborted) {
      await sleep(AGAIN_MS, undefined, { signal: closing }).catch(() => undefined);
      isMoved = await moveOnce(held);
    }
    if (!isMoved) keep({ ...held, dueAt: now() + Math.random() * SPREAD_MS });
  };
  const toRetry = async (held: Held): Promise<void> => {
    const delayMs = held.dueAt - now();
    const wait = WAITS.findLast(({ ms }) => ms <= delayMs + MOMENT_MS);
    const isReplaced = await (wait === undefined
      ? replace(names.retry, held, delayMs)
      : replace(names[wait.role], held, delayMs - wait.ms));
    if (!isReplaced) keep(held);
  };
  const passOn = async (body: Buffer, all: readonly Held[]): Promise<void> => {
    const isCopied = await publisher.copy(all.length > 1 ? names.lists : names.main, body, null).then(
      () => true,
      () => false,
    );
    for (const held of all)
      if (isCopied) forget(held);
      else keep(held);
  };
  const track = (work: Promise<void>): void => {
    const tracked = work.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  };

  return {
    move: (held) => track(move(held)),
    passOn: (body, all) => track(passOn(body, all)),
    toRetry: (held) => track(toRetry(held)),
    giveBack: async (all) => {
      const areCopied = await Promise.all(all.map((held) => copy(names.retry, held, 0)));
      // In one turn, so that it is one acknowledgement.
      for (const [index, held] of all.entries()) if (areCopied[index]) forget(held);
      return all.filter((_, index) => !areCopied[index]);
    },
    isMoving: () => moves > 0,
    forgotten: () => forgotten,
    settled: () => Promise.all(underWay),
  };
}
