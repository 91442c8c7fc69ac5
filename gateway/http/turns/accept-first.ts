import type { RequestListener, Server } from "node:http";

/** So many connections are taken before the requests that came meanwhile are handled, so that a flood of connections holds up nobody. */
const ACCEPTED_PER_ROUND = 64;
/** And no longer than this: what else a turn of the loop does may take its time, such as events that are folded while others connect. */
const ROUND_MS = 100;
/**
 * Or than this of the processor, where others take most of that: a process with a tenth of a core has two turns in 200 ms of the clock, so
 * each round would end with its second connection. As no request begins meanwhile, what was begun is soon done, and then turns are short.
 */
const STARVED_CPU_MS = 1_000;

/** What a round took so far, of the processor and by the clock. */
export interface Taken {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export const isLong = ({ cpuMs, wallMs }: Taken): boolean =>
  cpuMs >= STARVED_CPU_MS || (cpuMs >= ROUND_MS && 2 * cpuMs >= wallMs);

/**
 * Takes the connections that wait in the operating system before it handles requests. Each turn of the event loop accepts one
 * (libuv 1.46), and a turn of a busy process is as long as the requests of all connections before it: of 300 clients that came at once
 * to a process with an eighth of a core, 160 had no answer after 25 s. While no connection comes, a request is handled at once. Must get
 * one request of each connection at a time: what a client sends behind it would be read without a bound.
 */
export function acceptFirst(server: Server, handle: RequestListener, isOver = isLong): RequestListener {
  const waiting: Parameters<RequestListener>[] = [];
  let isAccepting = false;
  let begun = now();
  /** Of this round, and whether one came in this turn. */
  let [accepted, isNew] = [0, false];

  const turn = (): void => {
    if (isNew && accepted < ACCEPTED_PER_ROUND && !isOver(takenSince(begun))) {
      isNew = false;
      setImmediate(turn);
      return;
    }
    [isAccepting, accepted, isNew] = [false, 0, false];
    // Its client is gone, or was told that what it sent is no HTTP.
    for (const [request, response] of waiting.splice(0)) if (request.socket.writable) handle(request, response);
  };
  server.on("connection", () => {
    accepted += 1;
    isNew = true;
    if (isAccepting) return;
    isAccepting = true;
    begun = now();
    setImmediate(turn);
  });
  return (request, response) => {
    if (isAccepting) waiting.push([request, response]);
    else handle(request, response);
  };
}

const now = () => ({ cpu: process.cpuUsage(), wall: performance.now() });

function takenSince({ cpu, wall }: ReturnType<typeof now>): Taken {
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1_000, wallMs: performance.now() - wall };
}
