import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import { openCpuClock, type CpuClock } from "./cpu-clock.js";
import type { Answer, Request } from "./protocol.js";

/** A started thread. It never keeps the process alive: the deadline timer of a job does, while there is one. */
export interface Link {
  post(request: Request, transfer: readonly ArrayBuffer[]): void;
  /** Delivers the answers that have already arrived, before the event loop gets to them. */
  drain(): void;
  /** The processor time that it has used, milliseconds; null where that is not known. */
  cpuMs(): number | null;
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
  let clock: CpuClock | null = null;
  const gone = (cause: unknown): void => {
    if (isOpen) events.onGone(cause);
  };
  const hand = (answer: Answer): void => {
    if (!isOpen) return;
    if (answer.kind === "ready" && answer.tid !== null) clock = openCpuClock(answer.tid);
    events.onAnswer(answer);
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
    cpuMs: () => clock?.read() ?? null,
    close: async () => {
      isOpen = false;
      clock?.close();
      clock = null;
      port.close();
      await worker.terminate();
    },
  };
}
