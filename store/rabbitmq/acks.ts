import type { Channel } from "rabbitmq-client";

export interface Acks {
  delivered(tag: number): void;
  ack(tag: number): void;
  /** Deliveries that are not acknowledged. */
  outstanding(): number;
  /** Resolves when the channel may be closed without losing an acknowledgement. */
  settled(): Promise<void>;
}

/**
 * A quorum queue holds acknowledgements back while more than 32 wait for its log, and forgets them when the channel closes: of 100
 * sent one by one before a close 66 messages came back as if their process had died.
 */
const RECENT_MAX = 16;
/** Time for the broker to write them. */
const SETTLE_MS = 250;

/** Acknowledges once a turn, and with one frame all up to the first message that is still in hand: a batch is one frame, one log entry. */
export function createAcks(channel: Channel): Acks {
  /** In the order of their tags, for that is how they come. */
  const open = new Set<number>();
  let waiting: number[] = [];
  let recent = 0;
  let recentSince = 0;

  const count = (frames: number): void => {
    const time = performance.now();
    recent = time - recentSince > SETTLE_MS ? frames : recent + frames;
    recentSince = time;
  };
  const flush = (): void => {
    const tags = waiting;
    waiting = [];
    if (tags.length === 0 || !channel.active) return;
    const [firstOpen = Infinity] = open;
    const below = tags.filter((tag) => tag < firstOpen);
    const scattered = tags.filter((tag) => tag > firstOpen);
    if (below.length > 0) channel.basicAck({ deliveryTag: Math.max(...below), multiple: true });
    for (const deliveryTag of scattered) channel.basicAck({ deliveryTag });
    count(scattered.length + 1);
  };

  return {
    delivered: (tag) => void open.add(tag),
    ack: (tag) => {
      if (!channel.active) return;
      open.delete(tag);
      if (waiting.push(tag) === 1) setImmediate(flush);
    },
    outstanding: () => open.size,
    settled: async () => {
      flush();
      const waitMs = recent > RECENT_MAX ? recentSince + SETTLE_MS - performance.now() : 0;
      if (waitMs > 0 && channel.active) await new Promise((resolve) => setTimeout(resolve, waitMs));
    },
  };
}
