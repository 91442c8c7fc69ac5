import type { Connection, Publisher, ReturnedMessage } from "rabbitmq-client";
import { AppError } from "../../core/errors.js";
import type { CopyHeaders } from "./headers.js";
import { codeOf } from "./topology.js";

export type SendResult = "stored" | "full" | "missing";

export interface ConfirmChannel {
  /** Resolves once the broker has decided; rejects with `unavailable` when the channel ends before. Without a deadline. */
  send(queue: string, message: Buffer, headers: CopyHeaders | null): Promise<SendResult>;
  /** Goes on with another channel and ends the present one with all that waits on it. */
  renew(): void;
  close(): Promise<void>;
}

export function createConfirmChannel(connection: Connection): ConfirmChannel {
  const returned = new Set<string>();
  const afterReturns = createAfterReturns();
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
        await publisher.send(headers === null ? envelope : { ...envelope, headers }, message);
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
