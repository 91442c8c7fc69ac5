import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "../../core/database.js";
import { identifierKey } from "../../core/event/event.js";
import { isUnavailable } from "../../core/errors.js";
import { pairKey } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { EMPTY_PLAN } from "../../graph/rules/working-state.js";
import { createSqliteGraph } from "../../graph/sqlite/graph.js";
import { identityGraphContracts } from "../contracts/graph/identity-graph.contract.js";
import { runContract } from "../support/contract.js";
import {
  aRequest,
  aWorkspace,
  anAssertion,
  anIdentifier,
  openGraphDatabase,
  step,
  stepOf,
} from "../support/identity/fixtures.js";
import { anAssertionSchedule } from "../support/identity/model.js";
import { write } from "../support/identity/plans.js";
import { memoryBackend } from "../support/memory/graph.js";
import { createRandom, SEED } from "../support/random/random.js";
import { tombOf } from "../support/builders.js";
import { wanting, wantingRules } from "../support/identity/snapshots.js";

const inFolder = () => {
  const folder = mkdtempSync(path.join(tmpdir(), "onym-graph-"));
  return { file: path.join(folder, "onym.db"), drop: () => rmSync(folder, { recursive: true, force: true }) };
};

for (const [port, contract] of Object.entries(identityGraphContracts)) runContract(port, contract, [memoryBackend]);

describe("The identity graph's tables", () => {
  let place: ReturnType<typeof inFolder>;
  let database: Database;
  let graph: IdentityGraph;
  beforeEach(() => {
    place = inFolder();
    database = openGraphDatabase(place.file);
    graph = createSqliteGraph({ database, tombOf });
  });
  afterEach(async () => {
    await graph.close();
    await database.close();
    place.drop();
  });
  const rows = (sql: string) => database.read(() => database.prepare(sql).all([]));

  it(`agree with each other after any schedule: sizes, ids, links and changes (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    let changed = 0;
    for (let run = 0; run < 60; run++) {
      const workspace = aWorkspace();
      for (const assertion of anAssertionSchedule(random)) {
        const [result] = await step(graph, workspace, assertion);
        if (result!.changeId !== null) changed += 1;
      }
    }
    const recomputed = `SELECT component, min(uid), count(*) FROM identifiers GROUP BY component ORDER BY component`;
    assert.deepEqual(rows("SELECT id, profile_id, size FROM components ORDER BY id"), rows(recomputed));
    const counted = rows("SELECT DISTINCT counts FROM components WHERE size = 3");
    assert.deepEqual(counted, [["user_id=3"]], "all identifiers are of one namespace");
    const named = `SELECT count(*) FROM changes c, json_each(CAST(record AS TEXT), '$.identifiers') one
      LEFT JOIN identifiers i ON i.key = CAST(c.ws || ':user_id:' || (one.value ->> 1) AS BLOB)
      LEFT JOIN change_subjects s ON s.identifier = i.id AND s.change = c.id
      WHERE s.change IS NULL`;
    assert.deepEqual(rows(named), [[0]], "every change is about those whom it names");
    const across = `SELECT count(*) FROM links JOIN identifiers x ON x.id = a JOIN identifiers y ON y.id = b
      WHERE x.component <> y.component`;
    assert.deepEqual(rows(across), [[0]]);
    assert.deepEqual(rows("SELECT count(*) FROM changes"), [[changed]]);
    assert.deepEqual(rows("PRAGMA foreign_key_check"), []);
  });

  it("are read with few computed names, however many devices were kept from somebody", async () => {
    let asked = 0;
    const counted = createSqliteGraph({
      database,
      tombOf: (key) => {
        asked += 1;
        return tombOf(key);
      },
    });
    const workspace = aWorkspace();
    const people = Array.from({ length: 100 }, (_, i) => anIdentifier(`person ${i}`));
    const devices = people.map(({ value }) => anIdentifier(value, "device_id"));
    await step(counted, workspace, ...people.map((one, i) => anAssertion(one, devices[i]!)));
    await write(counted, workspace, devices, () => ({
      seenWith: devices.map((one, i) => ({
        key: identifierKey(workspace, one),
        seenWith: [identifierKey(workspace, anIdentifier(`other ${i}`))],
        isShared: false,
      })),
    }));
    asked = 0;
    const { identifiers } = await counted.read(
      workspace,
      wantingRules(wanting(workspace, ...people, ...devices), ["user_id"]),
    );
    assert.equal(identifiers.get(identifierKey(workspace, devices[0]!))!.seenWith.length, 2);
    assert.ok(asked <= 2 * people.length, `${asked} names were computed for ${people.length} people`);
  });

  it("keep the evidence of every link, and the way round it was asserted", async () => {
    const workspace = aWorkspace();
    await step(graph, workspace, anAssertion("b"), anAssertion("a"));
    const requests = ["a b", "c a"].map((pair) => aRequest(workspace, anAssertion(...pair.split(" "))));
    await stepOf(graph, workspace, requests);
    const found = rows(
      `SELECT x.key, y.key, forward, hex(change), source, key_id, at FROM links
       JOIN identifiers x ON x.id = a JOIN identifiers y ON y.id = b JOIN changes ON changes.id = change`,
    ) as readonly (readonly [Buffer, Buffer, number, string, string, string, number])[];
    assert.equal(found.length, 2);
    for (const [i, [x, y, forward, changeId, source, keyId, at]] of found.entries()) {
      const { keys, assertion } = requests[i]!;
      const [from, to] = forward === 1 ? [x, y] : [y, x];
      assert.deepEqual([from.toString(), to.toString()], keys);
      assert.equal(changeId, requests[i]!.changeId.replaceAll("-", "").toUpperCase());
      assert.deepEqual({ source, keyId, at }, assertion.evidence);
    }
  });

  it("hold no row of a plan that names a component which is gone", async () => {
    const workspace = aWorkspace();
    const request = aRequest(workspace, anAssertion("a", "b"));
    const update = graph.update(workspace, wantingRules({ keys: [], pairs: [] }), () => ({
      plan: {
        ...EMPTY_PLAN,
        components: [
          { into: 99, absorbed: [], size: 2, profileId: request.uids[0]!, counts: new Map(), forbidden: [] },
        ],
      },
      result: null,
    }));
    await assert.rejects(update, /component that does not exist/);
  });

  it("hold on to every identifier and change that a link names, and to every component that has members", async () => {
    await step(graph, aWorkspace(), anAssertion("a", "b"));
    for (const row of ["identifiers WHERE id = 1", "identifiers WHERE id = 2", "components", "changes"])
      assert.throws(() => database.prepare(`DELETE FROM ${row}`).run([]), /FOREIGN KEY/, row);
  });

  it("are left alone once the graph is closed, while the store goes on", async () => {
    const workspace = aWorkspace();
    let answered = false;
    const under = step(graph, workspace, anAssertion("a")).then(() => (answered = true));
    await graph.close();
    assert.ok(answered, "close waits for the step under way");
    await under;
    await assert.rejects(graph.ready(), isUnavailable);
    await assert.rejects(step(graph, workspace, anAssertion("b")), isUnavailable);
    database.check();
    assert.deepEqual(rows("SELECT count(*) FROM identifiers"), [[1]]);
  });

  it("answer a repeat of two with one statement, and write a new pair with nine", async () => {
    let statements = 0;
    const count = <T>(answer: T): T => {
      statements += 1;
      return answer;
    };
    const counting: Database = {
      ...database,
      prepare: (sql) => {
        const statement = database.prepare(sql);
        return {
          run: (parameters) => count(statement.run(parameters)),
          get: (parameters) => count(statement.get(parameters)),
          all: (parameters) => count(statement.all(parameters)),
        };
      },
    };
    const counted = createSqliteGraph({ database: counting, tombOf });
    const workspace = aWorkspace();
    const request = aRequest(workspace, anAssertion("a", "b"));
    // Not those of its start.
    statements = 0;
    await stepOf(counted, workspace, [request]);
    assert.equal(statements, 9);
    statements = 0;
    const want = { keys: request.keys, pairs: [[request.keys[0]!, request.keys[1]!] as const] };
    for (const rules of [undefined, { limited: [], seenWithMax: 0 }]) {
      const { linked } = await counted.read(workspace, { ...want, ...(rules && { rules }) });
      assert.ok(linked.has(pairKey(request.keys[0]!, request.keys[1]!)));
      assert.equal(statements, rules === undefined ? 1 : 2, "for the rules it also asks whether anybody was erased");
      statements = 0;
    }
  });
});
