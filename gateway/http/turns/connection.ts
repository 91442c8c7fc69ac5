import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Stopping } from "../stopping.js";

/** A connection is cut when its client takes nothing of an answer for this long. */
const STALLED_MS = 15_000;
/** Stalled clients are looked for so many times in that time. */
const LOOKS = 30;
/** Of all connections, some 3 KB each. One read of a connection may bring 2,400, before it can be paused. */
const BEHIND_MAX = 20_000;

export interface TurnsOptions {
  readonly stopping?: Stopping;
  /** Answers a request that cannot be handled in time. */
  readonly refuse: (request: IncomingMessage, response: ServerResponse) => void;
  readonly stalledMs?: number | undefined;
  /** Requests that may stand behind others, of all connections; 20,000 unless a test says otherwise. */
  readonly behindMax?: number | undefined;
}

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];

/**
 * A connection. It is made once for all its requests: tables that each request enters and leaves cost a fifth of the time of a small
 * one, most of it in the garbage collector.
 */
interface Line {
  readonly socket: Socket;
  readonly behind: Exchange[];
  /** Of the request under way. */
  response: ServerResponse | null;
  /** What its client had taken of it when that last changed, and when that was. */
  taken: number;
  since: number;
  /** The request under way is over. */
  readonly next: () => void;
}

/**
 * The requests of one connection, one after the other: the next one begins when the client has taken the answer before it, and until
 * then no more of the connection is read. Otherwise a client that pipelines and never reads would have all its answers in our memory.
 * A connection that sends more while too many stand behind others, of all connections together, is cut.
 */
export function inTurns(
  handle: RequestListener,
  { stopping, refuse, stalledMs, behindMax = BEHIND_MAX }: TurnsOptions,
): RequestListener {
  const lines = new WeakMap<Socket, Line>();
  /** Behind others, on all connections. */
  let standing = 0;
  const watch = watchStalled(stalledMs ?? STALLED_MS);
  stopping?.begun.addEventListener("abort", () => {
    for (const { response, behind } of watch.underWay()) if (behind.length === 0) makeLast(response);
  });
  stopping?.overdue.addEventListener("abort", () => {
    for (const { response } of watch.underWay()) if (response.req.complete) refuse(response.req, response);
  });

  const begin = (line: Line, [request, response]: Exchange): void => {
    line.response = response;
    line.taken = -1;
    watch.start();
    if (stopping?.begun.aborted === true && line.behind.length === 0) makeLast(response);
    response.on("close", line.next);
    handle(request, response);
  };
  const lineOf = (socket: Socket): Line => {
    const next = (): void => {
      line.response = null;
      const exchange = line.behind.shift();
      if (exchange === undefined) return;
      standing -= 1;
      if (socket.destroyed) return;
      if (line.behind.length === 0) socket.resume();
      begin(line, exchange);
    };
    const line: Line = { socket, behind: [], response: null, taken: -1, since: 0, next };
    lines.set(socket, line);
    watch.add(line);
    socket.once("close", () => (standing -= line.behind.splice(0).length));
    return line;
  };

  return (request, response) => {
    const { socket } = request;
    const line = lines.get(socket) ?? lineOf(socket);
    if (line.response === null) return begin(line, [request, response]);
    const underWay = Reflect.get(socket, "_httpMessage") as ServerResponse | null;
    // What was read is answered, so the answer before it cannot be the last.
    if (underWay?.headersSent === false) underWay.shouldKeepAlive = true;
    // Node tells of all that came with the read that was cut.
    if (socket.destroyed) return;
    if (standing >= behindMax) return void socket.destroy();
    standing += 1;
    if (line.behind.push([request, response]) === 1) keepPaused(line);
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
function keepPaused({ socket, behind }: Line): void {
  const pause = (): void => {
    if (behind.length > 0) socket.pause();
    else socket.off("resume", pause);
  };
  socket.on("resume", pause);
  pause();
}

/** What the operating system took of the answer so far; a large one is written in slices, so that a slow reader is seen to read. */
const takenOf = ({ socket, headersSent }: ServerResponse): number =>
  socket === null || !headersSent ? -1 : socket.bytesWritten - socket.writableLength;

/** The client took all that there is so far of an answer that is made as it is taken. */
const waitsForUs = ({ socket, writableEnded }: ServerResponse): boolean =>
  !writableEnded && socket?.writableLength === 0;

type Busy = Line & { readonly response: ServerResponse };

/** One timer for all connections. */
function watchStalled(stalledMs: number) {
  const lines = new Set<Line>();
  let timer: NodeJS.Timeout | null = null;
  const underWay = (): readonly Busy[] => [...lines].filter((line): line is Busy => line.response !== null);
  const look = (): void => {
    const now = performance.now();
    const busy = underWay();
    for (const line of busy) {
      const taken = takenOf(line.response);
      if (taken < 0 || taken !== line.taken || waitsForUs(line.response)) [line.taken, line.since] = [taken, now];
      else if (now - line.since >= stalledMs) line.response.destroy();
    }
    timer = busy.length === 0 ? null : again();
  };
  const again = (): NodeJS.Timeout => setTimeout(look, stalledMs / LOOKS).unref();
  return {
    underWay,
    add: (line: Line): void => {
      lines.add(line);
      line.socket.once("close", () => lines.delete(line));
    },
    start: (): void => void (timer ??= again()),
  };
}
