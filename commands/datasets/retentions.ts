import type { Dataset } from "../../core/catalog/catalog.js";
import { retentionsOf } from "../../core/catalog/retention.js";
import type { DatasetId, SchemaId, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

const PAGE = 100;

/** Schema -> days after which its events go. `changed`: as if these datasets stood in the place of those with their ids. */
export async function readRetentions(
  { catalog }: { readonly catalog: Pick<Services["catalog"], "datasets"> },
  workspace: WorkspaceId,
  changed: readonly Dataset[] = [],
): Promise<ReadonlyMap<SchemaId, number>> {
  const all = new Map<DatasetId, Dataset>();
  for (let after: DatasetId | null = null; ;) {
    const page: readonly Dataset[] = await catalog.datasets(workspace, { limit: PAGE, after });
    for (const one of page) all.set(one.datasetId, one);
    if (page.length < PAGE) break;
    after = page.at(-1)!.datasetId;
  }
  for (const one of changed) all.set(one.datasetId, one);
  return retentionsOf([...all.values()]);
}
