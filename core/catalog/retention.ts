import type { SchemaId } from "../ids.js";
import type { Dataset } from "./catalog.js";

const DAY_MS = 86_400_000;

/** Schema -> days after which its events go: the longest of its datasets. Without a limit, or without a dataset, they stay. */
export function retentionsOf(datasets: readonly Dataset[]): ReadonlyMap<SchemaId, number> {
  const days = new Map<SchemaId, number>();
  for (const { schemaId, retentionDays } of datasets)
    days.set(schemaId, Math.max(days.get(schemaId) ?? 0, retentionDays ?? Infinity));
  return new Map([...days].filter(([, longest]) => longest !== Infinity).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The same for the schema of one dataset, with this one in the place of what stands under its id; undefined: they stay. */
export const retentionWith = (datasets: readonly Dataset[], changed: Dataset): number | undefined =>
  retentionsOf([...datasets.filter(({ datasetId }) => datasetId !== changed.datasetId), changed]).get(changed.schemaId);

/** What was received before then has outlived its retention now; milliseconds since 1970. */
export const expiredBefore = (retentionDays: number, now: number): number => now - retentionDays * DAY_MS + 1;
