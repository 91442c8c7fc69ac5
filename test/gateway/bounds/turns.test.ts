import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { listen } from "../../../app/listen.js";
import { sendReply } from "../../../gateway/http/respond.js";
import { createServer } from "../../../gateway/http/server.js";
import { inTurns } from "../../../gateway/http/turns/connection.js";

const MIB = 1_048_576;
const STALLED_MS = 500;
const silent = { info: () => {}, warn: () => {}, error: () => {} };
const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (body: string): string =>
  `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** What operating systems keep of a connection that nobody reads: some of the first answers. */
const KEPT_BY_SYSTEM = 16 * MIB;

/** More than come with one read of the connection, which is of 64 KiB. */
const ONE_READ = 2_500;
const ALL = 2_600;

describe("The requests of one connection", () => {
  let server: http.Server;
  let port: number;
  let parsed = 0;
  let handled = 0;
  let underWay = 0;
  let atOnce = 0;
  let waiting = 0;
  beforeEach(async () => {
    [parsed, handled, underWay, atOnce, waiting] = [0, 0, 0, 0, 0];
    const app = express();
    // Reads the body late, as after a look at the key, and answers as many bytes as the path says.
    app.use((request, response) => {
      handled += 1;
      atOnce = Math.max(atOnce, (underWay += 1));
      response.once("finish", () => (underWay -= 1));
      setImmediate(() => {
        request.resume();
        const json = JSON.stringify("x".repeat(Number(request.path.slice(1))));
        setImmediate(() => sendReply(response, { status: 200, json, headers: { "X-Number": String(handled) } }));
      });
    });
    const limits = { headerBytesMax: 16_384, headersTimeoutMs: 5_000, requestTimeoutMs: 15_000 };
    server = createServer({ app, ...limits, stalledMs: STALLED_MS, log: silent });
    server.on("request", () => (waiting = Math.max(waiting, (parsed += 1) - handled)));
    port = await listen(server, "127.0.0.1", 0);
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const connect = async (): Promise<net.Socket> => {
    const socket = net.connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    return socket;
  };

  it("are handled one at a time and answered in their order, with and without bodies", async () => {
    const socket = await connect();
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    const body = JSON.stringify({ a: "x".repeat(30) });
    for (let i = 0; i < ALL; i++) socket.write(i % 2 === 0 ? post(body) : get("/10"));
    while (!text.includes(`X-Number: ${ALL}\r\n`)) await sleep(5);
    const numbers = [...text.matchAll(/X-Number: (\d+)/g)].map(([, number]) => Number(number));
    assert.deepEqual(
      numbers,
      Array.from({ length: ALL }, (_, i) => i + 1),
    );
    assert.equal(atOnce, 1);
    assert.ok(waiting < ONE_READ, `${waiting} read ahead`);
    socket.destroy();
  });

  it("are not read ahead either while further connections come, which are taken before requests are handled", async () => {
    let [connections, connectionsBefore] = [0, 0];
    server.on("connection", () => (connections += 1));
    server.on("request", () => (connectionsBefore = handled === 0 ? connections : connectionsBefore));
    const sockets = Array.from({ length: 40 }, () => net.connect({ port, host: "127.0.0.1" }));
    for (const [n, socket] of sockets.entries()) {
      socket.on("error", () => {}).resume();
      socket.write(get("/10").repeat(n === 20 ? 40_000 : 1));
    }
    const areHandled = (): boolean => handled >= 40;
    while (!areHandled()) await sleep(1);
    // All 40, unless the machine is very slow; 2 if each turn handled what it read.
    assert.ok(connectionsBefore > 6, `${connectionsBefore} connections before the first request was handled`);
    assert.ok(waiting < ONE_READ + 40, `${waiting} read ahead`);
    for (const socket of sockets) socket.destroy();
  });

  it("wait, and are not even read, while the client does not take its answers", async () => {
    const socket = await connect();
    socket.pause();
    socket.write(get(`/${2 * MIB}`).repeat(350));
    socket.write(post("{}").repeat(40_000));
    await sleep(STALLED_MS / 2);
    assert.ok(handled >= 1 && handled <= KEPT_BY_SYSTEM / (2 * MIB), `${handled} handled`);
    assert.ok(parsed < ONE_READ, `${parsed} parsed of 40,350`);
    socket.destroy();
  });

  it("end with it when it stalls: no sooner, and soon after, also with small answers", async () => {
    for (const bytes of [8 * MIB, 60_000]) {
      const socket = await connect();
      socket.pause();
      const cut = { at: 0 };
      server.once("request", (request) => request.socket.once("close", () => (cut.at = performance.now())));
      socket.write(get(`/${bytes}`).repeat(500));
      // The operating systems take the first answers; the last progress is somewhere here.
      let last = performance.now();
      for (let seen = 0; cut.at === 0 && performance.now() - last < 5 * STALLED_MS; await sleep(5)) {
        if (handled !== seen) [seen, last] = [handled, performance.now()];
      }
      const stalledMs = cut.at - last;
      assert.ok(
        stalledMs > 0.5 * STALLED_MS && stalledMs < 4 * STALLED_MS,
        `${bytes} bytes: cut after ${stalledMs} ms`,
      );
      socket.destroy();
    }
  });

  it("go on while a slow client takes a part now and then", async () => {
    const socket = await connect();
    socket.on("data", () => socket.pause());
    socket.pause();
    socket.write(get(`/${24 * MIB}`));
    const takeUpTo = async (bytes: number): Promise<void> => {
      while (socket.bytesRead < bytes && !socket.destroyed) {
        socket.resume();
        await sleep(1);
      }
    };
    for (let turn = 1; turn <= 9; turn++) {
      await takeUpTo(turn * 2 * MIB);
      await sleep(STALLED_MS / 3);
    }
    await takeUpTo(24 * MIB);
    assert.ok(socket.bytesRead >= 24 * MIB, `${socket.bytesRead} bytes came`);
    socket.destroy();
  });

  it("are bounded for all connections together: one that sends beyond it is cut, and has room again once others end", async () => {
    const bounded = http.createServer();
    const never = inTurns(() => {}, { refuse: () => {}, behindMax: 100 });
    bounded.on("request", never);
    const taken: net.Socket[] = [];
    bounded.on("connection", (socket) => taken.push(socket));
    port = await listen(bounded, "127.0.0.1", 0);
    const open = async (requests: number) => {
      const socket = await connect();
      socket.write(get("/").repeat(requests));
      await sleep(50);
      return socket.resume();
    };
    const first = await open(61);
    const second = await open(61);
    await sleep(50);
    assert.deepEqual([first.destroyed, second.destroyed], [false, true]);
    taken[0]!.destroy();
    await sleep(50);
    const third = await open(101);
    await sleep(50);
    assert.equal(third.destroyed, false);
    third.destroy();
    bounded.closeAllConnections();
    bounded.close();
  });
});
