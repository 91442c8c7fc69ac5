import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "../../core/database.js";
import { identifierKey } from "../../core/event/event.js";
import { newId, type Uid } from "../../core/ids.js";
import type { Change, ListedLink } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { createSqliteGraph } from "../../graph/sqlite/graph.js";
import { aWorkspace, anIdentifier, EVIDENCE, openGraphDatabase } from "../support/identity/fixtures.js";
import { aChange, record, takeApart, write } from "../support/identity/plans.js";
import { inPages, wanting, wantingRules } from "../support/identity/snapshots.js";
import { tombOf } from "../support/builders.js";

/** More than are sorted at once, so that a giant's links are read the other way. */
const OTHERS = 12_000;
const ROWS_MAX = 1_000;

describe("A profile of thousands on SQLite, all linked to one", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "onym-graph-"));
  const workspace = aWorkspace();
  const giant = anIdentifier("giant", "device_id");
  const others = Array.from({ length: OTHERS }, (_, i) => anIdentifier(`o${i}`));
  const everybody = [giant, ...others];
  const uids = everybody.map(() => newId<Uid>());
  const expected: ListedLink[] = [];
  let opened: Database;
  let graph: IdentityGraph;
  /** The most rows that one statement gave since it was set. */
  let mostRows = 0;

  before(async () => {
    opened = openGraphDatabase(path.join(folder, "onym.db"));
    const counting: Database = {
      ...opened,
      prepare: (sql) => {
        const statement = opened.prepare(sql);
        const all: typeof statement.all = (parameters) => {
          const rows = statement.all(parameters);
          mostRows = Math.max(mostRows, rows.length);
          return rows;
        };
        return { run: (parameters) => statement.run(parameters), get: (parameters) => statement.get(parameters), all };
      },
    };
    graph = createSqliteGraph({ database: counting, tombOf });
    const keys = everybody.map((one) => identifierKey(workspace, one));
    const made = aChange({ outcome: "linked", identifiers: [giant], after: [uids[0]!] });
    const links = others.map((_, i) => {
      // Every third points the other way.
      const [from, to] = i % 3 === 0 ? [i + 1, 0] : [0, i + 1];
      expected.push({
        from: uids[from]!,
        to: uids[to]!,
        changeId: made.changeId,
        evidence: EVIDENCE,
        restoredBy: null,
      });
      return { from: keys[from]!, to: keys[to]!, changeId: made.changeId, evidence: EVIDENCE, revives: false };
    });
    const counts = new Map([
      ["device_id", 1],
      ["user_id", OTHERS],
    ]);
    await write(graph, workspace, [], () => ({
      changes: [made],
      components: [{ into: null, absorbed: [], profileId: uids[0]!, size: everybody.length, counts, forbidden: [] }],
      creates: everybody.map((identifier, i) => ({ key: keys[i]!, identifier, uid: uids[i]!, component: 0 })),
      links,
    }));
    expected.sort((x, y) => (`${x.from} ${x.to}` < `${y.from} ${y.to}` ? -1 : 1));
  });
  after(async () => {
    await graph.close();
    await opened.close();
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    mostRows = 0;
  });

  it("gives its links in pages of any size, each once, by their ends", async () => {
    for (const limit of [997, 10_000, 100_000]) {
      const found: readonly ListedLink[] = await inPages(limit, OTHERS, (last: ListedLink | undefined) =>
        graph.links(workspace, uids[77]!, { limit, after: last ?? null }),
      );
      assert.deepEqual(found, expected, `pages of ${limit}`);
    }
    assert.ok(mostRows <= ROWS_MAX, `${mostRows} rows at once`);
  });

  it("gives its members in turns, and lets others in between them", async () => {
    let isRead = false;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const members = await graph.members(workspace, uids[5]!, { limit: 100_000, after: null });
    isRead = true;
    assert.deepEqual(
      members.map(({ uid }) => uid),
      uids,
    );
    assert.ok(mostRows <= ROWS_MAX, `${mostRows} rows at once`);
    assert.ok(turns >= OTHERS / ROWS_MAX, `${turns} turns`);
  });

  it("shows what the giant touched without looking through all of it", async () => {
    const want = wantingRules({ ...wanting(workspace, giant), pairs: [] }, ["user_id"], 50);
    const seen = (await graph.read(workspace, want)).identifiers.get(identifierKey(workspace, giant))!;
    assert.equal(seen.seenWith.length, 50);
    const none = await graph.read(workspace, { ...want, rules: { limited: ["email"], seenWithMax: 50 } });
    assert.deepEqual(none.identifiers.get(identifierKey(workspace, giant))!.seenWith, []);
    assert.ok(mostRows <= 50, `${mostRows} rows at once`);
  });

  it("tells the newest of its history, whichever of its members they are about", async () => {
    const about = (some: readonly (typeof giant)[], count: number): readonly Change[] =>
      Array.from({ length: count }, (_, i) => aChange({ outcome: "refused", identifiers: [some[i % some.length]!] }));
    // The older ones are about the youngest, whom a reader sees first; the newer ones about too many for one turn.
    const [older, newer] = [about(others.slice(-300), 300), about(others.slice(0, 500), 2_500)];
    await record(graph, workspace, ...older, ...newer);
    mostRows = 0;
    const all = [...older, ...newer].toReversed();
    for (const limit of [1, 60, 2_800]) {
      const found = await graph.history(workspace, uids[9]!, { limit, before: null });
      assert.deepEqual(
        found.map(({ changeId }) => changeId),
        all.slice(0, limit).map(({ changeId }) => changeId),
        `${limit} of them`,
      );
    }
    assert.ok(mostRows <= ROWS_MAX, `${mostRows} rows at once`);
  });

  it("falls apart into as many, and tells each link that went, and the history of every part", async () => {
    const change = aChange({ identifiers: [giant], before: [uids[0]!], after: uids });
    await takeApart(
      graph,
      workspace,
      others.map((other) => [giant, other]),
      [[giant], ...others.map((other) => [other])],
      change,
    );
    mostRows = 0;
    for (const [i, size] of [0, 1, 3_333, OTHERS].entries())
      assert.deepEqual(await graph.resolve(workspace, uids[size]!), { profileId: uids[size], size: 1 }, String(i));
    assert.deepEqual(await graph.links(workspace, uids[0]!, { limit: 10, after: null }), []);
    const states = await graph.linksOfChange(workspace, change);
    assert.equal(new Set(states.flatMap(({ pair }) => pair)).size, everybody.length);
    assert.ok(states.every(({ isActive, by }) => !isActive && by === change.changeId));
    const historyOf = (uid: Uid): Promise<readonly Change[]> =>
      graph.history(workspace, uid, { limit: 10, before: null });
    assert.equal((await historyOf(uids[0]!)).length, 2);
    assert.deepEqual((await historyOf(uids[999]!))[0], change);
    assert.deepEqual(await historyOf(uids[1_000]!), [], "no more than 1,000 profiles of a change are listed with it");
    assert.ok(mostRows <= ROWS_MAX, `${mostRows} rows at once`);
  });
});
