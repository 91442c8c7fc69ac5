import assert from "node:assert/strict";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { drain, listen } from "../../app/listen.js";
import { each } from "../../scripts/shared/async.js";
import { openClient } from "../../scripts/shared/client.js";
import { beginLife } from "../../scripts/drill/process/life.js";
import { send, textAt, until, useApp } from "../support/service/app.js";
import { eventBody, withApp, withFolder } from "../support/faults.js";
import { createShutdown } from "../../gateway/http/stopping.js";
import { ownerKeyOf, run } from "../support/service/process.js";
import { openRaw, statusOf } from "../support/service/raw.js";
import { assertWithin } from "../support/house/yardstick.js";

const DEEP = "[".repeat(120_000) + "]".repeat(120_000);
const LARGE = 255_000;

/** What a hostile client sends as a payload, and the answer to it. */
const HOSTILE: readonly (readonly [name: string, payload: string, status: number])[] = [
  ["a payload of 250 KB in one string", `{"a":"${"x".repeat(LARGE)}"}`, 202],
  ["a payload of escapes", `{"a":"${"\\u0041".repeat(LARGE / 6)}"}`, 202],
  ["a payload of 30,000 numbers", `{"a":[${"1.25e-3,".repeat(30_000)}1]}`, 202],
  ["a payload of 15,000 keys", `{${Array.from({ length: 15_000 }, (_, n) => `"k${n}":${n}`).join(",")}}`, 202],
  ["a payload of 60 levels, again and again", `{"a":[${`${"[".repeat(60)}${"]".repeat(60)},`.repeat(2_000)}1]}`, 202],
  ["a payload that is too deep", `{"a":${DEEP}}`, 422],
  ["a payload that is too large", `{"a":"${"x".repeat(2_000_000)}"}`, 422],
];

const REPEATS = 5;

describe("Hostile clients", () => {
  it("with huge, deep and packed bodies hold the event loop for less than 50 ms at the 99th percentile", async () => {
    await withFolder(async (folder) => {
      const life = await beginLife({ settings: { DATA_DIR: folder }, kill: null });
      assert.ok("url" in life);
      try {
        const key = life.ownerKey!;
        const post = (path: string, body: unknown, headers = {}) =>
          send(life.url, "POST", path, { key, body, headers });
        // A machine that is too busy for it says so.
        const made = await until(
          () => post("/v1/schemas", { schema_id: "any", schema: { type: "object" } }),
          ({ status }) => status !== 503,
        );
        assert.equal(made.status, 201, made.text);
        const bodyOf = (payload: string) =>
          `{"schema_id":"any","timestamp":"2026-01-01T00:00:00Z","payload":${payload}}`;
        const bomb = gzipSync(bodyOf(`{"a":"${"x".repeat(10_000_000)}"}`));
        const attack = async (): Promise<number> => {
          // What the start itself cost does not count.
          await life.ask("loopDelay");
          for (const [name, payload, status] of Array.from({ length: REPEATS }, () => HOSTILE).flat())
            assert.equal((await post("/v1/collect", bodyOf(payload))).status, status, name);
          assert.equal((await post("/v1/collect", bomb, { "Content-Encoding": "gzip" })).status, 415);
          return life.ask("loopDelay");
        };
        await assertWithin(50, attack, "the loop's 99th percentile");
      } finally {
        await life.close();
      }
    });
  });

  describe("that are slow", () => {
    const SLOW = 100;
    const app = useApp({ HEADERS_TIMEOUT_MS: "300", BODY_TIMEOUT_MS: "600" });

    it("are told 408, many at a time, while others are served", async () => {
      const workspace = await app().workspace();
      const schemaId = await workspace.schema();
      const key = await workspace.key("owner");
      const head = `POST /v1/collect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
      const body = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
      const slow = await Promise.all(Array.from({ length: SLOW }, () => openRaw(app().url)));
      for (const [n, raw] of slow.entries()) raw.write(n % 2 === 0 ? head : body);
      try {
        for (let n = 0; n < 50; n += 1)
          assert.equal((await workspace.collect(schemaId, { email: `${n}@example.com` })).status, 202);
        const answers = await Promise.all(slow.map((raw) => raw.ended()));
        assert.deepEqual(new Set(answers.map(statusOf)), new Set([408]));
      } finally {
        for (const raw of slow) raw.close();
      }
    });
  });
});

describe("SIGTERM under load", () => {
  const CLIENTS = 50;
  /** Enough to be in the middle of it. */
  const ACCEPTED_FIRST = 300;

  it("resets no connection, keeps every accepted event, and ends with exit code 0 in time", async () => {
    await withFolder(async (folder) => {
      const program = run({ DATA_DIR: folder });
      const url = await program.listening();
      assert.ok(url !== null, program.stderr());
      const key = ownerKeyOf(program);
      const schema = {
        type: "object",
        properties: { email: { type: "string", "x-identity": { namespace: "email" } } },
      };
      await send(url, "POST", "/v1/schemas", { key, body: { schema_id: "s", schema } });
      await send(url, "POST", "/v1/datasets", { key, body: { name: "d", schema_id: "s", unified_profile: true } });

      const since = performance.now();
      const { accepted, refused } = await sendUntilClosed(url, key, () => {
        program.signal("SIGTERM");
      });
      assert.equal(await program.exited(), 0, program.stderr());
      assert.ok(performance.now() - since < 15_000);
      assert.deepEqual(refused, []);
      assert.ok(accepted.length >= ACCEPTED_FIRST);
      await withApp({ DATA_DIR: folder }, {}, async (app) => {
        while ((await app.service.backends.queue.depth()) > 0) await new Promise((resolve) => setImmediate(resolve));
        await each(accepted, 10, async (eventId) => {
          const { body } = await app.send("GET", `/v1/events/${eventId}`, { key });
          assert.equal(textAt(body, "status"), "folded");
        });
      });
    });
  });

  it("answers also those who connected and whom the process had not accepted yet", async () => {
    const server = http.createServer((_, response) => response.setHeader("Connection", "close").end());
    const url = `http://127.0.0.1:${await listen(server, "127.0.0.1", 0)}`;
    // The system takes all of them at once, and each turn of the loop accepts one.
    const connecting = Array.from({ length: CLIENTS }, () => openRaw(url));
    await Promise.race(connecting);
    const drained = drain(server, 5_000, createShutdown());
    const clients = await Promise.all(connecting);
    for (const client of clients) client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const answers = await Promise.all(clients.map((client) => client.ended()));
    assert.deepEqual(new Set(answers.map(statusOf)), new Set([200]));
    for (const client of clients) client.close();
    await drained;
  });

  it("waits for a request that never ends no longer than DRAIN_MS", async () => {
    await withFolder(async (folder) => {
      const settings = { DATA_DIR: folder, DRAIN_MS: "300", BODY_TIMEOUT_MS: "60000" };
      const program = run(settings);
      const url = (await program.listening())!;
      const key = ownerKeyOf(program);
      const endless = await openRaw(url);
      const head = `POST /v1/collect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
      endless.write(`${head}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n`);
      // By then the service is waiting for the body.
      await endless.waitFor("100 Continue");
      program.signal("SIGTERM");
      const code = await Promise.race([program.exited(), sleep(10_000, "still there", { ref: false })]);
      endless.close();
      program.signal("SIGKILL");
      assert.equal(code, 0, program.stderr());
    });
  });

  interface Seen {
    readonly accepted: readonly string[];
    /** Resets, and answers that are neither 202 nor 503. */
    readonly refused: readonly string[];
  }

  /** Each client sends on its connection until an answer says that this one is the last. */
  async function sendUntilClosed(url: string, key: string, stop: () => void): Promise<Seen> {
    const accepted: string[] = [];
    const refused: string[] = [];
    const runClient = async (email: string): Promise<void> => {
      const client = openClient(url, 1);
      const body = JSON.stringify(eventBody("s", { email }));
      let answers = 0;
      for (let isLast = false; !isLast; answers += 1) {
        const answer = await client
          .send({ method: "POST", path: "/v1/collect", key, body })
          .catch((error: unknown) => `${String(error)} after ${answers} answers`);
        if (typeof answer === "string") {
          refused.push(answer);
          break;
        }
        if (answer.status === 202) accepted.push((JSON.parse(answer.text) as { readonly event_id: string }).event_id);
        else if (answer.status !== 503) refused.push(answer.text);
        if (accepted.length === ACCEPTED_FIRST) stop();
        isLast = answer.headers.connection === "close";
      }
      client.close();
    };
    const clients = Array.from({ length: CLIENTS }, (_, n) => runClient(`${n}@example.com`));
    await Promise.all(clients);
    return { accepted, refused };
  }
});
