import assert from "node:assert/strict";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { listen } from "../../../app/listen.js";
import { AppError } from "../../../core/errors.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { Services } from "../../../commands/services.js";
import { createServer } from "../../../gateway/http/server.js";
import { createShutdown } from "../../../gateway/http/stopping.js";
import type { Context, Lines } from "../../../gateway/route.js";
import { exportRoutes } from "../../../gateway/routes/data/exports.js";
import { sendLines, type Sent } from "../../../gateway/stream/send.js";
import { createSlots } from "../../../gateway/stream/slots.js";
import { isAppError } from "../../support/errors.js";
import { eventually } from "../../support/eventually.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";
import { aChange } from "../../support/identity/plans.js";

const MIB = 1_048_576;
const STALLED_MS = 300;
/** What operating systems keep of a connection that nobody reads. */
const KEPT_BY_SYSTEM = 16 * MIB;
const silent = { info: () => {}, warn: () => {}, error: () => {} };

describe("An answer of any length", () => {
  let made: number;
  let closed: number;
  let sent: Sent | null;
  let failAfter: number;
  let partBytes: number;
  let partsMax: number;
  let pauseMs: number;
  let quietMs: number;
  const shutdown = createShutdown();
  const line = (bytes: number): string => JSON.stringify("x".repeat(bytes));
  async function* parts() {
    try {
      for (let n = 0; n < partsMax; n++) {
        if (n === failAfter) throw new AppError("damaged", "a part cannot be read");
        await sleep(pauseMs);
        made += 1;
        yield partBytes === 0 ? [] : [line(partBytes)];
      }
    } finally {
      closed += 1;
    }
  }
  const app = express();
  app.use((request, response) => {
    const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));
    const isStopping = () => shutdown.begun.aborted;
    sendLines({ request, response, lines: { parts: parts() }, turn, isStopping, quietMs }).then(
      (one) => (sent = one),
      () => response.writeHead(500).end(),
    );
  });
  const limits = { headerBytesMax: 16_384, headersTimeoutMs: 5_000, requestTimeoutMs: 15_000 };
  const server = createServer({ app, ...limits, stalledMs: STALLED_MS, stopping: shutdown, log: silent });
  let port: number;
  before(async () => {
    port = await listen(server, "127.0.0.1", 0);
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    [made, closed, sent, failAfter, partBytes, partsMax, pauseMs] = [0, 0, null, -1, 1_000, 3, 0];
    quietMs = 10_000;
  });
  const get = (): Promise<Response> => fetch(`http://127.0.0.1:${port}/`);

  it("is made no faster than it is read, and cut when nobody reads: what is made ahead stays bounded", async () => {
    [partBytes, partsMax] = [MIB, 1_000];
    const socket = net.connect({ port, host: "127.0.0.1" }).pause();
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\n\r\n");
    await eventually("it is cut", () => sent?.outcome === "cut");
    assert.ok(made <= KEPT_BY_SYSTEM / MIB + 2, `${made} MiB made for who read nothing`);
    assert.equal(closed, 1);
    socket.destroy();
  });

  it("is not cut while it is the service that takes its time", async () => {
    [pauseMs, partsMax] = [1.5 * STALLED_MS, 2];
    const lines = (await (await get()).text()).trimEnd().split("\n");
    assert.deepEqual(JSON.parse(lines.at(-1)!), { type: "end", complete: true, lines: 2 });
    assert.equal(sent?.outcome, "complete");
  });

  it("breaks the transfer when a part fails, so that no client takes it for complete", async () => {
    failAfter = 2;
    for (const encoding of ["identity", "gzip"]) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { "Accept-Encoding": encoding } });
      assert.equal(answer.status, 200);
      await assert.rejects(answer.text());
      await eventually("it has failed", () => sent?.outcome === "failed");
      assert.ok(isAppError("damaged")(sent?.cause));
    }
  });

  it("is a plain refusal when already the first part fails", async () => {
    failAfter = 0;
    assert.equal((await get()).status, 500);
  });

  it("gives up what it was making when the client goes away", async () => {
    [pauseMs, partsMax] = [5, 10_000];
    const leaving = new AbortController();
    await fetch(`http://127.0.0.1:${port}/`, { signal: leaving.signal });
    leaving.abort();
    await eventually("it is given up", () => sent?.outcome === "cut" && closed === 1);
  });

  for (const coding of ["gzip", "identity"])
    it(`is given up also while there is nothing to send: ${coding}`, async () => {
      [pauseMs, partsMax, partBytes] = [5, 10_000, 0];
      const leaving = new AbortController();
      const headers = { "Accept-Encoding": coding };
      await fetch(`http://127.0.0.1:${port}/`, { signal: leaving.signal, headers });
      leaving.abort();
      await eventually("it is given up", () => sent?.outcome === "cut" && closed === 1);
    });

  for (const coding of ["gzip", "identity"])
    for (const [what, bytes] of [
      ["finds nothing to write", 0],
      ["finds little", 10],
    ] as const)
      it(`is never silent for long where it ${what}: proxies would end it, and a new try would do so again: ${coding}`, async () => {
        [pauseMs, partsMax, partBytes, quietMs] = [5, 10_000, bytes, 50];
        const leaving = new AbortController();
        const headers = { "Accept-Encoding": coding };
        const answer = await fetch(`http://127.0.0.1:${port}/`, { signal: leaving.signal, headers });
        const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
        let text = "";
        for (let n = 0; n < 3; n++) text += Buffer.from((await reader.read()).value!).toString();
        assert.ok(made < 1_000, `${made} parts in silence`);
        if (bytes === 0) assert.match(text, /^\n+$/);
        else assert.deepEqual([...new Set(text.trimEnd().split("\n"))], [line(bytes)]);
        leaving.abort();
        await eventually("it is given up", () => sent?.outcome === "cut" && closed === 1);
      });

  it("counts no empty line, and has none where it wrote others", async () => {
    [pauseMs, partsMax, partBytes, quietMs] = [5, 20, 0, 10];
    const [empty, end, ...rest] = (await (await get()).text()).split(/\n(?=\{)/);
    assert.match(empty!, /^\n+$/);
    assert.deepEqual([JSON.parse(end!), rest], [{ type: "end", complete: true, lines: 0 }, []]);
    partBytes = 10;
    assert.equal((await (await get()).text()).trimEnd().split("\n").length, partsMax + 1);
  });

  // The last one, because a shutdown is for ever.
  it("ends in order when the process shuts down: the last line says that there is more", async () => {
    [pauseMs, partsMax] = [5, 10_000];
    const answer = await get();
    shutdown.begin();
    const lines = (await answer.text()).trimEnd().split("\n");
    const end = { type: "end", complete: false, lines: lines.length - 1, reason: "shutting_down" };
    assert.deepEqual(JSON.parse(lines.at(-1)!), end);
    assert.deepEqual([sent?.outcome, closed], ["stopped", 1]);
  });
});

describe("An export of large changes", () => {
  it("writes a few hundred KB at a time, whatever is read together; nothing is a part of its own", async () => {
    const identifiers = Array.from({ length: 20 }, (_, n) => anIdentifier(`${n}${"\u{1F600}".repeat(1_000)}`));
    let rest = Array.from({ length: 40 }, () => aChange({ identifiers })).concat(
      Array.from({ length: 8 }, () => aChange()),
    );
    const expected = rest.length;
    const changes = async (...[, , { limit }]: Parameters<Services["identity"]["changes"]>) => {
      const found = rest.slice(0, limit);
      rest = rest.slice(limit);
      return found;
    };
    const services = { identity: { changes } } as unknown as Services;
    const route = exportRoutes(services).find(({ path }) => path === "/v1/exports/changes")!;
    const page = { after: null, cursorOf: () => "p" };
    const { parts } = (await route.handle({ workspace: aWorkspace(), page } as unknown as Context)) as Lines;
    let lines = 0;
    const sizes: number[] = [];
    for await (const part of parts) {
      lines += part.length;
      sizes.push(Buffer.byteLength(part.join("")));
    }
    assert.equal(lines, expected);
    assert.ok(Math.max(...sizes) < MIB / 2, `${Math.max(...sizes)} bytes at a time`);
    // The last read found nothing.
    assert.equal(sizes.at(-1), 0);
  });
});

describe("Exports at once", () => {
  const [a, b, c] = [newId<WorkspaceId>(), newId<WorkspaceId>(), newId<WorkspaceId>()];

  it("are two of a workspace and a few of a process; each gives its place back once", () => {
    const take = createSlots({ max: 4, workspaceMax: 2 });
    const leave = take(a);
    take(a);
    assert.throws(() => take(a), isAppError("rate_limited"));
    take(b);
    take(b);
    assert.throws(() => take(c), isAppError("unavailable"));
    leave();
    leave();
    take(c);
    assert.throws(() => take(a), isAppError("unavailable"));
  });
});
