import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { parentPort as parent, Worker, workerData } from "node:worker_threads";

/** A receiver whose queue of connections is full: the system drops what would begin another one, and its sender tries again a second later. */
export interface SlowReceiver {
  readonly port: number;
  /** From now on it takes connections. */
  readonly accept: () => void;
  close(): Promise<void>;
}

const BACKLOG = 1;

export async function startSlowReceiver(): Promise<SlowReceiver> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), { workerData: { gate } });
  const [port] = (await once(worker, "message")) as [number];
  const waiting = Array.from({ length: BACKLOG + 1 }, () => net.connect(port, "127.0.0.1"));
  await Promise.all(waiting.map((socket) => once(socket, "connect")));
  return {
    port,
    accept: () => {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
    },
    close: async () => {
      for (const socket of waiting) socket.destroy();
      await worker.terminate();
    },
  };
}

/** A thread of its own can stand still, and takes no connection then. */
function receive(gate: Int32Array): void {
  const server = http.createServer((_, response) => void response.end());
  server.listen({ port: 0, host: "127.0.0.1", backlog: BACKLOG }, () => {
    const { port } = server.address() as AddressInfo;
    parent?.postMessage(port, []);
    Atomics.wait(gate, 0, 0);
  });
}

const given = workerData as { readonly gate?: Int32Array } | null;
if (given?.gate !== undefined) receive(given.gate);
