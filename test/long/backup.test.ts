import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { verifyFolder } from "../../store/embedded/file/verify.js";
import { withApp, withFolder } from "../support/faults.js";
import { startApp, textAt, type TestWorkspace } from "../support/service/app.js";

const SCRIPT = fileURLToPath(new URL("../../app/start/backup.js", import.meta.url));

/** `npm run backup`, beside the service. */
async function backup(settings: Readonly<Record<string, string>>, file: string) {
  const child = spawn(process.execPath, [SCRIPT, file], { env: settings });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { stdout, stderr, status: child.exitCode };
}

describe("npm run backup", () => {
  it("copies a service under load; restored, it has every event that was answered 202 before", () =>
    withFolder(async (folder) => {
      const settings = { DATA_DIR: path.join(folder, "data"), CHECKPOINT_MS: "50" };
      const file = path.join(folder, "backup.db");
      const answered: string[] = [];
      let [key, count] = ["", 0];
      await withApp(settings, {}, async (app) => {
        const workspace = await app.workspace();
        key = await workspace.key("owner");
        const schema = await workspace.schema();
        const load = { isOn: true };
        const sendAll = async (sender: number): Promise<void> => {
          for (let n = 0; load.isOn; n += 1)
            answered.push(await accepted(workspace, schema, `e${sender}-${n % 20}@example.com`));
        };
        const sending = [0, 1, 2, 3].map(sendAll);
        while (answered.length < 200) await new Promise(setImmediate);
        count = answered.length;
        const made = await backup(settings, file);
        load.isOn = false;
        await Promise.all(sending);
        assert.deepEqual([made.status, made.stderr], [0, ""]);
        assert.ok(made.stdout.startsWith(`${file}: `), made.stdout);
        assert.ok(answered.length > count, "events came while the copy was made");
        const again = await backup(settings, file);
        assert.deepEqual([again.status, again.stdout], [1, ""]);
        assert.match(again.stderr, /^onym: no backup was made: .* is there already/);
      });
      assert.equal((await stat(file)).mode & 0o777, 0o600);
      const dataDir = path.join(folder, "restored");
      await mkdir(dataDir);
      await copyFile(file, path.join(dataDir, "onym.db"));
      assert.deepEqual(verifyFolder(dataDir), []);
      const app = await startApp({ DATA_DIR: dataDir });
      try {
        for (const id of answered.slice(0, count)) {
          const { status, body } = await app.send("GET", `/v1/events/${id}?wait=10`, { key });
          assert.deepEqual([status, body["status"]], [200, "folded"], id);
        }
      } finally {
        await app.close();
      }
    }));

  it("copies a service whose file was removed, and says that it was", () =>
    withFolder(async (folder) => {
      const settings = { DATA_DIR: path.join(folder, "data") };
      const file = path.join(folder, "backup.db");
      await withApp(settings, {}, async (app) => {
        await app.workspace();
        await rm(path.join(settings.DATA_DIR, "onym.db"));
        while ((await app.send("GET", "/readyz")).status === 200)
          await new Promise((resolve) => setTimeout(resolve, 50));
        const made = await backup(settings, file);
        assert.deepEqual([made.status, /onym\.db was removed, moved or replaced/.test(made.stderr)], [1, true]);
        assert.ok(made.stdout.startsWith(`${file}: `), made.stdout);
      });
    }));

  it("copies the store of a stopped service, and says what is wrong otherwise", () =>
    withFolder(async (folder) => {
      const settings = { DATA_DIR: path.join(folder, "data") };
      const run = (...given: readonly string[]) =>
        spawnSync(process.execPath, [SCRIPT, ...given], { env: settings, encoding: "utf8" });
      assert.match(run("x.db").stderr, /^onym: DATA_DIR: there is no store in /);
      const beside = spawnSync(process.execPath, [SCRIPT, "x.db"], { env: { DATA_DIR: SCRIPT }, encoding: "utf8" });
      assert.match(beside.stderr, /^onym: DATA_DIR: there is no store in /);
      await withApp(settings, {}, async (app) => void (await app.workspace()));
      assert.match(run().stderr, /^onym: name the file: npm run backup -- FILE\n$/);
      const file = path.join(folder, "backup.db");
      const made = run(file);
      assert.deepEqual([made.status, made.stderr], [0, ""]);
      assert.ok((await stat(file)).size > 0);
    }));
});

async function accepted(workspace: TestWorkspace, schema: string, email: string): Promise<string> {
  const { status, body, text: answer } = await workspace.collect(schema, { email });
  assert.equal(status, 202, answer);
  return textAt(body, "event_id");
}
