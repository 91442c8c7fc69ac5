import { fork, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { KillPoint } from "../crash/points.js";
import type { FromChild, Question, Start, ToChild } from "./protocol.js";

const CHILD = fileURLToPath(new URL("child.js", import.meta.url));
/** Longer than a start takes to find a server away. */
const PATIENCE_MS = 30_000;

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One process of the service, from its start to its end. */
export interface Life {
  readonly url: string;
  /** Only of the first life on a folder. */
  readonly ownerKey: string | null;
  ask(question: Question): Promise<number>;
  /** What it wrote so far. */
  log(): string;
  /** From now on it dies at this point. */
  aim(kill: KillPoint): void;
  kill(): void;
  /** Resolves once the process has ended, with its log. */
  readonly ended: Promise<Ending & { readonly log: string }>;
  /** The orderly stop. Rejects when the process does not end well and in time. */
  close(): Promise<void>;
}

/** Starts the service. Resolves with a life once it listens, with an ending if it ends before. */
export async function beginLife(start: Start): Promise<Life | (Ending & { readonly log: string })> {
  // With nothing of this process's environment: a stray setting must not change the drill.
  const child = fork(CHILD, [JSON.stringify(start)], {
    env: { PATH: process.env["PATH"] },
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise<Ending & { readonly log: string }>((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal, log })),
  );
  const ready = new Promise<FromChild>((resolve) => child.once("message", resolve));
  const first = await Promise.race([ready, ended, sleep(PATIENCE_MS, null, { ref: false })]);
  if (first === null) {
    child.kill("SIGKILL");
    throw new Error(`The service did not start within ${PATIENCE_MS} ms. Its log:\n${log}`);
  }
  if (!("kind" in first)) return first;
  if (first.kind !== "ready") throw new Error("The service answered before it was ready.");
  return lifeOf(child, first, ended, () => log);
}

function lifeOf(
  child: ChildProcess,
  { url, ownerKey }: Extract<FromChild, { readonly kind: "ready" }>,
  ended: Life["ended"],
  log: Life["log"],
): Life {
  // A process that dies under the question is an answer too: `ended` tells it.
  const tell = (message: ToChild): void => void child.send(message, () => {});
  return {
    url,
    ownerKey,
    ended,
    log,
    ask: async (question) => {
      const answer = new Promise<number>((resolve) => {
        const listen = (message: FromChild): void => {
          if (message.kind !== "answer" || message.question !== question) return;
          child.off("message", listen);
          resolve(message.value);
        };
        child.on("message", listen);
      });
      tell({ kind: "ask", question });
      const first = await Promise.race([answer, ended]);
      if (typeof first === "number") return first;
      throw new Error(`The service ended when it was asked for its ${question}. Its log:\n${first.log}`);
    },
    aim: (kill) => tell({ kind: "aim", kill }),
    kill: () => void child.kill("SIGKILL"),
    close: async () => {
      tell({ kind: "close" });
      const ending = await Promise.race([ended, sleep(PATIENCE_MS, null, { ref: false })]);
      child.kill("SIGKILL");
      if (ending?.code !== 0) throw new Error(`The service did not stop well. Its log:\n${ending?.log ?? ""}`);
    },
  };
}
