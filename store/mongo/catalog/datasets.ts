import type { Dataset } from "../../../core/catalog/catalog.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps } from "./change.js";
import type { DatasetRow } from "./document.js";
import { pageOf } from "./page.js";

/** Datasets: whether a schema's events are folded. */
export function createDatasets({
  catalog,
  session,
  change,
}: CatalogDeps): Pick<CatalogStore, "putDataset" | "changeDataset" | "findDataset" | "datasets" | "isUnified"> {
  return {
    putDataset: (dataset) =>
      change(dataset.workspace, {
        sections: ["datasets"],
        decide: ({ datasets }) => {
          const others = datasets.filter(({ dataset_id }) => dataset_id !== dataset.datasetId);
          return { change: { datasets: [...others, toRow(dataset)] }, result: undefined };
        },
      }),
    changeDataset: (workspace, datasetId, wanted) =>
      change(workspace, {
        sections: ["datasets"],
        decide: ({ datasets }) => {
          const row = datasets.find(({ dataset_id }) => dataset_id === datasetId);
          if (row === undefined) return { change: null, result: null };
          const changed = { ...toDataset(workspace, row), ...wanted };
          const all = datasets.map((dataset) => (dataset === row ? toRow(changed) : dataset));
          return { change: { datasets: all }, result: changed };
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
    isUnified: async (workspace, schemaId) => {
      const filter = {
        _id: workspace,
        datasets: { $elemMatch: { schema_id: schemaId, unified_profile: true } },
      };
      return (await session.call(() => catalog.findOne(filter, { projection: { _id: 1 } }))) !== null;
    },
  };
}

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
