import { EXPRESS_BYTES_MAX } from "../publisher/shares.js";
import type { Intake } from "./intake.js";

/** How many messages the broker may hand out at once. */
export interface Prefetch {
  readonly express: number;
  readonly main: number;
  readonly lists: number;
  readonly retry: number;
}

/**
 * AMQP bounds what is handed out by count, so the counts are such that messages of the largest size that a gateway publishes fit into
 * the bytes. Only messages that others publish can be larger. When they exceed the bytes, all are dropped and fewer are asked for;
 * that grows again once they are gone.
 */
export interface Window {
  /** For the next intake. */
  prefetch(): Prefetch;
  /** Looks at what the intake holds, after each message. */
  check(intake: Intake): void;
  close(): void;
}

export interface WindowOptions {
  readonly prefetchMax: Omit<Prefetch, "lists">;
  /** The largest message that a gateway publishes, bytes. */
  readonly messageBytesMax: number;
  /** For all messages that the process holds. */
  readonly bytesMax?: number | undefined;
  readonly growMs?: number;
}

const BYTES_MAX = 288 * 1_048_576;
/** Of a request's events with their headers. */
const LIST_BYTES_MAX = 7 * 1_048_576;
const GROW_MS = 30_000;
const SOURCES = ["express", "main", "lists", "retry"] as const;
/** Of the bytes; little comes by the express queue at once. */
const [EXPRESS_PART, PART] = [0.1, 0.3];
/** One from each queue: the broker hands out no fewer. */
const MESSAGES_MIN = 6;

export function createWindow(options: WindowOptions): Window {
  const { prefetchMax, messageBytesMax, bytesMax = BYTES_MAX, growMs = GROW_MS } = options;
  const fitting = (bytes: number, part = PART): number => Math.max(1, Math.floor((bytesMax * part) / bytes));
  const within = fitting(messageBytesMax);
  const full: Prefetch = {
    express: Math.min(prefetchMax.express, fitting(Math.min(messageBytesMax, EXPRESS_BYTES_MAX), EXPRESS_PART)),
    main: Math.min(prefetchMax.main, within),
    lists: fitting(LIST_BYTES_MAX),
    retry: Math.min(prefetchMax.retry, within),
  };
  const present = { ...full };
  let latest: Intake | null = null;

  const grow = async (intake: Intake): Promise<void> => {
    for (const source of SOURCES) {
      const by = Math.min(full[source] - present[source], present[source]);
      if (by === 0) continue;
      await intake.widen(source, by);
      present[source] += by;
    }
  };
  const timer = setInterval(() => {
    const intake = latest;
    if (intake?.isOpen() !== true || intake.unsettledBytes() > bytesMax / 4) return;
    // An intake that ends meanwhile is followed by one with the present window.
    grow(intake).catch(() => undefined);
  }, growMs);
  timer.unref();

  return {
    prefetch: () => ({ ...present }),
    check: (intake) => {
      latest = intake;
      const count = intake.unsettledDeliveries();
      if (intake.unsettledBytes() <= bytesMax || count <= MESSAGES_MIN) return;
      const each = Math.max(1, Math.floor((count - MESSAGES_MIN / 2) / 2));
      for (const source of SOURCES) present[source] = Math.min(each, present[source]);
      intake.drop();
    },
    close: () => clearInterval(timer),
  };
}
