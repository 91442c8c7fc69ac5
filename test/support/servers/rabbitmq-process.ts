import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Told {
  readonly message: string;
  readonly crashes: number;
  readonly batch: number;
}

export interface RabbitChild {
  /** What its handler was given so far. */
  readonly told: readonly Told[];
  kill(): Promise<void>;
  /** Resolves when it has ended by itself. */
  ended(): Promise<void>;
}

const running = new Set<RabbitChild>();

/** Ends what a test that failed halfway left behind. */
export const killRabbitChildren = async (): Promise<void> => {
  for (const child of running) await child.kill();
};

/** Starts `rabbitmq-child` as a process of its own. */
export function startRabbitChild(
  task: "die-on-poison" | "consume",
  url: string,
  name: string,
  partitions = 1,
): RabbitChild {
  const script = fileURLToPath(new URL("./rabbitmq-child.js", import.meta.url));
  const child = spawn(process.execPath, [script, task, url, name, String(partitions)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const told: Told[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    const [, message = line, crashes, batch] = /^(.*) (\d+) (\d+)$/.exec(line) ?? [];
    told.push({ message, crashes: Number(crashes), batch: Number(batch) });
  });
  const ended = Promise.all([once(child, "close"), once(reader, "close")]);
  const handle: RabbitChild = {
    told,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    ended: async () => void (await ended),
  };
  running.add(handle);
  child.once("exit", () => running.delete(handle));
  return handle;
}
