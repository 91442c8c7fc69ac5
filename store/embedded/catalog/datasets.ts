import type { Database } from "../../../core/database.js";
import type { Dataset } from "../../../core/catalog/catalog.js";
import type { DatasetId, FenceId, SchemaId, WorkspaceId } from "../../../core/ids.js";
import type { DatasetMethods } from "../../../core/ports/catalog-store.js";
import type { Session } from "../session.js";

/** Datasets: whether a schema's events are folded, and how long they are kept. */
export function createDatasets(database: Database, session: Session): DatasetMethods {
  const put = database.prepare(
    `INSERT OR REPLACE INTO datasets (ws, id, schema_id, unified, retention_days, created_at, name) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const find = database.prepare(`${SELECT} WHERE ws = ? AND id = ?`);
  const page = database.prepare(`${SELECT} WHERE ws = ? AND id > ? ORDER BY id LIMIT ?`);
  const all = database.prepare(`${SELECT} WHERE ws = ? ORDER BY id`);
  const ofSchema = database.prepare(`${SELECT} WHERE ws = ? AND schema_id = ? ORDER BY id`);
  const unified = database.prepare("SELECT 1 FROM datasets WHERE ws = ? AND schema_id = ? AND unified = 1 LIMIT 1");
  const write = (dataset: Dataset): void => {
    const { workspace, datasetId, name, schemaId, unifiedProfile, retentionDays, createdAt } = dataset;
    const wanted = Number(unifiedProfile);
    put.run([workspace, datasetId, schemaId, wanted, retentionDays, createdAt, Buffer.from(name)]);
  };
  /** In memory: the file has one process, and with it end its decisions. */
  const fences = new Map<WorkspaceId, FenceId>();
  const stands = (workspace: WorkspaceId, fence: FenceId | undefined): boolean =>
    fence === undefined || fences.get(workspace) === fence;
  return {
    putDataset: (dataset, fence) =>
      session.write(() => {
        if (!stands(dataset.workspace, fence)) return false;
        write(dataset);
        return true;
      }),
    changeDataset: (workspace, datasetId, change, fence) =>
      session.write(() => {
        const row = find.get([workspace, datasetId]);
        if (row === undefined) return null;
        if (!stands(workspace, fence)) return "fenced_off";
        const changed = { ...toDataset(row as Row), ...change };
        write(changed);
        return changed;
      }),
    fenceDatasets: (workspace, fence) =>
      session.write(() => {
        fences.set(workspace, fence);
        return all.all([workspace]).map((row) => toDataset(row as Row));
      }),
    findDataset: async (workspace, datasetId) => {
      const row = await session.read(() => find.get([workspace, datasetId]));
      return row ? toDataset(row as Row) : null;
    },
    datasets: async (workspace, { limit, after }) => {
      const rows = await session.read(() => page.all([workspace, after ?? "", limit]));
      return rows.map((row) => toDataset(row as Row));
    },
    datasetsOf: async (workspace, schemaId) => {
      const rows = await session.read(() => ofSchema.all([workspace, schemaId]));
      return rows.map((row) => toDataset(row as Row));
    },
    isUnified: (workspace, schemaId) => session.read(() => unified.get([workspace, schemaId]) !== undefined),
  };
}

const SELECT = "SELECT ws, id, schema_id, unified, retention_days, created_at, name FROM datasets";
type Row = readonly [WorkspaceId, DatasetId, SchemaId, number, number | null, number, Buffer];
const toDataset = ([workspace, datasetId, schemaId, unified, retentionDays, createdAt, name]: Row): Dataset => ({
  workspace,
  datasetId,
  name: name.toString(),
  schemaId,
  unifiedProfile: unified === 1,
  retentionDays,
  createdAt,
});
