import { setTimeout as sleep } from "node:timers/promises";
import type { AsyncMessage, Channel, Connection } from "rabbitmq-client";
import { createAcks } from "./acks.js";
import { readHeaders, type CopyHeaders } from "../publisher/headers.js";
import { unpackList } from "../list.js";
import type { QueueNames, QueueRole } from "../topology.js";

/** One subscription to all queues that have consumers, as long as its channel lives. What it delivered can be acknowledged nowhere else. */
export interface Intake {
  isOpen(): boolean;
  /** Messages that are not settled. */
  unsettled(): number;
  /** What they came in: a list is one. */
  unsettledDeliveries(): number;
  /** Of those. */
  unsettledBytes(): number;
  /** The first message of each of those: the others of a list were published with it. */
  firsts(): readonly Buffer[];
  /** Lets the broker hand out so many more messages of this queue at once. */
  widen(source: QueueRole, by: number): Promise<void>;
  /** Takes nothing more at once. The broker hands out again what is not acknowledged, as after a crash. */
  drop(): void;
  /** One message of the delivery is settled. */
  settled(tag: number): void;
  /** Resolves when everything is delivered that the broker had sent before. */
  caughtUp(): Promise<void>;
  /** Resolves when these queues deliver nothing more. */
  cancel(sources: readonly QueueRole[]): Promise<void>;
  close(): Promise<void>;
  /** Resolves when the channel is gone, by `close` or otherwise. */
  readonly ended: Promise<void>;
}

export interface Incoming {
  readonly intake: Intake;
  readonly tag: number;
  readonly source: QueueRole;
  readonly message: Buffer;
  readonly headers: CopyHeaders;
  readonly isRedelivered: boolean;
}

export interface IntakeDeps {
  readonly connection: Connection;
  readonly names: QueueNames;
  readonly prefetch: Readonly<Record<QueueRole, number>>;
  readonly onMessage: (incoming: Incoming) => void;
}

const NO_HEADERS = readHeaders(undefined);

/**
 * All queues on one channel, so that whatever ends it ends all: the library's own consumers would each be cut apart, and each waits
 * for its unsettled handlers before it subscribes again.
 */
export async function openIntake({ connection, names, prefetch, onMessage }: IntakeDeps): Promise<Intake> {
  const channel = await connection.acquire();
  keepDeliveries(channel);
  const tags = new Map<QueueRole, readonly string[]>();
  const subscribe = async (source: QueueRole, prefetchCount = prefetch[source]): Promise<void> => {
    // Applies to the consumers that follow it on this channel.
    await channel.basicQos({ prefetchCount });
    const { consumerTag } = await channel.basicConsume({ queue: names[source] }, (message) => {
      if (!intake.isOpen()) return;
      const body = message.body as Buffer;
      const messages = unpackList(body);
      delivered(message.deliveryTag, messages, body.length);
      for (const one of messages) onMessage(incomingOf(intake, source, message, one));
    });
    tags.set(source, [...(tags.get(source) ?? []), consumerTag]);
  };
  const { intake, delivered } = createIntake(channel, tags, subscribe);
  try {
    await subscribe("main");
    await subscribe("lists");
    await subscribe("retry");
    // Before one of the suspects is handled, we must know of all that other processes crashed on.
    await intake.caughtUp();
    await subscribe("suspects");
    await subscribe("dead");
    return intake;
  } catch (error) {
    await intake.close();
    throw error;
  }
}

function createIntake(channel: Channel, tags: ReadonlyMap<QueueRole, readonly string[]>, widen: Intake["widen"]) {
  let isOpen = true;
  let received = 0;
  const acks = createAcks(channel);
  const ended = new Promise<void>((resolve) => {
    channel.once("close", () => {
      isOpen = false;
      resolve();
    });
  });
  // The queue was deleted, or its leader moved; the channel itself lives on.
  channel.on("basic.cancel", () => void channel.close());
  const quiet = async (): Promise<void> => {
    for (let before = -1; before !== received;) {
      before = received;
      await sleep(QUIET_MS);
      await intake.caughtUp();
    }
  };
  const intake: Intake = {
    isOpen: () => isOpen,
    unsettled: () => (isOpen ? acks.outstanding() : 0),
    unsettledDeliveries: () => (isOpen ? acks.deliveries() : 0),
    unsettledBytes: () => (isOpen ? acks.outstandingBytes() : 0),
    firsts: () => (isOpen ? acks.firsts() : []),
    widen,
    drop: () => {
      acks.flush();
      isOpen = false;
      void channel.close();
    },
    settled: (tag) => acks.settled(tag),
    caughtUp: async () => {
      // Any answer will do: the broker sends it after the earlier deliveries, each of which is handed on one turn later.
      await channel.basicQos({ prefetchCount: 1 });
      await nextTurn();
    },
    cancel: async (sources) => {
      // A message on its way to a consumer that is being cancelled would go back to the queue and look like a crash. So first nothing
      // is acknowledged, for which the broker would hand out more, until what it hands out already is here.
      acks.hold();
      await quiet();
      for (const tag of sources.flatMap((source) => tags.get(source) ?? [])) await channel.basicCancel(tag);
      await intake.caughtUp();
      acks.release();
    },
    close: async () => {
      acks.flush();
      await channel.close();
    },
    ended,
  };
  const delivered = (tag: number, messages: readonly Buffer[], bytes: number): void => {
    received += 1;
    acks.delivered(tag, messages, bytes);
  };
  return { intake, delivered };
}

/** A quorum queue hands a message to the channel in less, on a broker that is not overloaded. */
const QUIET_MS = 20;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function incomingOf(
  intake: Intake,
  source: QueueRole,
  { deliveryTag, redelivered, headers }: AsyncMessage,
  message: Buffer,
): Incoming {
  return {
    intake,
    tag: deliveryTag,
    source,
    message,
    // Messages published there have no headers of ours.
    headers: source === "main" || source === "lists" ? NO_HEADERS : readHeaders(headers),
    isRedelivered: redelivered,
  };
}

/** What the library does to a delivery; pinned by its exact version and by tests that fail without each of these. */
interface Inner {
  [ON_HEADER](frame: { readonly fields: { contentType?: string } }): void;
  readonly [STATE]: { readonly consumers: Map<string, unknown> };
}
const ON_HEADER = "_onHeader";
const STATE = "_state";

function keepDeliveries(channel: Channel): void {
  const inner = channel as unknown as Inner;
  // A body that says it is JSON or text would be parsed, and its bytes be gone; without a type it stays as it came.
  const onHeader = inner[ON_HEADER].bind(channel);
  inner[ON_HEADER] = (frame) => {
    delete frame.fields.contentType;
    onHeader(frame);
  };
  // The broker may deliver after it has confirmed a cancel. What has no consumer would be dropped, and later look like a crash.
  inner[STATE].consumers.delete = () => false;
}
