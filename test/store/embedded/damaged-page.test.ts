import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLog } from "../../../app/logger.js";
import type { SchemaId } from "../../../core/ids.js";
import type { EventStore } from "../../../core/ports/event-store.js";
import { createRetention } from "../../../keeper/retention.js";
import { createEmbeddedCatalog } from "../../../store/embedded/catalog/catalog.js";
import { createEmbeddedEventStore } from "../../../store/embedded/events/events.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { onError, temporaryFolder } from "../../support/backends.js";
import { aDataset, aFold, aKey, anEvent, aWorkspace, noAudiences, tombOf } from "../../support/builders.js";
import { isAppError } from "../../support/errors.js";

const NOW = 1_772_359_200_000;
const DAY_MS = 86_400_000;

describe("A damaged page of events", () => {
  const workspace = aWorkspace();
  const id = workspace.workspaceId;
  const all = Array.from({ length: 300 }, (_, n) =>
    anEvent({
      workspace: id,
      schemaId: "visit" as SchemaId,
      receivedAt: NOW + n,
      payload: Buffer.from(`{"mark": "event ${n} of them"}`),
    }),
  );
  let folder: string;
  let store: EmbeddedStore;
  let events: EventStore;
  /** Those that stand on it. */
  const lost = new Set<string>();
  const open = async (told: (message: string, error: unknown) => void): Promise<void> => {
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: told });
    events = createEmbeddedEventStore({ database: store.database, tombOf });
  };

  before(async () => {
    folder = await temporaryFolder();
    await open(onError);
    const catalog = createEmbeddedCatalog(store);
    await catalog.createWorkspace(workspace, aKey({ workspace: id, role: "owner" }));
    await catalog.putDataset(aDataset({ workspace: id, schemaId: "visit" as SchemaId, retentionDays: 1 }));
    await events.insert(id, all);
    await events.fold(
      id,
      all.map((event) => aFold(event)),
    );
    await store.close();
    const file = join(folder, "onym.db");
    const bytes = await readFile(file);
    bytes[bytes.indexOf("event 150 of them")]! ^= 1;
    await writeFile(file, bytes);
    await open(() => undefined);
    for (const { eventId } of all)
      await events.find(id, eventId).catch((error) => {
        assert.ok(isAppError("damaged")(error), String(error));
        lost.add(eventId);
      });
    assert.ok(lost.size > 0 && lost.size < 50, `${lost.size} stand on it`);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  it("is passed over by a walk that asks for a status, which names all that stand on it", async () => {
    const filter = { schemaId: null, keyId: null, status: "folded", since: null, until: null } as const;
    const page = { filter, order: "oldest", after: null, limit: 500, bytesMax: 1_048_576, looksMax: 2_000 } as const;
    await assert.rejects(events.arrivals(id, page), isAppError("damaged"));
    const walked = await events.arrivals(id, { ...page, passesDamaged: true });
    assert.deepEqual(new Set(walked.damaged.map(({ eventId }) => eventId)), lost);
    const read = all.filter(({ eventId }) => !lost.has(eventId)).map(({ eventId }) => eventId);
    assert.deepEqual(
      walked.events.map(({ eventId }) => eventId),
      read,
    );
  });

  it("keeps no retention from the other events of its schema, and the log names what stands on it", async () => {
    const told = new Set<unknown>();
    const log = { ...silentLog, error: (fields: Readonly<Record<string, unknown>>) => void told.add(fields["id"]) };
    const catalog = createEmbeddedCatalog(store);
    const task = createRetention({ ...noAudiences, log, catalog, events, now: () => NOW + 2 * DAY_MS });
    while ((await task.step()) === 0);
    assert.deepEqual(told, lost);
    for (const { eventId } of all.filter((event) => !lost.has(event.eventId)))
      assert.equal((await events.find(id, eventId))?.status, "dropped");
  });
});

describe("A damaged page of folds", () => {
  const workspace = aWorkspace();
  const id = workspace.workspaceId;
  const all = Array.from({ length: 300 }, (_, n) =>
    anEvent({ workspace: id, schemaId: "visit" as SchemaId, receivedAt: NOW + n }),
  );
  let folder: string;
  let store: EmbeddedStore;
  let events: EventStore;
  const open = async (): Promise<void> => {
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: () => undefined });
    events = createEmbeddedEventStore({ database: store.database, tombOf });
  };

  before(async () => {
    folder = await temporaryFolder();
    await open();
    await events.insert(id, all);
    await events.fold(
      id,
      all.map((event) => aFold(event)),
    );
    const pages = store.database
      .prepare("SELECT pageno FROM dbstat WHERE name = 'folds' AND pagetype = 'leaf'")
      .all([]);
    const size = store.database.prepare("PRAGMA page_size").get([])![0] as number;
    await store.close();
    const file = join(folder, "onym.db");
    const bytes = await readFile(file);
    bytes[((pages[Math.floor(pages.length / 2)]![0] as number) - 1) * size + size / 2]! ^= 1;
    await writeFile(file, bytes);
    await open();
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  it("is passed over by a walk over the events of a schema, which lists those beside it with their facets", async () => {
    const found = await events.ofSchema(id, "visit" as SchemaId, { after: null, until: NOW + DAY_MS, limit: 500 });
    assert.deepEqual(
      found.map(({ eventId }) => eventId),
      all.map(({ eventId }) => eventId),
    );
    const lost = found.filter(({ facet }) => facet === null).length;
    assert.ok(lost > 0 && lost < 150, `${lost} stand on it`);
  });
});
