import assert from "node:assert/strict";
import type { ChangeId, KeyId, ForbiddenPairId, Uid } from "../../core/ids.js";
import type { Link, Member, ForbiddenPair } from "../../core/identity/model.js";
import { explainedPath, inSteps, removalsOf, splitWithout, summaryOf } from "../../graph/undo/split.js";
import {
  bridgesOf,
  createGraphBuilder,
  partsOf,
  shortestPath,
  type ComponentGraph,
} from "../../graph/undo/component-graph.js";
import { forSeeds } from "../support/identity/model.js";
import { createRandom, SEED, shuffled, type Random } from "../support/random/random.js";

type Edge = readonly [number, number];

const uidOf = (n: number): Uid => `uid-${String(n).padStart(3, "0")}` as Uid;
const member = (n: number): Member => ({
  uid: uidOf(n),
  identifier: { namespace: ["email", "device_id", "cookie_id"][n % 3]!, value: String(n) },
  isShared: false,
});
const link = ([from, to]: Edge): Link => ({
  from: uidOf(from),
  to: uidOf(to),
  changeId: `change-${from}-${to}` as ChangeId,
  evidence: { source: "identify", keyId: "key0000001" as KeyId, at: 1_000 + from },
});

/** The members stand in any order, so that positions are not numbers by chance. */
function webFor(
  size: number,
  edges: readonly Edge[],
  order: readonly number[] = [...Array(size).keys()],
): ComponentGraph {
  const { addMembers, addLinks, build } = createGraphBuilder();
  addMembers(order.map(member));
  addLinks(edges.map(link));
  return build();
}

const sorted = (numbers: Iterable<number>): readonly number[] => [...numbers].toSorted((a, b) => a - b);

/** By sets that are joined until nothing changes. */
function naiveParts(size: number, edges: readonly Edge[]): readonly (readonly number[])[] {
  let sets: readonly (readonly number[])[] = [...Array(size).keys()].map((n) => [n]);
  for (const [a, b] of edges) {
    const seenWith = sets.filter((set) => set.includes(a) || set.includes(b));
    sets = [...sets.filter((set) => !seenWith.includes(set)), sorted(seenWith.flat())];
  }
  return sets.toSorted((a, b) => a[0]! - b[0]!);
}

/** By relaxing every distance as often as there are members. */
function naiveDistance(size: number, edges: readonly Edge[], from: number, to: number): number | null {
  const distance = Array.from({ length: size }, (_, n) => (n === from ? 0 : Infinity));
  for (let round = 0; round < size; round++)
    for (const [a, b] of edges) {
      const [toA, toB] = [distance[a]!, distance[b]!];
      distance[a] = Math.min(toA, toB + 1);
      distance[b] = Math.min(toB, toA + 1);
    }
  return distance[to] === Infinity ? null : distance[to]!;
}

const areJoined = (size: number, edges: readonly Edge[], from: number, to: number): boolean =>
  naiveParts(size, edges).some((set) => set.includes(from) && set.includes(to));

interface Drawn {
  readonly size: number;
  readonly edges: readonly Edge[];
  readonly web: ComponentGraph;
  readonly at: (n: number) => number;
  readonly numberAt: (position: number) => number;
}

/** From hardly any link to nearly all of them. */
function draw(random: Random): Drawn {
  const size = 1 + random.below(9);
  const density = random.below(8);
  const pairs = [...Array(size).keys()].flatMap((a) => [...Array(a).keys()].map((b): Edge => [a, b]));
  const chosen = pairs.filter(() => random.below(8) < density);
  const edges = shuffled(chosen, random).map(([a, b]): Edge => (random.below(2) === 0 ? [a, b] : [b, a]));
  const order = shuffled([...Array(size).keys()], random);
  const web = webFor(size, edges, order);
  return { size, edges, web, at: (n) => order.indexOf(n), numberAt: (position) => order[position]! };
}

const edgeOf = (web: ComponentGraph, n: number): Edge =>
  [web.linkOf(n).from, web.linkOf(n).to].map((uid) => Number(uid.slice(4))) as [number, number];

const linkNumbers = ({ linkCount }: ComponentGraph): readonly number[] => [...Array(linkCount).keys()];

/** Some links, thought away, and the edges that are left. */
function thinned({ web, edges }: Drawn, random: Random) {
  const gone = new Set(linkNumbers(web).filter(() => random.below(3) === 0));
  const left = edges.filter((_, n) => !gone.has(n));
  return { gone, left };
}

describe(`A component in memory against naive searches (seed ${SEED})`, () => {
  it("falls into the parts that hang together, with any links thought away, for 3,000 graphs", () =>
    forSeeds(SEED, 3_000, (seed) => {
      const random = createRandom(seed);
      const drawn = draw(random);
      const { gone, left } = thinned(drawn, random);
      const parts = (found: readonly (readonly number[])[]) =>
        found.map((part) => sorted(part.map(drawn.numberAt))).toSorted((a, b) => a[0]! - b[0]!);
      assert.deepEqual(parts(partsOf(drawn.web)), naiveParts(drawn.size, drawn.edges));
      assert.deepEqual(parts(partsOf(drawn.web, gone)), naiveParts(drawn.size, left));
    }));

  it("has a way that is connected, shortest and without the links thought away, for 3,000 graphs", () =>
    forSeeds(SEED, 3_000, (seed) => {
      const random = createRandom(seed);
      const drawn = draw(random);
      const { gone, left } = thinned(drawn, random);
      const [from, to] = [random.below(drawn.size), random.below(drawn.size)];
      const path = shortestPath(drawn.web, drawn.at(from), drawn.at(to), gone);
      assert.equal(path?.length ?? null, naiveDistance(drawn.size, left, from, to));
      if (path === null) return;
      let stop = from;
      for (const n of path) {
        assert.ok(!gone.has(n));
        const [a, b] = edgeOf(drawn.web, n);
        assert.ok(stop === a || stop === b, "each link goes on where the one before it ended");
        stop = stop === a ? b : a;
      }
      assert.equal(stop, to);
    }));

  it("has as bridges of a way the links whose removal alone parts its ends, in its order, for 3,000 graphs", () =>
    forSeeds(SEED, 3_000, (seed) => {
      const random = createRandom(seed);
      const { size, edges, web, at } = draw(random);
      const [from, to] = [random.below(size), random.below(size)];
      const path = shortestPath(web, at(from), at(to));
      if (path === null) return;
      const without = (n: number): readonly Edge[] => edges.filter((_, other) => other !== n);
      const wanted = path.filter((n) => !areJoined(size, without(n), from, to));
      assert.deepEqual(bridgesOf(web, at(from), path), wanted);
      const parting = [...edges.keys()].filter((n) => !areJoined(size, without(n), from, to));
      assert.deepEqual(sorted(wanted), parting, "and every link that parts them lies on any way");
    }));

  it("leaves out links to what is no member", () => {
    const web = webFor(2, [
      [0, 1],
      [1, 7],
      [8, 9],
    ]);
    assert.deepEqual(
      linkNumbers(web).map((n) => web.linkOf(n).changeId),
      ["change-0-1"],
    );
    assert.deepEqual(partsOf(web), [[0, 1]]);
  });

  it("walks a chain and a star of 100,000 without recursion", () => {
    const size = 100_000;
    const numbers = [...Array(size - 1).keys()];
    const chain = webFor(
      size,
      numbers.map((n): Edge => [n, n + 1]),
    );
    const way = shortestPath(chain, 0, size - 1)!;
    assert.equal(way.length, size - 1);
    assert.equal(bridgesOf(chain, 0, way).length, size - 1);
    const star = webFor(
      size,
      numbers.map((n): Edge => [0, n + 1]),
    );
    assert.equal(partsOf(star, new Set(linkNumbers(star))).length, size);
  });
});

const forbidden = (a: number, b: number): ForbiddenPair => ({
  forbiddenPairId: `forbidden-${a}-${b}` as ForbiddenPairId,
  from: member(a).identifier,
  to: member(b).identifier,
  changeId: "change-never" as ChangeId,
  keyId: "key0000001" as KeyId,
  at: 1_000,
});

function countsOf(numbers: readonly number[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { identifier } of numbers.map(member))
    counts[identifier.namespace] = (counts[identifier.namespace] ?? 0) + 1;
  return counts;
}

describe("A component that falls apart", () => {
  it("gives each part its own id, size, counts and forbidden pairs, for 2,000 graphs", () =>
    forSeeds(SEED, 2_000, (seed) => {
      const random = createRandom(seed);
      const drawn = draw(random);
      const { gone, left } = thinned(drawn, random);
      const forbiddenPairs = Array.from({ length: random.below(3) }, (_, n) =>
        forbidden(random.below(drawn.size), 90 + n),
      );
      const split = splitWithout(drawn.web, gone, forbiddenPairs);
      const most = Math.max(...split.parts.map(({ size }) => size));
      assert.equal(split.parts[split.stays]!.size, most, "the largest stays");
      const shown = split.parts.map(({ members, profileId, size }) => {
        const { counts, forbidden } = summaryOf(split, members);
        const numbers = sorted(members.map(drawn.numberAt));
        return { numbers, profileId, size, counts: Object.fromEntries(counts), forbidden };
      });
      const wanted = naiveParts(drawn.size, left).map((numbers) => ({
        numbers,
        profileId: uidOf(numbers[0]!),
        size: numbers.length,
        counts: countsOf(numbers),
        forbidden: forbiddenPairs
          .filter(({ from }) => numbers.some((n) => member(n).identifier.value === from.value))
          .map(({ forbiddenPairId }) => forbiddenPairId)
          .toSorted(),
      }));
      assert.deepEqual(
        shown.toSorted((a, b) => a.numbers[0]! - b.numbers[0]!),
        wanted,
      );
    }));

  it("loses its links in steps, after each of which the parts that left are all that is apart, for 2,000 graphs", () =>
    forSeeds(SEED, 2_000, (seed) => {
      const random = createRandom(seed);
      const { web } = draw(random);
      const whole = partsOf(web);
      // As a profile is: all of it hangs together.
      if (whole.length > 1) return;
      const gone = new Set(linkNumbers(web).filter(() => random.below(2) === 0));
      const split = splitWithout(web, gone, []);
      const linksMax = 1 + random.below(4);
      const [removed, left] = [new Set<number>(), new Set<number>()];
      for (const step of inSteps(removalsOf(split), () => linksMax)) {
        const links = step.flatMap((one) => one.links);
        assert.ok(links.length <= linksMax && links.every((link) => gone.has(link) && !removed.has(link)));
        for (const link of links) removed.add(link);
        for (const { leaving } of step) if (leaving !== null) left.add(leaving);
        const stay = split.parts.flatMap(({ members }, part) => (left.has(part) ? [] : members));
        const apart = [...left].map((part) => sorted(split.parts[part]!.members));
        const byFirst = (a: readonly number[], b: readonly number[]): number => a[0]! - b[0]!;
        assert.deepEqual(
          partsOf(web, removed).map(sorted).toSorted(byFirst),
          [...apart, sorted(stay)].toSorted(byFirst),
        );
      }
      assert.deepEqual([removed.size, left.size], [gone.size, split.parts.length - 1]);
    }));

  it("keeps its place for the part that is asked for, unless another is much larger", () => {
    const star = webFor(
      3_000,
      [...Array(2_999).keys()].map((n): Edge => [0, n + 1]),
    );
    const first = splitWithout(star, new Set(linkNumbers(star)), [], 5);
    assert.equal(first.parts[first.stays]!.profileId, uidOf(5));
    const other = splitWithout(star, new Set([4]), [], 5);
    assert.equal(other.parts[other.stays]!.size, 2_999);
  });

  it("shows the way that is left with the evidence of each link", () => {
    const web = webFor(3, [
      [0, 1],
      [1, 2],
      [0, 2],
    ]);
    assert.deepEqual(explainedPath(web, 0, 2, new Set([2]))!.links, [
      { from: member(0).identifier, to: member(1).identifier, changeId: "change-0-1", evidence: link([0, 1]).evidence },
      { from: member(1).identifier, to: member(2).identifier, changeId: "change-1-2", evidence: link([1, 2]).evidence },
    ]);
    assert.equal(explainedPath(web, 0, 2, new Set([1, 2])), null);
  });
});
