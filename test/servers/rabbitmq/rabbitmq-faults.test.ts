import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError } from "../../../core/config.js";
import { isUnavailable } from "../../../core/errors.js";
import type { EventQueue } from "../../../core/ports/event-queue.js";
import { openRabbitQueue } from "../../../store/rabbitmq/queue.js";
import { namesOf } from "../../../store/rabbitmq/topology.js";
import { eventually, rejectsAsUnavailable } from "../../support/eventually.js";
import { DONE, listen, numbered, publishEach, texts } from "../../support/queue.js";
import { aQueueName, connectToRabbit, dropQueues } from "../../support/servers/rabbitmq-backend.js";
import { openBrokerProxy, type BrokerProxy } from "../../support/servers/rabbitmq-proxy.js";
import { serversUnderTest } from "../../support/servers/servers.js";

const url = serversUnderTest().RABBITMQ_URL;
const onError = (): void => {};
const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return performance.now() - began;
};

describe("The queue on RabbitMQ, when the broker is away", () => {
  let name: string;
  let proxy: BrokerProxy;
  let queue: EventQueue;
  const isReady = (): Promise<boolean> =>
    queue.ready().then(
      () => true,
      () => false,
    );
  const published = (): Promise<boolean> =>
    queue.publish(Buffer.from("again")).then(
      () => true,
      () => false,
    );

  beforeEach(async () => {
    name = aQueueName();
    proxy = await openBrokerProxy(url);
    queue = await openRabbitQueue({ url: proxy.url, name, lengthMax: 10_000, onError, deadlineMs: 1_000 });
    await queue.ready();
  });
  afterEach(async () => {
    proxy.silence(false);
    await queue.close();
    await proxy.close().catch(() => undefined);
    await dropQueues(url, name);
  });

  it("refuses at once, is not ready at once, and is back within five seconds of its return", async () => {
    await proxy.close();
    await eventually("it has noticed", async () => !(await isReady()));
    assert.ok((await timed(() => rejectsAsUnavailable(() => queue.publish(Buffer.from("x"))))) < 100);
    assert.ok((await timed(() => rejectsAsUnavailable(() => queue.depth()))) < 1_500);
    await proxy.reopen();
    const backMs = await timed(() => eventually("it takes again", published));
    assert.ok(backMs < 5_000, `back after ${backMs} ms`);
    await eventually("it is ready", isReady);
  });

  it("answers what was on its way when the connection ended", async () => {
    proxy.silence(true);
    const publishing = Promise.allSettled(numbered(50).map((message) => queue.publish(message)));
    proxy.cut();
    const results = await publishing;
    assert.ok(results.every((result) => result.status === "rejected" && isUnavailable(result.reason)));
  });

  it("refuses a silent broker's publish at the deadline, then at once, and goes on when it answers again", async () => {
    proxy.silence(true);
    const firstMs = await timed(() => rejectsAsUnavailable(() => queue.publish(Buffer.from("x"))));
    assert.ok(firstMs >= 990 && firstMs < 2_000, `refused after ${firstMs} ms`);
    const nextMs = await timed(() =>
      Promise.all(numbered(500).map((m) => rejectsAsUnavailable(() => queue.publish(m)))),
    );
    assert.ok(nextMs < 300, `500 refused after ${nextMs} ms`);
    assert.ok((await timed(() => rejectsAsUnavailable(() => queue.ready()))) < 1_000);
    proxy.silence(false);
    await eventually("it takes again", published);
    await eventually("it is ready", isReady);
  });

  it("is not ready while it cannot consume", async () => {
    const { consumer } = listen(queue);
    await eventually("it is subscribed", isReady);
    proxy.cut();
    await eventually("it has noticed", async () => !(await isReady()));
    await eventually("it is subscribed again", isReady);
    await consumer.close();
  });

  it("is drained while the broker reads nothing of who published, as short of memory, and closes in time", async () => {
    await publishEach(queue, numbered(20));
    proxy.deafen();
    const cameMs = await timed(() => listen(queue).came(20));
    assert.ok(cameMs < 6_000, `came after ${cameMs} ms`);
    const closeMs = await timed(() => queue.close());
    assert.ok(closeMs < 6_000, `closed after ${closeMs} ms`);
  });

  it("is drained then too of what came back from a process that died, one crash higher", async () => {
    await publishEach(queue, numbered(20));
    const way = await openBrokerProxy(url);
    const dying = await openRabbitQueue({ url: way.url, name, lengthMax: 10_000, onError });
    await listen(dying, 20, () => ({ kind: "postpone", delayMs: 60_000 })).came(20);
    await way.close();
    await dying.close();
    proxy.deafen();
    const { came, deliveries } = listen(queue);
    const cameMs = await timed(() => came(20));
    assert.ok(cameMs < 6_000, `came after ${cameMs} ms`);
    assert.deepEqual(new Set(texts(deliveries())), new Set(numbered(20).map(String)));
    assert.ok(deliveries().every(({ crashes }) => crashes === 1));
    assert.ok((await timed(() => queue.close())) < 6_000);
  });

  it("handles then at its close what it can give back to nobody, so that it does not look like a crash", async () => {
    await publishEach(queue, numbered(200));
    proxy.deafen();
    let handled = 0;
    const consumer = queue.consume(10, async (batch) => {
      await sleep(20);
      handled += batch.length;
      return batch.map(() => DONE);
    });
    await eventually("it is at work", () => handled > 0);
    const closeMs = await timed(() => consumer.close());
    assert.ok(closeMs < 6_000, `closed after ${closeMs} ms`);
    assert.equal(handled, 200);
    await queue.close();
    queue = await openRabbitQueue({ url, name, lengthMax: 10_000, onError });
    assert.equal(await queue.depth(), 0);
  });

  it("closes in time while the broker is silent", async () => {
    await publishEach(queue, numbered(20));
    const { came } = listen(queue, 10, () => ({ kind: "postpone", delayMs: 60_000 }));
    await came(10);
    proxy.silence(true);
    const closeMs = await timed(() => queue.close());
    assert.ok(closeMs < 6_000, `closed after ${closeMs} ms`);
  });

  it("leaves nothing behind that it cannot have settled: all is delivered to the next one", async () => {
    await publishEach(queue, numbered(20));
    const { came } = listen(queue, 10, () => ({ kind: "postpone", delayMs: 60_000 }));
    await came(10);
    await proxy.close();
    await queue.close();
    queue = await openRabbitQueue({ url, name, lengthMax: 10_000, onError });
    const second = listen(queue);
    await second.came(20);
    await second.consumer.close();
    assert.equal(await queue.depth(), 0);
  });
});

describe("The queue on RabbitMQ, when a setting is wrong", () => {
  const fails = async (given: string, expected: RegExp, lengthMax = 10, name = aQueueName()): Promise<void> => {
    const work = async (): Promise<void> =>
      assert.rejects(openRabbitQueue({ url: given, name, lengthMax, onError }), (error) => {
        assert.ok(error instanceof ConfigError, String(error));
        assert.match(error.message, expected);
        assert.doesNotMatch(error.message, /s3cret|\n/);
        return true;
      });
    assert.ok((await timed(work)) < 10_000);
  };
  const changed = (change: (url: URL) => void): string => {
    const own = new URL(url);
    own.password = "s3cret";
    change(own);
    return own.toString();
  };

  it("names RABBITMQ_URL and the user when user or password are wrong", async () => {
    const user = new URL(url).username;
    await fails(
      changed(() => {}),
      new RegExp(`^RABBITMQ_URL: .*refused the user "${user}"`),
    );
    await fails(
      changed((own) => (own.username = "nobody")),
      /^RABBITMQ_URL: .*refused the user "nobody"/,
    );
  });

  it("names RABBITMQ_URL and the host when it cannot be reached", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await fails(
      changed((own) => (own.host = `127.0.0.1:${port}`)),
      /^RABBITMQ_URL: cannot reach 127\.0\.0\.1:\d+ \(ECONNREFUSED\)$/,
    );
    await fails(
      changed((own) => (own.hostname = "nowhere.invalid")),
      /^RABBITMQ_URL: cannot reach nowhere\.invalid/,
    );
  });

  it("names RABBITMQ_URL and the vhost when there is none", async () => {
    const own = new URL(url);
    own.pathname = "/no%20such";
    await fails(own.toString(), /^RABBITMQ_URL: .*vhost "no such"/);
  });

  it("names RABBITMQ_URL when something else listens there, or nothing answers", async () => {
    const sockets = new Set<{ destroy(): void }>();
    const other = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    }).listen(0, "127.0.0.1");
    const silent = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
    await Promise.all([once(other, "listening"), once(silent, "listening")]);
    const at = (server: typeof other) =>
      changed((own) => (own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`));
    await Promise.all([
      fails(at(other), /^RABBITMQ_URL: .* does not speak AMQP/),
      fails(at(silent), /^RABBITMQ_URL: cannot reach/),
    ]);
    for (const socket of sockets) socket.destroy();
    other.close();
    silent.close();
  });

  it("names RABBITMQ_URL when it is no address", async () => {
    await fails("amqp://[s3cret", /^RABBITMQ_URL: cannot be read/);
    await fails("http://user:s3cret@localhost", /^RABBITMQ_URL: cannot be read/);
    await fails("amqp://user:s3cret%ff@localhost", /^RABBITMQ_URL: cannot be read/);
  });

  it("belongs to one installation: a process on other documents is told so and takes nothing", async () => {
    const name = aQueueName();
    const open = (installation: string) => openRabbitQueue({ url, name, lengthMax: 10, installation, onError });
    try {
      await (await open("one")).close();
      await assert.rejects(open("other"), /^Error: RABBITMQ_QUEUE: the queue \S+ belongs to another installation/);
      await (await open("one")).close();
    } finally {
      await dropQueues(url, name);
    }
  });

  it("names QUEUE_LENGTH_MAX when the queue exists with another bound, and says what to do", async () => {
    const name = aQueueName();
    await (await openRabbitQueue({ url, name, lengthMax: 10, onError })).close();
    await fails(
      url,
      /^QUEUE_LENGTH_MAX: .* exists with another bound than 11: .*rabbitmqctl delete_queue \S+, /,
      11,
      name,
    );
    await (await openRabbitQueue({ url, name, lengthMax: 10, onError })).close();
    await dropQueues(url, name);
  });

  it("names RABBITMQ_QUEUE when a queue of another kind has its name", async () => {
    const name = aQueueName();
    const raw = await connectToRabbit(url);
    await raw.queueDeclare({ queue: namesOf(name).retry, durable: true });
    await fails(url, /^RABBITMQ_QUEUE: /, 10, name);
    await raw.close();
    await dropQueues(url, name);
  });
});
