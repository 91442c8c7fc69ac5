import assert from "node:assert/strict";
import neo4j from "neo4j-driver";
import type { KeyId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { Evidence, Member } from "../../../core/identity/model.js";
import type { MemberPage } from "../../../core/identity/pages.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { BRING_OVER, STAGE } from "../../../graph/neo4j/cypher/staging.js";
import { createNeo4jGraph, type GraphOptions } from "../../../graph/neo4j/graph.js";
import { openClient } from "../../../graph/neo4j/open.js";
import { STAY } from "../../../graph/neo4j/cypher/undo.js";
import { eventually } from "../../support/eventually.js";
import { aWorkspace, anAssertion, anIdentifier, step } from "../../support/identity/fixtures.js";
import { makeLargeProfile, type LargeProfile } from "../../support/service/profiles/large-profile.js";
import {
  neo4jUnderTest,
  openCypher,
  throwError,
  withFaults,
  type Faults,
} from "../../support/servers/neo4j-backend.js";
import { inPages } from "../../support/house/pages.js";
import { SEED } from "../../support/random/random.js";
import { tombOf } from "../../support/builders.js";

const SIZE = 60;
/** A profile of that size is too large to be moved in one step. */
const NARROW: GraphOptions = { tombOf, movesMax: 25, tidyAfterMs: 5 };
const NEVER_MS = 600_000;
const evidence: Evidence = { source: "unlink", keyId: "key0000001" as KeyId, at: 1_700_000_000_000 };

describe("A profile in Neo4j that is too large to be moved in one step", () => {
  const { rows, close } = openCypher(neo4jUnderTest());
  const opened: IdentityGraph[] = [];
  const open = async (options: GraphOptions = NARROW, faults: Faults = {}): Promise<IdentityGraph> => {
    const client = await openClient({ ...neo4jUnderTest(), onError: throwError });
    const port = createNeo4jGraph(withFaults(client, faults), options);
    opened.push(port);
    return port;
  };
  after(async () => {
    for (const port of opened) await port.close();
    await close();
  });

  const annexesOf = async (workspace: WorkspaceId): Promise<number> =>
    (await rows("MATCH (x:Annex {ws: $workspace}) RETURN count(x)", { workspace }))[0]![0] as number;
  const broughtOver = (workspace: WorkspaceId) =>
    eventually("all is brought over", async () => (await annexesOf(workspace)) === 0);
  /** Everybody is where the profile is, and nothing tells of what was. */
  const assertPlain = async (workspace: WorkspaceId): Promise<void> => {
    const odd = `MATCH (i:Identifier {ws: $workspace})-[o:OF]->(p)
      WHERE NOT p:Profile OR o.hub <> p.hub OR p.annexed IS NOT NULL RETURN count(*)`;
    assert.deepEqual(await rows(odd, { workspace }), [[0]]);
  };

  interface Scene {
    readonly workspace: WorkspaceId;
    readonly one: LargeProfile;
    readonly other: LargeProfile;
    readonly merge: () => Promise<unknown>;
    readonly part: () => Promise<unknown>;
    /** In the workspace queue of the process that parts. */
    readonly join: (value: string) => Promise<unknown>;
    /** Members that are read of one, and what four of both are told of their profile's size. */
    readonly sizes: () => Promise<readonly number[]>;
  }
  async function sceneOn(graph: IdentityGraph): Promise<Scene> {
    const workspace = aWorkspace();
    const make = (name: string) => makeLargeProfile(graph, workspace, { name, size: SIZE, chain: 5, seed: SEED });
    const [one, other] = [await make("one"), await make("other")];
    const identity = createIdentity({ graph, timeoutMs: 8_000, longTimeoutMs: 60_000 });
    const ends = [one.identifierAt(3), other.identifierAt(SIZE - 1)] as const;
    const ids = [one.uids[0]!, other.uids[0]!, one.uids[SIZE - 1]!, other.uids[7]!];
    return {
      workspace,
      one,
      other,
      merge: () => step(graph, workspace, anAssertion(...ends)),
      part: () => identity.unlink(workspace, { from: ends[0], to: ends[1], forbid: false }, evidence),
      join: (value) => identity.assert(workspace, anAssertion(anIdentifier(value))),
      sizes: async () => [
        await membersOf(graph, workspace, ids[0]!),
        ...(await Promise.all(ids.map(async (id) => (await graph.resolve(workspace, id))!.size))),
      ],
    };
  }
  async function membersOf(graph: IdentityGraph, workspace: WorkspaceId, id: ProfileId): Promise<number> {
    const found = await inPages<Member, MemberPage["after"]>(
      7,
      (page) => graph.members(workspace, id, page),
      ({ uid }) => uid,
    );
    assert.equal(new Set(found.map(({ uid }) => uid)).size, found.length, "each once");
    return found.length;
  }
  const WHOLE = [2 * SIZE, 2 * SIZE, 2 * SIZE, 2 * SIZE, 2 * SIZE];
  const APART = [SIZE, SIZE, SIZE, SIZE, SIZE];

  it("is merged at once: all that is read of it is one profile, also while it is brought over", async () => {
    const scene = await sceneOn(await open({ ...NARROW, tidyAfterMs: NEVER_MS }));
    await scene.merge();
    assert.ok((await annexesOf(scene.workspace)) > 0);
    assert.deepEqual(await scene.sizes(), WHOLE);
    // Another process finds what this one leaves.
    const other = await open({ ...NARROW, movesMax: 1 });
    while ((await annexesOf(scene.workspace)) > 0)
      assert.equal(await membersOf(other, scene.workspace, scene.other.profileId), 2 * SIZE);
    assert.deepEqual(await scene.sizes(), WHOLE);
    await assertPlain(scene.workspace);
  });

  it("is brought over once the time is up for which a killed process held its members, also after an early start", async () => {
    const scene = await sceneOn(await open({ ...NARROW, tidyAfterMs: NEVER_MS }));
    await scene.merge();
    const { workspace } = scene;
    const [held] = await rows("MATCH (x:Annex {ws: $workspace}) SET x.until = timestamp() + 2000 RETURN count(*)", {
      workspace,
    });
    let looks = 0;
    await open(NARROW, {
      run: (go) => async (statement, q) => {
        const found = await go(statement, q);
        if (statement === BRING_OVER && q["ws"] === workspace) looks += 1;
        return found;
      },
    });
    await eventually("the new process has looked", () => Promise.resolve(looks > 0));
    assert.deepEqual([await annexesOf(workspace)], held);
    await broughtOver(workspace);
    assert.deepEqual(await scene.sizes(), WHOLE);
    await assertPlain(workspace);
  });

  it("falls apart in one step after its members were staged, and leaves nothing behind", async () => {
    const scene = await sceneOn(await open());
    await scene.merge();
    await scene.part();
    assert.deepEqual(await scene.sizes(), APART);
    await broughtOver(scene.workspace);
    assert.deepEqual(await scene.sizes(), APART);
    await assertPlain(scene.workspace);
  });

  it("stays whole when the step fails for which members were staged, and they come back", async () => {
    let isFailing = true;
    const failing: Faults = {
      run: (go) => async (statement, q) => {
        if (isFailing && statement === STAY) throw new Error("a fault of ours");
        return go(statement, q);
      },
    };
    const scene = await sceneOn(await open(NARROW, failing));
    await scene.merge();
    await assert.rejects(scene.part(), /a fault of ours/);
    assert.deepEqual(await scene.sizes(), WHOLE);
    await broughtOver(scene.workspace);
    await assertPlain(scene.workspace);
    isFailing = false;
    await scene.part();
    assert.deepEqual(await scene.sizes(), APART);
  });

  it("takes in who joins either part between all steps, and stages nobody twice", async () => {
    let joining: (() => Promise<unknown>)[] = [];
    let stagings = 0;
    const between: Faults = {
      run: (go) => async (statement, q) => {
        const found = await go(statement, q);
        if (statement === STAGE) stagings += 1;
        return found;
      },
      commit: (go) => async () => {
        await go();
        if (stagings > 0) await joining.shift()?.();
      },
    };
    const scene = await sceneOn(await open(NARROW, between));
    await scene.merge();
    const others = await open();
    joining = [scene.other, scene.one, scene.other].map(
      (profile, n) => () =>
        step(others, scene.workspace, anAssertion(profile.identifierAt(2), anIdentifier(`late-${n}`))),
    );
    await scene.part();
    assert.equal(joining.length, 0, "all joined meanwhile");
    assert.deepEqual(await scene.sizes(), [SIZE + 1, SIZE + 1, SIZE + 2, SIZE + 1, SIZE + 2]);
    assert.equal(stagings, Math.ceil(SIZE / 25) + 1, "three portions, and those who joined the part");
    await broughtOver(scene.workspace);
    await assertPlain(scene.workspace);
  });

  it("lets others of the same process write between the portions that are staged", async () => {
    const order: string[] = [];
    let joining: (value: string) => Promise<unknown> = () => Promise.resolve();
    let portions = 0;
    let onRead = (): void => undefined;
    const between: Faults = {
      // After its look without a lock a call stands in the queue.
      read: (go) => async (statement, q) => {
        const found = await go(statement, q);
        setImmediate(onRead);
        return found;
      },
      run: (go) => async (statement, q) => {
        const found = await go(statement, q);
        if (statement !== STAGE) return found;
        const name = String((portions += 1));
        order.push(`portion ${name}`);
        const isWaiting = new Promise<void>((resolve) => (onRead = resolve));
        void joining(name).then(() => order.push(`other ${name}`));
        await isWaiting;
        return found;
      },
    };
    const scene = await sceneOn(await open(NARROW, between));
    await scene.merge();
    joining = scene.join;
    await scene.part();
    order.push("parted");
    const others = [1, 2, 3].map((n) => [`portion ${n}`, `other ${n}`]);
    assert.deepEqual(order, [...others.flat(), "parted"]);
    assert.deepEqual(await scene.sizes(), APART);
  });

  it("is refused, without another try, what is too large for the server's memory", async () => {
    let tries = 0;
    const tooLarge: Faults = {
      run: (go) => async (statement, q) => {
        if (statement !== STAY) return go(statement, q);
        tries += 1;
        throw new neo4j.Neo4jError("", "Neo.TransientError.General.MemoryPoolOutOfMemoryError", "", "");
      },
    };
    const scene = await sceneOn(await open(NARROW, tooLarge));
    await scene.merge();
    await assert.rejects(scene.part(), { code: "unavailable", message: /too large for the memory/ });
    assert.equal(tries, 1);
    assert.deepEqual(await scene.sizes(), WHOLE);
  });

  it("is brought over in the end, whatever fails on the way", async () => {
    let failures = 0;
    const failing: Faults = {
      run: (go) => async (statement, q) => {
        if (statement !== BRING_OVER || failures >= 4) return go(statement, q);
        failures += 1;
        throw new Error("a fault of ours");
      },
    };
    const scene = await sceneOn(await open(NARROW, failing));
    await scene.merge();
    await broughtOver(scene.workspace);
    assert.equal(failures, 4);
    assert.deepEqual(await scene.sizes(), WHOLE);
  });
});
