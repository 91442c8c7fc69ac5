import { randomUUID } from "node:crypto";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { LiveChannel } from "../../core/ports/live-channel.js";
import { createMemoryLiveChannel } from "../memory-live.js";
import { closeConnection, openConnection, type OnError } from "./connection.js";
import { within } from "./within.js";

export interface RabbitLiveOptions {
  readonly url: string;
  /** Of the event queue; that of the exchange begins with it. */
  readonly name: string;
  readonly onError: OnError;
  /** How often a process tells the others what it watches, milliseconds. */
  readonly tellMs?: number;
}

const TELL_MS = 5_000;
/** Whoever did not say so for three times watches no more. */
const MISSED_MAX = 3;
const CHECK_MS = 900;
const IN_FLIGHT_MAX = 100;
/** Of what waits for this process to read it. */
const WAITING_MAX = 1_000;
/** The routing key under which processes say what they watch. No workspace has it. */
const WATCHING = "watching";

/**
 * One exchange for all gateways, and for each an exclusive queue. It is bound to a workspace as long as somebody watches that here, so what
 * nobody watches goes nowhere; and the others know what is watched, so they do not even send it.
 */
export async function openRabbitLiveChannel(options: RabbitLiveOptions): Promise<LiveChannel> {
  const { url, name, onError, tellMs = TELL_MS } = options;
  const exchange = `${name}.live`;
  const own = randomUUID();
  const queue = `${exchange}.${own}`;
  const declared = { exchange, type: "direct", durable: false } as const;
  const connection = await openConnection(url, "live", onError);
  const here = createMemoryLiveChannel();
  const watched = new Map<WorkspaceId, number>();
  const elsewhere = new Map<WorkspaceId, number>();
  let inFlight = 0;
  let isClosed = false;

  const consumer = connection.createConsumer(
    {
      queue,
      noAck: true,
      exclusive: true,
      queueOptions: { exclusive: true, autoDelete: true, arguments: { "x-max-length": WAITING_MAX } },
      exchanges: [declared],
      queueBindings: [{ exchange, routingKey: WATCHING }],
    },
    (message) => {
      const body = Buffer.isBuffer(message.body) ? message.body : Buffer.from(String(message.body));
      if (message.routingKey !== WATCHING) return here.tell(message.routingKey as WorkspaceId, body);
      const until = performance.now() + MISSED_MAX * tellMs;
      const [teller, ...workspaces] = body.toString("latin1").split(" ");
      if (teller === own) return;
      for (const workspace of workspaces) elsewhere.set(workspace as WorkspaceId, until);
    },
  );
  consumer.on("error", (error) => onError("what happens live is not heard", error));
  const publisher = connection.createPublisher({ confirm: false, exchanges: [declared] });
  const send = (routingKey: string, body: Buffer): void => {
    if (isClosed || !connection.ready || inFlight >= IN_FLIGHT_MAX) return;
    inFlight += 1;
    publisher
      .send({ exchange, routingKey, durable: false }, body)
      .catch(() => undefined)
      .finally(() => {
        inFlight -= 1;
      });
  };
  const bind = (workspace: WorkspaceId) => connection.queueBind({ exchange, queue, routingKey: workspace });
  const tellWatched = (): void => {
    const now = performance.now();
    for (const [workspace, until] of elsewhere) if (until < now) elsewhere.delete(workspace);
    if (watched.size > 0) send(WATCHING, Buffer.from([own, ...watched.keys()].join(" "), "latin1"));
  };
  const timer = setInterval(tellWatched, tellMs).unref();
  const subscribed = new Promise<void>((resolve) => consumer.once("ready", resolve));
  // Declared anew after the broker was away, without what was bound meanwhile.
  consumer.on("ready", () => {
    for (const workspace of watched.keys()) bind(workspace).catch(() => undefined);
  });
  const requireOpen = (): void => {
    if (isClosed) throw new AppError("unavailable", "What happens live is not told any more.");
  };

  const leave = (workspace: WorkspaceId): void => {
    const left = (watched.get(workspace) ?? 1) - 1;
    if (left > 0) return void watched.set(workspace, left);
    watched.delete(workspace);
    if (!isClosed) connection.queueUnbind({ exchange, queue, routingKey: workspace }).catch(() => undefined);
  };
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    clearInterval(timer);
    await here.close();
    await within(CHECK_MS, Promise.all([consumer.close(), publisher.close()])).catch(() => undefined);
    await closeConnection(connection);
  };
  try {
    await within(CHECK_MS * 5, subscribed);
  } catch (cause) {
    await close();
    throw new AppError("unavailable", "The broker does not let this process hear what happens live.", { cause });
  }
  return {
    ready: async () => {
      requireOpen();
      try {
        await within(CHECK_MS, connection.exchangeDeclare({ ...declared, passive: true }));
      } catch (cause) {
        throw new AppError("unavailable", "The broker does not answer.", { cause });
      }
    },
    isWatched: (workspace) => watched.has(workspace) || (elsewhere.get(workspace) ?? 0) > performance.now(),
    tell: (workspace, message) => send(workspace, message),
    watch: async (workspace, told) => {
      requireOpen();
      const stop = await here.watch(workspace, told);
      watched.set(workspace, (watched.get(workspace) ?? 0) + 1);
      const end = (): void => {
        stop();
        leave(workspace);
      };
      try {
        await within(CHECK_MS, bind(workspace));
      } catch (cause) {
        end();
        throw new AppError("unavailable", "The broker does not answer.", { cause });
      }
      tellWatched();
      let isOver = false;
      return () => {
        if (!isOver) end();
        isOver = true;
      };
    },
    close,
  };
}
