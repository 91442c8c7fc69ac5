import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import { createParking } from "../../keeper/audiences/parking.js";

const SILENT = { info: () => {}, warn: () => {}, error: () => {} };

describe("Workspaces that wait", () => {
  /** After how many seconds each try came, while all of them fail so. */
  const tries = async (error: Error, count: number): Promise<readonly number[]> => {
    let [clock, last] = [0, 0];
    const parking = createParking(SILENT, () => clock);
    const workspace = newId<WorkspaceId>();
    const after: number[] = [];
    for (; after.length < count; clock += 500)
      await parking.attempt(workspace, async () => {
        after.push((clock - last) / 1_000);
        last = clock;
        throw error;
      });
    return after;
  };

  it("are tried again within 15 seconds after a dependency is back, however long it was away", async () => {
    assert.deepEqual(await tries(new AppError("unavailable", "Away."), 8), [0, 1, 2, 4, 8, 15, 15, 15]);
  });

  it("wait for a minute where they fail otherwise", async () => {
    assert.deepEqual(await tries(new Error("Broken."), 3), [0, 60, 60]);
  });
});
