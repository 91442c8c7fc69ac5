import { setTimeout as sleep } from "node:timers/promises";
import type { AsyncMessage, Channel } from "rabbitmq-client";
import { workspaceOf } from "../../../core/event/message.js";
import { createAcks } from "./acks.js";
import { acquireChannels, LANES, laneOf, type Channels, type Connections } from "./channels.js";
import { createCrowd } from "./crowd.js";
import { readHeaders, readReturns, type CopyHeaders } from "../publisher/headers.js";
import { unpackList } from "../list.js";
import type { QueueNames, QueueRole } from "../topology.js";

/** One subscription to all queues that have consumers, as long as its channels live. What it delivered can be acknowledged nowhere else. */
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
  /** Subscribed to. */
  partitions(): readonly string[];
  /** Those of them that delivered something since the last call. */
  handed(): readonly string[];
  /** Goes to the end of the line for this one: another worker takes over, if there is one. */
  goBehind(partition: string): Promise<void>;
  /** Takes these too. */
  join(partitions: readonly string[]): Promise<void>;
  /** Lets the broker hand out so many more messages of this queue at once. */
  widen(source: QueueRole, by: number): Promise<void>;
  /** Takes nothing more at once. The broker hands out again what is not acknowledged, as after a crash. */
  drop(): void;
  /** One message of the delivery is settled. */
  settled(delivery: Pick<Incoming, "source" | "tag">): void;
  /** Resolves when everything is delivered that the broker had sent before. */
  caughtUp(): Promise<void>;
  /** Resolves when these queues deliver nothing more. Whatever is under way, they are never subscribed to again. */
  cancel(sources: readonly QueueRole[]): Promise<void>;
  close(): Promise<void>;
  /** Resolves when the channels are gone, by `close` or otherwise. */
  readonly ended: Promise<void>;
}

/** One delivery. */
export interface Incoming {
  readonly intake: Intake;
  readonly tag: number;
  readonly source: QueueRole;
  /** As it was published: a message or a list. */
  readonly body: Buffer;
  /** All of one workspace. */
  readonly messages: readonly Buffer[];
  readonly headers: CopyHeaders;
  readonly isRedelivered: boolean;
  /** How often the broker took it back. */
  readonly returns: number;
  /** Whether its workspace holds so many places of the express queue that others would not come in. */
  readonly isExcess: boolean;
}

export interface IntakeDeps {
  readonly connections: Connections;
  readonly names: QueueNames;
  /** Beside the main queue, with whose messages they share what may be handed out at once. */
  readonly partitions: readonly string[];
  readonly prefetch: Readonly<Record<QueueRole, number>>;
  readonly onDelivery: (incoming: Incoming) => void;
}

const NO_HEADERS = readHeaders(undefined);
const PUBLISHED: ReadonlySet<QueueRole> = new Set(["express", "main", "lists"]);

/**
 * All queues on two channels, of which each ends with the other, so that whatever ends one ends all: the library's own consumers would
 * each be cut apart, and each waits for its unsettled handlers before it subscribes again.
 */
export async function openIntake(deps: IntakeDeps): Promise<Intake> {
  const { connections, names, partitions, prefetch, onDelivery } = deps;
  const channels = await acquireChannels(connections);
  const consuming = new Set<Consuming>();
  const handed = new Set<string>();
  const cancelled = new Set<QueueRole>();
  const inTurn = createSequence();
  const consume = async (source: QueueRole, queue: string, prefetchCount: number): Promise<void> => {
    if (cancelled.has(source)) return;
    const channel = channels[laneOf(source)];
    // Applies to the consumers that follow it on this channel, so no other such call may come between.
    await channel.basicQos({ prefetchCount });
    const { consumerTag } = await channel.basicConsume({ queue }, (message) => {
      if (!intake.isOpen()) return;
      handed.add(queue);
      onDelivery(received(source, message));
    });
    consuming.add({ source, queue, consumerTag, prefetchCount });
  };
  const subscribe: Opened["subscribe"] = (...asked) => inTurn(() => consume(...asked));
  const { intake, received } = createIntake({
    channels,
    names,
    prefetch,
    consuming,
    handed,
    cancelled,
    subscribe,
    inTurn,
  });
  try {
    // Before anything is handed out, and on each until all of it is settled or the broker has it back: they may end seconds apart.
    for (const lane of LANES) await channels[lane].basicConsume({ queue: names.workers, noAck: true }, () => undefined);
    await subscribe("express", names.express, prefetch.express);
    await subscribe("main", names.main, prefetch.main);
    await intake.join(partitions);
    await subscribe("lists", names.lists, prefetch.lists);
    await subscribe("retry", names.retry, prefetch.retry);
    // Before one of the suspects is handled, we must know of all that other processes crashed on.
    await intake.caughtUp();
    await subscribe("suspects", names.suspects, prefetch.suspects);
    await subscribe("dead", names.dead, prefetch.dead);
    return intake;
  } catch (error) {
    await intake.close();
    throw error;
  }
}

interface Consuming {
  readonly source: QueueRole;
  readonly queue: string;
  readonly consumerTag: string;
  readonly prefetchCount: number;
}

interface Opened {
  readonly channels: Channels;
  readonly names: QueueNames;
  readonly prefetch: IntakeDeps["prefetch"];
  readonly consuming: Set<Consuming>;
  readonly handed: Set<string>;
  readonly cancelled: Set<QueueRole>;
  readonly subscribe: (source: QueueRole, queue: string, prefetchCount: number) => Promise<void>;
  readonly inTurn: InTurn;
}

type InTurn = (work: () => Promise<void>) => Promise<void>;

/** One after the other, whether or not the one before went well. */
function createSequence(): InTurn {
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    const done = after(last, work);
    last = done.catch(() => undefined);
    return done;
  };
}

function createIntake(opened: Opened) {
  const { channels, names, prefetch, consuming, handed, cancelled, subscribe, inTurn } = opened;
  let isOpen = true;
  let deliveries = 0;
  const acksOf = { express: createAcks(channels.express), others: createAcks(channels.others) };
  const acks = LANES.map((lane) => acksOf[lane]);
  const crowd = createCrowd(prefetch.express);
  const closeBoth = async (): Promise<void> => {
    isOpen = false;
    await Promise.allSettled(LANES.map((lane) => channels[lane].close()));
  };
  const endOf = (channel: Channel): Promise<void> =>
    new Promise((resolve) => {
      channel.once("close", () => {
        void closeBoth();
        resolve();
      });
      // The queue was deleted, or its leader moved; the channel itself lives on.
      channel.on("basic.cancel", (consumerTag) => {
        const partition = [...consuming].find((one) => one.consumerTag === consumerTag && isPartition(one));
        // That one may be deleted once it is empty, and if it still stands, whoever looks for partitions finds it again.
        if (partition) consuming.delete(partition);
        else intake.drop();
      });
    });
  const ended = Promise.all(LANES.map((lane) => endOf(channels[lane]))).then(() => undefined);
  const quiet = async (): Promise<void> => {
    for (let before = -1; before !== deliveries;) {
      before = deliveries;
      await sleep(QUIET_MS);
      await intake.caughtUp();
    }
  };
  const isPartition = ({ source, queue }: Consuming): boolean => source === "main" && queue !== names.main;
  const partitions = (): readonly string[] => [...consuming].filter(isPartition).map(({ queue }) => queue);
  const allOf = (source: QueueRole): number =>
    [...consuming]
      .filter((one) => one.source === source && !isPartition(one))
      .reduce((sum, one) => sum + one.prefetchCount, 0);
  /** One after the other: the acknowledgements are held meanwhile. */
  const cancelling = createSequence();
  /** Answers the queues that are no longer subscribed to by this; the broker may have ended some of them meanwhile. */
  const stop = async (is: (one: Consuming) => boolean): Promise<readonly string[]> => {
    const stopped: string[] = [];
    await cancelling(async () => {
      // A message on its way to a consumer that is being cancelled would go back to the queue and look like a crash. So first nothing
      // is acknowledged, for which the broker would hand out more, until what it hands out already is here.
      for (const one of acks) one.hold();
      try {
        await quiet();
        for (const one of [...consuming].filter(is)) {
          await channels[laneOf(one.source)].basicCancel(one.consumerTag);
          // The broker tells of a queue that was deleted before it answers.
          if (consuming.delete(one)) stopped.push(one.queue);
        }
        await intake.caughtUp();
      } finally {
        for (const one of acks) one.release();
      }
    });
    return stopped;
  };
  /** At the end of each line. Together they hand out as much as the main queue. */
  const join = async (queues: readonly string[], count: number): Promise<void> => {
    const each = Math.max(1, Math.floor(allOf("main") / Math.max(1, count)));
    for (const queue of queues) await subscribe("main", queue, each);
  };
  const intake: Intake = {
    isOpen: () => isOpen,
    unsettled: () => (isOpen ? sum(acks, (one) => one.outstanding()) : 0),
    unsettledDeliveries: () => (isOpen ? sum(acks, (one) => one.deliveries()) : 0),
    unsettledBytes: () => (isOpen ? sum(acks, (one) => one.outstandingBytes()) : 0),
    firsts: () => (isOpen ? acks.flatMap((one) => one.firsts()) : []),
    partitions,
    handed: () => {
      const names = partitions().filter((queue) => handed.has(queue));
      handed.clear();
      return names;
    },
    goBehind: async (partition) => {
      const standing = partitions();
      if (!standing.includes(partition)) return;
      // It waits until what is on its way to the end of a line stands there, so two at once leave one consumer.
      const stopped = await stop(({ queue }) => queue === partition);
      // To subscribe to a queue that was deleted would end the channel, and all that it delivered would count as a crash.
      if (isOpen) await join(stopped, standing.length);
    },
    join: async (queues) => {
      const standing = partitions();
      const fresh = queues.filter((queue) => !standing.includes(queue));
      await join(fresh, standing.length + fresh.length);
    },
    widen: async (source, by) => {
      await subscribe(source, names[source], by);
      // A second consumer of ours would only wait in the line behind the first.
      if (source === "main") for (const partition of partitions()) await intake.goBehind(partition);
    },
    drop: () => {
      for (const one of acks) one.flush();
      void closeBoth();
    },
    settled: ({ source, tag }) => acksOf[laneOf(source)].settled(tag),
    caughtUp: async () => {
      // Any answer will do: the broker sends it after the earlier deliveries, each of which is handed on one turn later.
      await inTurn(
        async () => void (await Promise.all(LANES.map((lane) => channels[lane].basicQos({ prefetchCount: 1 })))),
      );
      await nextTurn();
    },
    cancel: async (sources) => {
      for (const source of sources) cancelled.add(source);
      await stop(({ source }) => sources.includes(source));
    },
    close: async () => {
      for (const one of acks) one.flush();
      await closeBoth();
    },
    ended,
  };
  const received = (source: QueueRole, { body, deliveryTag: tag, redelivered, headers }: AsyncMessage): Incoming => {
    deliveries += 1;
    const messages = unpackList(body as Buffer);
    const workspace = workspaceOf(messages[0]!);
    const onAcknowledged = source === "express" ? crowd.enter(workspace) : undefined;
    acksOf[laneOf(source)].delivered({ tag, messages, bytes: (body as Buffer).length, onAcknowledged });
    return {
      intake,
      tag,
      source,
      body: body as Buffer,
      messages,
      // What is published there has no headers of ours.
      headers: PUBLISHED.has(source) ? NO_HEADERS : readHeaders(headers),
      isRedelivered: redelivered,
      returns: redelivered ? readReturns(headers) : 0,
      isExcess: source === "express" && crowd.isCrowdedBy(workspace),
    };
  };
  return { intake, received };
}

async function after(before: Promise<void>, work: () => Promise<void>): Promise<void> {
  await before;
  await work();
}

/** A quorum queue hands a message to the channel in less, on a broker that is not overloaded. */
const QUIET_MS = 20;

const sum = <Item>(items: readonly Item[], figure: (item: Item) => number): number =>
  items.reduce((total, item) => total + figure(item), 0);
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
