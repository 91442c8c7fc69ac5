import type { Backfill } from "../../core/catalog/backfill.js";
import { AppError, type ErrorItem } from "../../core/errors.js";
import { newId, type BackfillId, type DatasetId, type EventId, type WorkspaceId } from "../../core/ids.js";
import type { Arrival } from "../../core/ports/event-store.js";
import { requireDataset } from "./change.js";
import type { Caller, Services } from "../services.js";

export interface Wanted {
  /** Received then or later, and before; milliseconds since 1970, null: no bound. */
  readonly since: number | null;
  readonly until: number | null;
}

type BackfillServices = Pick<Services, "catalog" | "events" | "limits">;

/** Before every event id. */
const FIRST = "" as EventId;
const LOOKS_MAX = 100_000;
const LOOKS_PER_PAGE = 1_000;
const RACES_MAX = 20;

/** Throws `not_found`, `conflict` for a dataset that is not enabled, and `validation_failed`. */
export async function createBackfill(
  services: BackfillServices,
  { workspace, keyId, now }: Pick<Caller, "workspace" | "keyId" | "now">,
  datasetId: DatasetId,
  wanted: Wanted,
): Promise<Backfill> {
  const backfill = await planBackfill(services, { workspace, keyId, now }, datasetId, wanted);
  await services.catalog.createBackfill(backfill);
  return backfill;
}

/** What `createBackfill` would store; stores nothing. */
export async function planBackfill(
  { catalog, events, limits }: BackfillServices,
  { workspace, keyId, now }: Pick<Caller, "workspace" | "keyId" | "now">,
  datasetId: DatasetId,
  { since, until }: Wanted,
): Promise<Backfill> {
  const { schemaId, unifiedProfile } = await requireDataset({ catalog }, workspace, datasetId);
  if (!unifiedProfile)
    throw new AppError("conflict", "unified_profile of the dataset is false. Set it to true, then start the backfill.");
  if (since !== null && since >= (until ?? now)) {
    const message = until === null ? "must be before now" : "must be before until";
    const errors: readonly ErrorItem[] = [{ path: "since", message }];
    throw new AppError("validation_failed", `since: ${message}.`, { errors });
  }
  // Another gateway may not know of the dataset yet, and accept events that do not fold. This moment is always covered: while the clock
  // is behind it lasts for minutes.
  const coversUntil = Math.min(until ?? Infinity, now + Math.max(1, limits.catalogLagMs));
  const backfill: Backfill = {
    workspace,
    backfillId: newId<BackfillId>(),
    datasetId,
    schemaId,
    keyId,
    since,
    until,
    coversUntil,
    state: "running",
    total: null,
    done: 0,
    skipped: 0,
    position: null,
    createdAt: now,
    endedAt: null,
    reserved: null,
    rev: 1,
  };
  return { ...backfill, total: await countOpen(events, backfill) };
}

/** Events that are not folded yet; null when there are too many to look at. */
async function countOpen(
  events: BackfillServices["events"],
  { workspace, schemaId, since, coversUntil: until }: Backfill,
): Promise<number | null> {
  let open = 0;
  let after: Arrival | null = since === null ? null : { receivedAt: since, eventId: FIRST };
  for (let looked = 0; looked < LOOKS_MAX; looked += LOOKS_PER_PAGE) {
    const page = await events.ofSchema(workspace, schemaId, { after, until, limit: LOOKS_PER_PAGE });
    open += page.filter(({ facet }) => facet === null).length;
    if (page.length < LOOKS_PER_PAGE) return open;
    after = page.at(-1)!;
  }
  return null;
}

/** Throws `not_found`. */
export async function requireBackfill(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  backfillId: BackfillId,
): Promise<Backfill> {
  const backfill = await catalog.findBackfill(workspace, backfillId);
  if (backfill === null) throw new AppError("not_found", "There is no such backfill.");
  return backfill;
}

/** What it folded stays folded. One that has ended stays as it ended. Throws `not_found`. */
export async function stopBackfill(
  services: Pick<Services, "catalog">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  backfillId: BackfillId,
): Promise<Backfill> {
  for (let race = 0; race < RACES_MAX; race += 1) {
    const backfill = await requireBackfill(services, workspace, backfillId);
    if (backfill.state !== "running") return backfill;
    const stopped: Backfill = { ...backfill, state: "stopped", reserved: null, endedAt: now, rev: backfill.rev + 1 };
    if (await services.catalog.saveBackfill(stopped)) return stopped;
  }
  throw new AppError("unavailable", "The backfill was changed at the same time. Try again.");
}
