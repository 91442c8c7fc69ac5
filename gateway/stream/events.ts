import type { RequestHandler, Response } from "express";
import { contextOf } from "../access/context.js";
import { SECURITY_HEADERS } from "../http/respond.js";
import type { Stopping } from "../http/stopping.js";
import type { Route, ServerSentEvents } from "../route.js";

/** Keeps proxies from closing it, and is when it is asked whether it is over. */
const BEAT_MS = 2_000;
/** A client that is so far behind is cut. */
const BEHIND_BYTES_MAX = 1_048_576;
const BEAT = ":\n\n";

const HEADERS = {
  ...SECURITY_HEADERS,
  "Content-Type": "text/event-stream; charset=utf-8",
  // Without it nginx would gather them.
  "X-Accel-Buffering": "no",
} as const;

/** The last stage of a route that answers server-sent events. */
export function answerEvents({ stopping }: { readonly stopping: Stopping }, route: Route): RequestHandler {
  return async (request, response) => {
    const events = (await route.handle(contextOf(response))) as ServerSentEvents;
    // Before the head is sent: a refusal is still an ordinary answer.
    const early: string[] = [];
    let send = (text: string): void => void early.push(text);
    const stop = await events.begin((text) => send(text));
    if (response.destroyed) return stop();
    response.writeHead(200, HEADERS);
    send = (text) => write(response, text);
    for (const text of early) send(text);
    // The head alone never ends by itself, and would hold its place for as long as the client waits.
    if (request.method !== "HEAD") await listening(response, events, stopping);
    stop();
    response.end();
  };
}

function write(response: Response, text: string): void {
  // It may have ended while somebody was asked whether it is over.
  if (response.destroyed || response.writableEnded) return;
  response.write(text);
  if (response.writableLength > BEHIND_BYTES_MAX) response.destroy();
}

/** Resolves when the client is gone, when it may not listen any more, or when this process stops. */
async function listening(response: Response, { isOver }: ServerSentEvents, { begun }: Stopping): Promise<void> {
  await new Promise<void>((resolve) => {
    const ask = async (): Promise<void> => {
      // Who cannot be asked may be asked again.
      if (await isOver().catch(() => false)) return end();
      write(response, BEAT);
    };
    const timer = setInterval(() => void ask(), BEAT_MS);
    const end = (): void => {
      clearInterval(timer);
      begun.removeEventListener("abort", end);
      resolve();
    };
    response.once("close", end);
    begun.addEventListener("abort", end);
    if (begun.aborted) end();
    else void ask();
  });
}
