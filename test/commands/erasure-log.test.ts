import assert from "node:assert/strict";
import { logErasure, readmit } from "../../commands/erasures/log.js";
import type { LoggedErasure } from "../../core/identity/logged-erasure.js";
import { restoreErasures } from "../../commands/erasures/restore.js";
import { createIdentity } from "../../graph/identity.js";
import { erase, NOW } from "../support/identity/erasures.js";
import { aWorkspace } from "../support/identity/fixtures.js";
import { ann } from "../support/identity/snapshots.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";

function inMemory() {
  const lines: LoggedErasure[] = [];
  const erasureLog = {
    append: async (one: LoggedErasure) => void lines.push(one),
    entries: async function* () {
      yield* lines;
    },
  };
  return { erasures: createMemoryGraph(createMemoryState()), erasureLog, lines };
}

describe("The log of erasures", () => {
  it("ends with the record as it stands, whoever wrote what they had read before", async () => {
    const workspace = aWorkspace();
    const { erasures, erasureLog, lines } = inMemory();
    const read = await erase(erasures, workspace, ann, { suppress: true });
    await readmit({ erasures, erasureLog }, workspace, read.erasureId, 7);
    await logErasure({ erasures, erasureLog }, read);
    assert.deepEqual(
      lines.map(({ erasure }) => erasure.readmittedAt),
      [7, null, 7],
    );
  });

  it("does not suppress anew at the start whom somebody readmitted: died before the log had it, or wrote late", async () => {
    for (const written of ["not at all", "before an older line"]) {
      const workspace = aWorkspace();
      const { erasures, erasureLog, lines } = inMemory();
      const { erasureId, ...read } = await erase(erasures, workspace, ann, { suppress: true });
      const readmitted = await erasures.readmit(workspace, erasureId, NOW + 7);
      if (written !== "not at all") lines.push({ erasure: readmitted!, buried: [] });
      lines.push({ erasure: { ...read, erasureId }, buried: [] });
      const services = {
        erasures,
        erasureLog,
        identity: createIdentity({ graph: erasures, timeoutMs: 1_000 }),
        now: () => NOW + 9,
      };
      assert.equal(await restoreErasures(services), 0);
      assert.deepEqual(await erasures.findErasure(workspace, erasureId), readmitted, written);
    }
  });

  it("suppresses anew at the start whom a later request suppressed after the readmission", async () => {
    const workspace = aWorkspace();
    const { erasures, erasureLog, lines } = inMemory();
    const { erasureId, ...read } = await erase(erasures, workspace, ann, { suppress: true });
    await erasures.readmit(workspace, erasureId, NOW + 7);
    lines.push({ erasure: { ...read, erasureId, erasedAt: NOW + 8 }, buried: [] });
    const services = {
      erasures,
      erasureLog,
      identity: createIdentity({ graph: erasures, timeoutMs: 1_000 }),
      now: () => NOW + 9,
    };
    await restoreErasures(services);
    const { readmittedAt, erasedAt } = (await erasures.findErasure(workspace, erasureId))!;
    assert.deepEqual([readmittedAt, erasedAt], [null, NOW + 8]);
  });
});
