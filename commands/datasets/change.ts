import { isDeepStrictEqual } from "node:util";
import type { Dataset, DatasetChange } from "../../core/catalog/catalog.js";
import { NO_AUDIENCES, type AudienceSet } from "../../core/audience/audience.js";
import { retentionWith } from "../../core/catalog/retention.js";
import { AppError } from "../../core/errors.js";
import { newId, type DatasetId, type FenceId, type WorkspaceId } from "../../core/ids.js";
import { windowsOf } from "../../core/rule/rule.js";
import { UNKNOWN_SCHEMA } from "../acceptance/judge.js";
import { untilUndisturbed } from "./retentions.js";
import type { Caller, Services } from "../services.js";

type DatasetServices = Pick<Services, "catalog" | "audiences">;

/** Throws `unknown_schema` when the workspace has no such schema. */
export const createDataset = (
  services: DatasetServices,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  given: Pick<Dataset, "name" | "schemaId" | "unifiedProfile" | "retentionDays">,
): Promise<Dataset> => storeDataset(services, { workspace, datasetId: newId(), ...given, createdAt: now });

/** One that an export shows, in the place of what stands. Throws `conflict` where it is of another schema. */
export async function restoreDataset(services: DatasetServices, dataset: Dataset): Promise<void> {
  const standing = await services.catalog.findDataset(dataset.workspace, dataset.datasetId);
  if (standing !== null && isDeepStrictEqual(standing, dataset)) return;
  if (standing !== null && standing.schemaId !== dataset.schemaId)
    throw new AppError("conflict", `Dataset ${dataset.datasetId} has another schema here.`);
  await storeDataset(services, dataset);
}

async function storeDataset({ catalog, audiences }: DatasetServices, dataset: Dataset): Promise<Dataset> {
  const { workspace, schemaId } = dataset;
  if ((await catalog.findSchema(workspace, schemaId, null)) === null)
    throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", { errors: [UNKNOWN_SCHEMA] });
  // What is kept for ever takes nothing from an audience.
  if (dataset.retentionDays === null) {
    await catalog.putDataset(dataset);
    return dataset;
  }
  return untilUndisturbed({ catalog }, workspace, async () => {
    const fence = newId<FenceId>();
    await requireNotNeeded({ audiences }, await catalog.fenceDatasets(workspace, fence), dataset);
    return (await catalog.putDataset(dataset, fence)) ? dataset : null;
  });
}

/** A field that is not given stays as it is. Throws `not_found`, and `in_use` when audiences need events for longer. */
export async function changeDataset(
  { catalog, audiences }: DatasetServices,
  workspace: WorkspaceId,
  datasetId: DatasetId,
  change: DatasetChange,
): Promise<Dataset> {
  return untilUndisturbed({ catalog }, workspace, async () => {
    const fence = newId<FenceId>();
    const { retentionDays } = change;
    if (retentionDays !== undefined) {
      const datasets = await catalog.fenceDatasets(workspace, fence);
      const standing = found(datasets.find((one) => one.datasetId === datasetId) ?? null);
      await requireNotNeeded({ audiences }, datasets, { ...standing, retentionDays });
    }
    const given = retentionDays === undefined ? undefined : fence;
    const changed = await catalog.changeDataset(workspace, datasetId, change, given);
    return changed === "fenced_off" ? null : found(changed);
  });
}

const DAY_MS = 86_400_000;

/** Rules that count events of the last so many days need them for as long. Fences the audiences: see `untilUndisturbed`. */
async function requireNotNeeded(
  { audiences }: Pick<Services, "audiences">,
  datasets: readonly Dataset[],
  changed: Dataset,
): Promise<void> {
  const days = retentionWith(datasets, changed);
  await audiences.changeAudiences(changed.workspace, (current) => {
    // Where there was never an audience, who creates the first reads the fence only later.
    if (current.version === NO_AUDIENCES.version) return null;
    if (days !== undefined) requireUnder(current, changed, days);
    return { ...current, fence: newId() };
  });
}

function requireUnder({ audiences }: AudienceSet, { schemaId }: Dataset, days: number): void {
  const needing = audiences.filter(({ rule }) =>
    windowsOf(rule).some((one) => (one.schemaId ?? schemaId) === schemaId && (one.within ?? Infinity) >= days * DAY_MS),
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
