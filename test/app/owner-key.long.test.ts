import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { keyHeader, keyLine, shownKey } from "../../app/start/first-start.js";
import { listAt, OPERATOR_KEY, startApp, textAt } from "../support/service/app.js";
import { withApp, withFolder } from "../support/faults.js";

const SCRIPT = fileURLToPath(new URL("../../app/start/owner-key.js", import.meta.url));
const KEY = /^onym_[0-9A-Za-z]{10}_[0-9A-Za-z]{38}\n$/;

/** `npm run owner-key`, with nothing of this process's environment. */
const ownerKey = (settings: Readonly<Record<string, string>>, ...given: readonly string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...given], { env: settings, encoding: "utf8" });

/** What the service says the key may do. */
const rolesBy = async (folder: string, key: string): Promise<readonly string[]> => {
  const app = await startApp({ DATA_DIR: folder });
  try {
    const { body } = await app.send("GET", "/v1/keys", { key });
    return listAt(body, "keys").map((one) => textAt(one, "role"));
  } finally {
    await app.close();
  }
};

describe("An owner key", () => {
  it("is shown on a terminal, and elsewhere in a file that only its owner can read, whatever was there", async () => {
    await withFolder(async (folder) => {
      const shown = shownKey("onym_x", folder, true);
      assert.equal(keyLine(shown), "owner key: onym_x");
      assert.equal(keyHeader(shown), "'Authorization: Bearer onym_x'");
      assert.ok(!existsSync(path.join(folder, "owner-key")));
      writeFileSync(path.join(folder, "owner-key"), "", { mode: 0o644 });
      const file = path.join(folder, "owner-key");
      assert.deepEqual(shownKey("onym_x", folder, false), { file });
      assert.deepEqual([readFileSync(file, "utf8"), statSync(file).mode & 0o777], ["onym_x\n", 0o600]);
    });
  });

  it("that is lost is made anew for the workspace, with the service stopped", async () => {
    await withFolder(async (folder) => {
      const settings = { DATA_DIR: folder };
      let second = "";
      await withApp(settings, {}, async (app) => {
        const running = ownerKey(settings);
        assert.deepEqual([running.status, running.stdout], [2, ""]);
        assert.match(running.stderr, /^onym: DATA_DIR: another process uses .*\n$/);
        const made = await app.send("POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name: "b" } });
        second = textAt(made.body, "workspace_id");
      });
      const many = ownerKey(settings);
      assert.equal(many.status, 2);
      assert.match(many.stderr, /name one of these workspaces/);
      assert.ok(many.stderr.includes(`${second}  "b"`), many.stderr);
      assert.equal(ownerKey(settings, "another").status, 2);

      const made = ownerKey(settings, second);
      assert.equal(made.status, 0, made.stderr);
      assert.ok(made.stdout.includes(`owner key: in ${folder}/owner-key, which only you can read`), made.stdout);
      const key = readFileSync(path.join(folder, "owner-key"), "utf8");
      assert.match(key, KEY);
      assert.deepEqual(await rolesBy(folder, key.trim()), ["owner", "owner"]);
    });
  });

  it("of another workspace keeps its file, which may be its only place: the new one gets a file with the workspace's name", async () => {
    await withFolder(async (folder) => {
      const settings = { DATA_DIR: folder };
      const ids: string[] = [];
      await withApp(settings, {}, async (app) => {
        for (const name of ["b", "c"]) {
          const made = await app.send("POST", "/v1/workspaces", { key: OPERATOR_KEY, body: { name } });
          ids.push(textAt(made.body, "workspace_id"));
        }
      });
      const [b, c] = ids as [string, string];
      const file = path.join(folder, "owner-key");
      const own = `${file}-${c}`;
      assert.equal(ownerKey(settings, b).status, 0);
      const first = readFileSync(file, "utf8");
      for (const _ of ["first", "again"]) {
        const made = ownerKey(settings, c);
        assert.ok(made.stdout.includes(`owner key: in ${own}, which only you can read`), made.stdout + made.stderr);
      }
      assert.equal(readFileSync(file, "utf8"), first);
      assert.equal(statSync(own).mode & 0o777, 0o600);
      assert.equal((await rolesBy(folder, readFileSync(own, "utf8").trim())).length, 3);
      // One of the same workspace opens what the other did.
      assert.equal(ownerKey(settings, b).status, 0);
      assert.notEqual(readFileSync(file, "utf8"), first);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.startsWith("owner-key")),
        ["owner-key", `owner-key-${c}`],
      );
    });
  });

  it("that cannot be written is none: no try leaves one behind that nobody knows", async () => {
    await withFolder(async (folder) => {
      const settings = { DATA_DIR: folder };
      let [id, key] = ["", ""];
      await withApp(settings, {}, async (app) => {
        const workspace = await app.workspace();
        [id, key] = [workspace.id, await workspace.key("owner")];
      });
      const before = await rolesBy(folder, key);
      // No file takes the place of a folder, whoever tries.
      const inTheWay = path.join(folder, "owner-key.new");
      mkdirSync(path.join(inTheWay, "x"), { recursive: true });
      const failed = ownerKey(settings, id);
      assert.equal(failed.status, 2, failed.stderr);
      assert.match(failed.stderr, /^onym: DATA_DIR: the owner key cannot be written to .*\/owner-key \(.*\n$/);
      assert.deepEqual(await rolesBy(folder, key), before);
      // One that is a key, but cannot get its place, is not lost.
      rmSync(inTheWay, { recursive: true });
      mkdirSync(path.join(folder, "owner-key", "x"), { recursive: true });
      const kept = ownerKey(settings, id);
      assert.equal(kept.status, 2, kept.stderr);
      assert.ok(kept.stderr.includes(`the owner key is in ${inTheWay}`), kept.stderr);
      const left = await rolesBy(folder, readFileSync(inTheWay, "utf8").trim());
      assert.equal(left.length, before.length + 1);
    });
  });

  it("is not made where there is no workspace, nor for MongoDB, where the operator key makes one", async () => {
    await withFolder(async (folder) => {
      const empty = ownerKey({ DATA_DIR: folder });
      assert.equal(empty.status, 2);
      assert.match(empty.stderr, /^onym: DATA_DIR: .* holds no workspace/);
      assert.ok(!existsSync(path.join(folder, "onym.db")));
      const servers = ownerKey({ DATA_DIR: folder, MONGODB_URL: "mongodb://127.0.0.1:1/x" });
      assert.equal(servers.status, 2);
      assert.match(servers.stderr, /^onym: MONGODB_URL: .*\/v1\/workspaces\/\{id\}\/keys/);
    });
  });

  it("that is lost is made anew by the operator: 201 with the key; 404 for an unknown workspace", async () => {
    await withFolder(async (folder) => {
      await withApp({ DATA_DIR: folder }, {}, async (app) => {
        const workspace = await app.workspace();
        const made = await app.send("POST", `/v1/workspaces/${workspace.id}/keys`, { key: OPERATOR_KEY });
        assert.deepEqual([made.status, made.body["role"], made.body["expires_at"]], [201, "owner", null]);
        const keys = await app.send("GET", "/v1/keys", { key: textAt(made.body, "key") });
        assert.equal(listAt(keys.body, "keys").length, 2);
        const unknown = "/v1/workspaces/01890000-0000-7000-8000-000000000000/keys";
        assert.equal((await app.send("POST", unknown, { key: OPERATOR_KEY })).status, 404);
      });
    });
  });
});

describe("MONGODB_URL over a DATA_DIR that holds workspaces", () => {
  it("stops the start and says how to go on with either, whether the folder is in use besides or not", async () => {
    await withFolder(async (folder) => {
      await withApp({ DATA_DIR: folder }, {}, async () => {});
      const mongo = { DATA_DIR: folder, MONGODB_URL: "mongodb://127.0.0.1:1/x" };
      const all = { ...mongo, RABBITMQ_URL: "amqp://127.0.0.1:1/x", NEO4J_URL: "bolt://127.0.0.1:1" };
      for (const settings of [mongo, all])
        await assert.rejects(
          startApp(settings),
          /^Error: MONGODB_URL: DATA_DIR .* holds workspaces.*unset MONGODB_URL.*another folder/,
        );
      // Nothing was changed, so the service goes on with them.
      await withApp({ DATA_DIR: folder }, {}, async (app) => {
        assert.equal((await app.send("GET", "/readyz")).status, 200);
      });
    });
  });
});
