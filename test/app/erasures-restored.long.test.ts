import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { copyFile, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { temporaryFolder } from "../support/backends.js";
import { eventually } from "../support/eventually.js";
import { whereIs } from "../support/erasure/stores.js";
import { listAt, startApp, textAt, until, workspaceOf, type App, type TestWorkspace } from "../support/service/app.js";

/** The file alone: the log is empty after a stop. */
const FILE = "onym.db";
const EMBEDDED = { RABBITMQ_URL: "", MONGODB_URL: "", NEO4J_URL: "" };

describe("A restored store", () => {
  const secret = `canary${randomBytes(8).toString("hex")}`;
  const email = (name: string) => ({ namespace: "email", value: `${name}@example.com` });
  const cookie = (name: string) => ({ namespace: "cookie_id", value: name });
  let folder: string;
  let app: App | null = null;
  const start = async (): Promise<App> => (app = await startApp({ ...EMBEDDED, DATA_DIR: folder }));
  const stop = async (): Promise<void> => {
    await app?.close();
    app = null;
  };
  const completed = (workspace: TestWorkspace, erasureId: string) =>
    until(
      () => workspace.send("GET", `/v1/erasures/${erasureId}`),
      ({ body }) => body["status"] === "completed",
    );

  beforeEach(async () => {
    folder = await temporaryFolder();
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true });
  });

  it("erases again whom the log beside it names, and nobody else", async () => {
    let workspace = await (await start()).workspace();
    const schemaId = await workspace.schema();
    const ada = { email: `${secret}@example.com`, cookie: `${secret}-c`, city: `${secret}-city` };
    for (const payload of [
      ada,
      { email: "bob@example.com", city: "Oslo" },
      { email: "eve@example.com", cookie: "c-eve" },
    ])
      await workspace.settled(textAt((await workspace.collect(schemaId, payload)).body, "event_id"));
    const [key, id] = [await workspace.key("owner"), workspace.id];
    await stop();
    await copyFile(path.join(folder, FILE), path.join(folder, "..", `${secret}.db`));

    workspace = workspaceOf((await start()).url, id, key);
    // Eve's cookie was not hers: at the time of the erasure she has only the address, in the backup both.
    await workspace.send("POST", "/v1/identity/unlink", { from: email("eve"), to: cookie("c-eve") });
    const erasures: string[] = [];
    for (const identifier of [{ ...email("ada"), value: ada.email }, email("eve")]) {
      const { body } = await workspace.send("POST", "/v1/erasures", { identifiers: [identifier], suppress: true });
      erasures.push(textAt(body, "erasure_id"));
    }
    for (const erasureId of erasures) await completed(workspace, erasureId);
    await workspace.send("POST", `/v1/erasures/${erasures[1]!}/readmit`);
    await stop();
    const log = await readFile(path.join(folder, "erasures.log"), "utf8");
    assert.ok(!log.includes(secret) && !log.includes("eve"), "it names nobody");
    await copyFile(path.join(folder, "..", `${secret}.db`), path.join(folder, FILE));
    await rm(path.join(folder, "..", `${secret}.db`));
    await rm(path.join(folder, `${FILE}-wal`), { force: true });

    workspace = workspaceOf((await start()).url, id, key);
    const lookup = async (...identifiers: readonly unknown[]) =>
      listAt((await workspace.send("POST", "/v1/profiles/lookup", { identifiers })).body, "profiles");
    assert.deepEqual(await lookup({ ...email("ada"), value: ada.email }, cookie(ada.cookie), email("eve")), []);
    assert.equal((await lookup(email("bob"), cookie("c-eve"))).length, 2, "others stay");
    for (const erasureId of erasures) await completed(workspace, erasureId);
    const open = async () => listAt((await workspace.send("GET", "/v1/erasures")).body, "erasures");
    for (const one of await open()) await completed(workspace, textAt(one, "erasure_id"));
    assert.deepEqual(await whereIs(secret, folder, {}), []);
    const count = (await open()).length;
    const [suppressed, readmitted] = await Promise.all(
      erasures.map(async (erasureId) => (await workspace.send("GET", `/v1/erasures/${erasureId}`)).body),
    );
    assert.deepEqual([suppressed!["suppress"], suppressed!["readmitted_at"]], [true, null]);
    assert.notEqual(readmitted!["readmitted_at"], null);
    const refused = await workspace.send("POST", "/v1/identify", {
      identifiers: [{ ...email("ada"), value: ada.email }],
    });
    assert.equal(refused.status, 422, refused.text);
    await stop();

    workspace = workspaceOf((await start()).url, id, key);
    assert.equal((await open()).length, count, "the next start finds nothing to do");
  });

  it("keeps out whom the last word of the log keeps out, and nobody else, after a start and from a backup", async () => {
    let workspace = await (await start()).workspace();
    const [key, id] = [await workspace.key("owner"), workspace.id];
    const again = async (): Promise<void> => {
      workspace = workspaceOf((await start()).url, id, key);
    };
    const [eve, zoe, kim] = ["eve", "zoe", "kim"].map(email);
    const all = [eve!, zoe!, kim!];
    const erase = async (who: object, suppress: boolean): Promise<string> => {
      const { body } = await workspace.send("POST", "/v1/erasures", { identifiers: [who], suppress });
      await completed(workspace, textAt(body, "erasure_id"));
      return textAt(body, "erasure_id");
    };
    const suppressed = async () =>
      listAt((await workspace.send("POST", "/v1/erasures/check", { identifiers: all })).body, "identifiers").map(
        (one) => (one as Readonly<Record<string, unknown>>)["suppressed"],
      );
    for (const who of all) await workspace.send("POST", "/v1/identify", { identifiers: [who] });
    await stop();
    const backups = ["before", "between"].map((name) => path.join(folder, "..", `${secret}-${name}.db`));
    await copyFile(path.join(folder, FILE), backups[0]!);

    await again();
    for (const who of [eve, kim]) {
      const erasureId = await erase(who!, true);
      assert.equal((await workspace.send("POST", `/v1/erasures/${erasureId}/readmit`)).status, 200);
    }
    await erase(zoe!, false);
    await stop();
    await copyFile(path.join(folder, FILE), backups[1]!);
    await again();
    await erase(eve!, true);
    await erase(zoe!, true);
    assert.deepEqual(await suppressed(), [true, true, false]);
    await stop();
    await again();
    assert.deepEqual(await suppressed(), [true, true, false], "a start changes nothing");
    await stop();
    for (const backup of backups) {
      await copyFile(backup, path.join(folder, FILE));
      await rm(backup);
      await rm(path.join(folder, `${FILE}-wal`), { force: true });
      await again();
      assert.deepEqual(await suppressed(), [true, true, false], backup);
      const statuses = await Promise.all(
        all.map(async (who) => (await workspace.send("POST", "/v1/identify", { identifiers: [who] })).status),
      );
      assert.deepEqual(statuses, [422, 422, 200], backup);
      await stop();
    }
  });

  it("logs what a log that is older than the store lacks, so the next backup erases them again, too", async () => {
    let workspace = await (await start()).workspace();
    const [key, id, ada] = [await workspace.key("owner"), workspace.id, email("ada")];
    const [file, log] = ["onym.db", "erasures.log"].map((name) => path.join(folder, name)) as [string, string];
    const backup = path.join(folder, "..", `${secret}.db`);
    await workspace.send("POST", "/v1/identify", { identifiers: [ada] });
    await stop();
    await copyFile(file, backup);
    workspace = workspaceOf((await start()).url, id, key);
    const erased = await workspace.send("POST", "/v1/erasures", { identifiers: [ada], suppress: false });
    await completed(workspace, textAt(erased.body, "erasure_id"));
    await stop();
    // It was copied before the erasure.
    await rm(log);

    await start();
    await eventually("it is logged", async () =>
      (await readFile(log, "utf8").catch(() => "")).includes(textAt(erased.body, "erasure_id")),
    );
    await stop();
    const lines = await readFile(log, "utf8");
    await start();
    await stop();
    assert.equal(await readFile(log, "utf8"), lines, "the next start has nothing to add");
    await copyFile(backup, file);
    await rm(backup);
    await rm(`${file}-wal`, { force: true });
    workspace = workspaceOf((await start()).url, id, key);
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [ada] });
    assert.deepEqual(listAt(body, "profiles"), []);
  });
});
