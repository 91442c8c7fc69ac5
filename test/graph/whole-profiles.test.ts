import assert from "node:assert/strict";
import { isUnavailable, type AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import { LINKS_BYTES_MAX, type PathLink } from "../../core/identity/api.js";
import { newId, type ChangeId, type ProfileId, type Uid, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createIdentity } from "../../graph/identity.js";
import { createNeo4jGraph } from "../../graph/neo4j/graph.js";
import type { Client } from "../../graph/neo4j/client.js";
import { LOCK, LOOK } from "../../graph/neo4j/cypher/writes.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE } from "../support/identity/fixtures.js";
import { ann, bob } from "../support/identity/snapshots.js";
import { tombOf } from "../support/builders.js";

/** Members of profiles that are said to be large come when the test lets them. */
function aGraphWithLargeProfiles() {
  const memory = createMemoryGraph(createMemoryState());
  const large = new Set<ProfileId>();
  const held: (() => void)[] = [];
  const said = { reads: 0 };
  const graph: IdentityGraph = {
    ...memory,
    read: async (workspace, want) => {
      const seen = await memory.read(workspace, want);
      const components = [...seen.components].map(
        ([component, one]) => [component, large.has(one.profileId) ? { ...one, size: 20_000 } : one] as const,
      );
      return { ...seen, components: new Map(components) };
    },
    members: async (workspace, profileId, page) => {
      said.reads += 1;
      if (large.has(profileId)) await new Promise<void>((go) => held.push(go));
      return memory.members(workspace, profileId, page);
    },
  };
  return {
    identity: createIdentity({ graph, timeoutMs: 5_000 }),
    large,
    letGo: () => held.forEach((go) => go()),
    said,
  };
}

const linked = async (
  identity: ReturnType<typeof createIdentity>,
  workspace: WorkspaceId,
  ...named: readonly Identifier[]
): Promise<ProfileId> => (await identity.assert(workspace, anAssertion(...named))).profileId!;

describe("Work on whole profiles", () => {
  it("explains and unlinks a small profile while large ones are read, of its own workspace and of others", async () => {
    const { identity, large, letGo } = aGraphWithLargeProfiles();
    const [one, other] = [aWorkspace(), aWorkspace()];
    large.add(await linked(identity, one, ann, bob));
    const [x, y] = [anIdentifier("x"), anIdentifier("y")];
    for (const workspace of [one, other]) await linked(identity, workspace, x, y);
    const slow = [1, 2, 3, 4].map(() => identity.explain(one, ann, bob));
    for (const workspace of [one, other]) {
      assert.equal((await identity.explain(workspace, x, y)).connected, true);
      const { outcome } = await identity.unlink(workspace, { identifier: x }, EVIDENCE);
      assert.equal(outcome, "unlinked");
    }
    letGo();
    await new Promise((go) => setImmediate(go));
    for (let left = slow.length; left > 0; left--) {
      letGo();
      await new Promise((go) => setTimeout(go, 1));
    }
    for (const answer of slow) assert.equal((await answer).connected, true);
  });

  it("refuses a workspace that has too many large ones waiting, and no other", async () => {
    const { identity, large } = aGraphWithLargeProfiles();
    const [one, other] = [aWorkspace(), aWorkspace()];
    for (const workspace of [one, other]) large.add(await linked(identity, workspace, ann, bob));
    const answers = Array.from({ length: 1_060 }, () =>
      identity.explain(one, ann, bob).then(
        () => "answered",
        (error: unknown) => (isUnavailable(error) ? "refused" : error),
      ),
    );
    assert.deepEqual(new Set(await Promise.all(answers.slice(1_010))), new Set(["refused"]));
    const outcome = await Promise.race([
      identity.explain(other, ann, bob).catch((error: unknown) => error),
      later(50, "it is read"),
    ]);
    assert.equal(outcome, "it is read");
  });
});

describe("A path of many links or long values", () => {
  const bytesOf = (links: readonly PathLink[]): number => Buffer.byteLength(JSON.stringify(links));
  const longest = "😀".repeat(1_020);

  /** A ring, so that the two ends of one link are joined by all others too. */
  async function aRing(size: number, suffix: string) {
    const graph = createMemoryGraph(createMemoryState());
    const identity = createIdentity({ graph, timeoutMs: 5_000 });
    const workspace = aWorkspace();
    const all = Array.from({ length: size }, (_, n) => anIdentifier(`${n}${suffix}`));
    for (const [n, one] of all.entries()) await linked(identity, workspace, one, all[(n + 1) % size]!);
    return { identity, workspace, from: all[0]!, to: all.at(-1)! };
  }

  for (const [what, size, suffix] of [
    ["many links", 600, ""],
    ["long values", 20, longest],
  ] as const)
    it(`is told from its beginning, up to a bound, and as partial: ${what}`, async () => {
      const { identity, workspace, from, to } = await aRing(size, suffix);
      const isBeginning = (links: readonly PathLink[]): void => {
        assert.ok(bytesOf(links) <= LINKS_BYTES_MAX + links.length + 2 && bytesOf(links) > LINKS_BYTES_MAX / 2);
        assert.ok([links[0]!.from, links[0]!.to].some(({ value }) => value === from.value));
      };
      const pair = { from, to, forbid: true };
      await assert.rejects(
        () => identity.unlink(workspace, pair, EVIDENCE),
        (error: unknown) => {
          const { stillJoinedBy, isPartial } = (error as AppError).members!;
          isBeginning(stillJoinedBy as readonly PathLink[]);
          return isPartial === true;
        },
      );
      const undone = await identity.unlink(workspace, { ...pair, forbid: false }, EVIDENCE);
      isBeginning(undone.stillJoinedBy!);
      const { path, bridges, isPartial } = await identity.explain(workspace, from, to);
      for (const links of [path!, bridges!]) isBeginning(links);
      assert.deepEqual([undone.isPartial, isPartial], [true, true]);
    });

  it("is told whole, and as such, when it is short", async () => {
    const { identity, workspace, from, to } = await aRing(5, longest);
    const { stillJoinedBy, isPartial } = await identity.unlink(workspace, { from, to, forbid: false }, EVIDENCE);
    const explained = await identity.explain(workspace, from, to);
    assert.deepEqual(
      [stillJoinedBy!.length, isPartial, explained.path!.length, explained.isPartial],
      [4, false, 4, false],
    );
  });
});

const later = <T>(ms: number, answer: T): Promise<T> => new Promise((go) => setTimeout(() => go(answer), ms));

describe("Reads of identity on Neo4j", () => {
  /**
   * A read without a lock that met one side before a merge and the other behind it, or missed one that just moves; behind the lock
   * both are one.
   */
  function aServerThatMerges(what: "torn" | "missed") {
    const workspace = aWorkspace();
    const [from, to] = [newId<Uid>(), newId<Uid>()];
    const [before, after] = [newId<ProfileId>(), newId<ProfileId>()];
    const asked: string[] = [];
    const look = (statement: string) => {
      asked.push(statement);
      const isUnsure = !asked.includes(LOCK);
      const first = [0, from, ...(isUnsure ? [before, 1] : [after, 2])];
      const found = [first, [1, to, after, 2]].slice(isUnsure && what === "missed" ? 1 : 0);
      return [[found, [0]]];
    };
    const members = [from, to].map((uid, n) => [uid, "user_id", n === 0 ? "ann" : "bob", false]);
    const link = [from, to, newId<ChangeId>(), "identify", EVIDENCE.keyId, EVIDENCE.at];
    const client: Client = {
      read: async (statement) => {
        if (statement === LOOK) return look(statement);
        const isMembers = statement.includes("m.ns, m.value");
        if (statement.startsWith("MATCH (:Annex)")) return [];
        if (!statement.includes("AS found")) return [[2, 1, null, ["hub"]]];
        return [[2, 1, null, ["hub"], null, 2, isMembers ? members : [link]]];
      },
      write: () => Promise.reject(new Error("nothing is written")),
      begin: async () => ({
        run: async (statement) => (statement === LOCK ? (asked.push(LOCK), [[1]]) : look(statement)),
        commit: async () => undefined,
        rollback: async () => undefined,
      }),
      close: async () => undefined,
    };
    return {
      identity: createIdentity({ graph: createNeo4jGraph(client, { tombOf }), timeoutMs: 5_000 }),
      asked,
      workspace,
    };
  }

  it("never say that linked identifiers are apart because they met them before and after a merge", async () => {
    const { identity, asked, workspace } = aServerThatMerges("torn");
    const { connected, path } = await identity.explain(workspace, ann, bob);
    assert.deepEqual([connected, path?.length], [true, 1]);
    assert.ok(asked.includes(LOCK), "the lock had the word");
  });

  it("say unknown only behind the lock", async () => {
    const { identity, asked, workspace } = aServerThatMerges("missed");
    const found = await identity.lookup(workspace, [ann, bob]);
    assert.deepEqual(
      found.map((one) => one?.size),
      [2, 2],
    );
    assert.deepEqual(asked, [LOOK, LOCK, LOOK]);
  });

  it("take no lock for identifiers that are found, each in a profile of its own", async () => {
    const { identity, asked, workspace } = aServerThatMerges("torn");
    assert.equal((await identity.lookup(workspace, [ann, bob])).length, 2);
    assert.deepEqual(asked, [LOOK]);
  });
});
