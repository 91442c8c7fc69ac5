import type { Dataset, DatasetChange } from "../../core/catalog/catalog.js";
import { windowsOf } from "../../core/rule/rule.js";
import { AppError } from "../../core/errors.js";
import { newId, type DatasetId, type WorkspaceId } from "../../core/ids.js";
import { UNKNOWN_SCHEMA } from "../acceptance/judge.js";
import { readRetentions } from "./retentions.js";
import type { Caller, Services } from "../services.js";

type DatasetServices = Pick<Services, "catalog" | "audiences">;

/** Throws `unknown_schema` when the workspace has no such schema. */
export async function createDataset(
  { catalog, audiences }: DatasetServices,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  given: Pick<Dataset, "name" | "schemaId" | "unifiedProfile" | "retentionDays">,
): Promise<Dataset> {
  if ((await catalog.findSchema(workspace, given.schemaId, null)) === null)
    throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", { errors: [UNKNOWN_SCHEMA] });
  const dataset: Dataset = { workspace, datasetId: newId(), ...given, createdAt: now };
  await requireNotNeeded({ catalog, audiences }, dataset);
  await catalog.putDataset(dataset);
  return dataset;
}

/** A field that is not given stays as it is. Throws `not_found`, and `in_use` when audiences need events for longer. */
export async function changeDataset(
  { catalog, audiences }: DatasetServices,
  workspace: WorkspaceId,
  datasetId: DatasetId,
  change: DatasetChange,
): Promise<Dataset> {
  if (change.retentionDays !== undefined) {
    const standing = await requireDataset({ catalog }, workspace, datasetId);
    await requireNotNeeded({ catalog, audiences }, { ...standing, retentionDays: change.retentionDays });
  }
  return found(await catalog.changeDataset(workspace, datasetId, change));
}

const DAY_MS = 86_400_000;

/** Rules that count events of the last so many days need them for as long. */
async function requireNotNeeded({ catalog, audiences }: DatasetServices, changed: Dataset): Promise<void> {
  const { workspace, schemaId } = changed;
  const set = await audiences.audiences(workspace);
  if (set.audiences.length === 0) return;
  const days = (await readRetentions({ catalog }, workspace, [changed])).get(schemaId);
  if (days === undefined) return;
  const needing = set.audiences.filter(({ rule }) =>
    windowsOf(rule).some(
      (one) =>
        (one.schemaId ?? schemaId) === schemaId && days !== Infinity && (one.within ?? Infinity) >= days * DAY_MS,
    ),
  );
  if (needing.length > 0)
    throw new AppError("in_use", "retention_days: rules of audiences look back further than that.", {
      errors: [{ path: "retention_days", message: "is too short for the audiences in audience_ids" }],
      members: { audience_ids: needing.map(({ audienceId }) => audienceId) },
    });
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
