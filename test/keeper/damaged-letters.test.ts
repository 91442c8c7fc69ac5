import assert from "node:assert/strict";
import { silentLog } from "../../app/logger.js";
import { AppError } from "../../core/errors.js";
import { newId, type DeadLetterId, type SchemaId } from "../../core/ids.js";
import { createRetention, type RetentionDeps } from "../../keeper/retention.js";
import { aDataset, aWorkspace, noAudiences } from "../support/builders.js";

const NOW = 1_772_359_200_000;

describe("Letters on damaged pages", () => {
  it("let a walk of the retention end, though they fill the page that it reads", async () => {
    const workspace = aWorkspace();
    const { workspaceId } = workspace;
    const schemaId = "visit" as SchemaId;
    const letters = Array.from({ length: 500 }, () => ({ deadLetterId: newId<DeadLetterId>(), receivedAt: 0 }));
    let tries = 0;
    const catalog: RetentionDeps["catalog"] = {
      workspaces: async ({ after }) => (after === null ? [workspace] : []),
      datasets: async () => [aDataset({ workspace: workspaceId, schemaId, retentionDays: 1 })],
    };
    const events: RetentionDeps["events"] = {
      ofSchema: async () => [],
      drop: async () => 0,
      looseLetters: async () => letters,
      removeLetters: async (_, ids) => {
        if (ids.length === 1) tries += 1;
        throw new AppError("damaged", "The stored record is damaged.");
      },
    };
    const task = createRetention({ ...noAudiences, log: silentLog, catalog, events, now: () => NOW });
    let pieces = 0;
    while ((await task.step()) === 0) assert.ok((pieces += 1) < 9, "it tries them again and again");
    assert.equal(tries, letters.length);
  });
});
