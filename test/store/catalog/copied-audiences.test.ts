import assert from "node:assert/strict";
import { newId, type AudienceId, type FenceId, type WorkspaceId } from "../../../core/ids.js";
import { catalogRows, loadCatalogRow } from "../../../store/catalog-copying.js";
import { withApp } from "../../support/faults.js";

describe("Audiences that are copied to another store", () => {
  it("keep by which time they were judged, and no fence", () =>
    withApp({}, {}, (from) =>
      withApp({}, {}, async (to) => {
        const workspace = (await from.workspace()).id as WorkspaceId;
        const deleted = [newId<AudienceId>()];
        await from.service.backends.audiences.changeAudiences(workspace, () => {
          return { audiences: [], deleted, fence: newId<FenceId>(), judgedAt: 7 };
        });
        for await (const row of catalogRows(from.service.backends, "audiences"))
          await loadCatalogRow(to.service.backends, "audiences", row);
        const { version: _, ...copied } = await to.service.backends.audiences.audiences(workspace);
        assert.deepEqual(copied, { audiences: [], deleted, tallies: [], forgotten: [], judgedAt: 7 });
      }),
    ));
});
