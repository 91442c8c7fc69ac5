import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../support/backends.js";
import { json, onym, useFolder } from "../support/cli.js";
import { whereIs } from "../support/erasure/stores.js";
import { EMBEDDED } from "../support/servers/servers.js";
import {
  at,
  listAt,
  SIGNUP_SCHEMA,
  startApp,
  textAt,
  until,
  type App,
  type TestWorkspace,
} from "../support/service/app.js";
import { identifier, KINDS } from "../support/service/imports.js";
import { collectNow, timeOfIds } from "../support/service/time.js";

const SCRIPT = fileURLToPath(new URL("../../app/start/write-erasures.js", import.meta.url));
const now = timeOfIds;

describe("onym import onym with the erasures of the old installation", () => {
  const folder = useFolder();
  const secret = `canary${randomBytes(8).toString("hex")}`;
  const ADA = identifier("email", "ada@example.com");
  const EVE = identifier("email", `eve.${secret}@example.com`);
  const CAT = identifier("email", "cat@example.com");
  const BOB = identifier("email", "bob@example.com");
  const [copy, log, secretFile] = ["copy", "erasures.log", "erasures.secret"].map((name) => () => file(name));
  const file = (name: string): string => path.join(folder.path(), name);
  let target: App;
  let targetFolder: string;
  let workspace = "";
  let schema = "";
  let events: readonly string[] = [];
  const receipts = new Map<string, unknown>();

  /** Two exports, one before Ada and Eve were erased and one behind it: what an export holds that was made meanwhile. */
  before(async () => {
    const sourceFolder = await temporaryFolder();
    const source = await startApp({ ...EMBEDDED, DATA_DIR: sourceFolder }, { now });
    try {
      const from = await source.workspace();
      workspace = from.id;
      schema = await from.schema({ ...SIGNUP_SCHEMA, required: [] });
      const quiet = await from.schema(SIGNUP_SCHEMA, false);
      const sent: string[] = [];
      const send = async (schemaId: string, payload: object, status?: "stored" | "dropped"): Promise<void> => {
        const { body } = await collectNow(from, schemaId, payload);
        await from.settled(body["event_id"], status);
        sent.push(textAt(body, "event_id"));
      };
      await send(schema, { email: ADA.value, cookie: `c-${secret}`, city: `${secret}-city` });
      await send(quiet, { email: ADA.value, city: `${secret}-city` }, "stored");
      await send(schema, { email: EVE.value, city: `${secret}-city` });
      await send(schema, { email: CAT.value, city: `${secret}-city` });
      await send(schema, { email: BOB.value, city: "Bergen" });
      const run = async (to: string): Promise<void> => {
        const exported = await onym(["export", to], { url: source.url, key: await from.key("admin") });
        assert.equal(exported.exit, 0, exported.err);
      };
      await run(copy!());
      await run(file("before"));
      for (const [one, suppress] of [
        [ADA, false],
        [EVE, true],
        [CAT, true],
      ] as const) {
        const { body } = await from.send("POST", "/v1/erasures", { identifiers: [one], suppress });
        const done = await completed(from, textAt(body, "erasure_id"));
        if (one === CAT) {
          const readmitted = await from.send("POST", `/v1/erasures/${textAt(body, "erasure_id")}/readmit`);
          assert.equal(readmitted.status, 200, readmitted.text);
          receipts.set(textAt(body, "erasure_id"), told(readmitted.body));
        } else receipts.set(textAt(body, "erasure_id"), told(done.body));
      }
      await send(schema, { email: ADA.value, city: "Oslo" });
      await send(schema, { email: EVE.value, city: "Oslo" }, "dropped");
      await send(schema, { email: CAT.value, city: "Rome" });
      events = sent;
      await run(file("later"));
    } finally {
      await source.close();
    }
    join(copy!(), file("later"));
    const written = spawnSync(process.execPath, [SCRIPT, folder.path()], {
      env: { DATA_DIR: sourceFolder },
      encoding: "utf8",
    });
    assert.equal(written.status, 0, written.stderr);
    rmSync(sourceFolder, { recursive: true });
    targetFolder = await temporaryFolder();
    target = await startApp({ ...EMBEDDED, DATA_DIR: targetFolder }, { now });
  });
  after(async () => {
    await target.close();
    rmSync(targetFolder, { recursive: true });
  });

  /** Adds to the first export the lines of the second one whose ids it does not have. */
  const join = (first: string, second: string): void => {
    const idOf = (line: string): unknown => {
      const one = JSON.parse(line) as Readonly<Record<string, unknown>>;
      return one["event_id"] ?? one["change_id"] ?? one["profile_id"] ?? line;
    };
    for (const kind of KINDS.filter((one) => one !== "catalog")) {
      const [own, more] = [first, second].map((one) =>
        readFileSync(path.join(one, `${kind}.ndjson`), "utf8")
          .trimEnd()
          .split("\n")
          .slice(0, -1),
      );
      const known = new Set(own!.map(idOf));
      const all = [...own!, ...more!.filter((line) => !known.has(idOf(line)))];
      const end = JSON.stringify({ type: "end", complete: true, lines: all.length });
      writeFileSync(path.join(first, `${kind}.ndjson`), `${[...all, end].join("\n")}\n`);
    }
  };
  const completed = (of: TestWorkspace, erasureId: string) =>
    until(
      () => of.send("GET", `/v1/erasures/${erasureId}`),
      ({ body }) => body["status"] === "completed",
    );
  /** What the old installation says of an erasure, and the new one is to say too. */
  const told = (receipt: unknown) =>
    ["erased_at", "key_id", "profile_id", "identifiers", "suppress", "readmitted_at"].map((name) => at(receipt, name));
  const given = (changed: Readonly<Record<string, string>> = {}): readonly string[] =>
    Object.entries({ erasures: log!(), "secret-file": secretFile!(), workspace, ...changed }).flatMap(
      ([name, value]) => [`--${name}`, value],
    );
  const run = async (into: TestWorkspace, ...args: readonly string[]) =>
    onym(["import", "onym", copy!(), ...args], { url: target.url, key: await into.key("admin") });
  const profileOf = async (into: TestWorkspace, who: object) => {
    const { body } = await into.send("POST", "/v1/profiles/lookup", { identifiers: [who] });
    const profile = listAt(body, "profiles")[0];
    return profile === undefined
      ? null
      : (await into.send("GET", `/v1/profiles/${textAt(profile, "profile_id")}`)).body;
  };

  it("leaves out whom it erased, takes what they sent later, and judges as it did from then on", async () => {
    const into = await target.workspace();
    const trial = await run(into, ...given(), "--dry-run", "--json");
    assert.equal(trial.exit, 0, trial.err);
    const counts = { erasures: 3, erased_identifiers: 4 };
    assert.deepEqual([at(json(trial), "erasures"), at(json(trial), "erased_identifiers")], [3, 4], trial.out);
    const imported = await run(into, ...given(), "--yes", "--json");
    assert.equal(imported.exit, 0, imported.err);
    assert.deepEqual(
      { ...(json(imported) as object), ...counts, dropped_events: 4 },
      json(imported),
      "four events stayed out",
    );
    for (const [who, city] of [
      [ADA, "Oslo"],
      [CAT, "Rome"],
      [BOB, "Bergen"],
    ] as const) {
      const profile = await profileOf(into, who);
      assert.deepEqual([at(profile, "traits.city"), at(profile, "event_count")], [city, 1], who.value);
    }
    assert.equal(await profileOf(into, EVE), null);
    const statuses: unknown[] = [];
    for (const id of events) statuses.push((await into.send("GET", `/v1/events/${id}`)).body["status"]);
    const [out, stays] = ["dropped", "folded"];
    assert.deepEqual(statuses, [out, out, out, out, stays, stays, out, stays]);

    const { body } = await into.send("GET", "/v1/erasures");
    assert.deepEqual(
      new Map(listAt(body, "erasures").map((one) => [textAt(one, "erasure_id"), told(one)] as const)),
      receipts,
    );
    for (const erasureId of receipts.keys()) await completed(into, erasureId);
    // So that a backup of the new installation brings nobody back either.
    const ownLog = readFileSync(path.join(targetFolder, "erasures.log"), "utf8");
    for (const erasureId of receipts.keys()) assert.ok(ownLog.includes(erasureId));

    // An old call that comes again, and new ones.
    const old = { schema_id: schema, timestamp: "2020-01-01T00:00:00Z", payload: { email: ADA.value, city: secret } };
    const again = await into.send("POST", "/v1/collect", old);
    await into.settled(again.body["event_id"], "dropped");
    const eve = await collectNow(into, schema, { email: EVE.value, city: secret });
    assert.equal((await into.settled(eve.body["event_id"], "dropped")).body["status"], "dropped");
    const ada = await collectNow(into, schema, { email: ADA.value, city: "Lima" });
    await into.settled(ada.body["event_id"]);
    assert.equal(at(await profileOf(into, ADA), "traits.city"), "Lima");

    const shown = [trial, imported].map((one) => one.out + one.err).join("\n") + target.records.join("\n");
    assert.ok(!shown.includes(secret) && !shown.includes(ADA.value), "nothing but counts is shown");
    await target.service.keeper!.rest();
  });

  it("leaves no byte of them in the new installation", async () => {
    await until(
      async () => ({ status: 0, body: { where: await whereIs(secret, targetFolder, {}) }, text: "" }) as never,
      ({ body }) => listAt(body, "where").length === 0,
    );
    assert.deepEqual(await whereIs(secret, targetFolder, {}), []);
  });

  it("brings them back without the log, which is why it is needed", async () => {
    const without = await startApp(EMBEDDED, { now });
    try {
      const into = await without.workspace();
      const args = ["import", "onym", file("before"), "--yes"];
      const imported = await onym(args, { url: without.url, key: await into.key("admin") });
      assert.equal(imported.exit, 0, imported.err);
      assert.notEqual(await profileOf(into, EVE), null);
    } finally {
      await without.close();
    }
  });

  it("refuses what would bring somebody back unseen: a wrong secret, a damaged line, what is missing", async () => {
    const into = await target.workspace();
    const refusedBy = async (message: RegExp, changed: Readonly<Record<string, string>>): Promise<void> => {
      const refused = await run(into, ...given(changed), "--yes");
      assert.deepEqual([refused.exit, refused.out], [1, ""], refused.err);
      assert.match(refused.err, message);
      assert.equal((await into.send("POST", "/v1/imports?dry_run=true")).body["open"], false);
    };
    const other = folder.file("other.secret", randomBytes(32).toString("base64url"));
    await refusedBy(/other\.secret: is not the secret of the tombstones in .*erasures\.log/, { "secret-file": other });
    await refusedBy(/other\.txt: is no secret that npm run erasures writes/, {
      "secret-file": folder.file("other.txt", "what is this\n"),
    });
    await refusedBy(/ENOENT.*none/, { erasures: file("none") });
    await refusedBy(/ENOENT.*none/, { "secret-file": file("none") });
    await refusedBy(/has no erasure of workspace w-1, only of /, { workspace: "w-1" });
    const whole = readFileSync(log!(), "utf8").trimEnd().split("\n");
    for (const damaged of [whole.at(-1)!.slice(0, -5), '{"v":2}', whole.at(-1)!.replace('"erasedAt"', '"erasedAT"')]) {
      const lines = [whole[0]!, damaged, ...whole.slice(1)].join("\n");
      await refusedBy(/broken\.log: line 2: is damaged/, { erasures: folder.file("broken.log", lines) });
    }
    assert.equal((await run(into, "--erasures", log!(), "--yes")).exit, 2);
    const csv = await onym(["import", "csv", "x", ...given()], { url: target.url, key: await into.key("admin") });
    assert.match(csv.err, /--erasures: is for onym/);
  });

  it("says so when the export names nobody of the log: the secret may be another", async () => {
    const into = await target.workspace();
    // Without the uids nothing tells the secret.
    const lines = readFileSync(log!(), "utf8").replaceAll(/,"[0-9a-f-]{36}"\]/g, ",null]");
    const changed = {
      erasures: folder.file("no-uids.log", lines),
      "secret-file": folder.file("another.secret", randomBytes(32).toString("base64url")),
    };
    const trial = await run(into, ...given(changed), "--dry-run", "--json");
    assert.equal(trial.exit, 0, trial.err);
    assert.equal(at(json(trial), "erased_identifiers"), 0);
    assert.match(trial.err, /the export names nobody whom .*no-uids\.log erases/);
  });
});
