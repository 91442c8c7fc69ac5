import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, rm } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { verify } from "../../app/verify/verify.js";
import { silentLog } from "../../app/logger.js";
import { readConfig } from "../../core/config.js";
import type { Database } from "../../core/database.js";
import { openEmbedded } from "../../store/embedded/open.js";
import { temporaryFolder } from "../support/backends.js";
import { withFolder } from "../support/faults.js";
import { answersOf, atRest, fillWorkspace, type Seen } from "../support/moving/world.js";
import { startApp, type App } from "../support/service/app.js";

const SCRIPT = fileURLToPath(new URL("../../app/verify/main.js", import.meta.url));

async function runVerify(dataDir: string, ...given: readonly string[]) {
  const child = spawn(process.execPath, [SCRIPT, ...given], { env: { DATA_DIR: dataDir } });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { stdout, stderr, status: child.exitCode };
}

const check = (dataDir: string, isRepair = false) => verify(readConfig({ DATA_DIR: dataDir }), silentLog, isRepair);

/** A service with data that has settled; the caller stops it. */
async function filled(dataDir: string): Promise<{ readonly app: App; readonly seen: Seen }> {
  const app = await startApp({ DATA_DIR: dataDir });
  const seen = await fillWorkspace(app, 16);
  await atRest(app);
  return { app, seen };
}

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
      const running = await runVerify(dataDir);
      assert.deepEqual([running.status, running.stderr], [0, ""], running.stdout);
      assert.match(running.stdout, /\(running\): all pages are whole\nall rows agree/);
      const refused = await runVerify(dataDir, "--repair");
      assert.equal(refused.status, 2);
      assert.match(refused.stderr, /stop it before --repair/);
      await app.service.close();
      const stopped = await runVerify(dataDir, "--repair");
      assert.equal(stopped.status, 0, stopped.stdout);
      const again = await startApp({ DATA_DIR: dataDir });
      assert.deepEqual(await answersOf(again.url, seen), before);
      await again.close();
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
});
