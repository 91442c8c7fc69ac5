import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface Child {
  /** All that it told so far. */
  readonly lines: readonly string[];
  kill(): Promise<void>;
  /** Resolves when it has ended by itself. */
  ended(): Promise<void>;
}

const running = new Set<Child>();

/** Ends what a test that failed halfway left behind. */
export const killChildren = async (): Promise<void> => {
  for (const child of running) await child.kill();
};

/** Starts `embedded-child` as a process of its own. */
export function startChild(task: string, dataDir: string): Child {
  const script = fileURLToPath(new URL("./embedded-child.js", import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", script, task, dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  const ended = Promise.all([once(child, "close"), once(reader, "close")]);
  const handle: Child = {
    lines,
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
