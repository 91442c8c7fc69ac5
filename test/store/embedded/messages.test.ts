import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { EventRecord } from "../../../core/event/event.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import type { DeliveryOutcome, EventQueue } from "../../../core/ports/event-queue.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { createEmbeddedQueueCopying } from "../../../store/embedded/copy/queue.js";
import { createEmbeddedEventStore } from "../../../store/embedded/events/events.js";
import { PAGE_BYTES } from "../../../store/embedded/file/page.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { createEmbeddedQueue } from "../../../store/embedded/queue/queue.js";
import { temporaryFolder } from "../../support/backends.js";
import { anEvent, tombOf } from "../../support/builders.js";
import { isAppError } from "../../support/errors.js";
import { eventually } from "../../support/eventually.js";
import { createRandom, runsOf, SEED } from "../../support/random/random.js";

const DONE = { kind: "done" } as const satisfies DeliveryOutcome;
const LATER = { kind: "retry", delayMs: 1, failedAt: 1 } as const satisfies DeliveryOutcome;

interface Opened {
  readonly store: EmbeddedStore;
  readonly queue: EventQueue;
  readonly events: EventStore;
}

describe("The bytes of messages in the embedded store", () => {
  const folders: string[] = [];
  const opened: Opened[] = [];
  const failing = (message: string, error: unknown): void => assert.fail(`${message}: ${String(error)}`);
  const open = async (dataDir?: string, onError = failing): Promise<Opened> => {
    const folder = dataDir ?? (await temporaryFolder());
    folders.push(folder);
    const store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError });
    const { database } = store;
    const queue = createEmbeddedQueue({ database, lengthMax: 10_000, onError });
    const one = { store, queue, events: createEmbeddedEventStore({ database, tombOf }) };
    opened.push(one);
    return one;
  };
  const close = async (one: Opened): Promise<void> => {
    opened.splice(opened.indexOf(one), 1);
    await one.queue.close();
    await one.events.close();
    await one.store.close();
  };
  afterEach(async () => {
    while (opened.length > 0) await close(opened[0]!);
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });

  const seqsOf = ({ store: { database } }: Opened, table: string): readonly number[] =>
    database.read(() =>
      database
        .prepare(`SELECT seq FROM ${table} ORDER BY seq`)
        .all([])
        .map(([seq]) => seq as number),
    );
  /** What is no event's and does not wait is not there, and nothing that is lacks its bytes. */
  const assertExact = (one: Opened): void => {
    const owned = new Set([...seqsOf(one, "queue"), ...seqsOf(one, "events")]);
    assert.deepEqual(
      seqsOf(one, "messages"),
      [...owned].toSorted((a, b) => a - b),
    );
  };
  const payloadIn = async ({ events }: Opened, { workspace, eventId }: EventRecord): Promise<Buffer | undefined> =>
    (await events.find(workspace, eventId))?.payload;
  /** Handles all that waits, and stores the event where `outcome` says so. */
  const handle = async (
    { queue, events }: Opened,
    outcome: (event: EventRecord) => DeliveryOutcome | "store" = () => "store",
  ): Promise<void> => {
    const consumer = queue.consume(100, async (batch) => {
      const outcomes: DeliveryOutcome[] = [];
      for (const { message } of batch) {
        const decoded = decodeMessage(message);
        assert.ok(decoded.kind === "event");
        const what = outcome(decoded.event);
        if (what === "store") await events.insert(decoded.event.workspace, [decoded.event]);
        outcomes.push(what === "store" ? DONE : what);
      }
      return outcomes;
    });
    await eventually("the queue is empty", async () => (await queue.depth()) === 0);
    await consumer.close();
  };

  it("are written once: the event takes over the row in which its message waited, also behind a restart", async () => {
    const dataDir = await temporaryFolder();
    const before = await open(dataDir);
    const events = Array.from({ length: 40 }, () => anEvent());
    await before.queue.publishAll(events.slice(0, 20).map(encodeMessage));
    await handle(before);
    await before.queue.publishAll(events.slice(20).map(encodeMessage));
    await close(before);
    const after = await open(dataDir);
    await handle(after);
    assert.deepEqual(
      seqsOf(after, "events"),
      Array.from({ length: 40 }, (_, n) => n + 1),
    );
    assertExact(after);
    for (const event of events) assert.deepEqual(await payloadIn(after, event), event.payload);
  });

  it("go with a message that became no event: a duplicate, one that is not stored, one that the queue cleared", async () => {
    const one = await open();
    const [event, other] = [anEvent(), anEvent()];
    await one.queue.publishAll([event, { ...event, timestamp: "" }, other].map(encodeMessage));
    await handle(one, ({ eventId }) => (eventId === event.eventId ? "store" : DONE));
    assert.deepEqual(seqsOf(one, "messages"), [1]);
    await one.events.insert(event.workspace, [{ ...event }]);
    assert.deepEqual(seqsOf(one, "messages"), [1], "a copy of what stands leaves nothing");
    await one.queue.publish(encodeMessage(other));
    await createEmbeddedQueueCopying(one.store.database).clear();
    assert.deepEqual([seqsOf(one, "queue"), seqsOf(one, "messages")], [[], [1]]);
    assert.deepEqual(await payloadIn(one, event), event.payload);
  });

  it("are written again for an event whose message has left the queue, or waits in another file", async () => {
    const [one, elsewhere] = [await open(), await open()];
    const [gone, there] = [anEvent(), anEvent()];
    await one.queue.publish(encodeMessage(gone));
    await handle(one, () => DONE);
    await one.queue.publishAll([anEvent(), anEvent()].map(encodeMessage));
    await one.events.insert(gone.workspace, [gone]);
    await elsewhere.queue.publishAll([anEvent(), there].map(encodeMessage));
    await one.events.insert(there.workspace, [there]);
    for (const event of [gone, there]) assert.deepEqual(await payloadIn(one, event), event.payload);
    for (const each of [one, elsewhere]) assertExact(each);
  });

  it("stay with the event where its process dies before the queue knows that it is handled", async () => {
    const dataDir = await temporaryFolder();
    const before = await open(dataDir);
    const event = anEvent();
    await before.queue.publish(encodeMessage(event));
    await before.events.insert(event.workspace, [event]);
    await close(before);
    const after = await open(dataDir);
    assert.deepEqual([seqsOf(after, "queue"), seqsOf(after, "events")], [[1], [1]]);
    await handle(after);
    assert.deepEqual([seqsOf(after, "queue"), seqsOf(after, "events")], [[], [1]]);
    assert.deepEqual(await payloadIn(after, event), event.payload);
  });

  it("go when the event is dropped, also while its message waits", async () => {
    const one = await open();
    const event = anEvent({ payload: Buffer.from('{"canary":"4711"}') });
    await one.queue.publish(encodeMessage(event));
    await one.events.insert(event.workspace, [event]);
    await one.events.drop(event.workspace, [event.eventId], "erased");
    const texts = one.store.database.read(() =>
      one.store.database.prepare("SELECT CAST(message AS TEXT) FROM messages").all([]).map(String),
    );
    assert.ok(texts.length === 1 && !texts[0]!.includes("4711"), texts.join());
    await handle(one);
    assert.equal((await one.events.find(event.workspace, event.eventId))!.status, "dropped");
    assertExact(one);
  });

  /** A closed store with one event, and damage in the only page of each of these tables. */
  const damaged = async (...tables: readonly string[]): Promise<string> => {
    const dataDir = await temporaryFolder();
    const one = await open(dataDir);
    const event = anEvent();
    await one.events.insert(event.workspace, [event]);
    const root = one.store.database.prepare("SELECT rootpage FROM sqlite_master WHERE name = ?");
    const pages = tables.map((table) => root.get([table])![0] as number);
    await close(one);
    const file = join(dataDir, "onym.db");
    const bytes = await readFile(file);
    for (const page of pages) bytes[page * PAGE_BYTES - 50]! ^= 1;
    await writeFile(file, bytes);
    return dataDir;
  };

  it("stay where the events that they may belong to are damaged, and the queue goes on", async () => {
    const errors: string[] = [];
    const one = await open(await damaged("events"), (message) => void errors.push(message));
    await one.queue.publishAll([anEvent(), anEvent()].map(encodeMessage));
    await handle(one, () => DONE);
    await one.queue.publishAll([anEvent()].map(encodeMessage));
    await handle(one, () => DONE);
    assert.deepEqual(seqsOf(one, "queue"), []);
    assert.equal(seqsOf(one, "messages").length, 4);
    assert.ok(errors.includes("the queue cannot write"), errors.join());
  });

  it("get no place where it is damaged which ones are taken: the store opens, and refuses what is published", async () => {
    const one = await open(await damaged("events", "messages"), () => undefined);
    await assert.rejects(one.queue.publish(encodeMessage(anEvent())), isAppError("damaged"));
    assert.equal(await one.queue.depth(), 0);
  });

  it(`are exactly those of what waits and of what is stored, whatever becomes of it (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    for (let run = 0; run < runsOf(3); run += 1) {
      const dataDir = await temporaryFolder();
      let one = await open(dataDir);
      const made: EventRecord[] = [];
      const stored = new Map<string, EventRecord>();
      const drawn = (): EventRecord => {
        if (made.length === 0 || random.below(3) > 0) made.push(anEvent({ payload: Buffer.from(`"${made.length}"`) }));
        else if (random.below(2) === 0) return random.pick(made);
        else return { ...random.pick(made), payload: Buffer.from('"another"') };
        return made.at(-1)!;
      };
      for (let step = 0; step < 30; step += 1) {
        const some = Array.from({ length: 1 + random.below(20) }, drawn);
        if (random.below(4) === 0) {
          await one.events.insert(some[0]!.workspace, [some[0]!]);
          stored.set(some[0]!.eventId, stored.get(some[0]!.eventId) ?? some[0]!);
        } else await one.queue.publishAll(some.map(encodeMessage));
        if (random.below(5) === 0) {
          await close(one);
          one = await open(dataDir);
        }
        if (random.below(2) === 0)
          await handle(one, (event) => {
            const what = random.below(10);
            if (what === 0) return LATER;
            if (what === 1) return DONE;
            stored.set(event.eventId, stored.get(event.eventId) ?? event);
            return "store";
          });
        assertExact(one);
      }
      for (const event of stored.values()) assert.deepEqual(await payloadIn(one, event), event.payload);
    }
  });
});
