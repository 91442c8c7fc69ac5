import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { connect } from "../../cli/connection.js";
import { importOnym } from "../../cli/export/import-onym.js";
import type { CliError } from "../../cli/fail.js";
import type { WorkspaceId } from "../../core/ids.js";
import { anEvent } from "../support/builders.js";
import { json, onym, useFolder } from "../support/cli.js";
import { damagedRow } from "../support/damaged.js";
import { eventually } from "../support/eventually.js";
import { withHeldApp } from "../support/faults.js";
import { EMBEDDED } from "../support/servers/servers.js";
import { at, startApp, textAt, useApp, type App, type TestWorkspace } from "../support/service/app.js";
import { startFaultyProxy } from "../support/service/faulty-proxy.js";

/** As after a kill before the end. */
function withoutEnd(file: string): void {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  writeFileSync(file, `${lines.slice(0, -1).join("\n")}\n`);
}

const contentOf = (folder: string): readonly (readonly [string, string])[] =>
  readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name), "utf8")]);
const PROFILES = "/v1/exports/profiles";

describe("onym export and onym import onym", () => {
  const app = useApp();
  const folder = useFolder();
  let other: App;
  let workspace: TestWorkspace;
  let number = 0;
  before(async () => {
    other = await startApp(EMBEDDED);
  });
  after(() => other.close());
  beforeEach(async () => {
    workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const { body } = await workspace.collect(schemaId, { email: "ada@example.com", cookie: "c-1", city: "Paris" });
    await workspace.settled(body["event_id"]);
    for (let n = 0; n < 5; n++)
      await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: `u-${n}` }] });
  });
  const freshFolder = () => path.join(path.dirname(folder.file("x", "")), `copy-${(number += 1)}`);
  const run = async (args: readonly string[], url = app().url, of = workspace) =>
    onym(args, { url, key: await of.key("admin") });
  const profilesOf = async (one: TestWorkspace) => (await one.send("GET", "/v1/profiles")).body["profiles"];

  it("write all data into files, and read them into another installation", async () => {
    const copy = freshFolder();
    const exported = await run(["export", copy, "--json"]);
    const lines = { catalog: 8, profiles: 6, changes: 6, links: 1, events: 1 };
    assert.deepEqual([exported.exit, json(exported)], [0, lines], exported.err);
    const forOthers = [copy, ...readdirSync(copy).map((name) => path.join(copy, name))].filter(
      (one) => (statSync(one).mode & 0o077) !== 0,
    );
    assert.deepEqual(forOthers, []);
    const into = await other.workspace();
    const trial = await run(["import", "onym", copy, "--dry-run", "--json"], other.url, into);
    assert.deepEqual([trial.exit, json(trial)], [0, lines], trial.err);
    assert.deepEqual(await profilesOf(into), []);
    const imported = await run(["import", "onym", copy, "--yes", "--json"], other.url, into);
    assert.deepEqual([imported.exit, json(imported)], [0, { ...lines, left_out: 0 }], imported.err);
    assert.deepEqual(await profilesOf(into), await profilesOf(workspace));
    const again = await run(["import", "onym", copy, "--yes"], other.url, into);
    assert.equal(again.exit, 1);
    assert.match(again.err, /the workspace is not empty: it has profiles, changes, events, /);
  });

  it("tell of a damaged event that is only named, also when they go on, and leave it out of the other installation", async () => {
    const damaged = anEvent({ workspace: workspace.id as WorkspaceId, receivedAt: 1, folds: false });
    await app().service.backends.copying.documents.load("events", [damagedRow(damaged)]);
    const copy = freshFolder();
    for (const [way, prepare] of [
      ["whole", () => {}],
      ["again", () => withoutEnd(path.join(copy, "events.ndjson"))],
    ] as const) {
      prepare();
      const exported = await run(["export", copy]);
      assert.equal(exported.exit, 0, `${way}: ${exported.err}`);
      assert.match(exported.err, /^without their data: 1 damaged event \(lines of type damaged_event\)$/m);
      assert.match(exported.out, /^events: 2 lines$/m);
    }
    const into = await other.workspace();
    const imported = await run(["import", "onym", copy, "--yes"], other.url, into);
    assert.equal(imported.exit, 0, imported.err);
    assert.deepEqual(await profilesOf(into), await profilesOf(workspace));
  });

  it("go on where they were stopped, and read gzip too", async () => {
    const copy = freshFolder();
    await run(["export", copy]);
    const profiles = path.join(copy, "profiles.ndjson");
    const whole = readFileSync(profiles, "utf8");
    // As after a kill in the middle of a line.
    writeFileSync(profiles, whole.slice(0, whole.length >> 1));
    const refused = await run(["import", "onym", copy, "--yes"], other.url, await other.workspace());
    assert.equal(refused.exit, 1);
    assert.match(refused.err, /profiles.ndjson: is not complete; run onym export again/);
    assert.equal((await run(["export", copy])).exit, 0);
    assert.equal(readFileSync(profiles, "utf8"), whole);
    for (const name of readdirSync(copy)) {
      const file = path.join(copy, name);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file)));
      unlinkSync(file);
    }
    const into = await other.workspace();
    const imported = await run(["import", "onym", copy, "--yes"], other.url, into);
    assert.equal(imported.exit, 0, imported.err);
    assert.deepEqual(await profilesOf(into), await profilesOf(workspace));
  });

  it("leave a complete export alone, whosever it is", async () => {
    const copy = freshFolder();
    assert.equal((await run(["export", copy])).exit, 0);
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: "late" }] });
    const before = contentOf(copy);
    const stranger = await app().workspace();
    for (const of of [workspace, stranger]) {
      const again = await run(["export", copy], app().url, of);
      assert.deepEqual([again.exit, again.out], [1, ""]);
      assert.equal(again.err, `onym: ${copy}: this export is complete; name another folder\n`);
    }
    assert.deepEqual(contentOf(copy), before);
  });

  it("go on only with the data of the same workspace and service, and in files that are not compressed", async () => {
    const copy = freshFolder();
    assert.equal((await run(["export", copy])).exit, 0);
    const events = path.join(copy, "events.ndjson");
    const owner = path.join(copy, "workspace.json");
    unlinkSync(events);
    const before = contentOf(copy);
    const refuses = async (message: RegExp, url = app().url, of = workspace) => {
      const ran = await run(["export", copy], url, of);
      assert.deepEqual([ran.exit, ran.out], [1, ""]);
      assert.match(ran.err, message);
      assert.match(ran.err, /; name another folder\n$/);
    };
    const own = new RegExp(`holds an export of workspace ${workspace.id} of ${app().url};`);
    await refuses(own, app().url, await app().workspace());
    await refuses(own, other.url, await other.workspace());
    assert.deepEqual(contentOf(copy), before);
    const told = readFileSync(owner, "utf8");
    assert.deepEqual(JSON.parse(told), { workspace_id: workspace.id, url: app().url });
    // The same workspace in a copy of the installation.
    writeFileSync(owner, told.replace(app().url, "http://127.0.0.1:1"));
    await refuses(/ of http:\/\/127\.0\.0\.1:1;/);
    writeFileSync(owner, told.slice(0, 9));
    await refuses(/workspace\.json: does not say of which workspace the files beside it are/);
    unlinkSync(owner);
    await refuses(/workspace\.json: does not say of which workspace the files beside it are/);
    writeFileSync(owner, told);
    writeFileSync(`${events}.gz`, gzipSync(""));
    await refuses(/events\.ndjson\.gz: an export cannot go on in compressed files/);
    unlinkSync(`${events}.gz`);
    assert.equal((await run(["export", copy])).exit, 0);
    assert.match(readFileSync(events, "utf8"), /"complete":true/);
  });

  it("begin anew where a key that may not left nothing behind", async () => {
    const copy = freshFolder();
    const viewer = await onym(["export", copy], { url: app().url, key: await workspace.key("viewer") });
    assert.equal(viewer.exit, 4);
    const stranger = await run(["export", copy], app().url, await app().workspace());
    assert.equal(stranger.exit, 0, stranger.err);
  });

  it("go on when the connection breaks off", async () => {
    const copy = freshFolder();
    const key = await workspace.key("admin");
    let calls = 0;
    // Breaks each answer of profiles after its first two lines.
    const relay = async (url: string, response: http.ServerResponse): Promise<void> => {
      const answer = await fetch(`${app().url}${url}`, { headers: { Authorization: `Bearer ${key}` } });
      const text = await answer.text();
      const lines = text.split("\n");
      response.writeHead(200, { "Content-Type": "application/x-ndjson" });
      if (!url.startsWith("/v1/exports/profiles") || lines.length <= 3) {
        response.end(text);
        return;
      }
      calls += 1;
      response.write(`${lines.slice(0, 2).join("\n")}\n{"type":"prof`, () => {
        setTimeout(() => response.destroy(), 20);
      });
    };
    const proxy = http.createServer((request, response) => void relay(request.url!, response));
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    try {
      const exported = await run(["export", copy], `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
      assert.equal(exported.exit, 0, exported.err);
      assert.ok(calls > 2);
      const lines = readFileSync(path.join(copy, "profiles.ndjson"), "utf8").trimEnd().split("\n");
      const ids = lines.slice(0, -1).map((line) => textAt(JSON.parse(line), "profile_id"));
      assert.deepEqual([ids.length, new Set(ids).size], [6, 6]);
      assert.deepEqual(JSON.parse(lines.at(-1)!), { type: "end", complete: true, lines: 6 });
    } finally {
      proxy.close();
      proxy.closeAllConnections();
    }
  });

  it("wait as long as a busy service asks for, as seconds or as a date", async () => {
    for (const after of [() => "1", () => new Date(Date.now() + 2_500).toUTCString()]) {
      let isBusy = true;
      const proxy = await startFaultyProxy(app().url, (_, target) => {
        if (target !== PROFILES || !isBusy) return "pass";
        isBusy = false;
        return { status: 503, headers: { "Retry-After": after() } };
      });
      try {
        const exported = await run(["export", freshFolder()], proxy.url);
        assert.equal(exported.exit, 0, exported.err);
        const [first, second, ...more] = proxy.seen.filter(({ target }) => target === PROFILES);
        assert.ok(more.length === 0 && second!.at - first!.at >= 1_000, JSON.stringify(proxy.seen));
      } finally {
        await proxy.close();
      }
    }
  });

  it("wait until what was sent before is processed, and say so", async () => {
    await withHeldApp(EMBEDDED, async (held, release) => {
      const own = await held.workspace();
      await own.collect(await own.schema(), { email: "late@example.com" });
      const proxy = await startFaultyProxy(held.url, () => "pass");
      const asked = (path: string) => proxy.seen.filter(({ target }) => target.startsWith(path)).length;
      try {
        const copy = freshFolder();
        const exporting = run(["export", copy, "--json"], proxy.url, own);
        await eventually("it looks again", () => asked("/v1/stats") > 1);
        assert.equal(asked("/v1/exports"), 0);
        release();
        const exported = await exporting;
        assert.equal(exported.err, "onym: waits until the queue is empty; events that wait: 1\n");
        assert.deepEqual([at(json(exported), "profiles"), at(json(exported), "events")], [1, 1]);
        assert.match(readFileSync(path.join(copy, "events.ndjson"), "utf8"), /"status":"folded"/);
      } finally {
        await proxy.close();
      }
    });
  });

  it("tell in one line where an import stopped because nobody answers", async () => {
    const copy = freshFolder();
    await run(["export", copy]);
    const key = await (await other.workspace()).key("admin");
    for (const [passes, says] of [
      [1, /^stopped after 0 lines: http:\S+ does not answer \(\w+\); run it again/],
      [2, /^stopped after 0 lines: \S+\/catalog.ndjson, in the lines from 1 on: http:\S+ does not answer \(\w+\); run/],
      [7, /^stopped after 22 lines: http:\S+ does not answer \(\w+\); run it again/],
    ] as const) {
      const proxy = await startFaultyProxy(other.url, (n) => (n < passes ? "pass" : "cut"));
      const service = { url: proxy.url, key, keyPlace: "a test", isLoopback: true };
      const world = { env: {}, stdin: (async function* () {})(), ask: null, showsProgress: false, err: () => {} };
      const context = {
        positionals: ["onym", copy],
        values: { yes: true },
        world: { ...world, out: async () => {} },
        service,
        // The command itself would try for a quarter of an hour.
        http: () => connect(service, 0),
        print: async () => {},
      };
      try {
        await assert.rejects(importOnym(context), ({ exit, message }: CliError) => {
          assert.deepEqual([exit, says.test(message)], [3, true], message);
          return true;
        });
      } finally {
        await proxy.close();
      }
    }
  });

  it("refuse a wrong command, a wrong folder and a key that may not", async () => {
    assert.equal((await run(["export"])).exit, 2);
    assert.equal((await run(["import", "onym"])).exit, 2);
    assert.equal((await run(["import", "onym", freshFolder(), "--yes"])).exit, 1);
    const viewer = await onym(["export", freshFolder()], { url: app().url, key: await workspace.key("viewer") });
    assert.equal(viewer.exit, 4);
    const copy = freshFolder();
    await run(["export", copy]);
    appendFileSync(path.join(copy, "links.ndjson"), '{"more":1}\n');
    const longer = await run(["import", "onym", copy, "--yes"], other.url, await other.workspace());
    assert.match(longer.err, /links.ndjson: goes on behind its end/);
    writeFileSync(path.join(copy, "events.ndjson"), "what is this\n");
    assert.match((await run(["export", copy])).err, /^$|is no file of an export/);
  });
});
