import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isUnavailable } from "../../core/errors.js";
import type { Assertion } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createIdentity } from "../../graph/identity.js";
import { aWorkspace, anAssertion, anIdentifier, lettersOf } from "../support/identity/fixtures.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";

/** The graph in memory, with a count of its calls, and an identity in front of it. */
function aBench(change: (graph: IdentityGraph) => Partial<IdentityGraph> = () => ({}), timeoutMs = 1_000) {
  const calls = { read: 0, repeats: 0, update: 0 };
  const memory = createMemoryGraph(createMemoryState());
  const counted: IdentityGraph = {
    ...memory,
    read: (workspace, want) => {
      calls.read += 1;
      return memory.read(workspace, want);
    },
    repeats: (workspace, sets) => {
      calls.repeats += 1;
      return memory.repeats(workspace, sets);
    },
    update: (...asked) => {
      calls.update += 1;
      return memory.update(...asked);
    },
  };
  const graph = { ...counted, ...change(counted) };
  return { calls, identity: createIdentity({ graph, timeoutMs }), workspace: aWorkspace() };
}

const outcomesOf = (results: readonly { readonly outcome: string }[]) => results.map(({ outcome }) => outcome);
const pairs = (...names: readonly string[]): readonly Assertion[] =>
  names.map((name) => anAssertion(...lettersOf(name)));
const silent = (): Promise<never> => new Promise(() => undefined);

describe("Identity", () => {
  it("answers a repeat from one read, without a step", async () => {
    const { calls, identity, workspace } = aBench();
    const created = await identity.assert(workspace, anAssertion("a", "b"));
    assert.deepEqual(calls, { read: 0, repeats: 1, update: 1 });
    const again = await identity.assert(workspace, anAssertion("b", "a"));
    assert.deepEqual(calls, { read: 0, repeats: 2, update: 1 });
    assert.notEqual(again.facet, created.facet, "each names its first identifier");
    assert.deepEqual(again, {
      profileId: created.profileId,
      outcome: "unchanged",
      mergedProfileIds: [],
      dropped: [],
      facet: again.facet,
      changeId: null,
      rule: null,
      refusedBy: null,
      before: [{ profileId: created.profileId, size: 2 }],
      after: [{ profileId: created.profileId, size: 2 }],
    });
  });

  it("takes the workspace queue when the read is in doubt", async () => {
    const { calls, identity, workspace } = aBench(() => ({ repeats: async (_, sets) => sets.map(() => null) }));
    const { profileId } = await identity.assert(workspace, anAssertion("a", "b"));
    const again = await identity.assert(workspace, anAssertion("a", "b"));
    assert.deepEqual([again.outcome, again.profileId], ["unchanged", profileId]);
    assert.equal(calls.update, 2);
  });

  it("asserts many as if one after the other, in one read and one step", async () => {
    const { calls, identity, workspace } = aBench();
    const results = await identity.assertAll(workspace, pairs("ab", "cd", "ab", "bc", "ad", "da"));
    assert.deepEqual(outcomesOf(results), ["created", "created", "unchanged", "merged", "linked", "unchanged"]);
    assert.deepEqual(calls, { read: 0, repeats: 1, update: 1 });
    assert.deepEqual(await identity.assertAll(workspace, []), []);
    assert.deepEqual(calls, { read: 0, repeats: 1, update: 1 });
  });

  it("answers many repeats from one read", async () => {
    const { calls, identity, workspace } = aBench();
    const first = await identity.assertAll(workspace, pairs("ab", "cd"));
    const again = await identity.assertAll(workspace, pairs("cd", "ab", "dc"));
    assert.deepEqual(outcomesOf(again), ["unchanged", "unchanged", "unchanged"]);
    assert.deepEqual(
      again.map(({ profileId }) => profileId),
      [1, 0, 1].map((i) => first[i]!.profileId),
    );
    assert.deepEqual(calls, { read: 0, repeats: 2, update: 1 });
  });

  it("reads many large repeats in several bounded reads, and answers each", async () => {
    const { calls, identity, workspace } = aBench();
    const large = Array.from({ length: 25 }, (_, n) =>
      anAssertion(...Array.from({ length: 20 }, (_, i) => `${n}-${i}`)),
    );
    await identity.assertAll(workspace, large);
    calls.repeats = 0;
    calls.update = 0;
    const again = await identity.assertAll(workspace, large);
    assert.deepEqual(new Set(outcomesOf(again)), new Set(["unchanged"]));
    assert.equal(again.length, large.length);
    assert.deepEqual(calls, { read: 0, repeats: 3, update: 0 });
  });

  it("lets a repeat behind a change see the change", async () => {
    const { identity, workspace } = aBench();
    const [ab, cd] = await identity.assertAll(workspace, pairs("ab", "cd"));
    const [before, merge, behind] = await identity.assertAll(workspace, pairs("cd", "ac", "cd"));
    assert.deepEqual(outcomesOf([before!, merge!, behind!]), ["unchanged", "merged", "unchanged"]);
    assert.equal(before!.profileId, cd!.profileId);
    assert.equal(behind!.profileId, ab!.profileId);
  });

  it("makes few dry runs and previews at once, so that those of one workspace leave the graph to others", async () => {
    let [underWay, most] = [0, 0];
    const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
      underWay += 1;
      most = Math.max(most, underWay);
      await sleep(2);
      underWay -= 1;
      return work();
    };
    const { identity, workspace } = aBench((graph) => ({
      update: (...asked) => slowly(() => graph.update(...asked)),
      previewErasure: (...asked) => slowly(() => graph.previewErasure(...asked)),
    }));
    const { profileId } = await identity.assert(workspace, anAssertion("a", "b"));
    const flood = Array.from({ length: 100 }, (_, n) =>
      n % 2 === 0
        ? identity.assert(workspace, anAssertion("a", "b"), { dryRun: true })
        : identity.previewErasure(workspace, { profileId: profileId! }),
    );
    let left = flood.length;
    for (const one of flood) void one.then(() => (left -= 1));
    const other = await identity.assert(aWorkspace(), anAssertion("a"), { dryRun: true });
    assert.deepEqual([other.outcome, left > 80], ["created", true], `behind all but ${left}`);
    await Promise.all(flood);
    assert.ok(most <= 6, `${most} at once`);
  });

  it("looks profiles up in the order asked, without creating any", async () => {
    const { calls, identity, workspace } = aBench();
    const { profileId, facet } = await identity.assert(workspace, anAssertion("a", "b"));
    const ask = (...values: readonly string[]) =>
      identity.lookup(
        workspace,
        values.map((value) => anIdentifier(value)),
      );
    const a = { profileId, size: 2, uid: facet };
    const [b, ...rest] = await ask("b", "a", "b");
    assert.deepEqual(rest, [a, b]);
    assert.deepEqual({ ...b, uid: facet }, a);
    assert.notEqual(b!.uid, facet);
    assert.equal(calls.update, 1, "what is found needs no step");
    assert.deepEqual(await ask("a", "x", "b"), [a, null, b]);
    assert.deepEqual(await ask("x"), [null]);
    assert.deepEqual(await identity.lookup(aWorkspace(), [anIdentifier("a")]), [null]);
  });

  it("resolves and lists members by retired ids too", async () => {
    const { identity, workspace } = aBench();
    const [kept, retired] = await identity.assertAll(workspace, pairs("a", "b"));
    await identity.assert(workspace, anAssertion("b", "a"));
    assert.deepEqual(await identity.resolve(workspace, retired!.profileId!), { profileId: kept!.profileId, size: 2 });
    const members = await identity.members(workspace, retired!.profileId!, { limit: 10, after: null });
    assert.deepEqual(
      members.map(({ identifier }) => identifier),
      [anIdentifier("a"), anIdentifier("b")],
    );
  });

  it("answers unavailable when the graph does not answer in time, whatever was asked", async () => {
    const asked = [anIdentifier("a")];
    const stuck = aBench(() => ({ read: silent, repeats: silent, resolve: silent, members: silent }), 5);
    const { identity, workspace } = stuck;
    const id = (await aBench().identity.assert(workspace, anAssertion("a"))).profileId!;
    await assert.rejects(identity.assert(workspace, anAssertion("a")), isUnavailable);
    await assert.rejects(identity.assertAll(workspace, pairs("ab")), isUnavailable);
    await assert.rejects(identity.lookup(workspace, asked), isUnavailable);
    await assert.rejects(identity.resolve(workspace, id), isUnavailable);
    await assert.rejects(identity.members(workspace, id, { limit: 1, after: null }), isUnavailable);
  });

  it("drops what waits in the workspace queue once its time is over", async () => {
    let release: (() => void) | undefined;
    const { identity, workspace } = aBench(
      (graph) => ({
        update: async (...asked) => {
          if (release === undefined) await new Promise<void>((resolve) => (release = resolve));
          return graph.update(...asked);
        },
      }),
      20,
    );
    const first = identity.assert(workspace, anAssertion("a"));
    const firstLate = assert.rejects(first, isUnavailable);
    await new Promise((resolve) => setImmediate(resolve));
    await assert.rejects(identity.assert(workspace, anAssertion("b")), isUnavailable);
    await firstLate;
    release!();
    await identity.assert(workspace, anAssertion("c"));
    const found = await identity.lookup(workspace, [anIdentifier("b"), anIdentifier("c")]);
    assert.deepEqual(
      found.map((profile) => profile?.size ?? null),
      [null, 1],
    );
  });

  it("passes an error of the graph on", async () => {
    const { identity, workspace } = aBench(() => ({ repeats: () => Promise.reject(new Error("broken")) }));
    await assert.rejects(identity.assert(workspace, anAssertion("a")), /broken/);
  });
});
