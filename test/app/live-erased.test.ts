import assert from "node:assert/strict";
import { createLive, type LiveBatch } from "../../commands/live/live.js";
import { encodeMessage } from "../../core/event/message.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import type { LiveChannel } from "../../core/ports/live-channel.js";
import { createMemoryLiveChannel } from "../../store/memory-live.js";
import { openRabbitLiveChannel } from "../../store/rabbitmq/live.js";
import { anEvent } from "../support/builders.js";
import { soon } from "../support/eventually.js";
import { aQueueName } from "../support/servers/rabbitmq-backend.js";
import { openBrokerProxy } from "../support/servers/rabbitmq-proxy.js";
import { SERVERS } from "../support/servers/servers.js";

const LOOK_MS = 100;

/** Two gateways: `near` erases, `far` shows. `part` takes away what is between them. */
interface Two {
  readonly near: LiveChannel;
  readonly far: LiveChannel;
  part(): Promise<unknown>;
  close(): Promise<unknown>;
}

async function inMemory(): Promise<Two> {
  const far = createMemoryLiveChannel();
  let isParted = false;
  const near: LiveChannel = { ...far, tell: (workspace, message) => isParted || far.tell(workspace, message) };
  return { near, far, part: async () => (isParted = true), close: () => far.close() };
}

async function onRabbit(url: string): Promise<Two> {
  const proxy = await openBrokerProxy(url);
  const name = aQueueName();
  const [near, far] = await Promise.all(
    [url, proxy.url].map((one) => openRabbitLiveChannel({ url: one, name, onError: () => {}, tellMs: 100 })),
  );
  const close = async (): Promise<void> => {
    await Promise.all([near!.close(), far!.close()]);
    await proxy.close();
  };
  return { near: near!, far: far!, part: () => proxy.close(), close };
}

const PLACES: readonly (readonly [string, () => Promise<Two>])[] = [
  ["in memory", inMemory],
  ...(SERVERS === null ? [] : [["on RabbitMQ", () => onRabbit(SERVERS!.RABBITMQ_URL)] as const]),
];

for (const [where, open] of PLACES)
  describe(`What a gateway shows of erased people when nobody can tell it (${where})`, () => {
    let two: Two;
    let erasedAt = 0;
    let isAway = false;
    const workspace = newId<WorkspaceId>();
    const lastErased = async (): Promise<number> => {
      if (isAway) throw new Error("away");
      return erasedAt;
    };
    const lives = () =>
      [two.near, two.far].map((channel) => createLive({ channel, lastErased, lookMs: LOOK_MS })) as [
        ReturnType<typeof createLive>,
        ReturnType<typeof createLive>,
      ];
    const sent = (payload: string, receivedAt: number): Buffer =>
      encodeMessage(anEvent({ workspace, receivedAt, payload: Buffer.from(JSON.stringify(payload)) }));
    const textsOf = (entries: LiveBatch["entries"]) => entries.map(({ payload }) => JSON.parse(payload) as string);
    beforeEach(async () => {
      [erasedAt, isAway, two] = [0, false, await open()];
    });
    afterEach(() => two.close());

    it("nothing of before to who begins to watch, and `forget` to who watches already", async () => {
      const [near, far] = lives();
      const heard: (readonly string[] | null)[] = [];
      const watching = await far.watch(workspace, (batch) =>
        heard.push(batch === null ? null : textsOf(batch.entries)),
      );
      await soon(() => assert.ok(two.near.isWatched(workspace)));
      near.queued([sent("gone", 1_000), sent("later", 3_000)]);
      await soon(() => assert.deepEqual(heard, [["gone", "later"]]));
      await two.part();
      erasedAt = 2_000;
      near.forget(workspace);
      const second = await far.watch(workspace, () => {});
      assert.deepEqual(textsOf(second.entries), ["later"]);
      await soon(() => assert.deepEqual(heard, [["gone", "later"], null]));
      for (const one of [watching, second]) one.stop();
      for (const one of [near, far]) one.close();
    });

    it("nothing of before a deletion that went through it, though no erasure says when that was", async () => {
      const [near, far] = lives();
      const heard: (readonly string[] | null)[] = [];
      const watching = await near.watch(workspace, (batch) =>
        heard.push(batch === null ? null : textsOf(batch.entries)),
      );
      near.queued([sent("deleted", 1_000)]);
      await soon(() => assert.deepEqual(heard, [["deleted"]]));
      await two.part();
      near.forget(workspace);
      const second = await near.watch(workspace, () => {});
      assert.deepEqual(second.entries, []);
      assert.equal(heard[1], null);
      for (const one of [watching, second]) one.stop();
      for (const one of [near, far]) one.close();
    });

    it("nothing that another gateway had gathered before the erasure and tells after it", async () => {
      const [near, far] = lives();
      const heard: (readonly string[] | null)[] = [];
      const watching = await far.watch(workspace, (batch) =>
        heard.push(batch === null ? null : textsOf(batch.entries)),
      );
      await soon(() => assert.ok(two.near.isWatched(workspace)));
      erasedAt = 2_000;
      await soon(() => assert.deepEqual(heard, [null]));
      near.queued([sent("gone", 1_000), sent("erased then", 2_000), sent("later", 2_001)]);
      await soon(() => assert.deepEqual(heard, [null, ["later"]]));
      watching.stop();
      for (const one of [near, far]) one.close();
    });

    it("nothing of before while nobody can say who was erased, and all of it afterwards", async () => {
      const [near, far] = lives();
      const heard: unknown[] = [];
      const watching = await far.watch(workspace, (batch) => heard.push(batch));
      await soon(() => assert.ok(two.near.isWatched(workspace)));
      near.queued([sent("ada", 1_000)]);
      await soon(() => assert.equal(heard.length, 1));
      isAway = true;
      assert.deepEqual((await far.watch(workspace, () => {})).entries, []);
      isAway = false;
      assert.deepEqual(textsOf((await far.watch(workspace, () => {})).entries), ["ada"]);
      watching.stop();
      for (const one of [near, far]) one.close();
    });
  });
