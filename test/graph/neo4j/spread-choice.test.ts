import assert from "node:assert/strict";
import type { WorkspaceId } from "../../../core/ids.js";
import { chosenFor, HOME } from "../../../graph/neo4j/spread/directory.js";

const PER_GRAPH = 1_000;
/** Over six standard deviations of a fair choice. */
const STRAY = 0.2 * PER_GRAPH;

/** The same in each run, and as like one another as the ids of workspaces that are made one after the other. */
const workspaces = (count: number): readonly WorkspaceId[] =>
  Array.from({ length: count }, (_, n) => {
    const [time, rest] = [1_760_000_000_000 + n * 977, n * 2_654_435_761].map((part) =>
      part.toString(16).padStart(12, "0"),
    );
    return `${time!.slice(0, 8)}-${time!.slice(8)}-7abc-8def-${rest}` as WorkspaceId;
  });

const named = (...further: readonly string[]): readonly string[] => [HOME, ...further];
const THREE = named("two", "three");
const EIGHT = named("two", "three", "four", "five", "six", "seven", "eight");

function sharesOf(chosen: readonly string[]): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const name of chosen) shares.set(name, (shares.get(name) ?? 0) + 1);
  return shares;
}

describe("The choice of a graph for a new workspace", () => {
  for (const names of [THREE, EIGHT])
    it(`gives each of ${names.length} graphs its share`, () => {
      const shares = sharesOf(workspaces(names.length * PER_GRAPH).map((one) => chosenFor(one, names)));
      for (const name of names) {
        const share = shares.get(name) ?? 0;
        assert.ok(Math.abs(share - PER_GRAPH) < STRAY, `"${name}" has ${share} of ${PER_GRAPH}`);
      }
    });

  it("changes with a further graph for that one's share alone, which comes from all others alike", () => {
    const names = named("two", "three", "four");
    const all = workspaces(names.length * THREE.length * PER_GRAPH);
    const moved = all.filter((one) => chosenFor(one, names) !== chosenFor(one, THREE));
    assert.deepEqual([...new Set(moved.map((one) => chosenFor(one, names)))], ["four"]);
    const left = sharesOf(moved.map((one) => chosenFor(one, THREE)));
    for (const name of THREE) {
      const lost = left.get(name) ?? 0;
      assert.ok(Math.abs(lost - PER_GRAPH) < STRAY, `"${name}" gave ${lost}, and not about ${PER_GRAPH}`);
    }
  });

  it("does not hang on the order of the names", () => {
    for (const one of workspaces(200)) assert.equal(chosenFor(one, EIGHT), chosenFor(one, EIGHT.toReversed()));
  });
});
