import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { Answer, Request } from "./protocol.js";

/** A started thread. It never keeps the process alive: the deadline timer of a job does, while there is one. */
export interface Link {
  post(request: Request, transfer: readonly ArrayBuffer[]): void;
  /** Delivers the answers that have already arrived, before the event loop gets to them. */
  drain(): void;
  /** Kills the thread, whatever it is doing. Nothing is delivered afterwards. */
  close(): Promise<void>;
}

export interface LinkEvents {
  onAnswer(answer: Answer): void;
  /** The thread ended by itself: out of memory, or it could not start. */
  onGone(cause: unknown): void;
}

/** Bounds what one schema can take from the process. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 } as const;

export function openLink(events: LinkEvents): Link {
  const { port1: port, port2 } = new MessageChannel();
  const worker = new Worker(new URL("./worker.js", import.meta.url), {
    workerData: { port: port2 },
    transferList: [port2],
    resourceLimits: RESOURCE_LIMITS,
    env: {},
    name: "validation",
  });
  let isOpen = true;
  const gone = (cause: unknown): void => {
    if (isOpen) events.onGone(cause);
  };
  const hand = (answer: Answer): void => {
    if (isOpen) events.onAnswer(answer);
  };
  port.on("message", hand);
  worker.on("error", gone);
  worker.on("exit", gone);
  worker.unref();
  port.unref();
  return {
    post: (request, transfer) => port.postMessage(request, transfer),
    drain: () => {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
        hand(next.message as Answer);
    },
    close: async () => {
      isOpen = false;
      port.close();
      await worker.terminate();
    },
  };
}
