import assert from "node:assert/strict";
import { planBackfill } from "../../commands/datasets/backfill.js";
import type { Services } from "../../commands/services.js";
import type { StoredEvent } from "../../core/event/event.js";
import { newId, type BackfillId, type DatasetId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { justStored } from "../../store/stored-event.js";
import { withBackfills } from "../../worker/backfills.js";
import { aDataset, aKeyId, anEvent, aUidOf } from "../support/builders.js";
import { useApp } from "../support/service/app.js";

const NOW = 1_772_359_200_000;
const visit = "visit" as SchemaId;

describe("An event that was pinned as not folding", () => {
  const app = useApp();

  const pinned = (workspace: WorkspaceId, receivedAt: number): StoredEvent => {
    const identifiers = [{ namespace: "user_id", value: "ada" }];
    return justStored(anEvent({ workspace, schemaId: visit, identifiers, folds: false, receivedAt }));
  };
  const foldOf = async (workspace: WorkspaceId, stored: readonly StoredEvent[]) => {
    const { catalog } = app().service.backends;
    return (await withBackfills({ catalog }, workspace, stored)).map(({ folds }) => folds);
  };

  it("folds to its end where its fold has begun, whatever became of the backfill", async () => {
    const workspace = newId<WorkspaceId>();
    const begun = { ...pinned(workspace, NOW), facet: aUidOf(workspace, "ada") };
    assert.deepEqual(await foldOf(workspace, [begun, pinned(workspace, NOW)]), [true, false]);
  });

  it("folds only where it was received in what the backfill covers, whatever comes with it", async () => {
    const { catalog } = app().service.backends;
    const workspace = newId<WorkspaceId>();
    const datasetId = newId<DatasetId>();
    await catalog.putDataset(aDataset({ workspace, datasetId, schemaId: visit, unifiedProfile: true }));
    for (let n = 0; n < 3; n += 1)
      await catalog.createBackfill({
        workspace,
        backfillId: newId<BackfillId>(),
        datasetId,
        schemaId: visit,
        keyId: aKeyId(),
        since: NOW,
        until: NOW + 10,
        coversUntil: NOW + 10,
        state: "running",
        total: null,
        done: 0,
        skipped: 0,
        position: null,
        createdAt: NOW,
        endedAt: null,
        reserved: null,
        rev: 1,
      });
    const together = [NOW - 1, NOW, NOW + 9, NOW + 10].map((receivedAt) => pinned(workspace, receivedAt));
    let asked = 0;
    const findDataset: typeof catalog.findDataset = (...of) => ((asked += 1), catalog.findDataset(...of));
    const found = await withBackfills({ catalog: { ...catalog, findDataset } }, workspace, together);
    assert.deepEqual(
      found.map(({ folds }) => folds),
      [false, true, true, false],
    );
    assert.equal(asked, 1, "its dataset is asked for once");
  });
});

describe("What a backfill covers", () => {
  const app = useApp();

  it("is also what a gateway accepts that has not read of the dataset yet, but nothing from until on", async () => {
    const { backends } = app().service;
    const workspace = newId<WorkspaceId>();
    const dataset = aDataset({ workspace, schemaId: visit, unifiedProfile: true });
    await backends.catalog.putDataset(dataset);
    const caller = { workspace, keyId: aKeyId(), now: 1_000_000 };
    const coversUntil = async (until: number | null, catalogLagMs = 7_000) => {
      const services = { ...backends, limits: { catalogLagMs } as Services["limits"] };
      return (await planBackfill(services, caller, dataset.datasetId, { since: null, until })).coversUntil;
    };
    assert.equal(await coversUntil(null), 1_007_000);
    assert.equal(await coversUntil(1_003_000), 1_003_000);
    assert.equal(await coversUntil(2_000_000), 1_007_000);
    assert.equal(await coversUntil(null, 0), 1_000_001, "what came in the moment in which it begins");
    assert.equal(await coversUntil(1_000_000, 0), 1_000_000);
  });
});
