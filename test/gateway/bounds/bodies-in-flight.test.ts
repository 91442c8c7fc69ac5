import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import http, { type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { eventually } from "../../support/eventually.js";
import { basic, sendSdk, track } from "../../support/sdk/client.js";
import { itemOf, postBatch } from "../../support/service/batch.js";
import { submission, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openRaw, statusOf, type Raw } from "../../support/service/raw.js";

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** Sends it, and hangs up once told. */
function begin(url: string, target: string, key: string, body: string): () => void {
  const request = http.request(new URL(target, url), {
    method: "POST",
    headers: { Authorization: key, "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) },
    agent: false,
  });
  request.on("error", () => {});
  request.end(body);
  return () => request.destroy();
}

describe("The bytes of bodies in flight", () => {
  /** Those that wait in the queue, while it is held. */
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const wait = (): Promise<void> => new Promise((resolve) => (isHeld ? waiting.push(resolve) : resolve()));
  const release = (): void => {
    for (const go of waiting.splice(0)) go();
  };
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        queue: {
          ...backends.queue,
          publish: async (message) => {
            await wait();
            await backends.queue.publish(message);
          },
          publishAll: async (messages) => {
            await wait();
            await backends.queue.publishAll(messages);
          },
        },
      }),
    },
  );
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema({ type: "object" }, null);
  });
  afterEach(release);
  /** Sends so many, and hangs up while they wait in the queue. */
  const leave = async (count: number, target: string, key: string, body: string): Promise<void> => {
    isHeld = true;
    const hangUps = Array.from({ length: count }, () => begin(app().url, target, key, body));
    await eventually("they wait in the queue", () => waiting.length === count);
    isHeld = false;
    for (const hangUp of hangUps) hangUp();
    await new Promise((resolve) => setTimeout(resolve, 50));
  };
  const bearer = async (): Promise<string> => `Bearer ${await workspace.key("owner")}`;
  const pad = (count: number): readonly string[] => Array.from({ length: count }, () => "x".repeat(255 * KIB));

  it("of batches are held until the work on them has ended, though their clients are gone", async () => {
    const large = { events: pad(15).map((one) => itemOf(schemaId, { one })) };
    // Three times 3.7 MiB each, and a workspace may have 48 MiB.
    await leave(4, "/v1/collect/batch", await bearer(), JSON.stringify(large));
    assert.equal((await postBatch(app(), workspace, large)).status, 429);
    release();
    await eventually("there is room again", async () => (await postBatch(app(), workspace, large)).status === 202);
  });

  it("of SDKs too", async () => {
    const key = await workspace.key("collect");
    const body = { batch: pad(18).map((one) => track({ one })) };
    // Twice 4.5 MiB.
    await leave(5, "/v1/batch", basic(key), JSON.stringify(body));
    assert.equal((await sendSdk(app(), "/v1/batch", { key, body })).status, 429);
    release();
    await eventually(
      "there is room again",
      async () => (await sendSdk(app(), "/v1/batch", { key, body })).status === 200,
    );
  });

  it("of single events count with what their values take; small ones are not counted", async () => {
    const event = submission(schemaId, { a: Array.from({ length: 80_000 }, () => ({})) });
    // 240 KB of text, and 7 MB of values.
    await leave(6, "/v1/collect", await bearer(), JSON.stringify(event));
    assert.equal((await workspace.send("POST", "/v1/collect", event)).status, 429);
    assert.equal((await workspace.collect(schemaId, {})).status, 202);
    release();
    await eventually(
      "there is room again",
      async () => (await workspace.send("POST", "/v1/collect", event)).status === 202,
    );
  });

  /** A search of a rule that is as large as its blanks. */
  const spaced = `{"rule":{}${" ".repeat(0.9 * MIB)}}`;
  const search = async (): Promise<number> => (await workspace.send("POST", "/v1/profiles/search", spaced)).status;
  const headOfSearch = async (length: string): Promise<string> =>
    `POST /v1/profiles/search HTTP/1.1\r\nHost: a\r\nAuthorization: ${await bearer()}\r\n` +
    `Content-Type: application/json\r\n${length}\r\n\r\n`;

  /** What is sent in a small body by each door. */
  const small = async (): Promise<readonly number[]> => {
    const key = await workspace.key("collect");
    const sdk = async (target: string, body: object, given: string | null = key): Promise<number> =>
      (await sendSdk(app(), target, { key: given, body })).status;
    return [
      (await workspace.collect(schemaId, {})).status,
      (await postBatch(app(), workspace, { events: [itemOf(schemaId, {})] })).status,
      await sdk("/v1/track", track({})),
      await sdk("/v1/batch", { batch: [track({})] }),
      await sdk("/v1/track", track({ writeKey: key }), null),
    ];
  };

  it("that have begun and do not end are bounded, and another workspace has room for two batches beside them", async () => {
    const head = await headOfSearch(`Content-Length: ${MIB}`);
    const halves: Raw[] = [];
    try {
      for (let n = 0; n < 51; n += 1) {
        const half = await openRaw(app().url);
        halves.push(half);
        half.write(`${head}${" ".repeat(0.99 * MIB)}`);
      }
      const answers = (): readonly string[] => halves.flatMap((half) => half.received() || []);
      await eventually("some are refused", () => answers().length >= 27);
      assert.ok(
        answers().every((answer) => statusOf(answer) === 429),
        answers().join(),
      );
      assert.ok(answers().length < 31, `${answers().length} are refused`);
      assert.equal(await search(), 429);
      assert.equal((await workspace.send("POST", "/v1/profiles/search", { rule: {} })).status, 200);
      assert.deepEqual(await small(), [202, 202, 200, 200, 200]);
      const other = await app().workspace();
      const id = await other.schema({ type: "object" }, null);
      const large = JSON.stringify({ events: pad(15).map((one) => itemOf(id, { one })) });
      await leave(2, "/v1/collect/batch", `Bearer ${await other.key("owner")}`, large);
    } finally {
      for (const half of halves) half.close();
    }
    await eventually("there is room again", async () => (await search()) === 200);
  });

  it("are free when the work has ended, although the client takes nothing of the answer", async () => {
    const key = await bearer();
    const answers: ServerResponse[] = [];
    const hinder = (message: unknown): void => {
      const { response, socket } = message as { readonly response: ServerResponse; readonly socket: Socket };
      // As if the buffers of both systems were full.
      Object.assign(socket, { _write: () => {}, _writev: null });
      answers.push(response);
    };
    subscribe("http.server.request.start", hinder);
    const hangUps = Array.from({ length: 26 }, () => begin(app().url, "/v1/profiles/search", key, spaced));
    try {
      await eventually("all are answered", () => answers.length === 26 && answers.every((one) => one.writableEnded));
      unsubscribe("http.server.request.start", hinder);
      assert.ok(answers.every((one) => one.statusCode === 200 && !one.writableFinished));
      assert.equal(await search(), 200);
    } finally {
      unsubscribe("http.server.request.start", hinder);
      for (const hangUp of hangUps) hangUp();
    }
  });

  it("are free once they are refused, although the rest of them is still coming", async () => {
    const head = await headOfSearch("Transfer-Encoding: chunked");
    const chunk = `${MIB.toString(16)}\r\n${" ".repeat(MIB)}\r\n`;
    const refused: Raw[] = [];
    try {
      for (let n = 0; n < 50; n += 1) {
        const one = await openRaw(app().url);
        refused.push(one);
        one.write(`${head}${chunk}2\r\n  `);
        assert.equal(statusOf(await one.waitFor("\r\n\r\n")), 422);
      }
      assert.ok(refused.every((one) => !one.isClosed()));
      assert.equal(await search(), 200);
    } finally {
      for (const one of refused) one.close();
    }
  });
});
