import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { MongoClient, type Collection } from "mongodb";
import { Connection, type Publisher } from "rabbitmq-client";
import type { EventRecord } from "../../core/event/event.js";
import { newId, type EventId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { encodeMessage } from "../../core/event/message.js";
import type { EventQueue } from "../../core/ports/event-queue.js";
import { openRabbitQueue } from "../../store/rabbitmq/queue.js";
import { at, listAt, textAt, until, type TestWorkspace } from "../support/service/app.js";
import { anEvent } from "../support/builders.js";
import { deploy, type Deployment } from "../support/service/deployment.js";
import { eventually } from "../support/eventually.js";
import { profileOf } from "../support/faults.js";
import { assertWithin } from "../support/house/yardstick.js";

interface Foreign {
  readonly title: string;
  readonly body: Buffer;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly reason: string;
}

const ours = (changes: Partial<EventRecord> = {}): Buffer =>
  encodeMessage(anEvent({ payload: Buffer.from('{"email": "ada@example.com"}'), ...changes }));
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const withHeader = (change: object): Buffer => {
  const message = ours();
  const end = message.indexOf("\n");
  const header = { ...(JSON.parse(message.toString("utf8", 0, end)) as object), ...change };
  return Buffer.concat([json(header), message.subarray(end)]);
};

/** What anybody with access to the broker could publish. Made once: the same bytes are the same dead letter. */
const FOREIGN: readonly Foreign[] = [
  { title: "bytes that are not ours", body: Buffer.from([0, 255, 1, 254, 10, 13, 0]), reason: "not_an_onym_message" },
  {
    title: "JSON by content type",
    body: json({ hello: ["world", 1.5, null] }),
    contentType: "application/json",
    reason: "not_an_onym_message",
  },
  {
    title: "JSON by content type that is none",
    body: Buffer.from('{"hello": '),
    contentType: "application/json",
    reason: "not_an_onym_message",
  },
  {
    title: "text by content type",
    body: Buffer.from("hello\nworld \u00fc"),
    contentType: "text/plain",
    reason: "not_an_onym_message",
  },
  { title: "a future version", body: withHeader({ v: 99 }), reason: "unknown_message_version" },
  { title: "no version", body: withHeader({ v: undefined }), reason: "unknown_message_version" },
  { title: "a workspace that is no id", body: withHeader({ ws: "../etc" }), reason: "not_an_onym_message" },
  { title: "a forged workspace", body: ours(), reason: "unknown_workspace" },
  { title: "a truncated message", body: ours().subarray(0, 40), reason: "not_an_onym_message" },
  { title: "an empty message", body: Buffer.alloc(0), reason: "not_an_onym_message" },
  { title: "a megabyte", body: randomBytes(1_048_576), reason: "not_an_onym_message" },
  {
    title: "headers that say what ours say, of other types",
    body: Buffer.from("headers"),
    headers: { attempts: "many", crashes: -1, delayMs: 1e12, "x-delivery-count": "x" },
    reason: "not_an_onym_message",
  },
];

interface Letter {
  readonly ws: string | null;
  readonly reason: string;
  readonly message: { readonly buffer: Buffer } | Buffer;
}
const bytesOf = ({ message }: Letter): Buffer => (Buffer.isBuffer(message) ? message : message.buffer);

describe("A message in the queue that is not ours", () => {
  let deployment: Deployment;
  let workspace: TestWorkspace;
  let schemaId: string;
  let connection: Connection;
  let publisher: Publisher;
  let client: MongoClient;
  let letters: Collection<Letter>;
  let queue: EventQueue;

  before(async () => {
    deployment = await deploy();
    workspace = await deployment.workspace();
    schemaId = await workspace.schema();
    const { RABBITMQ_URL: url, RABBITMQ_QUEUE: name, MONGODB_URL } = deployment.places;
    connection = new Connection({ url: url!, acquireTimeout: 5_000 });
    connection.on("error", () => {});
    publisher = connection.createPublisher({ confirm: true });
    client = new MongoClient(MONGODB_URL!);
    letters = client.db().collection<Letter>("deadLetters");
    queue = await openRabbitQueue({ url: url!, name: name!, lengthMax: 1_000_000, onError: () => {} });
    for (const foreign of FOREIGN) await publish(foreign);
    await eventually("all are dead letters", async () => (await letters.countDocuments()) >= FOREIGN.length);
  });
  after(async () => {
    await queue?.close().catch(() => {});
    await client?.close();
    await publisher?.close();
    await connection?.close();
    await deployment?.close();
  });

  const publish = ({ body, contentType, headers }: Pick<Foreign, "body" | "contentType" | "headers">): Promise<void> =>
    publisher.send(
      {
        routingKey: deployment.places["RABBITMQ_QUEUE"]!,
        durable: true,
        mandatory: true,
        ...(contentType !== undefined && { contentType }),
        ...(headers !== undefined && { headers }),
      },
      body,
    );

  for (const { title, body, reason } of FOREIGN)
    it(`becomes a dead letter with its reason, byte for byte: ${title}`, async () => {
      const same = (await letters.find().toArray()).filter((letter) => bytesOf(letter).equals(body));
      assert.deepEqual(
        same.map(({ ws, reason: why }) => [ws, why]),
        [[null, reason]],
      );
    });

  it("is shown to no client", async () => {
    const shown = await workspace.send("GET", "/v1/dead-letters");
    assert.deepEqual([shown.status, listAt(shown.body, "dead_letters")], [200, []]);
  });

  it("is handled once, and leaves the queue empty", async () => {
    const handled = (): number => deployment.workers[0]!.stderr().split("a message became a dead letter").length - 1;
    await eventually("the queue is empty", async () => (await queue.depth()) === 0);
    assert.equal(handled(), FOREIGN.length);
    assert.equal(await letters.countDocuments(), FOREIGN.length);
  });

  it("does not keep its neighbours waiting for longer than a second", async () => {
    const neighbour = async (n: number): Promise<number> => {
      const accepted = await workspace.collect(schemaId, { email: `n${n}@example.com` });
      assert.equal(accepted.status, 202, accepted.text);
      const before = performance.now();
      assert.equal((await workspace.settled(accepted.body["event_id"])).body["status"], "folded");
      return performance.now() - before;
    };
    await assertWithin(1_000, async () => {
      const published = Promise.all([...FOREIGN, ...FOREIGN].map(publish));
      const waited = await Promise.all(Array.from({ length: 20 }, (_, n) => neighbour(n)));
      await published;
      return Math.max(...waited);
    });
    await eventually("the queue is empty", async () => (await queue.depth()) === 0);
  });

  it("but names our workspace, with a payload that breaks off, is its dead letter within ten seconds", async () => {
    const eventId = newId<EventId>();
    const body = ours({
      workspace: workspace.id as WorkspaceId,
      eventId,
      schemaId: schemaId as SchemaId,
      schemaVersion: 1,
      payload: Buffer.from('{"email": "ada@'),
    });
    const before = performance.now();
    await publish({ body });
    const shown = await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      (answer) => listAt(answer.body, "dead_letters").length > 0,
    );
    assert.ok(performance.now() - before < 10_000, "too late");
    assert.deepEqual(
      listAt(shown.body, "dead_letters").map((letter) => [textAt(letter, "event_id"), at(letter, "reason")]),
      [[eventId, "invalid_json"]],
    );
    assert.equal(await profileOf(workspace, "ada@example.com"), null);
    await eventually("the queue is empty", async () => (await queue.depth()) === 0);
  });
});
