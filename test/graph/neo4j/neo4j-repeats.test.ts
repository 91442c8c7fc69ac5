import assert from "node:assert/strict";
import { identifierKey } from "../../../core/event/event.js";
import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import { pairKey, type Repeat } from "../../../core/identity/model.js";
import type { Client, Parameters, Row } from "../../../graph/neo4j/client.js";
import { createNewKeyGuess, createRepeats } from "../../../graph/neo4j/repeats.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";

type Couple = readonly [IdentifierKey, IdentifierKey];

const coupleOf = (workspace: WorkspaceId, n: number): Couple => [
  identifierKey(workspace, anIdentifier(`u${n}`)),
  identifierKey(workspace, anIdentifier(`d${n}`, "device_id")),
];
/** Of this couple one is marked as shared. */
const SHARED = 2;
const refOf = (workspace: WorkspaceId, n: number): Repeat => ({
  profileId: `${workspace} ${n}` as ProfileId,
  size: 2,
  facet: coupleOf(workspace, n)[0] as string as Uid,
  isShared: n === SHARED,
});

/** What a server answers that holds these couples; `twice` are those whose link is replaced just then: the old row comes too. */
function aServer(held: ReadonlyMap<string, Repeat>, twice: ReadonlySet<string> = new Set()) {
  const asked: Parameters[] = [];
  const read = async (_: string, q: Parameters): Promise<readonly Row[]> => {
    asked.push(q);
    const links = q["links"] as readonly string[];
    const rows = links.flatMap((link, n) => {
      const { profileId, size, facet } = held.get(link) ?? { profileId: "", size: 0, facet: "" };
      return Array.from({ length: twice.has(link) ? 2 : 1 }, () => ({ n, profileId, size, facet }));
    });
    const missed = links.flatMap((link, n) => (held.has(link) && !twice.has(link) ? [] : [n]));
    const known = missed.filter((n) => twice.has(links[n]!));
    const [at, ids, sizes] = [rows.map(({ n }) => n), rows.map((row) => row.profileId), rows.map(({ size }) => size)];
    const shared = links.flatMap((link, n) => (held.get(link)?.isShared === true ? [n] : []));
    return [[at, ids, sizes, missed, known, rows.map(({ facet }) => facet), shared]];
  };
  const newKeys = createNewKeyGuess({ max: 100, stepsOfRun: 2 });
  const others: (readonly IdentifierKey[])[] = [];
  const repeats = createRepeats({
    client: { read } as unknown as Client,
    newKeys,
    look: async (_, { keys }) => {
      others.push(keys);
      const component = "other";
      const profile = { ...refOf("other" as WorkspaceId, 0), counts: new Map(), forbidden: [], rev: 0 };
      const location = { uid: keys[0] as never, component, unlinkedAt: null, seenWith: [], isShared: false };
      return {
        identifiers: new Map(keys.map((key) => [key, location])),
        components: new Map([[component, profile]]),
        linked: new Set(),
        removed: new Map(),
        tombstones: new Map(),
      };
    },
  });
  return { repeats, newKeys, asked, others };
}

describe("Repeats that share a round trip", () => {
  const [one, other] = [aWorkspace(), aWorkspace()];
  const linkOf = (workspace: WorkspaceId, n: number): string => pairKey(...coupleOf(workspace, n));
  const held = new Map(
    [one, other].flatMap((workspace) => [0, 1, 2].map((n) => [linkOf(workspace, n), refOf(workspace, n)] as const)),
  );

  it("get each their own, of all workspaces and in their order", async () => {
    const { repeats, asked } = aServer(held);
    const found = await Promise.all([
      repeats(one, [coupleOf(one, 1), coupleOf(one, 9), coupleOf(one, 0)]),
      repeats(other, [coupleOf(other, 2)]),
      repeats(one, []),
      repeats(other, [coupleOf(other, 8), coupleOf(other, 1)]),
    ]);
    assert.deepEqual(found, [[refOf(one, 1), null, refOf(one, 0)], [refOf(other, 2)], [], [null, refOf(other, 1)]]);
    assert.equal(asked.length, 1);
  });

  it("get no other's profile when a link is met twice", async () => {
    const { repeats, newKeys } = aServer(held, new Set([linkOf(one, 0)]));
    const found = await Promise.all([
      repeats(one, [coupleOf(one, 0), coupleOf(one, 1)]),
      repeats(other, [coupleOf(other, 0), coupleOf(other, 1)]),
    ]);
    assert.deepEqual(found, [
      [null, refOf(one, 1)],
      [refOf(other, 0), refOf(other, 1)],
    ]);
    assert.ok(!newKeys.takeAll(coupleOf(one, 0)), "its ends stand");
  });

  it("stand beside sets of one or of more, which are looked for by their keys", async () => {
    const { repeats, asked, others } = aServer(held);
    const [alone, [a, b]] = [coupleOf(one, 5)[0], coupleOf(one, 6)];
    const found = await repeats(one, [[alone], coupleOf(one, 2), [a, b, alone], coupleOf(one, 7)]);
    assert.deepEqual(found, [{ ...refOf("other" as WorkspaceId, 0), facet: alone }, refOf(one, 2), null, null]);
    assert.deepEqual(others, [[alone, a, b]]);
    assert.equal((asked[0]!["links"] as readonly string[]).length, 2);
  });

  it("end a run of what is new, and begin none", async () => {
    const { repeats, newKeys, asked } = aServer(held);
    newKeys.confirm(one);
    assert.deepEqual(await repeats(one, [coupleOf(one, 0)]), [refOf(one, 0)]);
    newKeys.confirm(one);
    assert.ok(!newKeys.isRun(one), "it was not all new");
    newKeys.confirm(one);
    assert.deepEqual(await repeats(one, [coupleOf(one, 0)]), [null]);
    assert.equal(asked.length, 1, "nobody looks in a run");
    assert.ok(newKeys.takeAll(coupleOf(one, 0)));
  });
});
