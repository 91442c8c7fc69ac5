import assert from "node:assert/strict";
import { logErasure, readmit } from "../../commands/erasures/log.js";
import type { LoggedErasure } from "../../core/ports/erasure-log.js";
import { erase } from "../support/identity/erasures.js";
import { aWorkspace } from "../support/identity/fixtures.js";
import { ann } from "../support/identity/snapshots.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";

describe("The log of erasures", () => {
  it("ends with the record as it stands, whoever wrote what they had read before", async () => {
    const workspace = aWorkspace();
    const erasures = createMemoryGraph(createMemoryState());
    const lines: LoggedErasure[] = [];
    const erasureLog = {
      append: async (one: LoggedErasure) => void lines.push(one),
      entries: async function* () {
        yield* lines;
      },
    };
    const read = await erase(erasures, workspace, ann, { suppress: true });
    await readmit({ erasures, erasureLog }, workspace, read.erasureId, 7);
    await logErasure({ erasures, erasureLog }, read);
    assert.deepEqual(
      lines.map(({ erasure }) => erasure.readmittedAt),
      [7, null, 7],
    );
  });
});
