import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** A connection is cut when its client takes nothing of an answer for this long. */
const STALLED_MS = 15_000;
/** Stalled clients are looked for so many times in that time. */
const LOOKS = 30;

type Line = (readonly [request: IncomingMessage, response: ServerResponse])[];

/**
 * The requests of one connection, one after the other: the next one begins when the client has taken the answer before it, and until
 * then no more of the connection is read. Otherwise a client that pipelines and never reads would have all its answers in our memory.
 */
export function inTurns(handle: RequestListener, stalledMs = STALLED_MS): RequestListener {
  /** Of a connection with a request under way: those behind it. */
  const lines = new WeakMap<Socket, Line>();
  const watch = watchStalled(stalledMs);

  const begin = (line: Line, [request, response]: Line[number]): void => {
    const { socket } = request;
    watch.add(response);
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
      if (line.push([request, response]) === 1) keepPaused(socket, line);
      return;
    }
    const behind: Line = [];
    lines.set(socket, behind);
    begin(behind, [request, response]);
  };
}

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
  };
}
