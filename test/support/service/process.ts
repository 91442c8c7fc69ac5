import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The compiled program itself, beside the compiled tests. */
export const MAIN = fileURLToPath(new URL("../../../app/main.js", import.meta.url));
const WAIT_MS = 15_000;

export interface Program {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The address once it listens, or null when it ended before. */
  listening(): Promise<string | null>;
  signal(name: "SIGINT" | "SIGTERM" | "SIGKILL"): void;
  /** Its exit code; null after a kill. */
  exited(): Promise<number | null>;
}

/** The owner key of a first start, from the file that its output names. */
export const ownerKeyOf = (program: Program): string =>
  readFileSync(/^owner key: in (.+), which only you can read$/m.exec(program.stdout())![1]!, "utf8").trim();

/**
 * Starts the program with nothing of this process's environment but the path of its tools, and patience for a busy machine. Its stderr can
 * be an open file.
 */
export function run(
  settings: Readonly<Record<string, string>>,
  errors: "pipe" | number = "pipe",
  main = MAIN,
): Program {
  const environment = { PATH: process.env["PATH"] ?? "", PORT: "0", SCHEMA_COMPILE_MS: "5000", ...settings };
  const child: ChildProcess = spawn(process.execPath, ["--enable-source-maps", "--max-semi-space-size=32", main], {
    env: environment,
    stdio: ["pipe", "pipe", errors],
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  const exit = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    listening: async () => {
      const deadline = Date.now() + WAIT_MS;
      for (;;) {
        const url = /^onym listens on (\S+)$/m.exec(stdout)?.[1];
        if (url !== undefined) return url;
        if (child.exitCode !== null || Date.now() > deadline) return null;
        await sleep(10);
      }
    },
    signal: (name) => void child.kill(name),
    exited: () => exit,
  };
}
