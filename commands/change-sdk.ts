import type { PlannedEvent, SdkCatalog, SdkPlan, SdkSettings } from "../core/catalog/sdk.js";
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
  await requirePlan({ catalog }, workspace, plan, { whole: "events", of: ({ name }) => `events.${name}` });
  const changed = await catalog.changeSdk(workspace, (standing) => {
    if (!mayChange(standing.plan)) throw stale("plan has");
    return { ...standing, plan };
  });
  return changed.plan;
}

/** Settings and plan of an export, in the place of what stands. */
export async function restoreSdk(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  sdk: SdkCatalog,
): Promise<void> {
  await requirePlan({ catalog }, workspace, sdk.plan, { whole: "plan", of: (_, n) => `plan.${n}` });
  await catalog.changeSdk(workspace, () => sdk);
}

/** Where the plan and its events stand in the request. */
interface Places {
  readonly whole: string;
  readonly of: (event: PlannedEvent, n: number) => string;
}

async function requirePlan(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  plan: SdkPlan,
  { whole, of }: Places,
): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(plan)) > PLAN_BYTES_MAX)
    throw mismatch([{ path: whole, message: `must have at most ${PLAN_BYTES_MAX} bytes` }]);
  const ids = [...new Set(plan.flatMap(({ schemaId }) => schemaId ?? []))];
  const known = new Set<string>();
  for (const id of ids) if ((await catalog.findSchema(workspace, id, null)) !== null) known.add(id);
  const errors = plan.flatMap((event, n) =>
    event.schemaId === null || known.has(event.schemaId)
      ? []
      : [{ path: `${of(event, n)}.schema_id`, message: "is not a schema of this workspace" }],
  );
  if (errors.length > 0) throw mismatch(errors);
}

const stale = (what: string): AppError =>
  new AppError("precondition_failed", `The ${what} changed since you read it (If-Match). Read it again.`);
