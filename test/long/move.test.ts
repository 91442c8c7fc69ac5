import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { move } from "../../app/move/move.js";
import { readConfig } from "../../core/config.js";
import type { WorkspaceId } from "../../core/ids.js";
import { silentLog } from "../../app/logger.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { temporaryFolder } from "../support/backends.js";
import { withFolder } from "../support/faults.js";
import { answersOf, atRest, erasuresOf, fillWorkspace, type Seen } from "../support/moving/world.js";
import { listAt, startApp, textAt, type App } from "../support/service/app.js";

const SCRIPT = fileURLToPath(new URL("../../app/move/main.js", import.meta.url));

/** `npm run move`. */
async function runMove(...given: readonly string[]) {
  const child = spawn(process.execPath, [SCRIPT, ...given], { env: {} });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { stdout, stderr, status: child.exitCode };
}

const running = new Set<App>();
async function started(dataDir: string): Promise<App> {
  const app = await startApp({ DATA_DIR: dataDir });
  running.add(app);
  return app;
}

/** Without what belongs to the test's folder: closing removes the folder. */
async function stop(app: App): Promise<void> {
  running.delete(app);
  await app.service.close();
}

/** A stopped installation, and what it answered. */
let made: {
  readonly folder: string;
  readonly seen: readonly Seen[];
  readonly answers: unknown;
  readonly erasures: unknown;
} | null = null;

/** The same for all tests, made once: each has a copy. */
async function anInstallation(dataDir: string) {
  made ??= await makeInstallation(await temporaryFolder());
  await cp(made.folder, dataDir, { recursive: true });
  return made;
}

async function makeInstallation(dataDir: string) {
  const app = await started(dataDir);
  const seen: readonly Seen[] = [await fillWorkspace(app, 14), await fillWorkspace(app, 3)];
  await atRest(app);
  const answers = await Promise.all(seen.map((one) => answersOf(app.url, one)));
  const erasures = await Promise.all(seen.map((one) => erasuresOf(app, one)));
  await stop(app);
  return { folder: dataDir, seen, answers, erasures };
}

/** A table that is not here is one that a move would leave behind: see `store/*\/copy/` and `graph/*\/copy/`. */
const COPIED =
  "workspaces keys namespaces traits schemas datasets identity_settings sdk imports backfills audiences webhooks secrets clock " +
  "changes components identifiers links forbidden_pairs change_subjects mentions erasures tombstones watched moved seats members feed feeds feed_origins marks events folds tallies facets dead_letters queue";
/** `names` is made from what is loaded, and `messages` comes with events and queue. */
const OF_THE_FILE = "formats moves queue_lease names messages";

const configOf = (dataDir: string) => readConfig({ DATA_DIR: dataDir });
const quietly = (): void => undefined;

describe("npm run move", () => {
  afterEach(async () => {
    for (const app of running) await stop(app);
  });
  after(async () => {
    if (made !== null) await rm(made.folder, { recursive: true, force: true });
  });

  it("copies an installation: every answer is as before, and the old one does not start again", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      const { seen, answers, erasures } = await anInstallation(from);
      const moved = await runMove("--from", from, "--to", to);
      assert.deepEqual([moved.status, moved.stderr], [0, ""], moved.stderr + moved.stdout);
      assert.match(moved.stdout, /Everything is there, and equal/);
      const app = await started(to);
      assert.deepEqual(await Promise.all(seen.map((one) => answersOf(app.url, one))), answers);
      assert.deepEqual(await Promise.all(seen.map((one) => erasuresOf(app, one))), erasures);
      await stop(app);
      await assert.rejects(started(from), /was moved to .*to, and nothing may be added here/);
      const again = await runMove("--from", from, "--to", path.join(folder, "third"));
      assert.equal(again.status, 2);
      assert.match(again.stderr, /was moved to .*to already/);
    }));

  it("goes on after a break: broken behind any portion and run again, the copy is the same", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      const { seen, answers } = await anInstallation(from);
      for (const most of [0, 5, 11]) {
        let portions = 0;
        const progress = (): void => {
          portions += 1;
          if (portions > most) throw new Error("broken");
        };
        const broken = move({ from: configOf(from), to: configOf(to), log: silentLog, progress });
        await assert.rejects(broken, /broken/);
        await assert.rejects(started(to), /is being filled by a move/);
        await assert.rejects(started(from), /is being moved to/);
      }
      const tallies = await move({ from: configOf(from), to: configOf(to), log: silentLog, progress: quietly });
      assert.deepEqual(
        tallies.map(({ to: there }) => there),
        tallies.map(({ from: here }) => here),
      );
      const app = await started(to);
      assert.deepEqual(await Promise.all(seen.map((one) => answersOf(app.url, one))), answers);
      await stop(app);
    }));

  it("refuses a store that is not empty, names what stands there, and leaves both sides as they were", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      await anInstallation(from);
      await anInstallation(to);
      const refused = await runMove("--from", from, "--to", to);
      assert.equal(refused.status, 2);
      assert.match(
        refused.stderr,
        /to is not empty, and a move fills empty stores alone: .*events \(17\).*workspaces \(3\)/,
      );
      for (const side of [from, to]) await stop(await started(side));
    }));

  it("leaves no mark where it fails before it has begun, so it may be run again", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      const { seen, answers } = await anInstallation(from);
      const { openSide } = await import("../../app/move/side.js");
      await (await openSide(configOf(to), silentLog)).close();
      const change = async (sql: string): Promise<void> => {
        const store = await openEmbedded({ dataDir: to, checkpointMs: 60_000, onError: quietly });
        store.database.prepare(sql).run([]);
        await store.close();
      };
      await change("CREATE TRIGGER full BEFORE INSERT ON secrets BEGIN SELECT RAISE(ABORT, 'broken'); END");
      const sides = { from: configOf(from), to: configOf(to), log: silentLog, progress: quietly };
      await assert.rejects(move(sides), /broken/);
      await stop(await started(from));
      await change("DROP TRIGGER full");
      await move(sides);
      const app = await started(to);
      assert.deepEqual(await Promise.all(seen.map((one) => answersOf(app.url, one))), answers);
      await stop(app);
    }));

  it("refuses a folder with the log of other erasures, and goes on behind the beginning of its own", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      await anInstallation(from);
      const lines = (await readFile(path.join(from, "erasures.log"), "utf8")).split("\n").filter((line) => line !== "");
      assert.equal(lines.length, 2);
      const log = path.join(to, "erasures.log");
      await mkdir(to);
      for (const other of [lines[1]!, `${lines.join("\n")}\n${lines[0]!}`]) {
        await writeFile(log, `${other}\n`);
        const refused = await runMove("--from", from, "--to", to);
        assert.deepEqual([refused.status, refused.stdout], [2, ""]);
        assert.match(
          refused.stderr,
          /to\/erasures\.log holds erasures of another installation than .*from: move it away/,
        );
        assert.equal(await readFile(log, "utf8"), `${other}\n`);
        await stop(await started(from));
      }
      await writeFile(log, `${lines[0]!}\n`);
      const moved = await runMove("--from", from, "--to", to);
      assert.equal(moved.status, 0, moved.stderr);
      const there = (await readFile(log, "utf8")).split("\n").filter((line) => line !== "");
      assert.deepEqual(there, lines);
    }));

  it("refuses an installation that runs, and a move into itself", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      const app = await started(from);
      const refused = await runMove("--from", from, "--to", to);
      assert.deepEqual([refused.status, refused.stdout], [2, ""]);
      assert.match(refused.stderr, /another process uses the folder/);
      await stop(app);
      const same = await runMove("--from", from, "--to", from);
      assert.match(same.stderr, /another folder than the one it reads/);
      assert.deepEqual((await readdir(folder)).toSorted(), ["from"]);
    }));

  it("refuses a place with nothing in it, and makes nothing there", () =>
    withFolder(async (folder) => {
      const [missing, empty, to] = ["missing", "empty", "to"].map((one) => path.join(folder, one));
      for (const given of [[], ["--cancel"]]) {
        const refused = await runMove("--from", missing!, "--to", to!, ...given);
        assert.deepEqual([refused.status, refused.stdout], [2, ""]);
        assert.match(refused.stderr, /missing: there is no store here/);
      }
      assert.deepEqual(await readdir(folder), []);
      const store = await openEmbedded({ dataDir: empty!, checkpointMs: 60_000, onError: quietly });
      await store.close();
      const refused = await runMove("--from", empty!, "--to", to!);
      assert.deepEqual([refused.status, refused.stdout], [2, ""]);
      assert.match(refused.stderr, /empty: nothing stands here that could be moved/);
      assert.deepEqual(await readdir(folder), ["empty"]);
    }));

  it("can be called off until it is over", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      await anInstallation(from);
      const progress = (): void => {
        throw new Error("broken");
      };
      await assert.rejects(move({ from: configOf(from), to: configOf(to), log: silentLog, progress }), /broken/);
      const cancelled = await runMove("--from", from, "--to", to, "--cancel");
      assert.equal(cancelled.status, 0, cancelled.stderr);
      await stop(await started(from));
      const none = await runMove("--from", from, "--to", to, "--cancel");
      assert.match(none.stderr, /no move from here is under way/);
    }));

  it("moves what is still queued, with its tries, and the times that are kept", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      await mkdir(from);
      const { openSide } = await import("../../app/move/side.js");
      const source = await openSide(configOf(from), silentLog);
      const rows = [
        { message: Buffer.from([0, 1, 255]), attempts: 0, failedAt: null, crashes: 0 },
        { message: Buffer.from("second"), attempts: 3, failedAt: 1_772_359_200_000, crashes: 1 },
      ];
      await source.queue.load(rows);
      await source.backends.catalog.advanceTime(2_000, Infinity, { sureMs: 1_000, waitedMs: 100 });
      await source.close();
      await move({ from: configOf(from), to: configOf(to), log: silentLog, progress: quietly });
      const target = await openSide(configOf(to), silentLog);
      const found = [];
      for await (const portion of target.queue.messages()) found.push(...portion);
      const { ms, sureMs, waitedMs } = await target.backends.catalog.timeKept();
      assert.deepEqual([ms, sureMs, waitedMs], [2_000, 1_000, 100]);
      await target.close();
      assert.deepEqual(found, rows);
    }));

  it("copies a workspace with a retention whose audiences were all deleted", () =>
    withFolder(async (folder) => {
      const [from, to] = [path.join(folder, "from"), path.join(folder, "to")];
      const app = await started(from);
      const workspace = await app.workspace();
      const schema = await workspace.schema();
      const rule = { $events: { schema_id: schema, within: "7d" } };
      const audience = await workspace.send("POST", "/v1/audiences", { name: "Recent", rule });
      const { body } = await workspace.send("GET", "/v1/datasets");
      const dataset = `/v1/datasets/${textAt(listAt(body, "datasets")[0], "dataset_id")}`;
      assert.equal((await workspace.send("PATCH", dataset, { retention_days: 30 })).status, 200);
      const gone = await workspace.send("DELETE", `/v1/audiences/${textAt(audience.body, "audience_id")}`);
      assert.equal(gone.status, 204, gone.text);
      await atRest(app);
      const set = await app.service.backends.audiences.audiences(workspace.id as WorkspaceId);
      assert.deepEqual([set.audiences, set.deleted, set.tallies, set.forgotten], [[], [], [], []]);
      await stop(app);
      await move({ from: configOf(from), to: configOf(to), log: silentLog, progress: quietly });
      const target = await started(to);
      // Its graph notes who moves, and only a listed workspace has its notes cleared.
      const listed = await target.service.backends.audiences.watching({ limit: 10, after: null });
      assert.deepEqual(listed, [workspace.id]);
      await stop(target);
    }));

  it("copies every table that the file has, but for those that say nothing of an installation", () =>
    withFolder(async (folder) => {
      await stop(await started(folder));
      const store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: quietly });
      const rows = store.database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all([]);
      await store.close();
      const tables = rows.map(([name]) => name as string).filter((name) => !name.startsWith("sqlite_"));
      assert.deepEqual(tables.toSorted(), `${COPIED} ${OF_THE_FILE}`.split(" ").toSorted());
    }));

  it("tells how it is called when the sides are not named, or both ways", async () => {
    for (const given of [[], ["--from", "a"], ["--from", "a", "--from-env", "--to", "b"], ["--sideways"]]) {
      const refused = await runMove(...given);
      assert.equal(refused.status, 2);
      assert.match(refused.stderr, /Usage: npm run move -- --from FOLDER/);
    }
  });
});
