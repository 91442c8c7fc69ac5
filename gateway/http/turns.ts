import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Stopping } from "./stopping.js";

/** A connection is cut when its client takes nothing of an answer for this long. */
const STALLED_MS = 15_000;
/** Stalled clients are looked for so many times in that time. */
const LOOKS = 30;

export interface TurnsOptions {
  readonly stopping?: Stopping;
  /** Answers a request that cannot be handled in time. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse) => void;
  readonly stalledMs?: number | undefined;
}

type Line = (readonly [request: IncomingMessage, response: ServerResponse])[];

/**
 * The requests of one connection, one after the other: the next one begins when the client has taken the answer before it, and until
 * then no more of the connection is read. Otherwise a client that pipelines and never reads would have all its answers in our memory.
 */
export function inTurns(handle: RequestListener, { stopping, refuse, stalledMs }: TurnsOptions): RequestListener {
  /** Of a connection with a request under way: those behind it. */
  const lines = new WeakMap<Socket, Line>();
  const watch = watchStalled(stalledMs ?? STALLED_MS);
  stopping?.begun.addEventListener("abort", () => {
    for (const response of watch.all()) if (lines.get(response.req.socket)?.length === 0) makeLast(response);
  });
  stopping?.overdue.addEventListener("abort", () => {
    for (const response of watch.all()) if (response.req.complete) refuse(response.req, response);
  });

  const begin = (line: Line, [request, response]: Line[number]): void => {
    const { socket } = request;
    watch.add(response);
    if (stopping?.begun.aborted === true && line.length === 0) makeLast(response);
    response.once("close", () => {
      watch.remove(response);
      const next = line.shift();
      if (next === undefined || socket.destroyed) lines.delete(socket);
      else {
        if (line.length === 0) socket.resume();
        begin(line, next);
      }
    });
    handle(request, response);
  };

  return (request, response) => {
    const { socket } = request;
    const line = lines.get(socket);
    if (line !== undefined) {
      const underWay = Reflect.get(socket, "_httpMessage") as ServerResponse | null;
      // What was read is answered, so the answer before it cannot be the last.
      if (underWay?.headersSent === false) underWay.shouldKeepAlive = true;
      if (line.push([request, response]) === 1) keepPaused(socket, line);
      return;
    }
    const behind: Line = [];
    lines.set(socket, behind);
    begin(behind, [request, response]);
  };
}

/** The answer says `Connection: close`. What the client sends behind it is read and thrown away, because closing at once would be a reset. */
function makeLast(response: ServerResponse): void {
  if (response.headersSent) return;
  response.shouldKeepAlive = false;
  const { socket } = response.req;
  socket.destroySoon = () => {
    socket.end();
    socket
      .removeAllListeners("data")
      .on("data", () => {})
      .resume();
    socket.once("end", () => socket.destroy());
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}
const LINGER_MS = 500;

/** While requests wait, because reading the body of the one under way resumes the connection. */
function keepPaused(socket: Socket, line: Line): void {
  const pause = (): void => {
    if (line.length > 0) socket.pause();
    else socket.off("resume", pause);
  };
  socket.on("resume", pause);
  pause();
}

/** What the operating system took of the answer so far; a large one is written in slices, so that a slow reader is seen to read. */
const takenOf = ({ socket, headersSent }: ServerResponse): number =>
  socket === null || !headersSent ? -1 : socket.bytesWritten - socket.writableLength;

/** One timer for all connections. */
function watchStalled(stalledMs: number) {
  const current = new Map<ServerResponse, { taken: number; since: number }>();
  let timer: NodeJS.Timeout | null = null;
  const look = (): void => {
    const now = performance.now();
    for (const [response, seen] of current) {
      const taken = takenOf(response);
      if (taken < 0 || taken !== seen.taken) Object.assign(seen, { taken, since: now });
      else if (now - seen.since >= stalledMs) response.destroy();
    }
    timer = current.size === 0 ? null : again();
  };
  const again = (): NodeJS.Timeout => setTimeout(look, stalledMs / LOOKS).unref();
  return {
    add: (response: ServerResponse): void => {
      current.set(response, { taken: -1, since: 0 });
      timer ??= again();
    },
    remove: (response: ServerResponse): void => void current.delete(response),
    all: () => [...current.keys()],
  };
}
