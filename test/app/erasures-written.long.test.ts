import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { identifierKey } from "../../core/event/event.js";
import { fromLogText } from "../../core/identity/logged-erasure.js";
import { tombsUnder } from "../../core/identity/tombstone.js";
import type { WorkspaceId } from "../../core/ids.js";
import { withApp, withFolder } from "../support/faults.js";
import { EMBEDDED, placesOf } from "../support/servers/servers.js";
import { textAt } from "../support/service/app.js";

const SCRIPT = fileURLToPath(new URL("../../app/start/write-erasures.js", import.meta.url));

/** `npm run erasures`, with nothing of this process's environment. */
const erasures = (settings: Readonly<Record<string, string>>, ...given: readonly string[]) =>
  spawnSync(process.execPath, [SCRIPT, ...given], { env: settings, encoding: "utf8" });

describe("npm run erasures", () => {
  const ada = { namespace: "email", value: "ada@example.com" };

  it("writes the log and the secret of its tombstones, for its owner alone and over no other file", async () => {
    await withFolder(async (folder) => {
      const settings = { ...placesOf(folder), DATA_DIR: folder };
      let [workspace, erasureId] = ["", ""];
      await withApp(settings, {}, async (app) => {
        const made = await app.workspace();
        workspace = made.id;
        erasureId = textAt((await made.send("POST", "/v1/erasures", { identifiers: [ada] })).body, "erasure_id");
      });
      await withFolder(async (parent) => {
        const to = path.join(parent, "not", "there");
        const [log, secret] = ["erasures.log", "erasures.secret"].map((name) => path.join(to, name));
        const written = erasures(settings, to);
        assert.deepEqual([written.status, written.stdout], [0, `${log}\n${secret}\n`], written.stderr);
        assert.equal(statSync(to).mode & 0o777, 0o700);
        for (const file of [log!, secret!]) assert.equal(statSync(file).mode & 0o777, 0o600);
        const tombOf = tombsUnder(Buffer.from(readFileSync(secret!, "utf8"), "base64url"));
        const { erasure, buried } = fromLogText(readFileSync(log!, "utf8").split("\n")[0]!);
        assert.deepEqual([erasure.workspace, erasure.erasureId], [workspace, erasureId]);
        assert.equal(buried[0]?.tomb, tombOf(identifierKey(workspace as WorkspaceId, ada)));
        const again = erasures(settings, to);
        assert.equal(again.status, 2);
        assert.match(again.stderr, /erasures\.log is there already: name a new folder/);
      });
    });
  });

  it("needs a folder, and an embedded store that no service uses", async () => {
    await withFolder(async (folder) => {
      const settings = { DATA_DIR: folder };
      assert.match(erasures(settings).stderr, /name the folder/);
      assert.match(erasures(settings, folder).stderr, /holds no workspace/);
      await withApp({ ...EMBEDDED, ...settings }, {}, async () => {
        const running = erasures(settings, folder);
        assert.equal(running.status, 2);
        assert.match(running.stderr, /another process uses/);
      });
    });
  });
});
