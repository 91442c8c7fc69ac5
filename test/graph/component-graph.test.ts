import assert from "node:assert/strict";
import type { ChangeId, KeyId, ForbiddenPairId, Uid } from "../../core/ids.js";
import type { Link, Member, ForbiddenPair } from "../../core/identity/model.js";
import { explainedPath, fallApart, splitPlan } from "../../graph/undo/split.js";
import { bridgesOf, createWebBuilder, partsOf, shortestPath, type Web } from "../../graph/undo/component-graph.js";
import { forSeeds } from "../support/identity/model.js";
import { createRandom, SEED, shuffled, type Random } from "../support/random.js";

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
function webFor(size: number, edges: readonly Edge[], order: readonly number[] = [...Array(size).keys()]): Web {
  const { addMembers, addLinks, build } = createWebBuilder();
  addMembers(order.map(member));
  addLinks(edges.map(link));
  return build();
}

const sorted = (numbers: Iterable<number>): readonly number[] => [...numbers].toSorted((a, b) => a - b);

/** By sets that are joined until nothing changes. */
function naiveParts(size: number, edges: readonly Edge[]): readonly (readonly number[])[] {
  let sets: readonly (readonly number[])[] = [...Array(size).keys()].map((n) => [n]);
  for (const [a, b] of edges) {
    const touched = sets.filter((set) => set.includes(a) || set.includes(b));
    sets = [...sets.filter((set) => !touched.includes(set)), sorted(touched.flat())];
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
  readonly web: Web;
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

const edgeOf = (web: Web, n: number): Edge =>
  [web.links[n]!.from, web.links[n]!.to].map((uid) => Number(uid.slice(4))) as [number, number];

/** Some links, thought away, and the edges that are left. */
function thinned({ web, edges }: Drawn, random: Random) {
  const gone = new Set([...web.links.keys()].filter(() => random.below(3) === 0));
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
      web.links.map(({ changeId }) => changeId),
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
    assert.equal(partsOf(star, new Set(star.links.keys())).length, size);
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
  it("gives each part its own id, size, counts and forbidden pairs, the largest first, for 2,000 graphs", () =>
    forSeeds(SEED, 2_000, (seed) => {
      const random = createRandom(seed);
      const drawn = draw(random);
      const { gone, left } = thinned(drawn, random);
      const forbiddenPairs = Array.from({ length: random.below(3) }, (_, n) =>
        forbidden(random.below(drawn.size), 90 + n),
      );
      const parts = fallApart(drawn.web, gone, forbiddenPairs);
      assert.ok(
        parts.every(({ size }, n) => n === 0 || parts[n - 1]!.size >= size),
        "the largest first",
      );
      const shown = parts.map(({ members, profileId, size, counts, forbidden }) => {
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

  it("keeps its place for the largest part, and moves the members of the others", () => {
    const web = webFor(5, [
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
    const plan = splitPlan("here", web, fallApart(web, new Set([1]), []));
    assert.deepEqual([plan?.component, plan?.stays.profileId, plan?.stays.size], ["here", uidOf(2), 3]);
    assert.deepEqual(
      plan?.parts.map(({ profileId, members }) => [profileId, members]),
      [[uidOf(0), [uidOf(0), uidOf(1)]]],
    );
  });

  it("is no split where all still hangs together", () => {
    const web = webFor(3, [
      [0, 1],
      [1, 2],
      [0, 2],
    ]);
    assert.equal(splitPlan("here", web, fallApart(web, new Set([0]), [])), null);
  });

  it("shows the way that is left with the evidence of each link", () => {
    const web = webFor(3, [
      [0, 1],
      [1, 2],
      [0, 2],
    ]);
    assert.deepEqual(explainedPath(web, 0, 2, new Set([2])), [
      { from: member(0).identifier, to: member(1).identifier, changeId: "change-0-1", evidence: link([0, 1]).evidence },
      { from: member(1).identifier, to: member(2).identifier, changeId: "change-1-2", evidence: link([1, 2]).evidence },
    ]);
    assert.equal(explainedPath(web, 0, 2, new Set([1, 2])), null);
  });
});
