import { fork, type ChildProcess } from "node:child_process";
import type { Answer, AskKind, FromChild, Input, Output, Question, Ready } from "./protocol.js";

/** A process under measurement. */
export interface Child {
  readonly port: number;
  readonly key: string | null;
  ask<K extends AskKind>(kind: K, ...input: Input<K> extends null ? [] : [Input<K>]): Promise<Output<K>>;
  close(): Promise<void>;
}

interface Pending {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
}

const CLOSE_MS = 10_000;

/** Forks the script and resolves when it can take load; rejects when it ends before. */
export async function startChild(script: URL, args: readonly string[]): Promise<Child> {
  const child = fork(script, args);
  const waiting = new Map<number, Pending>();
  const { port, key } = await readyOf(child, script);
  child.on("message", (message: FromChild) => {
    if (message.kind !== "ready") settle(waiting, message);
  });
  child.once("exit", (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${script.pathname} ended with ${code}`));
  });
  let asked = 0;
  return {
    port,
    key,
    ask: <K extends AskKind>(kind: K, ...input: Input<K> extends null ? [] : [Input<K>]) =>
      new Promise<Output<K>>((resolve, reject) => {
        const question: Question = { id: ++asked, kind, input: input[0] ?? null };
        waiting.set(question.id, { resolve: resolve as (output: unknown) => void, reject });
        child.send(question);
      }),
    close: () => closeChild(child),
  };
}

function readyOf(child: ChildProcess, script: URL): Promise<Ready> {
  return new Promise((resolve, reject) => {
    child.once("message", (message: FromChild) => {
      if (message.kind === "ready") resolve(message);
      else reject(new Error(`${script.pathname} answered before it was ready`));
    });
    child.once("exit", (code) => reject(new Error(`${script.pathname} ended with ${code} before it was ready`)));
  });
}

function settle(waiting: Map<number, Pending>, answer: Answer): void {
  const pending = waiting.get(answer.id);
  waiting.delete(answer.id);
  if (answer.kind === "answer") pending?.resolve(answer.output);
  else pending?.reject(new Error(answer.message));
}

/** A child ends by itself when its parent hangs up. */
function closeChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || !child.connected) return Promise.resolve();
  return new Promise((resolve) => {
    const impatient = setTimeout(() => child.kill("SIGKILL"), CLOSE_MS);
    child.once("exit", () => {
      clearTimeout(impatient);
      resolve();
    });
    child.disconnect();
  });
}
