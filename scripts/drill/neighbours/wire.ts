import net from "node:net";

/** Status -> answers. */
export type Statuses = Readonly<Record<number, number>>;

/** Bare connections to the service, until the time is over: what floods are made of. */
export interface Wire {
  /** So many connections, each with one request after the other. */
  readonly hammer: (connections: number, next: () => string | Promise<string>) => void;
  /** So many connections that send this and read nothing; again when they are cut. */
  readonly sendAndStall: (connections: number, text: string) => void;
  /** So many connections that send the head, and then a byte now and then. */
  readonly trickle: (connections: number, head: string) => void;
  /** Of `hammer`. */
  readonly statuses: () => Statuses;
  readonly end: () => void;
}

const AGAIN_MS = 20;
const TRICKLE_MS = 100;

/** The request as it goes on the wire. */
export function requestOf(method: string, target: string, key: string, body?: object | string, headers = ""): string {
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  const content =
    text === null ? "" : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
  return `${method} ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${headers}${content}\r\n${text ?? ""}`;
}

export function openWire(port: number): Wire {
  const sockets = new Set<net.Socket>();
  const statuses: Record<number, number> = {};
  let isOver = false;
  const count = (status: number): void => void (statuses[status] = (statuses[status] ?? 0) + 1);

  /** Again and again: `use` is given each new connection. */
  const keepOpen = (use: (socket: net.Socket) => void): void => {
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("connect", () => use(socket));
    socket.once("close", () => {
      sockets.delete(socket);
      if (!isOver) setTimeout(() => keepOpen(use), AGAIN_MS).unref();
    });
  };
  const times = (connections: number, use: (socket: net.Socket) => void): void => {
    for (let n = 0; n < connections; n += 1) keepOpen(use);
  };

  return {
    hammer: (connections, next) =>
      times(connections, (socket) => {
        const send = async (): Promise<void> => void socket.write(await next());
        const read = createReader((status) => {
          count(status);
          if (!isOver) void send();
        });
        socket.on("data", read);
        void send();
      }),
    sendAndStall: (connections, text) =>
      times(connections, (socket) => {
        socket.pause();
        socket.write(text);
      }),
    trickle: (connections, head) =>
      times(connections, (socket) => {
        socket.resume();
        socket.write(head);
        const more = setInterval(() => socket.write("x"), TRICKLE_MS);
        socket.once("close", () => clearInterval(more));
      }),
    statuses: () => statuses,
    end: () => {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

const HEAD_END = "\r\n\r\n";
const LENGTH = /\r\ncontent-length: (\d+)/i;

/** Calls back with the status of each complete answer; throws the bodies away. */
function createReader(onAnswer: (status: number) => void): (chunk: Buffer) => void {
  let head = "";
  let left = 0;
  let status = 0;
  return (chunk) => {
    for (let rest = chunk; rest.length > 0;) {
      if (left === 0) {
        const before = head.length;
        head += rest.toString("latin1");
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        status = Number(head.slice(9, 12));
        left = Number(LENGTH.exec(head)?.[1] ?? 0);
        rest = rest.subarray(end + HEAD_END.length - before);
        head = "";
        if (left === 0) onAnswer(status);
        continue;
      }
      const taken = Math.min(left, rest.length);
      left -= taken;
      rest = rest.subarray(taken);
      if (left === 0) onAnswer(status);
    }
  };
}
