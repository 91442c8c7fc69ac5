import assert from "node:assert/strict";
import type { Backfill } from "../../../core/catalog/backfill.js";
import {
  newId,
  type BackfillId,
  type DatasetId,
  type EventId,
  type SchemaId,
  type WorkspaceId,
} from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aKeyId } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { rejectsAsUnavailable } from "../../support/eventually.js";

const aBackfill = (changes: Partial<Backfill> = {}): Backfill => ({
  workspace: newId<WorkspaceId>(),
  backfillId: newId<BackfillId>(),
  datasetId: newId<DatasetId>(),
  schemaId: "checkout" as SchemaId,
  keyId: aKeyId(),
  since: null,
  until: 1_772_359_200_000,
  coversUntil: 1_772_359_200_000,
  state: "running",
  total: 7,
  done: 0,
  skipped: 0,
  position: null,
  createdAt: 1_772_359_200_000,
  endedAt: null,
  reserved: null,
  rev: 1,
  ...changes,
});
const idsOf = (backfills: readonly Backfill[]): readonly BackfillId[] => backfills.map(({ backfillId }) => backfillId);
const later = (backfill: Backfill, changes: Partial<Backfill>): Backfill => ({
  ...backfill,
  ...changes,
  rev: backfill.rev + 1,
});

/** All that run, of whatever test. */
async function running(port: CatalogStore): Promise<ReadonlySet<BackfillId>> {
  const all: BackfillId[] = [];
  for (let after: BackfillId | null = null; ;) {
    const page = idsOf(await port.runningBackfills({ limit: 2, after }));
    all.push(...page);
    if (page.length < 2) break;
    after = page.at(-1)!;
  }
  assert.deepEqual(all, all.toSorted());
  return new Set(all);
}

export const backfillSentences: Contract<CatalogStore> = {
  "keeps a backfill as it was created and as it was saved last, across close and reopen": async ({ port, reopen }) => {
    const created = aBackfill({ total: null, since: 5 });
    const { workspace, backfillId } = created;
    assert.equal(await port.findBackfill(workspace, backfillId), null);
    await port.createBackfill(created);
    assert.deepEqual(await port.findBackfill(workspace, backfillId), created);
    const saved = later(created, {
      state: "done",
      done: 5,
      skipped: 2,
      position: { receivedAt: 9, eventId: newId<EventId>() },
      endedAt: 10,
      reserved: { by: "keeper", until: 11 },
    });
    assert.equal(await port.saveBackfill(saved), true);
    assert.deepEqual(await (await reopen()).findBackfill(workspace, backfillId), saved);
  },

  "saves a backfill over the rev before it, and of many at once one": async ({ port }) => {
    const created = aBackfill();
    await port.createBackfill(created);
    const saves = Array.from({ length: 10 }, (_, n) => later(created, { done: n }));
    const answers = await Promise.all(saves.map((one) => port.saveBackfill(one)));
    assert.equal(answers.filter(Boolean).length, 1);
    const stored = (await port.findBackfill(created.workspace, created.backfillId))!;
    assert.deepEqual(stored, saves[answers.indexOf(true)]);
    assert.equal(await port.saveBackfill({ ...stored, rev: 7 }), false);
    assert.equal(await port.saveBackfill(aBackfill({ rev: 2 })), false);
    assert.deepEqual(await port.findBackfill(created.workspace, created.backfillId), stored);
  },

  "lists backfills newest first, each once over the pages": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const all = Array.from({ length: 5 }, () => aBackfill({ workspace }));
    for (const one of all) await port.createBackfill(one);
    const listed: Backfill[] = [];
    for (let page = 0; page < 3; page += 1)
      listed.push(...(await port.backfills(workspace, { limit: 2, after: listed.at(-1)?.backfillId ?? null })));
    assert.deepEqual(listed, all.toReversed());
  },

  "finds the backfills of schemas that are not stopped and cover something from a time on": async ({ port }) => {
    const workspace = newId<WorkspaceId>();
    const [order, visit] = ["order", "visit"] as SchemaId[];
    const [early, late, done, stopped, other] = [
      aBackfill({ workspace, schemaId: order!, coversUntil: 10 }),
      aBackfill({ workspace, schemaId: order!, coversUntil: 20 }),
      aBackfill({ workspace, schemaId: visit!, coversUntil: 20, state: "done" }),
      aBackfill({ workspace, schemaId: order!, coversUntil: 20 }),
      aBackfill({ workspace, schemaId: "login" as SchemaId, coversUntil: 20 }),
    ] as const;
    for (const one of [early, late, done, stopped, other]) await port.createBackfill(one);
    await port.saveBackfill(later(stopped, { state: "stopped" }));
    const find = async (schemaIds: readonly SchemaId[], from: number) =>
      new Set(idsOf(await port.backfillsOf(workspace, schemaIds, from)));
    assert.deepEqual(await find([order!, visit!], 9), new Set(idsOf([early, late, done])));
    assert.deepEqual(await find([order!], 10), new Set(idsOf([late])));
    assert.deepEqual(await find([order!, visit!], 20), new Set());
    assert.deepEqual(await find([], 0), new Set());
  },

  "lists the running backfills of all workspaces by id": async ({ port }) => {
    const all = Array.from({ length: 5 }, (_, n) => aBackfill({ state: n === 2 ? "done" : "running" }));
    for (const one of all) await port.createBackfill(one);
    await port.saveBackfill(later(all[3]!, { state: "stopped" }));
    const found = await running(port);
    assert.deepEqual(
      all.map(({ backfillId }) => found.has(backfillId)),
      [true, true, false, false, true],
    );
    for (const one of [0, 1, 4]) await port.saveBackfill(later(all[one]!, { state: "done" }));
  },

  "findBackfill, backfills and backfillsOf keep workspaces apart": async ({ port }) => {
    const [a, b] = [aBackfill(), aBackfill()];
    for (const one of [a, b]) await port.createBackfill(one);
    assert.equal(await port.findBackfill(b.workspace, a.backfillId), null);
    assert.deepEqual(await port.backfills(a.workspace, { limit: 10, after: null }), [a]);
    assert.deepEqual(await port.backfillsOf(a.workspace, [a.schemaId], 0), [a]);
    assert.equal(await port.saveBackfill({ ...later(a, {}), workspace: b.workspace }), false);
    for (const one of [a, b]) await port.saveBackfill(later(one, { state: "done" }));
  },

  "refuses backfills after close as unavailable": async ({ port }) => {
    const one = aBackfill();
    await port.close();
    await rejectsAsUnavailable(() => port.createBackfill(one));
    await rejectsAsUnavailable(() => port.saveBackfill(one));
    await rejectsAsUnavailable(() => port.findBackfill(one.workspace, one.backfillId));
    await rejectsAsUnavailable(() => port.backfills(one.workspace, { limit: 1, after: null }));
    await rejectsAsUnavailable(() => port.backfillsOf(one.workspace, [one.schemaId], 0));
    await rejectsAsUnavailable(() => port.runningBackfills({ limit: 1, after: null }));
  },
};
