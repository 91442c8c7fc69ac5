import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../core/database.js";
import { AppError, isUnavailable } from "../../../core/errors.js";
import type { EventId, KeyId, WorkspaceId } from "../../../core/ids.js";
import type { Assertion, Plan, Source } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { rulesWith } from "../../support/house/pictures.js";
import { anIdentifier, aWorkspace, openGraphDatabase } from "../../support/identity/fixtures.js";
import { tombOf } from "../../support/builders.js";

const kiosk = anIdentifier("kiosk", "device_id");
const LOGINS = ["a", "b", "c", "d", "e"];
const NEWEST = { limit: 100, before: null };
const EVENT = "33333333-3333-4333-8333-333333333333" as EventId;

/** The identifiers are the kiosk and logins. */
const claimOf = (source: Source, at: number, ...logins: readonly string[]): Assertion => ({
  identifiers: [kiosk, ...logins.map((login) => anIdentifier(login))],
  evidence: { source, keyId: "key0000001" as KeyId, at },
});

/** A process ends when it would write its n-th plan with removals. */
function endingAt(graph: IdentityGraph, nth: number): IdentityGraph {
  let removals = 0;
  return {
    ...graph,
    update: (workspace, want, decide, turn) => {
      const ending: typeof decide = (...seen) => {
        const decided: { readonly plan: Plan | null } & ReturnType<typeof decide> = decide(...seen);
        if ((decided.plan?.removes.length ?? 0) > 0 && ++removals >= nth)
          throw new AppError("unavailable", "The process ended.");
        return decided;
      };
      return graph.update(workspace, want, ending, turn);
    },
  };
}

describe("A shared identifier that is linked to many", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "onym-take-back-"));
  let database: Database;
  let graph: IdentityGraph;
  let workspace: WorkspaceId;
  let clock = 0;
  before(() => {
    database = openGraphDatabase(path.join(folder, "onym.db"));
    graph = createSqliteGraph({ database, tombOf });
  });
  after(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    workspace = aWorkspace();
    clock = 1_000;
  });

  let limit: number | null = null;
  const process = (of = graph, linksPerStep = 2) =>
    createIdentity({
      graph: of,
      timeoutMs: 60_000,
      rulesOf: async () => rulesWith({ user_id: 1_000 }, limit),
      now: () => clock,
      linksPerStep,
    });
  const linked = async (): Promise<void> => {
    limit = null;
    for (const login of LOGINS) await process().assert(workspace, claimOf("identify", 900, login));
    limit = 3;
  };
  const takeBacks = async () =>
    (await process().changes(workspace, "unlinked", NEWEST)).filter(
      ({ evidence }) => evidence.source === "shared_identifier",
    );
  const sizeOfKiosk = async () => (await process().lookup(workspace, [kiosk]))[0]!.size;

  it("is unlinked by the next process when one ends between the mark and the first link", async () => {
    await linked();
    await assert.rejects(process(endingAt(graph, 1)).assert(workspace, claimOf("identify", 1_000, "f")), isUnavailable);
    assert.deepEqual([await sizeOfKiosk(), (await takeBacks()).length], [6, 0], "marked, and linked still");
    assert.equal((await process().sharedIdentifiers(workspace, { limit: 10, after: null })).members.length, 1);
    const result = await process().assert(workspace, claimOf("identify", 1_000, "f"));
    assert.deepEqual(result.dropped, [{ identifier: kiosk, rule: "shared_identifier" }]);
    assert.deepEqual([await sizeOfKiosk(), (await takeBacks()).length], [1, 1]);
  });

  for (const isAlone of [true, false])
    it(`is unlinked to the end by a repeat that names it ${isAlone ? "alone" : "with another"}`, async () => {
      for (const nth of [1, 2]) {
        workspace = aWorkspace();
        await linked();
        const ended = process(endingAt(graph, nth)).assert(workspace, claimOf("identify", 1_000, "f"));
        await assert.rejects(ended, isUnavailable);
        const { profileId } = (await process().lookup(workspace, [kiosk]))[0]!;
        const found = await process().lookup(
          workspace,
          LOGINS.map((login) => anIdentifier(login)),
        );
        const left = LOGINS[found.findIndex((one) => one!.profileId === profileId)]!;
        const repeat = claimOf(EVENT, 1_000, ...(isAlone ? [] : [left]));
        limit = null;
        assert.equal((await process().assert(workspace, repeat)).outcome, "unchanged", "the rule is off");
        limit = 3;
        const { dropped } = await process().assert(workspace, repeat);
        assert.deepEqual(dropped, isAlone ? [] : [{ identifier: kiosk, rule: "shared_identifier" }]);
        assert.deepEqual([await sizeOfKiosk(), (await takeBacks()).length], [1, nth]);
      }
    });

  it("is a plain repeat again once the limit is raised", async () => {
    await linked();
    await assert.rejects(process(endingAt(graph, 1)).assert(workspace, claimOf("identify", 1_000, "f")), isUnavailable);
    limit = 100;
    let updates = 0;
    const counted: IdentityGraph = {
      ...graph,
      update: (...asked) => {
        updates += 1;
        return graph.update(...asked);
      },
    };
    for (let n = 0; n < 3; n++) {
      const { outcome } = await process(counted).assert(workspace, claimOf("identify", 1_000, "a"));
      assert.equal(outcome, "unchanged");
    }
    assert.equal(updates, 1, "the first one takes the mark away");
  });

  it("loses the rest of its links to the next process when one ends in between, and reverts give all of them back", async () => {
    await linked();
    const before = (await process().lookup(workspace, [kiosk]))[0]!.profileId;
    await assert.rejects(process(endingAt(graph, 2)).assert(workspace, claimOf("identify", 1_000, "f")), isUnavailable);
    assert.equal((await takeBacks()).length, 1);
    assert.ok((await sizeOfKiosk()) > 1);
    await process().assert(workspace, claimOf(EVENT, 1_000, "g"));
    assert.equal(await sizeOfKiosk(), 1);
    limit = null;
    for (const { changeId } of await takeBacks())
      await process().revert(workspace, changeId, { ...claimOf("revert", 2_000).evidence });
    const [after] = await process().lookup(workspace, [kiosk]);
    assert.deepEqual([after!.size, after!.profileId], [6, before]);
  });

  it("is unlinked once by two processes that come upon it together", async () => {
    await linked();
    const [one, other] = [process(graph, Infinity), process(graph, Infinity)];
    const results = await Promise.all(
      ["f", "g", "h", "i"].map((login, n) =>
        (n % 2 === 0 ? one : other).assert(workspace, claimOf("identify", 1_000, login)),
      ),
    );
    assert.equal((await takeBacks()).length, 1);
    assert.equal(new Set(results.map(({ profileId }) => profileId)).size, 4);
    assert.equal(await sizeOfKiosk(), 1);
  });

  it("is not linked again by an event of before, also when the limit is off since", async () => {
    await linked();
    clock = 2_000;
    await process().assert(workspace, claimOf("identify", 2_000, "f"));
    limit = null;
    const old = await process().assert(workspace, claimOf(EVENT, 1_500, "a"));
    assert.deepEqual(old.dropped, [{ identifier: anIdentifier("a"), rule: "unlinked" }]);
    assert.equal(await sizeOfKiosk(), 1);
    await process().assert(workspace, claimOf(EVENT, 2_001, "a"));
    assert.equal(await sizeOfKiosk(), 2, "a later one does");
  });

  it("keeps an event that was received before from nothing else: the others are linked", async () => {
    await linked();
    clock = 2_000;
    await process().assert(workspace, claimOf("identify", 2_000, "f"));
    const late = await process().assert(workspace, claimOf(EVENT, 1_500, "a", "new"));
    assert.deepEqual(late.dropped, [{ identifier: kiosk, rule: "shared_identifier" }]);
    assert.equal((await process().lookup(workspace, [anIdentifier("a")]))[0]!.size, 2);
  });

  it("keeps no event from being folded when it is too large to be taken apart", async () => {
    await linked();
    const crowded = createIdentity({
      graph,
      timeoutMs: 60_000,
      rulesOf: async () => rulesWith({ user_id: 1_000 }, limit),
      profileBytesMax: 100,
    });
    const [result] = await crowded.assertAll(workspace, [claimOf(EVENT, 1_000, "new")]);
    assert.deepEqual(
      result!.dropped.map(({ rule }) => rule),
      ["shared_identifier"],
    );
    assert.notEqual(result!.facet, null);
    await assert.rejects(crowded.assert(workspace, claimOf("identify", 1_000, "newer")), isUnavailable);
    await process().assert(workspace, claimOf("identify", 1_000, "newest"));
    assert.equal((await process().lookup(workspace, [kiosk]))[0]!.size, 1, "who has room for it takes it apart");
  });

  it("keeps no event from being folded, nor those of others, while it takes long to be taken apart", async () => {
    await linked();
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const slow: IdentityGraph = {
      ...graph,
      members: async (...asked) => {
        await gate;
        return graph.members(...asked);
      },
    };
    const busy = createIdentity({
      graph: slow,
      timeoutMs: 200,
      longTimeoutMs: 60_000,
      rulesOf: async () => rulesWith({ user_id: 1_000 }, limit),
    });
    const other: Assertion = { ...claimOf(EVENT, 1_000), identifiers: [anIdentifier("other", "cookie_id")] };
    const results = await busy.assertAll(workspace, [claimOf(EVENT, 1_000, "new"), other]);
    assert.ok(results.every(({ facet }) => facet !== null));
    assert.equal(await sizeOfKiosk(), 6, "linked still");
    goOn();
    while ((await sizeOfKiosk()) > 1) await sleep(10);
    assert.equal((await takeBacks()).length, 1, "it went on");
  });

  it("tells of a fault that comes when no event waits any more", async () => {
    await linked();
    const broken: IdentityGraph = {
      ...graph,
      members: async () => {
        await sleep(100);
        throw new TypeError("a mistake");
      },
    };
    const rulesOf = async () => rulesWith({ user_id: 1_000 }, limit);
    const told = new Promise<unknown>((onLateFault) => {
      const busy = createIdentity({ graph: broken, timeoutMs: 200, longTimeoutMs: 60_000, rulesOf, onLateFault });
      void busy.assertAll(workspace, [claimOf(EVENT, 1_000, "new")]);
    });
    assert.ok((await told) instanceof TypeError);
  });

  it("is nobody's any more where it is erased meanwhile: what was asserted is answered", async () => {
    await linked();
    let isErased = false;
    const erasing: IdentityGraph = {
      ...graph,
      members: async (...asked) => {
        const keyId = "key0000001" as KeyId;
        const request = { target: { profileId: asked[1] }, keyId, suppress: false, revision: null };
        if (!isErased) await process().erase(workspace, request);
        isErased = true;
        return graph.members(...asked);
      },
    };
    const result = await process(erasing).assert(workspace, claimOf("identify", 1_000, "f"));
    assert.deepEqual([result.outcome, isErased], ["partial", true]);
    assert.equal((await process().lookup(workspace, [anIdentifier("f")]))[0]!.size, 1);
    assert.deepEqual(await process().lookup(workspace, [kiosk]), [null]);
  });

  it("names no profile as merged that it alone held in another", async () => {
    const cookie = (value: string) => anIdentifier(value, "cookie_id");
    const say = (at: number, ...identifiers: Assertion["identifiers"]) =>
      process().assert(workspace, { identifiers, evidence: claimOf("identify", at).evidence });
    limit = null;
    const { profileId: oldest } = await say(900, cookie("oldest"));
    const { profileId: first } = await say(900, anIdentifier("a"), kiosk);
    await say(900, anIdentifier("b"), kiosk);
    await say(900, cookie("c"), kiosk);
    limit = 1;
    const result = await say(1_000, cookie("c"), cookie("oldest"), kiosk);
    assert.deepEqual([result.profileId, result.mergedProfileIds], [oldest, []]);
    assert.equal((await process().resolve(workspace, first!))!.profileId, first);
  });
});
