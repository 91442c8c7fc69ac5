import assert from "node:assert/strict";
import { readRetentions } from "../../commands/datasets/retentions.js";
import { newId, type DatasetId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { aDataset } from "../support/builders.js";

it("The retentions of hundreds of datasets are read at once: MongoDB reads all of them for each page", async () => {
  const workspace = newId<WorkspaceId>();
  for (const [count, reads] of [
    [250, 1],
    [2_500, 2],
  ] as const) {
    const all = Array.from({ length: count }, (_, n) =>
      aDataset({
        workspace,
        datasetId: String(n).padStart(5, "0") as DatasetId,
        schemaId: `s${n}` as SchemaId,
        retentionDays: n + 1,
      }),
    );
    let calls = 0;
    const datasets: CatalogStore["datasets"] = async (_, { limit, after }) => {
      calls += 1;
      return all.filter(({ datasetId }) => after === null || datasetId > after).slice(0, limit);
    };
    const retentions = await readRetentions({ catalog: { datasets } }, workspace);
    assert.deepEqual([calls, retentions.size], [reads, count]);
  }
});
