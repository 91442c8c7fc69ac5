import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { once } from "node:events";
import { listen } from "../../../app/listen.js";
import { acceptFirst, isLong } from "../../../gateway/http/turns/accept-first.js";

/** However slow the machine is, it takes 64 connections. */
const never = (): boolean => false;
const REQUEST = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

describe("Connections that come together", () => {
  let server: http.Server;
  let port: number;
  /** What happened, in its order. */
  let seen: ("accepted" | "handled")[] = [];
  let onHandled: () => void = () => {};
  const clients: net.Socket[] = [];
  beforeEach(async () => {
    seen = [];
    server = http.createServer();
    server.on("connection", () => seen.push("accepted"));
    const handle = acceptFirst(
      server,
      (_request, response) => {
        seen.push("handled");
        response.end();
        onHandled();
      },
      never,
    );
    server.on("request", handle);
    port = await listen(server, "127.0.0.1", 0);
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    server.closeAllConnections();
    server.close();
  });
  /** The operating system takes them at once; the server hears of them when this turn of the loop ends. */
  const connect = (count: number): readonly net.Socket[] => {
    const sockets = Array.from({ length: count }, () => net.connect({ port, host: "127.0.0.1" }));
    for (const socket of sockets) {
      socket.on("error", () => {}).resume();
      socket.write(REQUEST);
    }
    clients.push(...sockets);
    return sockets;
  };
  const handled = (count: number): Promise<void> =>
    new Promise((resolve) => {
      onHandled = () => {
        if (seen.filter((what) => what === "handled").length === count) resolve();
      };
    });

  it("are all taken before a request is handled, and each request is handled", async () => {
    connect(40);
    await handled(40);
    assert.equal(seen.indexOf("handled"), 40);
  });

  it("do not hold up requests when they do not end", async () => {
    connect(400);
    await handled(400);
    const taken = seen.indexOf("handled");
    assert.ok(taken >= 30 && taken <= 70, `${taken} were taken before the first request was handled`);
  });

  /** How many of 40 were taken before a request was handled, where each turn of the loop takes 10 ms. */
  const takenInRound = async (isOver: typeof isLong, takeTime: () => void): Promise<number> => {
    const short = http.createServer();
    let [taken, takenBefore] = [0, 0];
    short.on("connection", () => {
      taken += 1;
      takeTime();
    });
    const answered = new Promise<void>((resolve) => {
      const handle = acceptFirst(
        short,
        (_request, response) => {
          takenBefore ||= taken;
          response.end(resolve);
        },
        isOver,
      );
      short.on("request", handle);
    });
    port = await listen(short, "127.0.0.1", 0);
    connect(40);
    await answered;
    short.closeAllConnections();
    short.close();
    return takenBefore;
  };

  it("do not hold up requests for longer than a round may last", async () => {
    const isOver: typeof isLong = ({ cpuMs }) => cpuMs >= 50;
    const taken = await takenInRound(isOver, () => {
      for (const since = process.cpuUsage(); process.cpuUsage(since).user < 10_000;);
    });
    assert.ok(taken >= 1 && taken <= 10, `${taken} were taken before the first request was handled`);
  });

  it("are taken in one round by a process that others keep from the processor", async () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    // Waits without working, as a process does that is not given its turn.
    const taken = await takenInRound(isLong, () => void Atomics.wait(cell, 0, 0, 10));
    assert.ok(taken >= 20, `${taken} were taken before the first request was handled`);
  });

  it("hold up requests for a second of the processor where others take most of it, and for a tenth where it is there", () => {
    for (const [cpuMs, wallMs, expected] of [
      [99, 100, false],
      [100, 100, true],
      [110, 220, true],
      // With two threads.
      [200, 100, true],
      [110, 221, false],
      [999, 9_990, false],
      [1_000, 10_000, true],
    ] as const)
      assert.equal(isLong({ cpuMs, wallMs }), expected, `${cpuMs} of ${wallMs} ms`);
  });

  it("do not hold up a request of a connection that stands", async () => {
    const [first] = connect(1);
    await handled(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    first!.write(REQUEST);
    const [request] = (await once(server, "request")) as [http.IncomingMessage];
    assert.equal(request.complete, true);
    assert.deepEqual(seen, ["accepted", "handled", "handled"]);
  });

  it("that are gone when their turn comes are left out", async () => {
    const sockets = connect(30);
    let requests = 0;
    server.on("request", ({ socket }) => {
      requests += 1;
      // As if its client had reset it.
      if (requests === 1) socket.destroy();
    });
    await handled(29);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual([requests, seen.filter((what) => what === "handled").length, sockets.length], [30, 29, 30]);
  });
});
