import type { Dataset } from "../../../core/catalog/catalog.js";
import type { FenceId, WorkspaceId } from "../../../core/ids.js";
import type { DatasetMethods } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps, Decision } from "./change.js";
import type { CatalogDocument, DatasetRow } from "./document.js";
import { pageOf } from "./page.js";

const SECTIONS = ["datasets", "dataset_fence"] as const;
type Changed = Decision<(typeof SECTIONS)[number], Dataset | "fenced_off" | null>;

/** Datasets: whether a schema's events are folded, and how long they are kept. */
export function createDatasets({ catalog, session, change }: CatalogDeps): DatasetMethods {
  return {
    putDataset: (dataset, fence) =>
      change(dataset.workspace, {
        sections: SECTIONS,
        decide: ({ datasets, dataset_fence: standing }) => {
          if (!stands(standing, fence)) return { change: null, result: false };
          const others = datasets.filter(({ dataset_id }) => dataset_id !== dataset.datasetId);
          return { change: { datasets: [...others, toRow(dataset)] }, result: true };
        },
      }),
    changeDataset: (workspace, datasetId, wanted, fence) =>
      change(workspace, {
        sections: SECTIONS,
        decide: ({ datasets, dataset_fence: standing }): Changed => {
          const row = datasets.find(({ dataset_id }) => dataset_id === datasetId);
          if (row === undefined) return { change: null, result: null };
          if (!stands(standing, fence)) return { change: null, result: "fenced_off" };
          const changed = { ...toDataset(workspace, row), ...wanted };
          const all = datasets.map((dataset) => (dataset === row ? toRow(changed) : dataset));
          return { change: { datasets: all }, result: changed };
        },
      }),
    fenceDatasets: (workspace, fence) =>
      change(workspace, {
        sections: SECTIONS,
        decide: ({ datasets }) => {
          return { change: { dataset_fence: fence }, result: byId(datasets).map((row) => toDataset(workspace, row)) };
        },
      }),
    findDataset: async (workspace, datasetId) => {
      const projection = { datasets: { $elemMatch: { dataset_id: datasetId } } };
      const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection }));
      const row = found?.datasets?.[0];
      return row === undefined ? null : toDataset(workspace, row);
    },
    datasets: async (workspace, page) => {
      const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection: { datasets: 1 } }));
      const rows = pageOf(found?.datasets ?? [], ({ dataset_id }) => dataset_id, page);
      return rows.map((row) => toDataset(workspace, row));
    },
    datasetsOf: async (workspace, schemaId) => {
      const cond = { $eq: ["$$this.schema_id", { $literal: schemaId }] };
      const stages = [
        { $match: { _id: workspace } },
        { $project: { datasets: { $filter: { input: "$datasets", cond } } } },
      ];
      const [found] = await session.call(() => catalog.aggregate<Partial<CatalogDocument>>(stages).toArray());
      return byId(found?.datasets ?? []).map((row) => toDataset(workspace, row));
    },
    isUnified: async (workspace, schemaId) => {
      const filter = {
        _id: workspace,
        datasets: { $elemMatch: { schema_id: schemaId, unified_profile: true } },
      };
      return (await session.call(() => catalog.findOne(filter, { projection: { _id: 1 } }))) !== null;
    },
  };
}

const stands = (standing: FenceId | null, fence: FenceId | undefined): boolean =>
  fence === undefined || standing === fence;

const byId = (rows: readonly DatasetRow[]): readonly DatasetRow[] =>
  rows.toSorted((a, b) => (a.dataset_id < b.dataset_id ? -1 : 1));

const toRow = (dataset: Dataset): DatasetRow => ({
  dataset_id: dataset.datasetId,
  name: dataset.name,
  schema_id: dataset.schemaId,
  unified_profile: dataset.unifiedProfile,
  retention_days: dataset.retentionDays,
  created_at: dataset.createdAt,
});
const toDataset = (workspace: WorkspaceId, row: DatasetRow): Dataset => ({
  workspace,
  datasetId: row.dataset_id,
  name: row.name,
  schemaId: row.schema_id,
  unifiedProfile: row.unified_profile,
  retentionDays: row.retention_days,
  createdAt: row.created_at,
});
