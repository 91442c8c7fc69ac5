import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "../../core/database.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createSqliteGraph } from "../../graph/sqlite/graph.js";
import { openGraphDatabase } from "../support/identity/fixtures.js";
import { runsOf, SCALE, SEED } from "../support/random/random.js";
import { checkPrograms } from "../support/trust/programs.js";
import { tombOf } from "../support/builders.js";

const PROGRAMS = runsOf(250);
/** So few that most undos of half the programs take several steps. */
const LINKS_PER_STEP = [Infinity, Infinity, 1, 2];

/** It forgets to take links away. */
const broken = (graph: IdentityGraph): IdentityGraph => ({
  ...graph,
  update: (workspace, want, decide, turn) =>
    graph.update(
      workspace,
      want,
      (...seen) => {
        const { plan, ...rest } = decide(...seen);
        return { plan: plan && { ...plan, removes: [] }, ...rest };
      },
      turn,
    ),
});

describe(`Identity on SQLite against a model that computes everything anew (seed ${SEED})`, () => {
  const folder = mkdtempSync(path.join(tmpdir(), "onym-trust-"));
  let database: Database;
  before(() => {
    database = openGraphDatabase(path.join(folder, "onym.db"));
  });
  after(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(`gives its answers, profiles, links, forbidden pairs and records for ${PROGRAMS} programs`, async function () {
    this.timeout(60_000 * (1 + SCALE));
    await checkPrograms(createSqliteGraph({ database, tombOf }), PROGRAMS, LINKS_PER_STEP);
  });

  it("is found out when it is broken, by a program of at most three operations", async () => {
    const graph = broken(createSqliteGraph({ database, tombOf }));
    await assert.rejects(checkPrograms(graph, 100), (error: Error) => {
      const [, ...lines] = error.message.split("\n");
      const program = lines.filter((line) => /^\d+ at \d+: /.test(line));
      assert.ok(program.length > 0 && program.length <= 3, error.message);
      return true;
    });
  });
});
