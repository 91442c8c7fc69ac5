import assert from "node:assert/strict";
import type { ChangeId, KeyId, ProfileId, Uid } from "../../core/ids.js";
import { createGraphBuilder, partsOf, type ComponentGraph } from "../../graph/undo/component-graph.js";
import { bridgesIn, outlineOf } from "../../graph/undo/outline.js";
import { createRandom, SEED } from "../support/random/random.js";

type Edge = readonly [number, number];
const NAMESPACES = ["device_id", "cookie_id", "email"];
const uidOf = (n: number) => `uid-${String(n).padStart(5, "0")}` as Uid;

function graphOf(size: number, edges: readonly Edge[]): ComponentGraph {
  const { addMembers, addLinks, build } = createGraphBuilder();
  const numbers = [...Array(size).keys()];
  addMembers(
    numbers.map((n) => ({
      uid: uidOf(n),
      identifier: { namespace: NAMESPACES[n % 3]!, value: String(n) },
      isShared: false,
    })),
  );
  addLinks(
    edges.map(([from, to]) => ({
      from: uidOf(from),
      to: uidOf(to),
      changeId: `change-${from}-${to}` as ChangeId,
      evidence: { source: "identify", keyId: "key0000001" as KeyId, at: 1_000 },
    })),
  );
  return build();
}

/** Each hangs on one before it, and some on another one too. */
function drawEdges(size: number, seed: number, crossed: number): readonly Edge[] {
  const random = createRandom(seed);
  const edges = new Map<string, Edge>();
  for (let n = 1; n < size; n++) {
    edges.set(`${n} ${n - 1}`, [n, Math.max(0, n - 1 - random.below(4))]);
    const other = random.below(n);
    if (random.below(crossed) === 0 && other !== edges.get(`${n} ${n - 1}`)![1])
      edges.set(`${n} ${other} +`, [n, other]);
  }
  return [...edges.values()];
}

describe("The outline of a profile", () => {
  it("has as bridges the links whose removal alone parts it, with the size of the smaller part", async () => {
    for (let i = 0; i < 300; i++) {
      const graph = graphOf(2 + (i % 17), drawEdges(2 + (i % 17), SEED + i, 1 + (i % 5)));
      const wanted = new Map<number, number>();
      for (let link = 0; link < graph.linkCount; link++) {
        const parts = partsOf(graph, new Set([link]));
        const smaller = Math.min(...parts.map(({ length }) => length));
        if (parts.length > 1 && smaller > 1) wanted.set(link, smaller);
      }
      assert.deepEqual(
        [...(await bridgesIn(graph))].toSorted(([a], [b]) => a - b),
        [...wanted].toSorted(([a], [b]) => a - b),
      );
    }
  });

  it("of a large one counts every identifier once, and every link that does not stay within a group", async () => {
    for (const [i, size] of [501, 1_200, 4_000].entries()) {
      const edges = drawEdges(size, SEED + i, 3);
      const outline = await outlineOf("p" as ProfileId, graphOf(size, edges), 7);
      const { nodes, groups, single, bundles } = outline;
      assert.equal(
        groups.reduce((all, { count }) => all + count, nodes.length),
        size,
      );
      assert.ok(nodes.some(({ uid }) => uid === uidOf(7)));
      assert.ok(nodes.length + groups.length < 500);
      const alone = new Set<string>(nodes.map(({ uid }) => uid));
      const between = edges.filter(([from, to]) => alone.has(uidOf(from)) && alone.has(uidOf(to)));
      assert.equal(single.length, between.length);
      const leading = edges.filter(([from, to]) => alone.has(uidOf(from)) !== alone.has(uidOf(to)));
      const bundled = bundles.filter(({ from, to }) => alone.has(from) || alone.has(to));
      assert.equal(
        bundled.reduce((all, { count }) => all + count, 0),
        leading.length,
      );
    }
  });

  it("lets others have their turn while it works on a large one", async () => {
    const graph = graphOf(60_000, drawEdges(60_000, SEED, 3));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    await outlineOf("p" as ProfileId, graph, undefined);
    clearInterval(timer);
    assert.ok(turns >= 3, `${turns} turns`);
  });
});
