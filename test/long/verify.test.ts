import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openBackends, type Backends } from "../../app/backends.js";
import { createLifecycle } from "../../app/lifecycle.js";
import type { Kind } from "../../app/verify/findings.js";
import { verify } from "../../app/verify/verify.js";
import { silentLog } from "../../app/logger.js";
import { readConfig } from "../../core/config.js";
import type { Database } from "../../core/database.js";
import { decodeMessage, encodeMessage } from "../../core/event/message.js";
import { newId, type DeadLetterId, type EventId, type WorkspaceId } from "../../core/ids.js";
import type { EventRow } from "../../core/ports/copying.js";
import type { DeadLetter } from "../../core/ports/event-store.js";
import { emptyFacet } from "../../core/profile/fold.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { temporaryFolder } from "../support/backends.js";
import { aDeadLetter, anEvent } from "../support/builders.js";
import { withFolder } from "../support/faults.js";
import { answersOf, atRest, fillWorkspace, type Seen } from "../support/moving/world.js";
import { startApp, type App } from "../support/service/app.js";

const SCRIPT = fileURLToPath(new URL("../../app/verify/main.js", import.meta.url));

async function runVerify(dataDir: string, ...given: readonly string[]) {
  const child = spawn(process.execPath, [SCRIPT, ...given], { env: { DATA_DIR: dataDir } });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { stdout, stderr, status: child.exitCode };
}

const copiesIn = async (dataDir: string): Promise<readonly string[]> =>
  (await readdir(dataDir)).filter((name) => name.startsWith("verify-"));

/** Sends the signal to verify once it has its copy; answers its exit code. */
async function stoppedBeside(dataDir: string, signal: NodeJS.Signals): Promise<number | null> {
  const child = spawn(process.execPath, [SCRIPT], { env: { DATA_DIR: dataDir }, stdio: "ignore" });
  const exited = once(child, "exit");
  const isCopied = async (): Promise<boolean> => {
    const [copy] = await copiesIn(dataDir);
    return copy !== undefined && existsSync(path.join(dataDir, copy, "onym.db"));
  };
  while (!(await isCopied())) await nextTurn();
  child.kill(signal);
  await exited;
  return child.exitCode;
}

/** Two minutes later: what was just accepted is no longer young. */
const later = (): number => Date.now() + 120_000;
const check = (dataDir: string, isRepair = false) =>
  verify(readConfig({ DATA_DIR: dataDir }), silentLog, isRepair, later);

/** A service with data that has settled; the caller stops it. */
async function filled(dataDir: string): Promise<{ readonly app: App; readonly seen: Seen }> {
  const app = await startApp({ DATA_DIR: dataDir });
  const seen = await fillWorkspace(app, 32);
  await atRest(app);
  return { app, seen };
}

async function withBackends(dataDir: string, work: (backends: Backends) => Promise<unknown>): Promise<void> {
  const lifecycle = createLifecycle(silentLog);
  try {
    await work(await openBackends(readConfig({ DATA_DIR: dataDir }), silentLog, lifecycle));
  } finally {
    await lifecycle.close();
  }
}

/** An event that is stored, and was never folded. */
async function unfolded({ copying }: Backends): Promise<EventRow> {
  const { rows } = await copying.documents.dump("events", { limit: 500, after: null });
  const found = rows.find(({ fold, gone }) => fold === null && gone === null);
  assert.ok(found !== undefined);
  return found;
}

const letterOf = ({ workspace, eventId, message }: EventRow): DeadLetter => ({
  deadLetterId: "verify-letter" as DeadLetterId,
  workspace,
  eventId,
  reason: "crashed",
  at: 1,
  message,
  killsEvent: true,
  times: 1,
  replayed: 0,
  replayedAt: null,
});

interface Disagreement {
  readonly kind: Kind;
  readonly isMended: boolean;
  readonly damage: (backends: Backends) => Promise<unknown>;
  readonly sql: string | null;
}

/** Where two stores, or two rows, disagree as after a restore. */
const DISAGREEMENTS: readonly Disagreement[] = [
  {
    kind: "unmarked_letters",
    isMended: true,
    damage: async (backends) => backends.events.bury({ ...letterOf(await unfolded(backends)), killsEvent: false }),
    sql: "UPDATE dead_letters SET kills_event = 1",
  },
  {
    kind: "letterless_events",
    isMended: false,
    damage: async (backends) => backends.events.bury(letterOf(await unfolded(backends))),
    sql: "DELETE FROM dead_letters",
  },
  {
    kind: "erased_bytes",
    isMended: true,
    damage: async ({ catalog, graph, profiles }) => {
      for (const { workspaceId } of await catalog.workspaces({ limit: 10, after: null })) {
        const [erasure] = await graph.erasures(workspaceId, { limit: 1, before: null });
        if (erasure === undefined) continue;
        const buried = await graph.buried(workspaceId, erasure.erasureId, { limit: 10, after: null });
        const uid = buried.find((one) => one.uid !== null)!.uid!;
        const facet = { ...emptyFacet, eventCount: 1 };
        assert.deepEqual(await profiles.save(workspaceId, [{ uid, facet, pending: [], expectedRev: 0 }]), [true]);
      }
    },
    sql: null,
  },
];

async function change(dataDir: string, work: (database: Database) => void): Promise<void> {
  const store = await openEmbedded({ dataDir, checkpointMs: 60_000, onError: () => undefined });
  await store.database.write(() => work(store.database));
  await store.close();
}

/** Damage that no checksum of a page tells, what is found, and whether it can be mended. */
const DAMAGES: readonly (readonly [sql: string, kind: RegExp, isMended: boolean])[] = [
  ["UPDATE components SET size = size + 1", /^profile_summaries: \d+ .*mended/m, true],
  ["UPDATE facets SET facet = replace(facet, 'city', 'town')", /^wrong_facets: \d+ .*mended/m, true],
  ["DELETE FROM facets WHERE seq = (SELECT min(seq) FROM facets)", /^wrong_facets: 1 .*mended/m, true],
  ["DELETE FROM folds WHERE seq = (SELECT max(seq) FROM folds)", /^wrong_facets: 1 .*mended/m, true],
  ["UPDATE events SET crc = crc + 1 WHERE seq = (SELECT max(seq) FROM folds)", /^damaged_events: 1 /m, false],
  ["DELETE FROM seats WHERE profile = (SELECT min(profile) FROM seats)", /^wrong_seats: 1 .*mended/m, true],
  ["DELETE FROM seats WHERE profile = (SELECT min(profile) FROM seats)", /^wrong_feeds: \d+ .*mended/m, true],
  ["UPDATE seats SET untils = '[]', due = NULL", /^wrong_seats: \d+ .*mended/m, true],
  ["UPDATE feeds SET sizes = '[]'", /^wrong_sizes: \d+ .*mended/m, true],
  ["DELETE FROM tallies WHERE position = (SELECT min(position) FROM tallies)", /^wrong_tallies: 1 .*mended/m, true],
  ["UPDATE tallies SET amount = amount + 1", /^wrong_tallies: \d+ .*mended/m, true],
  [
    "UPDATE tallies SET facet = (SELECT max(facet) FROM folds) WHERE position = (SELECT min(position) FROM tallies)",
    /^wrong_tallies: 1 .*mended/m,
    true,
  ],
  ["UPDATE links SET removed_at = 1 WHERE removed_at IS NULL", /^loose_profiles: \d+ /m, false],
];

describe("npm run verify", () => {
  /** A stopped store; each test works on a copy of it. */
  let stopped = "";
  before(async () => {
    stopped = await temporaryFolder();
    const { app } = await filled(stopped);
    await app.service.close();
  });
  after(() => rm(stopped, { recursive: true, force: true }));

  it("finds nothing in a store that is whole, running or stopped, and changes nothing", () =>
    withFolder(async (folder) => {
      const dataDir = path.join(folder, "data");
      const { app, seen } = await filled(dataDir);
      const before = await answersOf(app.url, seen);
      try {
        // As by default: relative to where the command runs.
        const running = await runVerify(path.relative(process.cwd(), dataDir));
        assert.deepEqual([running.status, running.stderr], [0, ""], running.stdout);
        assert.match(running.stdout, /\(running\): all pages are whole\nall rows agree/);
        const refused = await runVerify(dataDir, "--repair");
        assert.equal(refused.status, 2);
        assert.match(refused.stderr, /stop it before --repair/);
      } finally {
        await app.service.close();
      }
      const stopped = await runVerify(dataDir, "--repair");
      assert.equal(stopped.status, 0, stopped.stdout);
      const again = await startApp({ DATA_DIR: dataDir });
      assert.deepEqual(await answersOf(again.url, seen), before);
      await again.close();
    }));

  it("leaves no copy of a running store: interrupted it removes its own, and killed, the next one or a start does", () =>
    withFolder(async (dataDir) => {
      await cp(stopped, dataDir, { recursive: true });
      const first = await startApp({ DATA_DIR: dataDir });
      try {
        assert.equal(await stoppedBeside(dataDir, "SIGTERM"), 2);
        assert.deepEqual(await copiesIn(dataDir), []);
        assert.equal(await stoppedBeside(dataDir, "SIGKILL"), null);
        assert.equal((await copiesIn(dataDir)).length, 1);
        assert.equal((await runVerify(dataDir)).status, 0);
        assert.deepEqual(await copiesIn(dataDir), []);
        await stoppedBeside(dataDir, "SIGKILL");
        assert.equal((await copiesIn(dataDir)).length, 1);
      } finally {
        await first.service.close();
      }
      const second = await startApp({ DATA_DIR: dataDir });
      await second.service.close();
      assert.deepEqual(await copiesIn(dataDir), []);
    }));

  it("repairs nothing in a place that a move fills or leaves", () =>
    withFolder(async (dataDir) => {
      await cp(stopped, dataDir, { recursive: true });
      for (const state of ["arriving", "leaving"] as const) {
        await withBackends(dataDir, ({ places }) => places[0].setMark({ moveId: "m1", state, other: "there" }));
        await assert.rejects(check(dataDir, true), /is being (filled by a move from|moved to) there/);
        assert.equal((await check(dataDir)).isWhole, true);
      }
    }));

  for (const [sql, kind, isMended] of DAMAGES)
    it(`tells and ${isMended ? "mends" : "cannot mend"}: ${sql}`, () =>
      withFolder(async (folder) => {
        const dataDir = path.join(folder, "data");
        await cp(stopped, dataDir, { recursive: true });
        await change(dataDir, (database) => void database.prepare(sql).run([]));
        const found = await check(dataDir);
        assert.equal(found.isWhole, false, found.lines.join("\n"));
        const repaired = await check(dataDir, true);
        assert.match(repaired.lines.join("\n"), kind);
        const text = repaired.lines.join("\n");
        assert.ok(!text.includes("example.com"), text);
        const after = await check(dataDir, true);
        // An event that was published again folds at the next start.
        if (isMended && !sql.includes("folds"))
          assert.deepEqual([after.isWhole, after.lines.at(-1)], [true, "all rows agree"]);
        else if (!isMended) assert.equal(after.isWhole, false);
      }));

  for (const { kind, isMended, damage, sql } of DISAGREEMENTS)
    it(`tells and ${isMended ? "mends" : "cannot mend"} ${kind}`, () =>
      withFolder(async (folder) => {
        const dataDir = path.join(folder, "data");
        await cp(stopped, dataDir, { recursive: true });
        await withBackends(dataDir, damage);
        if (sql !== null) await change(dataDir, (database) => void database.prepare(sql).run([]));
        assert.match((await check(dataDir)).lines.join("\n"), new RegExp(`^${kind}: 1 `, "m"));
        const repaired = await check(dataDir, true);
        assert.equal(repaired.lines.join("\n").includes("1 mended"), isMended, repaired.lines.join("\n"));
        assert.equal((await check(dataDir)).isWhole, isMended);
      }));

  it("queues a dead event without its letter, if it belongs in a profile: a worker folds it", () =>
    withFolder(async (folder) => {
      const dataDir = path.join(folder, "data");
      await cp(stopped, dataDir, { recursive: true });
      const eventId = newId<EventId>();
      let workspace = "" as WorkspaceId;
      await withBackends(dataDir, async ({ copying, events }) => {
        const { rows } = await copying.documents.dump("events", { limit: 500, after: null });
        const row = rows.find(({ fold, gone }) => fold !== null && gone === null)!;
        const decoded = decodeMessage(row.message);
        assert.ok(decoded.kind === "event");
        const event = { ...decoded.event, eventId };
        workspace = row.workspace;
        await events.insert(workspace, [event]);
        await events.bury(letterOf({ ...row, eventId, message: encodeMessage(event) }));
      });
      await change(dataDir, (database) => void database.prepare("DELETE FROM dead_letters").run([]));
      assert.match((await check(dataDir, true)).lines.join("\n"), /^letterless_events: 1 .*; 1 mended/m);
      assert.match((await check(dataDir)).lines.join("\n"), /^not compared: 1 events that may still be queued/m);
      const app = await startApp({ DATA_DIR: dataDir });
      await atRest(app);
      const event = await app.service.backends.events.find(workspace, eventId);
      await app.service.close();
      assert.equal(event?.status, "folded");
      assert.equal((await check(dataDir)).isWhole, true);
    }));

  it("tells what names people who were erased and is in no profile, and has their erasure delete it", () =>
    withFolder(async (folder) => {
      const dataDir = path.join(folder, "data");
      await cp(stopped, dataDir, { recursive: true });
      const [gone, stays] = [newId<EventId>(), newId<EventId>()];
      let workspace = "" as WorkspaceId;
      await withBackends(dataDir, async ({ catalog, graph, events }) => {
        for (const { workspaceId } of await catalog.workspaces({ limit: 10, after: null }))
          if (await graph.hasErasures(workspaceId)) workspace = workspaceId;
        const naming = (name: string, eventId = newId<EventId>()) => {
          const identifiers = [{ namespace: "email", value: `${name}@example.com` }];
          return anEvent({ workspace, eventId, identifiers, folds: false });
        };
        await events.insert(workspace, [naming("nobody", gone), naming("somebody", stays)]);
        const message = encodeMessage(naming("nobody"));
        await events.bury(aDeadLetter({ workspace, reason: "quarantined", message, killsEvent: false }));
      });
      assert.match((await check(dataDir)).lines.join("\n"), /^erased_bytes: 2 /m);
      assert.match((await check(dataDir, true)).lines.join("\n"), /^erased_bytes: 2 .*2 mended/m);
      const app = await startApp({ DATA_DIR: dataDir });
      await atRest(app);
      const { events } = app.service.backends;
      const statuses = await Promise.all(
        [gone, stays].map(async (eventId) => (await events.find(workspace, eventId))?.status),
      );
      await app.service.close();
      assert.deepEqual(statuses, ["dropped", "stored"]);
      assert.equal((await check(dataDir)).isWhole, true);
    }));
});
