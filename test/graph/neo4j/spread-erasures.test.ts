import assert from "node:assert/strict";
import { AppError } from "../../../core/errors.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import type { ErasureId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import type { Directory } from "../../../graph/neo4j/spread/directory.js";
import { createSpreadGraph } from "../../../graph/neo4j/spread/spread.js";

const graphOf = (open: () => Promise<readonly string[]>): IdentityGraph => {
  const openErasures = async () =>
    (await open()).map((erasureId) => ({ erasureId: erasureId as ErasureId }) as Erasure);
  return { openErasures } as unknown as IdentityGraph;
};
const away = () => Promise.reject(new AppError("unavailable", "The graph is away."));
const wrong = () => Promise.reject(new Error("wrong"));
const spread = (...open: readonly (() => Promise<readonly string[]>)[]) =>
  createSpreadGraph(new Map(open.map((one, n) => [`${n}`, graphOf(one)])), {} as Directory);

const page = { limit: 3, after: null };

describe("Open erasures over several graphs", () => {
  it("are those of the graphs that answer, if one does", async () => {
    const idsOf = async (graph: IdentityGraph) => (await graph.openErasures(page)).map(({ erasureId }) => erasureId);
    const [first, second] = [async () => ["a", "d"], async () => ["b", "c"]];
    assert.deepEqual(await idsOf(spread(first, second)), ["a", "b", "c"]);
    assert.deepEqual(await idsOf(spread(away, second)), ["b", "c"]);
    assert.deepEqual(await idsOf(spread(first, away)), ["a", "d"]);
    await assert.rejects(idsOf(spread(away, away)), { code: "unavailable" });
    await assert.rejects(idsOf(spread(first, away, wrong)), /wrong/, "a mistake is no graph that is away");
  });

  it("are refused to whoever needs all of them", async () => {
    const graph = spread(async () => ["a"], away);
    await assert.rejects(graph.openErasures({ ...page, isWhole: true }), { code: "unavailable" });
  });
});

describe("Uids of other workspaces over several graphs", () => {
  const workspace = "w" as WorkspaceId;
  const uids = ["a", "b", "c"] as Uid[];
  const over = (...found: readonly (() => Promise<readonly string[]>)[]) => {
    const graphs = found.map((ask, n): readonly [string, IdentityGraph] => {
      const foreignUids = async () => new Set((await ask()) as Uid[]);
      return [`${n}`, { foreignUids } as unknown as IdentityGraph];
    });
    return createSpreadGraph(new Map(graphs), {} as Directory);
  };

  it("are those of all graphs, and nobody is told while one of them is away", async () => {
    const [first, second] = [async () => ["a"], async () => ["c"]];
    assert.deepEqual(await over(first, second).foreignUids(workspace, uids), new Set(["a", "c"]));
    await assert.rejects(over(first, away).foreignUids(workspace, uids), { code: "unavailable" });
  });
});
