import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import type { EventRecord } from "../../core/event/event.js";
import { type DatasetId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { encodeMessage } from "../../core/event/message.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { DeadLetter, EventStore } from "../../core/ports/event-store.js";
import { silentLog } from "../../app/logger.js";
import { AppError } from "../../core/errors.js";
import { createRetention } from "../../keeper/retention.js";
import { createEmbeddedCatalog } from "../../store/embedded/catalog/catalog.js";
import { createEmbeddedEventStore } from "../../store/embedded/events/events.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { onError, temporaryFolder } from "../support/backends.js";
import { aDataset, aDeadLetter, aKey, aFold, anEvent, aWorkspace, noAudiences, tombOf } from "../support/builders.js";
import { createRandom, SEED } from "../support/random/random.js";

const DAY_MS = 86_400_000;
const NOW = 1_772_359_200_000;

describe("retention", () => {
  let catalog: CatalogStore;
  let events: EventStore;
  let close: () => Promise<void>;
  before(async () => {
    const dataDir = await temporaryFolder();
    const store = await openEmbedded({ dataDir, checkpointMs: 1_000, onError });
    catalog = createEmbeddedCatalog(store);
    events = createEmbeddedEventStore({ database: store.database, tombOf });
    close = async () => {
      await store.close();
      await rm(dataDir, { recursive: true });
    };
  });
  after(() => close());

  const newWorkspace = async (): Promise<WorkspaceId> => {
    const workspace = aWorkspace();
    await catalog.createWorkspace(workspace, aKey({ workspace: workspace.workspaceId, role: "owner" }));
    return workspace.workspaceId;
  };
  const retain = async (workspace: WorkspaceId, schemaId: string, retentionDays: number | null): Promise<DatasetId> => {
    const dataset = aDataset({ workspace, schemaId: schemaId as SchemaId, retentionDays });
    await catalog.putDataset(dataset);
    return dataset.datasetId;
  };
  const receive = async (workspace: WorkspaceId, schemaId: string, ages: readonly number[]) => {
    const received = ages.map((days) =>
      anEvent({ workspace, schemaId: schemaId as SchemaId, receivedAt: NOW - days * DAY_MS, folds: false }),
    );
    await events.insert(workspace, received);
    return received;
  };
  const statuses = (all: readonly EventRecord[]) =>
    Promise.all(all.map(async ({ workspace, eventId }) => (await events.find(workspace, eventId))?.status));
  /** One whole walk, at this time. */
  const walk = async (now: number, wrap: (store: EventStore) => EventStore = (store) => store): Promise<number> => {
    const task = createRetention({ ...noAudiences, log: silentLog, catalog, events: wrap(events), now: () => now });
    for (let pieces = 1; ; pieces += 1) if ((await task.step()) > 0) return pieces;
  };

  it("an event goes the millisecond in which its retention is over, and not before", async () => {
    const workspace = await newWorkspace();
    await retain(workspace, "visit", 30);
    const [event] = await receive(workspace, "visit", [0]);
    await walk(NOW + 30 * DAY_MS - 1);
    assert.deepEqual(await statuses([event!]), ["stored"]);
    await walk(NOW + 30 * DAY_MS);
    assert.deepEqual(await statuses([event!]), ["dropped"]);
    assert.equal((await events.find(workspace, event!.eventId))?.reason, "expired");
  });

  it("one schema, and one workspace, that fails holds up no other", async () => {
    const [first, second] = [await newWorkspace(), await newWorkspace()];
    for (const schemaId of ["bad", "visit"]) await retain(first, schemaId, 1);
    await retain(second, "visit", 1);
    const bad = await receive(first, "bad", [2]);
    const good = [...(await receive(first, "visit", [2])), ...(await receive(second, "visit", [2]))];
    const damaged = new AppError("damaged", "its rows are");
    let isCatalogBad = false;
    const task = createRetention({
      ...noAudiences,
      log: silentLog,
      catalog: {
        workspaces: (page) => catalog.workspaces(page),
        datasets: (workspace, page) =>
          isCatalogBad && workspace === first ? Promise.reject(damaged) : catalog.datasets(workspace, page),
      },
      events: {
        ...events,
        ofSchema: (workspace, schemaId, page) =>
          schemaId === "bad" ? Promise.reject(damaged) : events.ofSchema(workspace, schemaId, page),
      },
      now: () => NOW,
    });
    /** How many pieces failed. */
    const walked = async (): Promise<number> => {
      for (let [pieces, failed] = [0, 0]; pieces < 1_000; pieces += 1) {
        const inMs = await task.step().catch(() => -1);
        if (inMs > 0) return failed;
        if (inMs < 0) failed += 1;
      }
      return Infinity;
    };
    assert.equal(await walked(), 1);
    assert.deepEqual(await statuses([...bad, ...good]), ["stored", "dropped", "dropped"]);
    isCatalogBad = true;
    const late = await receive(second, "visit", [2]);
    assert.equal(await walked(), 1);
    assert.deepEqual(await statuses(late), ["dropped"]);
  });

  it("the datasets of a workspace are read once in a walk, however many schemas they are of", async () => {
    const workspace = await newWorkspace();
    for (let n = 0; n < 250; n += 1) await retain(workspace, `visit${n}`, 30);
    let reads = 0;
    const datasets: CatalogStore["datasets"] = (of, page) => {
      if (of === workspace) reads += 1;
      return catalog.datasets(of, page);
    };
    const counting = { ...catalog, datasets };
    const task = createRetention({ ...noAudiences, log: silentLog, catalog: counting, events, now: () => NOW });
    while ((await task.step()) === 0);
    assert.equal(reads, 1);
  });

  it("the longest of the schema's datasets counts; one without a limit, or none at all, keeps its events", async () => {
    const [workspace, other] = [await newWorkspace(), await newWorkspace()];
    for (const days of [5, 10, 7]) await retain(workspace, "visit", days);
    for (const days of [1, null, 3]) await retain(workspace, "order", days);
    await retain(other, "login", 1);
    const visits = await receive(workspace, "visit", [11, 10, 9]);
    const rest = [
      ...(await receive(workspace, "order", [100])),
      ...(await receive(workspace, "login", [100])),
      ...(await receive(other, "visit", [100])),
      ...(await receive(workspace, "visit2", [100])),
    ];
    await walk(NOW);
    assert.deepEqual(await statuses(visits), ["dropped", "dropped", "stored"]);
    assert.deepEqual(await statuses(rest), ["stored", "stored", "stored", "stored"]);
  });

  it("takes folded, stored and dead ones with their letters, and leaves one whose fold is still to come", async () => {
    const workspace = await newWorkspace();
    await retain(workspace, "visit", 1);
    const old = { workspace, schemaId: "visit" as SchemaId, receivedAt: NOW - 2 * DAY_MS };
    const [folded, dead, stored, waiting] = [
      anEvent(old),
      anEvent(old),
      anEvent({ ...old, folds: false }),
      anEvent(old),
    ] as const;
    await events.insert(workspace, [folded, dead, stored, waiting]);
    await events.fold(workspace, [aFold(folded)]);
    await events.bury(aDeadLetter({ workspace, eventId: dead.eventId }));
    await walk(NOW);
    assert.deepEqual(await statuses([folded, dead, stored, waiting]), ["dropped", "dropped", "dropped", "stored"]);
    assert.deepEqual(await events.deadLetters(workspace, { limit: 9, before: null, eventId: null, reason: null }), []);
    await events.fold(workspace, [aFold(waiting)]);
    await walk(NOW);
    assert.deepEqual(await statuses([waiting]), ["dropped"]);
  });

  it("takes what was quarantined or refused when its schema's time is over, whatever replays there were", async () => {
    const workspace = await newWorkspace();
    const datasetId = await retain(workspace, "visit", 10);
    const kept = (days: number, schemaId = "visit", changes: Partial<DeadLetter> = {}): DeadLetter => {
      const event = anEvent({ workspace, schemaId: schemaId as SchemaId, receivedAt: NOW - days * DAY_MS });
      const { eventId } = event;
      return aDeadLetter({ workspace, eventId, message: encodeMessage(event), killsEvent: false, ...changes });
    };
    const young = [kept(9), kept(100, "unknown"), kept(100, "order")];
    const old = [kept(10), kept(50, "visit", { times: 2, replayed: 2 })];
    for (const letter of [...young, ...old]) await events.bury(letter);
    const left = async () => {
      const page = { limit: 9, before: null, eventId: null, reason: null };
      return (await events.deadLetters(workspace, page)).map(({ deadLetterId }) => deadLetterId).toSorted();
    };
    const idsOf = (letters: readonly DeadLetter[]) => letters.map(({ deadLetterId }) => deadLetterId).toSorted();
    let isLonger = false;
    await walk(NOW, (store) => ({
      ...store,
      looseLetters: async (...given) => {
        const found = await store.looseLetters(...given);
        if (given[0] === workspace && !isLonger) {
          isLonger = true;
          await catalog.changeDataset(workspace, datasetId, { retentionDays: 60 });
        }
        return found;
      },
    }));
    assert.deepEqual(await left(), idsOf([...young, ...old]), "somebody lengthened it meanwhile");
    await catalog.changeDataset(workspace, datasetId, { retentionDays: 10 });
    await walk(NOW - 1);
    assert.deepEqual(await left(), idsOf([...young, old[0]!]));
    await walk(NOW);
    assert.deepEqual(await left(), idsOf(young));
    const many = Array.from({ length: 1_001 }, () => kept(20));
    for (const letter of many) await events.bury(letter);
    await walk(NOW);
    assert.deepEqual(await left(), idsOf(young), "more than a piece of them");
  });

  it("no event leaves that a change of the datasets keeps while the walk reads them", async () => {
    for (const change of ["lengthen", "no limit", "another dataset"] as const) {
      const workspace = await newWorkspace();
      const datasetId = await retain(workspace, "visit", 1);
      const [young, old] = await receive(workspace, "visit", [2, 20]);
      const act = async (): Promise<unknown> => {
        if (change === "another dataset") return retain(workspace, "visit", 10);
        return catalog.changeDataset(workspace, datasetId, { retentionDays: change === "lengthen" ? 10 : null });
      };
      let isChanged = false;
      await walk(NOW, (store) => ({
        ...store,
        ofSchema: async (of, ...rest) => {
          const found = await store.ofSchema(of, ...rest);
          if (of === workspace && !isChanged) {
            isChanged = true;
            await act();
          }
          return found;
        },
      }));
      assert.ok(isChanged);
      assert.deepEqual(
        await statuses([young!, old!]),
        ["stored", change === "no limit" ? "stored" : "dropped"],
        change,
      );
    }
  });

  it("drops at most 500 in a piece, and a piece that failed is done again in the next walk", async () => {
    const workspace = await newWorkspace();
    await retain(workspace, "visit", 1);
    const all = await receive(
      workspace,
      "visit",
      Array.from({ length: 1_200 }, (_, n) => 2 + (n % 100)),
    );
    const drops: number[] = [];
    let fails = 1;
    const wrap = (store: EventStore): EventStore => ({
      ...store,
      drop: (of, ids, reason) => {
        if (of !== workspace) return store.drop(of, ids, reason);
        if (drops.length === 1 && fails-- > 0) return Promise.reject(new Error("away"));
        drops.push(ids.length);
        return store.drop(of, ids, reason);
      },
    });
    const task = createRetention({ ...noAudiences, log: silentLog, catalog, events: wrap(events), now: () => NOW });
    for (let walks = 0; walks < 2;) if ((await task.step().catch(() => 0)) > 0) walks += 1;
    assert.deepEqual(drops, [500, 500, 200]);
    assert.deepEqual(new Set(await statuses(all)), new Set(["dropped"]));
  });

  it("passes over what stands on a damaged page, says so, and takes the others of the schema", async () => {
    const workspace = await newWorkspace();
    await retain(workspace, "visit", 1);
    const all = await receive(workspace, "visit", Array<number>(20).fill(2));
    const kept = all[7]!;
    const fails = (of: WorkspaceId, ids: readonly string[]): boolean => of === workspace && ids.includes(kept.eventId);
    const wrap = (store: EventStore): EventStore => ({
      ...store,
      drop: (of, ids, reason) =>
        fails(of, ids) ? Promise.reject(new AppError("damaged", "its page is")) : store.drop(of, ids, reason),
    });
    const told: unknown[] = [];
    const log = { ...silentLog, error: (fields: Readonly<Record<string, unknown>>) => void told.push(fields["id"]) };
    const task = createRetention({ ...noAudiences, log, catalog, events: wrap(events), now: () => NOW });
    while ((await task.step()) === 0);
    assert.deepEqual(
      await statuses(all),
      [...all].map((one) => (one === kept ? "stored" : "dropped")),
    );
    assert.deepEqual(told, [kept.eventId]);
  });

  it("random datasets, events, changes and times: what is gone is what a naive program says", async () => {
    const random = createRandom(SEED);
    const schemas = ["a", "b", "c"];
    let total = 0;
    for (let round = 0; round < 10; round += 1) {
      const workspace = await newWorkspace();
      const [datasets, all]: [{ schemaId: string; days: number | null; id: DatasetId }[], EventRecord[]] = [[], []];
      const gone = new Set<string>();
      let now = NOW;
      for (let turn = 0; turn < 12; turn += 1) {
        const schemaId = random.pick(schemas);
        const days = random.pick([null, 1, 2, 5, 9]);
        const known = datasets.find((one) => one.schemaId === schemaId);
        if (known === undefined || random.below(3) === 0)
          datasets.push({ schemaId, days, id: await retain(workspace, schemaId, days) });
        else {
          known.days = days;
          await catalog.changeDataset(workspace, known.id, { retentionDays: days });
        }
        all.push(...(await receive(workspace, random.pick(schemas), [random.below(12), random.below(12)])));
        now += random.below(2 * DAY_MS);
        await walk(now);
        for (const { eventId, schemaId: of, receivedAt } of all) {
          const own = datasets.filter((one) => one.schemaId === of).map((one) => one.days ?? Infinity);
          if (own.length > 0 && receivedAt + Math.max(...own) * DAY_MS <= now) gone.add(eventId);
        }
        const expected = all.map(({ eventId }) => (gone.has(eventId) ? "dropped" : "stored"));
        assert.deepEqual(await statuses(all), expected, `round ${round}, turn ${turn}`);
      }
      total += gone.size;
    }
    assert.ok(total > 20);
  });
});
