import type { Dataset, DatasetChange } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import { newId, type DatasetId, type WorkspaceId } from "../../core/ids.js";
import { UNKNOWN_SCHEMA } from "../acceptance/judge.js";
import type { Caller, Services } from "../services.js";

/** Throws `unknown_schema` when the workspace has no such schema. */
export async function createDataset(
  { catalog }: Pick<Services, "catalog">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  given: Pick<Dataset, "name" | "schemaId" | "unifiedProfile" | "retentionDays">,
): Promise<Dataset> {
  if ((await catalog.findSchema(workspace, given.schemaId, null)) === null)
    throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", { errors: [UNKNOWN_SCHEMA] });
  const dataset: Dataset = { workspace, datasetId: newId(), ...given, createdAt: now };
  await catalog.putDataset(dataset);
  return dataset;
}

/** A field that is not given stays as it is. Throws `not_found`. */
export async function changeDataset(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  datasetId: DatasetId,
  change: DatasetChange,
): Promise<Dataset> {
  return found(await catalog.changeDataset(workspace, datasetId, change));
}

export const requireDataset = async (
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  datasetId: DatasetId,
): Promise<Dataset> => found(await catalog.findDataset(workspace, datasetId));

function found(dataset: Dataset | null): Dataset {
  if (dataset === null) throw new AppError("not_found", "There is no such dataset.");
  return dataset;
}
