import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "../../core/database.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import { newId, type ChangeId, type EventId, type Uid, type WorkspaceId } from "../../core/ids.js";
import { pairKey, type Evidence } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createSqliteGraph } from "../../graph/sqlite/graph.js";
import { GRAPH_MIGRATIONS } from "../../graph/sqlite/schema.js";
import { migrate } from "../../store/embedded/schema.js";
import {
  aWorkspace,
  anAssertion,
  anIdentifier,
  EVIDENCE,
  openTestDatabase,
  step,
} from "../support/identity/fixtures.js";
import { giveBack, takeApart } from "../support/identity/plans.js";
import { ALL, ann, bob, cat, hostileValues, NEWEST, wanting, wantingRules } from "../support/identity/snapshots.js";

/** Writes rows as the first step's own code did. */
function createOldGraph(database: Database) {
  const prepare = (sql: string) => database.prepare(sql);
  const changes = prepare("INSERT INTO changes (change_id, ws, record) VALUES (?, ?, ?)");
  const components = prepare("INSERT INTO components (ws, profile_id, size) VALUES (?, ?, ?)");
  const identifiers = prepare("INSERT INTO identifiers (key, uid, component) VALUES (?, ?, ?)");
  const links = prepare("INSERT INTO links (a, b, forward, change) VALUES (?, ?, ?, ?)");
  const rows = new Map<string, number>();
  const nameOf = (workspace: WorkspaceId, one: Identifier): string => identifierKey(workspace, one);
  return {
    profile: (workspace: WorkspaceId, members: readonly (readonly [Identifier, Uid])[]) => {
      const component = components.run([workspace, members[0]![1], members.length]).lastInsertRowid;
      for (const [one, uid] of members) {
        const row = identifiers.run([Buffer.from(nameOf(workspace, one)), uid, component]).lastInsertRowid;
        rows.set(nameOf(workspace, one), row);
      }
    },
    change: (
      workspace: WorkspaceId,
      named: readonly Identifier[],
      evidence: Evidence,
      { outcome, before, after }: { readonly outcome: string; readonly before: readonly Uid[]; readonly after: Uid },
      pairs: readonly (readonly [Identifier, Identifier])[] = [],
    ): ChangeId => {
      const changeId = newId<ChangeId>();
      const record = { at: evidence.at, evidence, identifiers: named, outcome, before, after };
      const row = changes.run([changeId, workspace, Buffer.from(JSON.stringify(record))]).lastInsertRowid;
      for (const pair of pairs) {
        const [from, to] = pair.map((one) => rows.get(nameOf(workspace, one))!) as [number, number];
        links.run(from < to ? [from, to, 1, row] : [to, from, 0, row]);
      }
      return changeId;
    },
  };
}

describe("A graph that the first step's tables hold", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "onym-graph-"));
  const [workspace, other] = [aWorkspace(), aWorkspace()];
  const strange = hostileValues(other).map((value, i) => anIdentifier(value, i % 2 === 0 ? "email" : "ns.x_1-y"));
  const uids = [ann, bob, cat, ...strange].map(() => newId<Uid>());
  const [a, b, c] = uids as [Uid, Uid, Uid];
  const evidences: readonly Evidence[] = [
    EVIDENCE,
    { source: newId<EventId>(), keyId: EVIDENCE.keyId, at: 1_600_000_000_123 },
    { source: "alias", keyId: EVIDENCE.keyId, at: 1_650_000_000_000 },
  ];
  let made: ChangeId[];
  let database: Database;
  let graph: IdentityGraph;

  before(async () => {
    const file = path.join(folder, "onym.db");
    const first = openTestDatabase(file);
    migrate(first, "graph", GRAPH_MIGRATIONS.slice(0, 1));
    await first.write(() => {
      const old = createOldGraph(first);
      // ann and bob were one person each, and became one; the strange ones came one by one to cat.
      old.profile(workspace, [
        [ann, a],
        [bob, b],
      ]);
      old.profile(
        workspace,
        [cat, ...strange].map((one, i) => [one, uids[i + 2]!] as const),
      );
      old.profile(other, [[ann, newId<Uid>()]]);
      made = [
        old.change(workspace, [ann], EVIDENCE, { outcome: "created", before: [], after: a }),
        old.change(workspace, [bob], EVIDENCE, { outcome: "created", before: [], after: b }),
        old.change(workspace, [bob, ann], evidences[1]!, { outcome: "merged", before: [a, b], after: a }, [[bob, ann]]),
        ...strange.map((one) =>
          old.change(workspace, [cat, one], evidences[2]!, { outcome: "linked", before: [c], after: c }, [[cat, one]]),
        ),
        // These are about profiles whose members they do not name.
        old.change(workspace, [strange[0]!], EVIDENCE, { outcome: "linked", before: [a], after: newId<Uid>() }),
        old.change(workspace, [strange[0]!], EVIDENCE, { outcome: "linked", before: [], after: b }),
      ];
      old.change(other, [ann], EVIDENCE, { outcome: "created", before: [], after: newId<Uid>() });
    });
    await first.close();
    database = openTestDatabase(file);
    migrate(database, "graph", GRAPH_MIGRATIONS);
    graph = createSqliteGraph({ database });
  });
  after(async () => {
    await graph.close();
    await database.close();
    rmSync(folder, { recursive: true });
  });

  it("has its profiles, with the count of each namespace", async () => {
    const { identifiers, components, linked, removed } = await graph.read(
      workspace,
      wantingRules(wanting(workspace, ann, bob, cat, ...strange), ["email"]),
    );
    assert.deepEqual(
      [identifiers.size, components.size, linked.size, removed.size],
      [uids.length, 2, strange.length + 1, 0],
    );
    for (const { unlinkedAt, isShared } of identifiers.values())
      assert.deepEqual([unlinkedAt, isShared], [null, false]);
    assert.equal(identifiers.get(identifierKey(workspace, cat))!.touched.length, Math.ceil(strange.length / 2));
    const profiles = [...components.values()].map(({ counts, forbidden, size }) => [
      Object.fromEntries(counts),
      forbidden,
      size,
    ]);
    const half = Math.ceil(strange.length / 2);
    assert.deepEqual(profiles, [
      [{ user_id: 2 }, [], 2],
      [{ user_id: 1, email: half, "ns.x_1-y": strange.length - half }, [], strange.length + 1],
    ]);
  });

  it("has its records, one profile after each", async () => {
    const change = (await graph.findChange(workspace, made[2]!))!;
    assert.deepEqual(change, {
      changeId: made[2],
      at: evidences[1]!.at,
      evidence: evidences[1],
      identifiers: [bob, ann],
      outcome: "merged",
      before: [a, b],
      after: [a],
      dropped: [],
      rule: null,
      reverts: null,
    });
    assert.equal((await graph.findChange(workspace, made.at(-3)!))!.identifiers[1]!.value, strange.at(-1)!.value);
    const idsOf = async (outcome: "created" | "linked" | null) =>
      (await graph.changes(workspace, outcome, NEWEST)).map(({ changeId }) => changeId);
    assert.deepEqual(await idsOf(null), made.toReversed());
    assert.deepEqual(await idsOf("created"), made.slice(0, 2).toReversed());
    assert.deepEqual(await idsOf("linked"), made.slice(3).toReversed());
  });

  it("has its links, with their evidence", async () => {
    const [link, ...more] = await graph.links(workspace, a, ALL);
    assert.deepEqual([link, more], [{ from: b, to: a, changeId: made[2], evidence: evidences[1] }, []]);
    const links = await graph.links(workspace, c, ALL);
    assert.deepEqual(
      links.map(({ to, changeId }) => [to, changeId]),
      uids.slice(3).map((uid, i) => [uid, made[i + 3]]),
    );
    const record = (await graph.findChange(workspace, made[5]!))!;
    const pair = [cat, strange[2]!].map((one) => identifierKey(workspace, one));
    assert.deepEqual(await graph.linksOfChange(workspace, record), [
      { pair, changeId: made[5], by: made[5], isActive: true },
    ]);
  });

  it("has the history of every profile and identifier", async () => {
    const told = async (uid: Uid) =>
      (await graph.history(workspace, uid, NEWEST)).map(({ changeId }) => changeId).toReversed();
    const last = made.slice(-2) as [ChangeId, ChangeId];
    assert.deepEqual(await told(a), [...made.slice(0, 3), ...last]);
    assert.deepEqual(await told(c), made.slice(3));
    await takeApart(graph, workspace, [[bob, ann]], [[ann], [bob]]);
    assert.deepEqual(await told(a), [made[0], made[2], last[0]], "also of the parts that it falls into");
    assert.deepEqual(await told(b), [made[1], made[2], last[1]]);
    await giveBack(graph, workspace, [ann, bob]);
  });

  it("takes new changes", async () => {
    const [first, second] = await step(graph, workspace, anAssertion(ann, cat), anAssertion(ann, bob));
    assert.deepEqual([first!.outcome, second!.outcome], ["merged", "unchanged"]);
    assert.equal((await graph.resolve(workspace, c))!.size, uids.length);
    assert.deepEqual(
      database.read(() => database.prepare("PRAGMA foreign_key_check").all([])),
      [],
    );
    const { linked } = await graph.read(workspace, wanting(workspace, ann, cat));
    assert.ok(linked.has(pairKey(identifierKey(workspace, ann), identifierKey(workspace, cat))));
  });

  it("is brought up to date once", () => {
    migrate(database, "graph", GRAPH_MIGRATIONS);
    const [counted] = database.read(() => database.prepare("SELECT count(*) FROM change_subjects").all([]));
    assert.ok(Number(counted![0]) > made.length);
  });
});
