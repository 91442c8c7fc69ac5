import { writeSync } from "node:fs";
import { openEmbedded } from "../../../store/embedded/open.js";
import { createEmbeddedQueue } from "../../../store/embedded/queue/queue.js";

/**
 * A process that a test may kill. Arguments: what to do, and the data folder. It tells what it did line by line, at once, so that
 * the parent knows exactly what was done before the kill.
 */
const tell = (line: string): void => void writeSync(1, `${line}\n`);
const onError = (message: string, error: unknown): void => tell(`error ${message} ${String(error)}`);

const [task, dataDir] = process.argv.slice(2) as ["hold" | "publish" | "die-on-poison", string];

async function open() {
  const store = await openEmbedded({ dataDir, checkpointMs: 50, onError });
  return createEmbeddedQueue({ database: store.database, lengthMax: 1_000_000, onError });
}

const tasks: Readonly<Record<typeof task, () => Promise<void>>> = {
  /** Owns the folder until it is killed, though it keeps hold of nothing that it opened. */
  hold: async () => {
    await open();
    // Twice, and a turn between: what the first collection finds, the driver closes after it.
    for (let time = 0; time < 2; time += 1) {
      globalThis.gc?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    tell("opened");
    setInterval(() => {}, 1_000);
  },
  /** Publishes without end, and tells each message that was acknowledged. */
  publish: async () => {
    const queue = await open();
    for (let turn = 0; ; turn += 1) {
      const names = Array.from({ length: 16 }, (_, n) => `${turn}-${n}`);
      await Promise.all(names.map((name) => queue.publish(Buffer.from(name)).then(() => tell(name))));
    }
  },
  /** Handles until the poison comes, and dies holding it. */
  "die-on-poison": async () => {
    const queue = await open();
    queue.consume(8, async (batch) => {
      for (const { message, crashes } of batch) tell(`${message.toString()} ${crashes} ${batch.length}`);
      if (batch.some(({ message }) => message.toString() === "poison")) process.kill(process.pid, "SIGKILL");
      return batch.map(() => ({ kind: "done" }));
    });
  },
};

try {
  await tasks[task]();
} catch (error) {
  tell(`failed ${error instanceof Error ? error.message : String(error)}`);
}
