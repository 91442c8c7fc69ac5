import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "../../../core/database.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { tombOf } from "../../support/builders.js";
import { checkErasures } from "../../support/identity/erasure-programs.js";
import { openGraphDatabase } from "../../support/identity/fixtures.js";
import { SCALE, SEED } from "../../support/random/random.js";

const PROGRAMS = 12 * SCALE;

describe(`Erasure on SQLite against a graph in which everything goes at once (seed ${SEED})`, () => {
  let [folder, database, graph]: [string, Database | null, IdentityGraph | null] = ["", null, null];
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "onym-erasure-"));
    database = openGraphDatabase(path.join(folder, "onym.db"));
    graph = createSqliteGraph({ database, tombOf });
  });
  after(async () => {
    await graph!.close();
    await database!.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it(`answers and shows the same after each step of ${PROGRAMS} random programs`, async () => {
    const happened = await checkErasures(graph!, PROGRAMS);
    for (const [what, times] of Object.entries(happened)) assert.ok(times > PROGRAMS / 6, `${what}: ${times}`);
    const count = (from: string) => database!.prepare(`SELECT count(*) FROM ${from}`).get([])![0];
    assert.equal(count("components WHERE size < 0"), 0, "nothing is left sealed");
    assert.equal(count("identifiers WHERE key IS NULL"), 0, "nor those who came back meanwhile");
    assert.equal(count("change_subjects WHERE identifier NOT IN (SELECT id FROM identifiers)"), 0);
  });
});
