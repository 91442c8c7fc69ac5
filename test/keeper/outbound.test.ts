import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Posted } from "../../core/webhook/outbound.js";
import { createOutbound, type OutboundOptions } from "../../keeper/webhooks/outbound.js";
import { eventually } from "../support/eventually.js";
import { startReceiver, type Receiver } from "../support/service/receiver.js";
import { startSlowReceiver } from "../support/service/slow-receiver.js";

const MIB = 1_048_576;

describe("What posts to the addresses of webhooks", () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());
  const post = (url: string, options: Partial<OutboundOptions> = {}, signal = new AbortController().signal) =>
    createOutbound({ allowsPrivate: true, timeoutMs: 400, ...options }).post({ url, headers: {}, body: "{}" }, signal);
  const portOf = (url: string): string => new URL(url).port;

  it("follows no redirect", async () => {
    const inside = await startReceiver();
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        receiver.answer((_, response) => void response.writeHead(status, { Location: inside.url }).end());
        assert.deepEqual(await post(receiver.url), {
          status,
          error: `It answered ${status}: redirects are not followed.`,
          retryAfter: null,
        });
      }
      assert.deepEqual([receiver.received.length, inside.received.length], [5, 0]);
    } finally {
      await inside.close();
    }
  });

  it("gives up a receiver that never answers, and takes the status of one that never ends", async () => {
    receiver.answer(() => undefined);
    const silent: Posted = { status: null, error: "It did not answer within 0.4 seconds.", retryAfter: null };
    assert.deepEqual(await post(receiver.url), silent);
    // It accepts the connection and says nothing at all.
    const mute = http.createServer().listen(0, "127.0.0.1");
    mute.removeAllListeners("request");
    await once(mute, "listening");
    assert.deepEqual(await post(`http://127.0.0.1:${(mute.address() as AddressInfo).port}/`), silent);
    mute.closeAllConnections();
    mute.close();
    receiver.answer((_, response) => void response.writeHead(200).write("a part"));
    assert.deepEqual(await post(receiver.url), { status: 200, error: null, retryAfter: null });
    // A name that nobody answers for counts, too.
    const never = { resolve: () => new Promise<never>(() => undefined) };
    assert.deepEqual(await post("http://hook.example/", never), silent);
  });

  it("is answered also by one that wants to change the protocol", async () => {
    const server = http.createServer().listen(0, "127.0.0.1");
    server.on("request", ({ socket }) => socket.end("HTTP/1.1 101 Other\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"));
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    assert.deepEqual(await post(url), { status: 101, error: "It answered 101.", retryAfter: null });
    server.close();
  });

  it("reads 64 KB of an answer of 100 MB, and breaks it off", async () => {
    const chunk = Buffer.alloc(MIB, "x");
    let written = 0;
    let isCut = false;
    receiver.answer((_, response) => {
      response.on("close", () => (isCut = !response.writableFinished));
      const more = (): void => {
        while (written < 100 && !response.destroyed) {
          written += 1;
          if (!response.write(chunk)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
    const before = process.memoryUsage().arrayBuffers;
    assert.deepEqual(await post(receiver.url, { timeoutMs: 10_000 }), { status: 200, error: null, retryAfter: null });
    assert.ok(process.memoryUsage().arrayBuffers - before < 32 * MIB);
    await eventually("the connection is closed", () => isCut);
    assert.ok(written < 50, `${written} MiB were written`);
  });

  it("connects to none but the addresses that it has checked, and refuses a name with a private one among them", async () => {
    const asked: string[] = [];
    const answering = (...addresses: readonly string[]): Partial<OutboundOptions> => ({
      resolve: async (name) => {
        asked.push(name);
        return addresses.map((address) => ({ address, family: 4 }));
      },
    });
    const url = `http://hook.example:${portOf(receiver.url)}/`;
    assert.equal((await post(url, answering("127.0.0.1"))).status, 200);
    assert.deepEqual([asked, receiver.received[0]!.headers["host"]], [["hook.example"], `hook.example:${portOf(url)}`]);
    const refused: Posted = {
      status: null,
      error: "The url was refused: the address is not a public one.",
      retryAfter: null,
    };
    const secure = url.replace("http:", "https:");
    for (const addresses of [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], []])
      assert.deepEqual(await post(secure, { ...answering(...addresses), allowsPrivate: false }), refused);
    assert.equal(receiver.received.length, 1);
    // Also where the address was allowed when the webhook was made.
    assert.deepEqual(await post("https://192.168.1.1/", { allowsPrivate: false }), refused);
  });

  it("reaches a receiver whose connection takes a second, also where its other address cannot be reached", async () => {
    const slow = await startSlowReceiver();
    const resolve = async () => [
      { address: "127.0.0.1", family: 4 },
      { address: "::1", family: 6 },
    ];
    try {
      const posted = post(`http://hook.example:${slow.port}/`, { resolve, timeoutMs: 15_000 });
      setTimeout(slow.accept, 500);
      assert.deepEqual(await posted, { status: 200, error: null, retryAfter: null });
    } finally {
      await slow.close();
    }
  });

  it("goes to no link-local address and to no metadata of a cloud, where private addresses are allowed too", async () => {
    const outbound = createOutbound({ allowsPrivate: true });
    for (const host of ["10.0.0.1", "[fd00::1]", "127.0.0.1"])
      assert.equal(outbound.check(`http://${host}/`), null, host);
    const error = "The url was refused: the address is link-local, or the metadata of a cloud.";
    const closed = ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fd00:ec2::254"];
    for (const address of [...closed, "168.63.129.16", "100.100.100.200"]) {
      const host = address.includes(":") ? `[${address}]` : address;
      assert.deepEqual((await post(`http://${host}/latest`, {})).error, error, host);
      const family = address.includes(":") ? 6 : 4;
      const resolve = async () => [{ address, family }];
      assert.deepEqual((await post("http://hook.example/", { resolve })).error, error, `a name of ${host}`);
    }
    const zoned = { resolve: async () => [{ address: "fe80::1%lo", family: 6 }] };
    assert.deepEqual((await post("http://hook.example/", zoned)).error, error);
  });

  it("is cut off when the process ends", async () => {
    const ending = new AbortController();
    receiver.answer(() => ending.abort());
    const { status } = await post(receiver.url, { timeoutMs: 60_000 }, ending.signal);
    assert.equal(status, null);
  });

  it("leaves nothing behind in the signal of the process, however often it posts", async () => {
    const { signal } = new AbortController();
    const silent = { resolve: () => new Promise<never>(() => undefined), timeoutMs: 1 };
    for (let n = 0; n < 100; n += 1) {
      await post(receiver.url, {}, signal);
      await post("http://hook.example/", silent, signal);
    }
    assert.equal(receiver.received.length, 100);
    assert.deepEqual([getEventListeners(signal, "abort").length, dependantsOf(signal)], [0, 0]);
  });
});

/** The signals that Node has made of this one, which it never forgets. */
function dependantsOf(signal: AbortSignal): number {
  const name = Object.getOwnPropertySymbols(signal).find(({ description }) => description === "kDependantSignals");
  const dependants = name === undefined ? undefined : (signal as unknown as Record<symbol, Set<unknown>>)[name];
  return dependants?.size ?? 0;
}
