import { covers } from "../core/catalog/backfill.js";
import type { StoredEvent } from "../core/event/event.js";
import type { DatasetId, WorkspaceId } from "../core/ids.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";

/**
 * The events, as folding where a backfill covers them, or their fold has begun. To be called after they were stored: whoever creates a
 * backfill walks through what is stored afterwards, so one of the two sees the other.
 */
export async function withBackfills(
  { catalog }: { readonly catalog: Pick<CatalogStore, "backfillsOf" | "findDataset"> },
  workspace: WorkspaceId,
  stored: readonly StoredEvent[],
): Promise<readonly StoredEvent[]> {
  const waiting = stored.filter(mayFold);
  if (waiting.length === 0) return stored;
  const schemaIds = [...new Set(waiting.map(({ schemaId }) => schemaId))];
  const from = waiting.reduce((earliest, { receivedAt }) => Math.min(earliest, receivedAt), Infinity);
  const all = await catalog.backfillsOf(workspace, schemaIds, from);
  // One whose dataset was disabled covers nothing any more.
  const enabled = new Set<DatasetId>();
  for (const datasetId of new Set(all.map((one) => one.datasetId)))
    if ((await catalog.findDataset(workspace, datasetId))?.unifiedProfile === true) enabled.add(datasetId);
  const backfills = all.filter(({ datasetId }) => enabled.has(datasetId));
  const isCovered = ({ schemaId, receivedAt, facet }: StoredEvent): boolean =>
    facet !== null || backfills.some((one) => one.schemaId === schemaId && covers(one, receivedAt));
  return stored.map((event) => (mayFold(event) && isCovered(event) ? folding(event) : event));
}

const mayFold = ({ status, folds, identifiers }: StoredEvent): boolean =>
  status === "stored" && !folds && identifiers.length > 0;

const folding = (event: StoredEvent): StoredEvent => ({ ...event, folds: true });
