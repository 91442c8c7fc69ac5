import { Session } from "node:inspector/promises";
import type { AskKind, FromChild, Input, Output, Question } from "../protocol.js";

type Handlers = { readonly [K in AskKind]?: (input: Input<K>) => Output<K> | Promise<Output<K>> };

const send = (message: FromChild): void => void process.send?.(message);

const cpuMicroseconds = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Tells the parent that load may come, then answers its questions until it goes away. `close` ends the child. */
export function serveParent(
  ready: { readonly port: number; readonly key?: string },
  own: Handlers,
  close: () => Promise<void>,
): void {
  const session = new Session();
  const handlers: Handlers = {
    cpu: cpuMicroseconds,
    startProfile: async () => {
      session.connect();
      await session.post("Profiler.enable");
      await session.post("Profiler.setSamplingInterval", { interval: 200 });
      await session.post("Profiler.start");
      return null;
    },
    stopProfile: async () => {
      const { profile } = await session.post("Profiler.stop");
      session.disconnect();
      return JSON.stringify(profile);
    },
    ...own,
  };
  process.on("message", (question: Question) => void answer(handlers, question));
  process.once("disconnect", () => void close().finally(() => process.exit(0)));
  send({ kind: "ready", port: ready.port, key: ready.key ?? null });
}

async function answer(handlers: Handlers, { id, kind, input }: Question): Promise<void> {
  try {
    const handler = handlers[kind] as ((input: unknown) => unknown) | undefined;
    if (handler === undefined) throw new Error(`this child does not know ${kind}`);
    send({ kind: "answer", id, output: await handler(input) });
  } catch (error) {
    send({ kind: "failure", id, message: error instanceof Error ? error.message : String(error) });
  }
}
