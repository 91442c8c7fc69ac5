import { fork, type ForkOptions } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** Both ends of a conversation over IPC: the parent asks, the child answers. `Asks` names the questions, each a function. */
type InputOf<F> = F extends (...input: infer I) => unknown ? I : never;
type OutputOf<F> = F extends (...input: never[]) => infer O ? Awaited<O> : never;

interface Question {
  readonly id: number;
  readonly kind: string;
  readonly input: unknown;
}
type Answer =
  | { readonly kind: "answer"; readonly id: number; readonly output: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly message: string };

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to a piped stderr. */
  readonly log: string;
}

export interface ChildProcess<Asks> {
  /** Rejects when the child fails at it, or ends before it answers. */
  ask<K extends keyof Asks & string>(kind: K, ...input: InputOf<Asks[K]>): Promise<OutputOf<Asks[K]>>;
  readonly log: () => string;
  readonly kill: () => void;
  readonly ended: Promise<Ending>;
  /** The orderly stop. Rejects when the process does not end well and in time. */
  readonly close: () => Promise<void>;
}

/** Longer than a start takes to find a server away, also beside many others on two cores. */
const PATIENCE_MS = 90_000;

/** Forks the script. Resolves with the child and what it said of itself once it is ready, with its ending if it ends before. */
export async function startChild<Asks, Ready extends object>(
  script: URL,
  args: readonly string[],
  options: ForkOptions = {},
): Promise<(ChildProcess<Asks> & Ready) | Ending> {
  const child = fork(script, args, options);
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  // Not its "close", which does not come after a disconnect.
  const exited = new Promise<Omit<Ending, "log">>((resolve) =>
    child.once("exit", (code, signal) => resolve({ code, signal })),
  );
  const read = child.stderr === null ? null : once(child.stderr, "close");
  const ended = Promise.all([exited, read]).then(([ending]): Ending => ({ ...ending, log }));
  const said = new Promise<Ready>((resolve) => child.once("message", (message) => resolve(message as Ready)));
  const ready = await Promise.race([said, ended, sleep(PATIENCE_MS, null, { ref: false })]);
  if (ready === null) {
    child.kill("SIGKILL");
    throw new Error(`The process did not start within ${PATIENCE_MS} ms. Its log:\n${log}`);
  }
  if ("signal" in ready) return ready;

  const waiting = new Map<number, (answer: Answer) => void>();
  child.on("message", (answer: Answer) => {
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  let asked = 0;
  const ask = async (kind: string, ...[input = null]: unknown[]): Promise<unknown> => {
    const id = ++asked;
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    // A process that dies under the question is an answer too: `ended` tells it.
    child.send({ id, kind, input } satisfies Question, () => {});
    const first = await Promise.race([answered, ended]);
    if (!("kind" in first))
      throw new Error(`The process ended when it was asked for its ${kind}. Its log:\n${first.log}`);
    if (first.kind === "failure") throw new Error(first.message);
    return first.output;
  };
  return {
    ...ready,
    ask: ask as ChildProcess<Asks>["ask"],
    ended,
    log: () => log,
    kill: () => void child.kill("SIGKILL"),
    close: async () => {
      if (child.connected) child.disconnect();
      const ending = await Promise.race([ended, sleep(PATIENCE_MS, null, { ref: false })]);
      child.kill("SIGKILL");
      if (ending?.code !== 0) throw new Error(`The process did not stop well. Its log:\n${ending?.log ?? log}`);
    },
  };
}

const send = (message: object): void => void process.send?.(message);

/** In the child: says that it is ready, then answers until the parent goes away. `close` ends the child. */
export function serveParent<Asks>(ready: object, asks: Asks, close: () => Promise<void>): void {
  const answers = asks as Readonly<Record<string, ((input: unknown) => unknown) | undefined>>;
  const answer = async ({ id, kind, input }: Question): Promise<void> => {
    try {
      const find = answers[kind];
      if (find === undefined) throw new Error(`this child does not know ${kind}`);
      send({ kind: "answer", id, output: await find(input) });
    } catch (error) {
      send({ kind: "failure", id, message: error instanceof Error ? error.message : String(error) });
    }
  };
  process.on("message", (question: Question) => void answer(question));
  process.once("disconnect", () => {
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  send({ kind: "ready", ...ready });
}
