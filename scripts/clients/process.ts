import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Program } from "./install.js";

/** One call of an SDK, by the names of its wire. A browser knows its own visitor. */
export interface Call {
  readonly type: "track" | "page" | "screen" | "identify" | "group" | "alias";
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly previousId?: string;
  readonly groupId?: string;
  readonly event?: string;
  readonly name?: string;
  readonly messageId?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly traits?: Readonly<Record<string, unknown>>;
}

/** What a program says at its end: what the SDK says it delivered or gave up, or what a browser met. */
export interface Report {
  readonly delivered?: number;
  /** The `messageId` of each. */
  readonly gaveUp?: readonly string[];
  /** Of a browser's visitor. */
  readonly anonymousId?: string;
  /** What the browser's console shows as an error. */
  readonly problems?: readonly string[];
  /** Origins that the page asked beside its own and the service's. */
  readonly elsewhere?: readonly string[];
}

export interface Client {
  readonly call: (call: Call) => void;
  /** No further calls. Resolves once the SDK has settled all. Rejects when the program does not end well. */
  readonly finish: () => Promise<Report>;
  readonly hasEnded: () => boolean;
  /** Ends it at once, whatever it waits for. */
  readonly kill: () => Promise<void>;
}

export interface ClientOptions {
  readonly url: string;
  readonly key: string;
  /** Of the SDK, beside its defaults. */
  readonly options?: object;
}

const FINISH_MS = 180_000;

export function startClient({ file, args, extra }: Program, { url, key, options = {} }: ClientOptions): Client {
  const child = spawn(file, [...args, JSON.stringify({ url, key, options, ...extra })], {
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [output, log] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  // A program that is gone is told by its exit.
  child.stdin.on("error", () => {});
  const ended = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  ended.catch(() => {});
  let hasEnded = false;
  child.once("close", () => (hasEnded = true));
  return {
    call: (call) => void child.stdin.write(`${JSON.stringify(call)}\n`),
    finish: async () => {
      child.stdin.end();
      const ending = await Promise.race([ended, sleep(FINISH_MS, null, { ref: false })]);
      child.kill("SIGKILL");
      if (ending?.[0] !== 0) throw new Error(`The program ended with ${String(ending)}: ${log.slice(-2_000)}`);
      return JSON.parse(output) as Report;
    },
    hasEnded: () => hasEnded,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
