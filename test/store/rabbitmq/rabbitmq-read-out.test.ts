import assert from "node:assert/strict";
import { readOut } from "../../../store/rabbitmq/read-out.js";

type ReadChannel = Parameters<typeof readOut>[0];
type Message = { readonly headers: undefined; readonly body: Buffer };
type Deliver = (message: Message) => void;

const numbered = (queue: string, count: number): Message[] =>
  Array.from({ length: count }, (_, n) => ({ headers: undefined, body: Buffer.from(`${queue} ${n}`) }));

/** A broker's queues, each of which is silent for the first of the questions about it. */
function aBroker(standing: Readonly<Record<string, number>>, silentFor: number, handsOutAtCancel = false) {
  const queues = new Map(Object.entries(standing).map(([queue, count]) => [queue, numbered(queue, count)]));
  const consumers = new Map<string, Deliver>();
  const asked = new Map<string, number>();
  let room = 0;
  const isSilent = (queue: string): boolean => (asked.get(queue) ?? 0) <= silentFor;
  const handOut = (queue: string): void => {
    const deliver = consumers.get(queue);
    if (deliver === undefined) return;
    for (; room > 0 && queues.get(queue)!.length > 0; room -= 1) deliver(queues.get(queue)!.shift()!);
  };
  const channel = {
    basicGet: async ({ queue }: { queue: string }) => queues.get(queue)!.shift(),
    basicQos: async ({ prefetchCount }: { prefetchCount: number }) => void (room = prefetchCount),
    basicConsume: async ({ queue }: { queue: string }, deliver: Deliver) => {
      consumers.set(queue, deliver);
      if (!isSilent(queue)) setImmediate(handOut, queue);
      return { consumerTag: queue };
    },
    basicCancel: async ({ consumerTag }: { consumerTag: string }) => {
      if (handsOutAtCancel) handOut(consumerTag);
      consumers.delete(consumerTag);
    },
    queueDeclare: async ({ queue }: { queue: string }) => {
      asked.set(queue, (asked.get(queue) ?? 0) + 1);
      // What RabbitMQ answers where a leader gives no figures in time.
      if (isSilent(queue)) return { queue, messageCount: 0, consumerCount: 0 };
      setImmediate(handOut, queue);
      return { queue, messageCount: queues.get(queue)!.length, consumerCount: consumers.has(queue) ? 1 : 0 };
    },
  };
  return { channel: channel as unknown as ReadChannel, queues };
}

async function read(channel: ReadChannel, single: readonly string[], partitions: readonly string[], silentMs?: number) {
  const found: string[] = [];
  for await (const { queue, body } of readOut(channel, { single, partitions }, "retry", silentMs)) {
    assert.ok(String(body).startsWith(`${queue} `));
    found.push(String(body));
  }
  return found;
}

describe("Reading out the queues of RabbitMQ", () => {
  for (const count of [0, 1, 31, 32, 33, 100])
    it(`finds all ${count} of a partition, in order`, async () => {
      const { channel } = aBroker({ retry: 2, p0: count, p1: 1 }, 0);
      assert.deepEqual(
        await read(channel, ["retry"], ["p0", "p1"]),
        [...numbered("retry", 2), ...numbered("p0", count), ...numbered("p1", 1)].map(({ body }) => String(body)),
      );
    });

  it("does not take the 0 of a partition whose leader is silent for the number of its messages", async () => {
    const { channel } = aBroker({ retry: 0, p0: 40 }, 5);
    assert.equal((await read(channel, ["retry"], ["p0"])).length, 40);
  });

  it("finds what is delivered while its consumer is being cancelled", async () => {
    const { channel, queues } = aBroker({ retry: 0, p0: 3 }, 0, true);
    const found = read(channel, ["retry"], ["p0"]);
    const { basicCancel } = channel;
    channel.basicCancel = (asked) => {
      if (typeof asked !== "string" && asked.consumerTag === "p0" && queues.get("p0")!.length === 0)
        queues.get("p0")!.push(...numbered("p0", 1));
      return basicCancel(asked as string);
    };
    assert.deepEqual(await found, ["p0 0", "p0 1", "p0 2", "p0 0"]);
  });

  it("says so where a partition stays silent", async () => {
    const { channel } = aBroker({ retry: 0, p0: 40 }, Infinity);
    await assert.rejects(read(channel, ["retry"], ["p0"], 200), /^Error: RABBITMQ_URL: the queue p0 does not answer$/);
  });

  it("finds what the broker was just moving when it read where that came to", async () => {
    const { channel, queues } = aBroker({ retry: 0 }, 0);
    setTimeout(() => queues.get("retry")!.push(...numbered("retry", 1)), 50);
    assert.deepEqual(await read(channel, ["retry"], []), ["retry 0"]);
  });
});
