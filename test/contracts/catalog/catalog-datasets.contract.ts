import assert from "node:assert/strict";
import type { Dataset } from "../../../core/catalog/catalog.js";
import { newId, type DatasetId, type FenceId, type SchemaId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aDataset, HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { inPages } from "../../support/house/pages.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const CHECKOUT = "checkout" as SchemaId;
const RETURNS = "returns" as SchemaId;

export const datasetSentences: Contract<CatalogStore> = {
  "finds a dataset as it was put, and replaces it": async ({ port }) => {
    const workspace = newWorkspace();
    const dataset = aDataset({ workspace });
    assert.equal(await port.findDataset(workspace, dataset.datasetId), null);
    await port.putDataset(dataset);
    assert.deepEqual(await port.findDataset(workspace, dataset.datasetId), dataset);
    for (const name of HOSTILE_TEXTS) {
      const changed = { ...dataset, name, unifiedProfile: false, retentionDays: 30, schemaId: RETURNS };
      await port.putDataset(changed);
      assert.deepEqual(await port.findDataset(workspace, dataset.datasetId), changed);
    }
    assert.equal((await port.datasets(workspace, { limit: 10, after: null })).length, 1);
  },

  "changes only what is named of a dataset, so that two changes at once both stand": async ({ port }) => {
    const workspace = newWorkspace();
    const dataset = aDataset({ workspace, name: "old", unifiedProfile: false, retentionDays: 7 });
    const { datasetId } = dataset;
    assert.equal(await port.changeDataset(workspace, datasetId, { name: "new" }), null);
    assert.equal(await port.findDataset(workspace, datasetId), null);
    await port.putDataset(dataset);
    assert.equal(await port.isUnified(workspace, dataset.schemaId), false);
    await Promise.all([
      port.changeDataset(workspace, datasetId, { name: "new" }),
      port.changeDataset(workspace, datasetId, { unifiedProfile: true }),
    ]);
    const both = { ...dataset, name: "new", unifiedProfile: true };
    assert.deepEqual(await port.findDataset(workspace, datasetId), both);
    assert.equal(await port.isUnified(workspace, dataset.schemaId), true);
    const ended = { ...both, retentionDays: null };
    assert.deepEqual(await port.changeDataset(workspace, datasetId, { retentionDays: null }), ended);
  },

  "lists datasets by id, each once over the pages": async ({ port }) => {
    const workspace = newWorkspace();
    const datasets: readonly Dataset[] = Array.from({ length: 7 }, (_, n) => aDataset({ workspace, name: `${n}` }));
    for (const dataset of datasets.toReversed()) await port.putDataset(dataset);
    for (const limit of [1, 3, 7, 10]) {
      const listed = await inPages<Dataset, DatasetId>(
        limit,
        (page) => port.datasets(workspace, page),
        ({ datasetId }) => datasetId,
      );
      assert.deepEqual(listed, datasets);
    }
  },

  "answers the datasets of one schema by id, as they stand": async ({ port }) => {
    const workspace = newWorkspace();
    const of = (schemaId: string): Promise<readonly Dataset[]> => port.datasetsOf(workspace, schemaId as SchemaId);
    assert.deepEqual(await of(CHECKOUT), []);
    const [first, other, second] = [CHECKOUT, RETURNS, CHECKOUT].map((schemaId) => aDataset({ workspace, schemaId }));
    for (const dataset of [second!, other!, first!]) await port.putDataset(dataset);
    assert.deepEqual(await of(CHECKOUT), [first, second]);
    await port.changeDataset(workspace, first!.datasetId, { retentionDays: 3 });
    assert.deepEqual(await of(CHECKOUT), [{ ...first, retentionDays: 3 }, second]);
    assert.deepEqual([await of(RETURNS), await of("$schema_id")], [[other], []]);
  },

  "says whether any dataset of a schema is enabled for unified profile": async ({ port }) => {
    const workspace = newWorkspace();
    const is = (schemaId: SchemaId): Promise<boolean> => port.isUnified(workspace, schemaId);
    const [off, on] = [false, true].map((unifiedProfile) => aDataset({ workspace, unifiedProfile })) as [
      Dataset,
      Dataset,
    ];
    assert.equal(await is(CHECKOUT), false);
    await port.putDataset(off);
    assert.equal(await is(CHECKOUT), false);
    await port.putDataset(on);
    assert.deepEqual([await is(CHECKOUT), await is(RETURNS)], [true, false]);
    await port.putDataset({ ...on, schemaId: RETURNS });
    assert.deepEqual([await is(CHECKOUT), await is(RETURNS)], [false, true]);
    await port.putDataset({ ...on, schemaId: RETURNS, unifiedProfile: false });
    assert.deepEqual([await is(CHECKOUT), await is(RETURNS)], [false, false]);
  },

  "writes a dataset under the fence that stands, and under no other": async ({ port }) => {
    const workspace = newWorkspace();
    const [own, others] = [newId<FenceId>(), newId<FenceId>()];
    const [older, newer] = [aDataset({ workspace }), aDataset({ workspace })];
    const { datasetId } = older;
    assert.equal(await port.putDataset(older, own), false, "none stands yet");
    assert.deepEqual(await port.fenceDatasets(workspace, own), []);
    assert.deepEqual([await port.putDataset(newer, own), await port.putDataset(older, own)], [true, true]);
    const changed = { ...older, retentionDays: 3 };
    assert.deepEqual(await port.changeDataset(workspace, datasetId, { retentionDays: 3 }, own), changed);
    assert.equal(await port.changeDataset(workspace, newId<DatasetId>(), {}, own), null);
    await port.fenceDatasets(newWorkspace(), others);
    assert.equal(await port.putDataset(changed, own), true, "another workspace has its own");
    assert.deepEqual(await port.fenceDatasets(workspace, others), [changed, newer]);
    assert.equal(await port.putDataset({ ...newer, name: "late" }, own), false);
    assert.equal(await port.changeDataset(workspace, datasetId, { retentionDays: 1 }, own), "fenced_off");
    const all = { limit: 10, after: null };
    assert.deepEqual(await port.datasets(workspace, all), [changed, newer]);
    assert.deepEqual(await port.changeDataset(workspace, datasetId, { retentionDays: 1 }), {
      ...changed,
      retentionDays: 1,
    });
    assert.equal(await port.putDataset({ ...newer, name: "late" }), true, "who names none is not kept out");
  },

  "putDataset, changeDataset, fenceDatasets, findDataset, datasets, datasetsOf and isUnified keep workspaces apart":
    async ({ port }) => {
      const [a, b] = [newWorkspace(), newWorkspace()];
      const datasetId = newId<DatasetId>();
      const page = { limit: 10, after: null };
      for (const [own, other] of [
        [a, b],
        [b, a],
      ] as const) {
        const lone = aDataset({ workspace: own, schemaId: `only-${own}` as SchemaId });
        await port.putDataset(lone);
        assert.equal(await port.findDataset(other, lone.datasetId), null);
        const found = [own, other].map((workspace) => port.datasetsOf(workspace, lone.schemaId));
        assert.deepEqual(await Promise.all(found), [[lone], []]);
        assert.deepEqual(
          [await port.isUnified(own, lone.schemaId), await port.isUnified(other, lone.schemaId)],
          [true, false],
        );
      }
      for (const workspace of [a, b]) await port.putDataset(aDataset({ workspace, datasetId, name: workspace }));
      for (const workspace of [a, b]) {
        await port.changeDataset(workspace, datasetId, { retentionDays: workspace === a ? 1 : 2 });
        assert.equal((await port.findDataset(workspace, datasetId))?.name, workspace);
        assert.deepEqual(
          (await port.datasets(workspace, page)).map((dataset) => dataset.workspace),
          [workspace, workspace],
        );
      }
      assert.deepEqual(
        await Promise.all([a, b].map(async (own) => (await port.findDataset(own, datasetId))?.retentionDays)),
        [1, 2],
      );
    },
};
