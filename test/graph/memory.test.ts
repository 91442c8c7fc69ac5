import assert from "node:assert/strict";
import { isUnavailable } from "../../core/errors.js";
import type { Identity } from "../../core/identity/api.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createIdentity } from "../../graph/identity.js";
import { createMemory, type Memory } from "../../graph/scheduling/memory.js";
import { aWorkspace, anAssertion, anIdentifier, EVIDENCE } from "../support/identity/fixtures.js";
import { createMemoryGraph, createMemoryState } from "../support/memory/graph.js";

const here = (): { expired: boolean } => ({ expired: false });
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Work that takes so much at a time, and ends when the test says so. */
function aHolder(memory: Memory, ...portions: readonly number[]) {
  let [runs, letGo] = [0, (): void => undefined];
  const waits = new Promise<void>((resolve) => (letGo = resolve));
  const ended = memory(here(), async (share) => {
    runs += 1;
    for (const bytes of portions) {
      share.take(bytes);
      await later(1);
    }
    await waits;
  });
  return { ended, letGo, runs: () => runs };
}

describe("Memory for whole profiles", () => {
  it("gives what there is; who finds no room begins again once another gave its share back", async () => {
    const memory = createMemory(100);
    const [one, other, small] = [aHolder(memory, 60), aHolder(memory, 60), aHolder(memory, 40)];
    let isEnded = false;
    void other.ended.then(() => (isEnded = true));
    for (const { letGo } of [other, small]) letGo();
    await small.ended;
    await later(60);
    assert.deepEqual([isEnded, other.runs()], [false, 1]);
    one.letGo();
    await other.ended;
    assert.deepEqual([one.runs(), other.runs()], [1, 2]);
  });

  it("lets no two wait for each other that each hold some", async () => {
    const memory = createMemory(100);
    const both = [aHolder(memory, 50, 40), aHolder(memory, 50, 40)];
    for (const { letGo } of both) letGo();
    await Promise.all(both.map(({ ended }) => ended));
    assert.equal(
      both.reduce((sum, { runs }) => sum + runs(), 0),
      3,
    );
  });

  it("refuses what is more than all there is, also bit by bit", async () => {
    const memory = createMemory(100);
    await assert.rejects(aHolder(memory, 101).ended, isUnavailable);
    await assert.rejects(aHolder(memory, 60, 60).ended, isUnavailable);
    const whole = aHolder(memory, 100);
    whole.letGo();
    await whole.ended;
  });

  it("does not wait when nobody waits for the call, and takes the share back however the work ends", async () => {
    const memory = createMemory(100);
    const one = aHolder(memory, 60);
    const call = here();
    const waiting = assert.rejects(
      memory(call, async (share) => share.take(60)),
      isUnavailable,
    );
    call.expired = true;
    await waiting;
    const broken = memory(here(), async (share) => {
      share.take(40);
      throw new Error("broken");
    });
    await assert.rejects(broken, /broken/);
    const rest = aHolder(memory, 40);
    for (const { letGo } of [one, rest]) letGo();
    await rest.ended;
    assert.equal(rest.runs(), 1);
  });

  it("counts once what a call holds when its work begins again", () =>
    createMemory(100)(here(), async (share) => {
      for (let round = 0; round < 3; round++) {
        share.restart();
        share.take(80);
      }
    }));
});

describe("An undo and an explain of profiles that take up the memory", () => {
  const people = [...Array(9).keys()].map((n) => anIdentifier(`p${n}`));
  const hub = anIdentifier("hub", "device_id");
  function aScene(profileBytesMax: number, state = createMemoryState()) {
    const memory = createMemoryGraph(state);
    const reads = { all: 0, atOnce: 0, atOnceMax: 0 };
    const graph: IdentityGraph = {
      ...memory,
      links: async (...asked) => {
        reads.all += 1;
        reads.atOnceMax = Math.max(reads.atOnceMax, (reads.atOnce += 1));
        await later(40);
        reads.atOnce -= 1;
        return memory.links(...asked);
      },
    };
    return { reads, identity: createIdentity({ graph, timeoutMs: 5_000, profileBytesMax }) };
  }
  const link = async (identity: Identity, workspace: WorkspaceId, others = people) => {
    for (const one of others) await identity.assert(workspace, anAssertion(hub, one));
  };
  /** With the bytes that ten members and nine links take; an undo takes more for each link that it removes. */
  const calls: readonly {
    readonly name: string;
    readonly call: (identity: Identity, workspace: WorkspaceId, others?: typeof people) => Promise<unknown>;
    readonly bytes: number;
    /** Reads of two at once, when there is room for one. */
    readonly reads: { readonly all: number; readonly atOnceMax: number };
  }[] = [
    {
      name: "explain",
      call: (identity, workspace, [one] = people) => identity.explain(workspace, one!, hub),
      bytes: 3_350,
      reads: { all: 2, atOnceMax: 1 },
    },
    {
      name: "unlink",
      call: (identity, workspace) => identity.unlink(workspace, { identifier: hub }, EVIDENCE),
      bytes: 10_550,
      reads: { all: 3, atOnceMax: 2 },
    },
  ];

  for (const { name, call, bytes, reads: expected } of calls) {
    it(`${name}: two at once wait for each other, and both are answered`, async () => {
      const both = [aWorkspace(), aWorkspace()];
      for (const [room, want] of [
        [2 * bytes, { all: 2, atOnceMax: 2 }],
        [bytes, expected],
      ] as const) {
        const { identity, reads } = aScene(room);
        for (const workspace of both) await link(identity, workspace);
        await Promise.all(both.map((workspace) => call(identity, workspace)));
        assert.deepEqual({ all: reads.all, atOnceMax: reads.atOnceMax }, want);
      }
    });

    it(`${name}: a profile that is too large is refused, and says so`, async () => {
      const { identity } = aScene(bytes - 100);
      const workspace = aWorkspace();
      await link(identity, workspace);
      await assert.rejects(
        () => call(identity, workspace),
        (error: unknown) => isUnavailable(error) && /too large/.test((error as Error).message),
      );
      assert.equal((await identity.lookup(workspace, [hub]))[0]!.size, 10, "nothing was taken apart");
    });
  }

  for (const { name, call } of [
    ...calls,
    {
      name: "revert",
      call: async (identity: Identity, workspace: WorkspaceId) => {
        const [{ changeId } = {}] = await identity.changes(workspace, "unlinked", { limit: 1, before: null });
        return identity.revert(workspace, changeId!, EVIDENCE);
      },
    },
  ])
    it(`${name}: a profile for which there is room is too large when its values are as long as they may be`, async () => {
      const longest = people.map((_, n) => anIdentifier(`${n}${"😀".repeat(1_023)}`));
      for (const others of [people, longest]) {
        const state = createMemoryState();
        const workspace = aWorkspace();
        const { identity } = aScene(1_000_000, state);
        await link(identity, workspace, others);
        if (name === "revert") await identity.unlink(workspace, { identifier: hub }, EVIDENCE);
        const asked = () => call(aScene(40_000, state).identity, workspace, others);
        if (others === people) await asked();
        else await assert.rejects(asked, /too large/);
      }
    });

  it("goes on with an undo that finds no room once it has written: one record, and newer links stay", async () => {
    const graph = createMemoryGraph(createMemoryState());
    const [workspace, neighbour] = [aWorkspace(), aWorkspace()];
    const other = createIdentity({ graph, timeoutMs: 20_000 });
    const say = (where: WorkspaceId, at: number, ...values: readonly string[]) =>
      other.assert(where, {
        identifiers: values.map((value) => (value === "hub" ? hub : anIdentifier(value))),
        evidence: { ...EVIDENCE, at },
      });
    for (let n = 0; n < 4; n += 1) await say(workspace, 900, "hub", `p${n}`);
    for (let n = 0; n < 29; n += 1) await say(neighbour, 900, "hub", `p${n}`);
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    let [removals, hasGrown] = [0, false];
    const crowded: IdentityGraph = {
      ...graph,
      links: async (where, ...rest) => {
        if (where === neighbour) await gate;
        return graph.links(where, ...rest);
      },
      update: async (where, want, decide) => {
        if (where === workspace && removals === 1 && !hasGrown) {
          hasGrown = true;
          await say(workspace, 1_500, "hub", "y");
          for (let n = 0; n < 30; n += 1) await say(workspace, 1_500, "y", `x${n}`);
          const pair = { from: anIdentifier("y"), to: anIdentifier("x0"), forbid: false };
          await other.unlink(workspace, pair, { ...EVIDENCE, source: "unlink", at: 1_600 });
          setTimeout(letGo, 100);
        }
        return graph.update(where, want, (...seen) => {
          const decided = decide(...seen);
          if ((decided.plan?.removes.length ?? 0) > 0) removals += 1;
          return decided;
        });
      },
    };
    const one = createIdentity({ graph: crowded, timeoutMs: 20_000, linksPerStep: 1, profileBytesMax: 20_000 });
    const held = one.explain(neighbour, hub, anIdentifier("p1"));
    await later(20);
    const { changeId } = await one.unlink(workspace, { identifier: hub }, { ...EVIDENCE, source: "unlink", at: 1_400 });
    await held;
    const records = await other.changes(workspace, "unlinked", { limit: 50, before: null });
    const ofHub = records.filter(({ identifiers }) => identifiers.length === 1);
    assert.deepEqual([ofHub.map((record) => record.changeId), hasGrown], [[changeId], true]);
    assert.equal((await other.lookup(workspace, [hub]))[0]!.size, 31, "what was linked since stays linked");
  });
});
