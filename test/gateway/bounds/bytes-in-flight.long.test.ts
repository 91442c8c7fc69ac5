import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { CLIENT_LEFT, createBytesInFlight, type Share } from "../../../gateway/http/bytes-in-flight.js";
import { isAppError } from "../../support/errors.js";
import { listAt, send, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const WAIT_MS = 50;

describe("Bytes in flight", () => {
  const open = () => createBytesInFlight({ bytesMax: 100, workspaceBytesMax: 60, makingBytesMax: 60, waitMs: WAIT_MS });
  const [a, b, c] = [newId<WorkspaceId>(), newId<WorkspaceId>(), newId<WorkspaceId>()];
  /** Tells by its name when it has its bytes. */
  const taking = (share: Share, bytes: number, name: string, order: string[]): Promise<void> =>
    share.take(bytes).then(() => void order.push(name));

  it("are taken at once while there is room, and given to who waits as they are released", async () => {
    const bytes = open();
    const [first, second] = [bytes.open(a), bytes.open(a)];
    assert.equal(await first.take(40), false);
    const order: string[] = [];
    const waiting = second.take(30).then((hasWaited) => {
      order.push("second");
      return hasWaited;
    });
    await sleep(1);
    assert.deepEqual(order, []);
    first.settle(30);
    assert.equal(await waiting, true);
    second.release();
    first.release();
    await bytes.open(a).take(60);
  });

  it("of one workspace leave room for the others, and beyond its own share it is rate_limited after the wait", async () => {
    const bytes = open();
    await bytes.open(a).take(60);
    const start = performance.now();
    await assert.rejects(bytes.open(a).take(1), isAppError("rate_limited"));
    assert.ok(performance.now() - start >= WAIT_MS - 2);
    await bytes.open(b).take(40);
    await assert.rejects(bytes.open(b).take(20), isAppError("unavailable"));
  });

  it("are given to nobody who left, whenever it asks", async () => {
    const bytes = open();
    const [holder, gone] = [bytes.open(a), bytes.open(a)];
    await holder.take(60);
    const waiting = gone.take(10);
    gone.leave();
    await assert.rejects(waiting, CLIENT_LEFT);
    holder.release();
    await assert.rejects(gone.take(10), CLIENT_LEFT);
    await bytes.open(a).take(60);
  });

  it("are given to no answer that has ended: nobody would give them back", async () => {
    const bytes = open();
    const over = bytes.open(a);
    await over.take(10);
    over.giveBack();
    await over.take(10);
    over.release();
    await assert.rejects(over.take(10), CLIENT_LEFT);
    await bytes.open(a).take(60);
  });

  it("are given in turns of the workspaces, however many of one wait", async () => {
    const bytes = open();
    const holder = bytes.open(a);
    const other = bytes.open(c);
    await holder.take(60);
    await other.take(40);
    const order: string[] = [];
    const all = [
      ...[1, 2, 3].map((n) => taking(bytes.open(a), 10, `a${n}`, order)),
      ...[1, 2].map((n) => taking(bytes.open(b), 10, `b${n}`, order)),
    ];
    holder.release();
    await Promise.all(all);
    assert.deepEqual(order, ["a1", "b1", "a2", "b2", "a3"]);
  });

  it("are kept for a large answer whose turn it is, although small ones of others would fit", async () => {
    const bytes = open();
    const holders = [a, b].map((workspace) => bytes.open(workspace));
    for (const holder of holders) await holder.take(45);
    const order: string[] = [];
    const large = taking(bytes.open(c), 60, "large", order);
    const small = taking(bytes.open(a), 10, "small", order);
    await sleep(1);
    assert.deepEqual(order, []);
    for (const holder of holders) holder.release();
    await Promise.all([large, small]);
    assert.deepEqual(order, ["large", "small"]);
  });

  it("that are asked for while others are held are refused at once when there is no room", async () => {
    const bytes = open();
    const share = bytes.open(a);
    await share.take(50);
    await share.take(10);
    await assert.rejects(share.take(1), isAppError("rate_limited"));
    const other = bytes.open(b);
    await other.take(35);
    await assert.rejects(other.take(6), isAppError("unavailable"));
    share.release();
    await other.take(6);
  });

  it("that are asked for while others are held are unavailable where other workspaces have them, whatever its own are making", async () => {
    const bytes = createBytesInFlight({ bytesMax: 100, workspaceBytesMax: 60, makingBytesMax: 20, waitMs: WAIT_MS });
    const [share] = await Promise.all(
      [a, a, b].map(async (workspace) => {
        const one = bytes.open(workspace);
        await one.take(workspace === b ? 60 : 10);
        return one;
      }),
    );
    await bytes.open(c).take(20);
    await assert.rejects(share!.take(1), isAppError("unavailable"));
  });

  it("of large answers of one workspace are given when the one before is made, and others go on meanwhile", async () => {
    const bytes = createBytesInFlight({ bytesMax: 1_000, workspaceBytesMax: 500, makingBytesMax: 60, waitMs: 1_000 });
    const first = bytes.open(a);
    await first.take(100);
    const order: string[] = [];
    const second = taking(bytes.open(a), 50, "second", order);
    const third = taking(bytes.open(a), 10, "third", order);
    await bytes.open(b).take(100);
    assert.deepEqual(order, []);
    first.settle(100);
    await Promise.all([second, third]);
    assert.deepEqual(order, ["second", "third"]);
  });

  it("are no more than a workspace's share for one answer, so that every answer can be made", async () => {
    await open().open(a).take(1_000);
  });

  it("are not waited for any more once the client is gone", async () => {
    const bytes = open();
    const holder = bytes.open(a);
    await holder.take(60);
    const gone = bytes.open(a);
    const waiting = gone.take(60);
    gone.leave();
    await assert.rejects(waiting, CLIENT_LEFT);
    holder.release();
    await bytes.open(a).take(60);
  });
});

describe("Large answers that nobody reads", () => {
  let timelines = 0;
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        events: {
          ...backends.events,
          timeline: async (...given) => {
            timelines += 1;
            return backends.events.timeline(...given);
          },
        },
      }),
    },
  );
  /** A profile with so many events of 250 KB, and a target that lists them. */
  async function profileOf(workspace: TestWorkspace, events: number): Promise<string> {
    const schemaId = await workspace.schema({
      type: "object",
      properties: { email: { type: "string", "x-identity": { namespace: "email" } } },
    });
    const ids: unknown[] = [];
    for (let n = 0; n < events; n++) {
      const payload = { email: "ada@example.com", filler: "x".repeat(250_000) };
      ids.push((await workspace.collect(schemaId, payload)).body["event_id"]);
    }
    for (const id of ids) await workspace.settled(id);
    const found = await workspace.send("POST", "/v1/profiles/lookup", {
      identifiers: [{ namespace: "email", value: "ada@example.com" }],
    });
    return `/v1/profiles/${textAt(listAt(found.body, "profiles")[0], "profile_id")}/events`;
  }

  it("are not made beyond a workspace's share, and its neighbour reads on", async () => {
    const [flood, neighbour] = [await app().workspace(), await app().workspace()];
    const [target, targetOfNeighbour] = [await profileOf(flood, 9), await profileOf(neighbour, 1)];
    const [key, port] = [await flood.key("viewer"), Number(new URL(app().url).port)];
    const request = `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    timelines = 0;
    // The operating systems take the first answers of a connection, on some machines whole pages: those are no more in our memory.
    let taken = 0;
    const take = (message: unknown): void => {
      if ((message as { readonly request: IncomingMessage }).request.url === target) taken += 1;
    };
    subscribe("http.server.response.finish", take);
    const sockets = Array.from({ length: 40 }, () => net.connect({ port, host: "127.0.0.1" }).pause());
    for (const socket of sockets) socket.on("error", () => {}).write(request.repeat(350));
    try {
      for (let seen = -1; seen !== timelines; await sleep(500)) seen = timelines;
      const read = await send(app().url, "GET", targetOfNeighbour, { key: await neighbour.key("viewer") });
      assert.equal(read.status, 200);
      assert.equal(listAt(read.body, "events").length, 1);
      const held = timelines - taken;
      assert.ok(held > 0 && held < sockets.length / 2, `${held} pages held for clients that read none`);
    } finally {
      unsubscribe("http.server.response.finish", take);
      for (const socket of sockets) socket.destroy();
    }
  });
});
