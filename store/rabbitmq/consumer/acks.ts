import type { Channel } from "rabbitmq-client";

export interface Delivered {
  readonly tag: number;
  readonly messages: readonly Buffer[];
  readonly bytes: number;
  readonly onAcknowledged?: (() => void) | undefined;
}

export interface Acks {
  delivered(delivery: Delivered): void;
  /** One of its messages is settled. The delivery is acknowledged with its last one. */
  settled(tag: number): void;
  /** Messages that are not settled. */
  outstanding(): number;
  /** Deliveries that are not acknowledged. */
  deliveries(): number;
  /** The first message of each of those: the others of a list were published with it. */
  firsts(): readonly Buffer[];
  /** Of those. */
  outstandingBytes(): number;
  /** Sends what waits. */
  flush(): void;
  /** Keeps what is acknowledged from now on until `release` or `flush`. */
  hold(): void;
  release(): void;
}

interface Open extends Pick<Delivered, "bytes" | "onAcknowledged"> {
  left: number;
  readonly first: Buffer;
}

/**
 * Acknowledges once a turn, and with one frame all up to the first message that is still in hand: a batch is one entry of the queue's
 * log. A quorum queue holds acknowledgements back while more than 32 wait for its log and forgets those when the channel closes
 * (rabbitmq-server #10327): of 100 sent one by one before a close, 66 messages came back as if their process had died.
 */
export function createAcks(channel: Channel): Acks {
  /** In the order of their tags, for that is how they come. */
  const open = new Map<number, Open>();
  let openMessages = 0;
  let openBytes = 0;
  let waiting: number[] = [];
  let isHolding = false;

  const flush = (): void => {
    const tags = waiting;
    waiting = [];
    if (tags.length === 0 || !channel.active) return;
    const [firstOpen = Infinity] = open.keys();
    const below = tags.filter((tag) => tag < firstOpen);
    if (below.length > 0) channel.basicAck({ deliveryTag: Math.max(...below), multiple: true });
    for (const deliveryTag of tags) if (deliveryTag > firstOpen) channel.basicAck({ deliveryTag });
  };

  const flushUnlessHeld = (): void => {
    if (!isHolding) flush();
  };

  return {
    delivered: ({ tag, messages, bytes, onAcknowledged }) => {
      open.set(tag, { left: messages.length, first: messages[0]!, bytes, onAcknowledged });
      openMessages += messages.length;
      openBytes += bytes;
    },
    settled: (tag) => {
      const delivery = open.get(tag);
      if (!channel.active || delivery === undefined) return;
      delivery.left -= 1;
      openMessages -= 1;
      if (delivery.left > 0) return;
      openBytes -= delivery.bytes;
      open.delete(tag);
      delivery.onAcknowledged?.();
      if (waiting.push(tag) === 1) setImmediate(flushUnlessHeld);
    },
    outstanding: () => openMessages,
    deliveries: () => open.size,
    firsts: () => [...open.values()].map(({ first }) => first),
    outstandingBytes: () => openBytes,
    flush,
    hold: () => {
      flush();
      isHolding = true;
    },
    release: () => {
      isHolding = false;
      flush();
    },
  };
}
