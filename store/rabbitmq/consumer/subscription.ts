import { setTimeout as sleep } from "node:timers/promises";
import type { OnError } from "../connection.js";
import type { Intake } from "./intake.js";
import { isMissing } from "../codes.js";

export interface SubscriptionDeps {
  readonly open: () => Promise<Intake>;
  readonly onOpen: () => void;
  /** Told when the broker takes back all that was delivered. */
  readonly onLost: () => void;
  /** Called when a queue is gone. */
  readonly onMissing: () => void;
  readonly onError: OnError;
  readonly closing: AbortSignal;
}

export interface Subscription {
  /** Null while there is none. */
  current(): Intake | null;
  /** The present one, or the one that is being opened; null when that fails. */
  next(): Promise<Intake | null>;
  /** Resolves after `closing`, once the intake has ended too. */
  readonly ended: Promise<void>;
}

const AGAIN_MS = 250;

/** Opens an intake, and another one after each that ended. */
export function keepSubscribed({ open, onOpen, onLost, onMissing, onError, closing }: SubscriptionDeps): Subscription {
  let intake: Intake | null = null;
  let opening: Promise<Intake> | null = null;
  /** One line for each time that it goes away, not for each try. */
  let isTold = false;

  const report = (error: unknown): void => {
    if (isMissing(error)) onMissing();
    if (!isTold && !closing.aborted) onError("the consumer cannot subscribe", error);
    isTold = true;
  };
  const hold = async (): Promise<void> => {
    try {
      opening = open();
      intake = await opening;
      isTold = false;
      onOpen();
      await intake.ended;
    } catch (error) {
      report(error);
    }
    intake = null;
    onLost();
  };
  const run = async (): Promise<void> => {
    while (!closing.aborted) {
      await hold();
      await sleep(AGAIN_MS, undefined, { signal: closing }).catch(() => undefined);
    }
  };
  const ended = run();
  return { current: () => intake, next: async () => (await opening?.catch(() => null)) ?? null, ended };
}
