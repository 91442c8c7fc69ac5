import { createHash } from "node:crypto";
import type { Connection } from "rabbitmq-client";
import { ConfigError } from "../../core/config.js";
import { codeOf, isMissing } from "./codes.js";
import { findPartitions, partitionOf, partitionsOf } from "./partitions.js";

/**
 * `express`: what workspaces publish within their shares. `main`: what is published one by one beyond them. `lists`: the same, published
 * together. `retry`: what waits for its next try, was given back, or a process died on. `suspects`: what processes died on twice, handled one
 * at a time. `dead`: what the broker itself gave up on.
 */
export type QueueRole = "express" | "main" | "lists" | "retry" | "suspects" | "dead";
export type WaitRole = "wait10s" | "wait1m" | "wait10m";
/**
 * `workers`: always empty, each worker consumes it on both of its connections as long as it holds messages of the others, so the broker
 * knows how many there are.
 */
export type QueueNames = Readonly<Record<QueueRole | WaitRole | "workers", string>>;

/**
 * Nobody consumes these: after its time the broker moves a message on to `retry`. In memory it would take the place of another that is due
 * sooner. Each has one time for all its messages, because a message of a queue leaves it only after those before it.
 */
export const WAITS = [
  { role: "wait10s", ms: 10_000 },
  { role: "wait1m", ms: 60_000 },
  { role: "wait10m", ms: 600_000 },
] as const satisfies readonly { readonly role: WaitRole; readonly ms: number }[];

/** A backstop, not the policy: a copy begins anew, so only what cannot be copied gets near it. */
export const DELIVERIES_MAX = 20;
/** From RabbitMQ 4 on a queue without a limit has one of 20 and then drops; 3.x knows no word for "none". */
const DELIVERIES_UNLIMITED = 1_000_000_000;

/** The broker counts a list as one message, so the bound of lists is in bytes: of an event that is not large. */
const LISTED_BYTES = 1_024;

/** It is short while workers keep up, and beyond it the others are there. It holds single messages and lists. */
const expressBound = (lengthMax: number) => {
  const messages = Math.max(1, Math.floor(lengthMax / 10));
  return { "x-max-length": messages, "x-max-length-bytes": messages * LISTED_BYTES };
};

export const namesOf = (name: string): QueueNames => ({
  express: `${name}.express`,
  main: name,
  lists: `${name}.lists`,
  retry: `${name}.retry`,
  suspects: `${name}.suspects`,
  dead: `${name}.dead`,
  wait10s: `${name}.wait.10s`,
  wait1m: `${name}.wait.1m`,
  wait10m: `${name}.wait.10m`,
  workers: `${name}.workers`,
});

export const ownerOf = (name: string): string => `${name}.owner`;

/** Every queue that there can be under this name. */
export const queuesOf = (name: string): readonly string[] => [
  ...Object.values(namesOf(name)),
  ...partitionsOf(name),
  ownerOf(name),
];

/**
 * An empty queue whose bound says whose the others are: the broker refuses whoever declares it with another. A worker on another
 * database would take accepted events of workspaces that it does not know.
 */
export const ownerDeclaration = (names: QueueNames, installation: string) => ({
  queue: ownerOf(names.main),
  durable: true,
  arguments: { "x-max-length-bytes": createHash("sha256").update(installation).digest().readUInt32BE() >>> 1 },
});

/** The queues as they are declared; quorum, because a classic queue confirms before it has written to disk. */
export function declarationsOf(names: QueueNames, lengthMax: number, partitions = 1) {
  const common = {
    "x-queue-type": "quorum",
    // Without it the broker dead-letters at most once.
    "x-overflow": "reject-publish",
  } as const;
  const movesTo = (queue: string) => ({
    ...common,
    "x-dead-letter-exchange": "",
    "x-dead-letter-routing-key": queue,
    "x-dead-letter-strategy": "at-least-once",
  });
  const backedByDead = { ...movesTo(names.dead), "x-delivery-limit": DELIVERIES_MAX };
  return [
    { queue: names.dead, durable: true, arguments: { ...common, "x-delivery-limit": DELIVERIES_UNLIMITED } },
    { queue: names.main, durable: true, arguments: { ...backedByDead, "x-max-length": lengthMax } },
    { queue: names.express, durable: true, arguments: { ...backedByDead, ...expressBound(lengthMax) } },
    // Each with the whole bound: it must not change with their number.
    ...Array.from({ length: partitions === 1 ? 0 : partitions }, (_, index) => ({
      queue: partitionOf(names.main, index),
      durable: true,
      arguments: { ...backedByDead, "x-max-length": lengthMax, "x-single-active-consumer": true },
    })),
    {
      queue: names.lists,
      durable: true,
      arguments: { ...backedByDead, "x-max-length-bytes": lengthMax * LISTED_BYTES },
    },
    // Without a bound: what was accepted once is never refused on its way.
    { queue: names.retry, durable: true, arguments: backedByDead },
    { queue: names.suspects, durable: true, arguments: backedByDead },
    { queue: names.workers, durable: true, arguments: common },
    ...WAITS.map(({ role, ms }) => ({
      queue: names[role],
      durable: true,
      arguments: { ...movesTo(names.retry), "x-message-ttl": ms },
    })),
  ];
}

export interface Topology {
  /** Declares what is missing. Answers whether the main queue is new. */
  declare(): Promise<boolean>;
  /** Messages that lie ready, all queues together. Rejects when a queue is missing. */
  countReady(): Promise<number>;
  /** Rejects when the main queue is missing. */
  check(): Promise<void>;
}

export function createTopology(
  connection: Connection,
  names: QueueNames,
  lengthMax: number,
  installation: string | null,
  partitions: number,
): Topology {
  const owned = installation === null ? [] : [ownerDeclaration(names, installation)];
  const declarations = [...owned, ...declarationsOf(names, lengthMax, partitions)];
  const find = (queue: string) => connection.queueDeclare({ queue, passive: true });
  return {
    declare: async () => {
      const isNew = await find(names.main).then(
        () => false,
        (error: unknown) => {
          if (isMissing(error)) return true;
          throw error;
        },
      );
      for (const declaration of declarations) await connection.queueDeclare(declaration);
      return isNew;
    },
    countReady: async () => {
      const queues = [...Object.values(names), ...(await findPartitions(connection, names.main))];
      const counts = await Promise.all(queues.map(find));
      return counts.reduce((sum, { messageCount }) => sum + messageCount, 0);
    },
    check: async () => void (await find(names.main)),
  };
}

/** What the operator has to change when the queues cannot be declared. */
export function declarationProblem(error: unknown, { main }: QueueNames, lengthMax: number): ConfigError {
  const code = codeOf(error);
  if (code === "ACCESS_REFUSED")
    return new ConfigError(`RABBITMQ_URL: the user may not declare or use the queues ${main} and ${main}.*`);
  if (code !== "PRECONDITION_FAILED" || !(error instanceof Error))
    return new ConfigError(`RABBITMQ_URL: the queue ${main} could not be declared (${code ?? "no answer"})`);
  if (error.message.includes("'x-max-length-bytes'"))
    return new ConfigError(
      `RABBITMQ_QUEUE: the queue ${main} belongs to another installation, whose events are in another database: ` +
        "choose another name, or correct MONGODB_URL or DATA_DIR",
    );
  if (error.message.includes("'x-max-length'"))
    return new ConfigError(
      `QUEUE_LENGTH_MAX: the queue ${main} exists with another bound than ${lengthMax}: ` +
        "set the former value again, choose another RABBITMQ_QUEUE, or stop the gateways, let the workers empty all queues " +
        "(rabbitmqctl list_queues name messages), stop the workers, and delete the queues with the bound: " +
        `rabbitmqctl delete_queue ${main}, and so ${main}.express, ${main}.lists and each ${main}.p0, ${main}.p1 and so on`,
    );
  return new ConfigError(
    `RABBITMQ_QUEUE: a queue ${main} or ${main}.* exists that was declared otherwise: choose another name, or delete it`,
  );
}
