import type { SdkPlan, SdkSettings } from "../core/catalog/sdk.js";
import { AppError, mismatch } from "../core/errors.js";
import type { WorkspaceId } from "../core/ids.js";
import type { Services } from "./services.js";

/** A plan is read whole with each change of it, and held in memory. */
const PLAN_BYTES_MAX = 131_072;

/** Replaces the settings; `mayChange` sees those that stand at that moment. */
export async function changeSdkSettings(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  settings: SdkSettings,
  mayChange: (standing: SdkSettings) => boolean,
): Promise<SdkSettings> {
  const changed = await catalog.changeSdk(workspace, (standing) => {
    if (!mayChange(standing.settings)) throw stale("settings have");
    return { ...standing, settings };
  });
  return changed.settings;
}

/** Replaces the plan; each schema that it names must be one of the workspace. */
export async function changeSdkPlan(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  plan: SdkPlan,
  mayChange: (standing: SdkPlan) => boolean,
): Promise<SdkPlan> {
  if (Buffer.byteLength(JSON.stringify(plan)) > PLAN_BYTES_MAX)
    throw mismatch([{ path: "events", message: `must have at most ${PLAN_BYTES_MAX} bytes` }]);
  const ids = [...new Set(plan.flatMap(({ schemaId }) => schemaId ?? []))];
  const known = new Set<string>();
  for (const id of ids) if ((await catalog.findSchema(workspace, id, null)) !== null) known.add(id);
  const errors = plan
    .filter(({ schemaId }) => schemaId !== null && !known.has(schemaId))
    .map(({ name }) => ({ path: `events.${name}.schema_id`, message: "is not a schema of this workspace" }));
  if (errors.length > 0) throw mismatch(errors);
  const changed = await catalog.changeSdk(workspace, (standing) => {
    if (!mayChange(standing.plan)) throw stale("plan has");
    return { ...standing, plan };
  });
  return changed.plan;
}

const stale = (what: string): AppError =>
  new AppError("precondition_failed", `The ${what} changed since you read it (If-Match). Read it again.`);
