import type { Socket } from "node:net";
import type { Connection, Publisher, ReturnedMessage } from "rabbitmq-client";
import { AppError } from "../../../core/errors.js";
import type { CopyHeaders } from "./headers.js";
import { codeOf } from "../codes.js";

export type SendResult = "stored" | "full" | "missing";

export interface ConfirmChannel {
  /** Resolves once the broker has decided; rejects with `unavailable` when the channel ends before. Without a deadline. */
  send(queue: string, message: Buffer, headers: CopyHeaders | null): Promise<SendResult>;
  /** Continues with a new channel and ends the present one with everything that waits on it. */
  renew(): void;
  close(): Promise<void>;
}

export function createConfirmChannel(connection: Connection): ConfirmChannel {
  const returned = new Set<string>();
  const afterReturns = createAfterReturns();
  const sendTogether = createSendTogether(connection);
  let lastId = 0;

  const open = (): Publisher => {
    const publisher = connection.createPublisher({ confirm: true });
    publisher.on("basic.return", ({ messageId }: ReturnedMessage) => void returned.add(messageId ?? ""));
    return publisher;
  };
  let publisher = open();

  return {
    send: async (routingKey, message, headers) => {
      lastId += 1;
      const messageId = lastId.toString(36);
      // Unless `durable`, a broker's restart forgets the message; unless `mandatory`, a missing queue would confirm it.
      const envelope = {
        routingKey,
        messageId,
        durable: true,
        mandatory: true,
        contentType: "application/octet-stream",
      };
      try {
        await sendTogether(message.length, () =>
          publisher.send(headers === null ? envelope : { ...envelope, headers }, message),
        );
      } catch (error) {
        if (codeOf(error) === "NACK") return "full";
        throw new AppError("unavailable", "The queue is away.", { cause: error });
      }
      await afterReturns();
      return returned.delete(messageId) ? "missing" : "stored";
    },
    renew: () => {
      const old = publisher;
      publisher = open();
      old.close().catch(() => undefined);
    },
    close: () => publisher.close(),
  };
}

/** Less than the socket takes before it asks to wait. */
const TOGETHER_BYTES = 12 * 1_024;
/** Of a message, beside its body. */
const ENVELOPE_BYTES = 256;

interface Sending {
  readonly bytes: number;
  readonly start: () => void;
}

/**
 * The library makes a system call for each message, which costs more than all else it does with it. What is sent in one turn of the
 * event loop goes out at its end, many in one; where the library keeps its socket elsewhere one day, only the speed is lost.
 */
function createSendTogether(connection: Connection): <T>(bytes: number, send: () => Promise<T>) => Promise<T> {
  let waiting: Sending[] = [];
  const flush = (): void => {
    const all = waiting;
    waiting = [];
    for (let next = 0; next < all.length;) {
      // No longer than this loop: the library takes a corked socket for one that is blocked.
      const { _socket: socket } = connection as unknown as { readonly _socket?: Socket };
      socket?.cork();
      let bytes = 0;
      do {
        bytes += all[next]!.bytes;
        all[next++]!.start();
      } while (next < all.length && bytes + all[next]!.bytes <= TOGETHER_BYTES);
      socket?.uncork();
    }
  };
  return (bytes, send) =>
    new Promise((resolve, reject) => {
      const start = (): void => void send().then(resolve, reject);
      if (waiting.push({ bytes: bytes + ENVELOPE_BYTES, start }) === 1) setImmediate(flush);
    });
}

/**
 * A return comes before its confirm but is emitted a turn later. All that was confirmed in one turn is answered together, after every
 * return of that turn: by the second turn, because the first may have been asked for before the return came.
 */
function createAfterReturns(): () => Promise<void> {
  let confirmed: (() => void)[] = [];
  const next = (): void => {
    const batch = confirmed;
    confirmed = [];
    setImmediate(() => {
      for (const resolve of batch) resolve();
    });
  };
  return () =>
    new Promise((resolve) => {
      if (confirmed.push(resolve) === 1) setImmediate(next);
    });
}
