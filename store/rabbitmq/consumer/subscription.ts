import { setTimeout as sleep } from "node:timers/promises";
import type { OnError } from "../connection.js";
import type { Session } from "./session.js";
import { isMissing } from "../topology.js";

export interface SubscriptionDeps {
  readonly open: () => Promise<Session>;
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
  current(): Session | null;
  /** The present one, or the one that is being opened; null when that fails. */
  next(): Promise<Session | null>;
  /** Resolves after `closing`, once the session has ended too. */
  readonly ended: Promise<void>;
}

const AGAIN_MS = 250;

/** Opens a session, and another one after each that ended. */
export function keepSubscribed({ open, onOpen, onLost, onMissing, onError, closing }: SubscriptionDeps): Subscription {
  let session: Session | null = null;
  let opening: Promise<Session> | null = null;
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
      session = await opening;
      isTold = false;
      onOpen();
      await session.ended;
    } catch (error) {
      report(error);
    }
    session = null;
    onLost();
  };
  const run = async (): Promise<void> => {
    while (!closing.aborted) {
      await hold();
      await sleep(AGAIN_MS, undefined, { signal: closing }).catch(() => undefined);
    }
  };
  const ended = run();
  return { current: () => session, next: async () => (await opening?.catch(() => null)) ?? null, ended };
}
