import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { closedPort, onym, useFolder } from "../support/cli.js";
import { eventually } from "../support/eventually.js";
import { useApp } from "../support/service/app.js";

const MAIN = fileURLToPath(new URL("../../cli/main.js", import.meta.url));
const COMMANDS = ["send", "tail", "lookup", "explain", "undo", "schemas", "keys", "import", "doctor"];
const KEY = "onym_AbCdEfGhIj_wrong";

/** Answers a page to log in, or breaks off inside of an answer. */
async function startStranger() {
  const server = http.createServer((request, response) => {
    if (request.url!.startsWith("/login")) response.end("<html><body>Who are you?</body></html>");
    else
      response.writeHead(200, { "Content-Length": 100 }).write('{"profiles"', () => {
        setTimeout(() => response.destroy(), 20);
      });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

describe("The command line", () => {
  const app = useApp();
  const folder = useFolder();

  it("lists its commands, and tells of each how it is called", async () => {
    const { out, exit } = await onym([]);
    assert.equal(exit, 0);
    for (const name of COMMANDS) {
      assert.match(out, new RegExp(`^  ${name} +\\S`, "m"));
      const help = await onym([name, "--help"]);
      assert.equal(help.exit, 0, help.err);
      assert.ok(help.out.startsWith(`onym ${name}`), help.out);
      assert.ok(help.out.includes("--json") && help.out.split("\n").every((line) => line.length <= 120), name);
    }
  });

  const wrong: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [["smile"], /there is no command "smile"/],
    [["--url", "http://127.0.0.1:8080", "doctor"], /^onym: options come after the command: onym COMMAND \[options\]/],
    [["--key=secret", "doctor"], /^onym: options come after the command/],
    [["lookup"], /name 1 to 100 identifiers/],
    [["lookup", "email"], /"email" must be NAMESPACE:VALUE/],
    [["lookup", "email:a@example.com", "--wait", "11"], /--wait: must be a whole number from 0 to 10/],
    [["lookup", "--loud"], /Unknown option '--loud'/],
    [["lookup", "--wait"], /--wait <value>' argument missing/],
    [["explain", "email:a@example.com"], /name two identifiers/],
    [["send"], /name a schema/],
    [["send", "signup", "--check"], /need one payload/],
    [["undo"], /name a change/],
    [["undo", "email:a@example.com", "--forbid"], /--forbid: needs two identifiers/],
    [["tail", "weather"], /must be events, changes, dead-letters, or events/],
    [["tail", "changes", "email:a@example.com"], /must be events, changes/],
    [["tail", "changes", "--schema", "s"], /--schema: is for tail events/],
    [["keys", "burn"], /"burn" must be one of list, create, rotate, delete/],
    [["keys", "rotate"], /name one key id/],
    [["schemas"], /must be one of push, pull, diff/],
    [["import", "xml", "a"], /name one of segment, rudder, posthog, csv/],
    [["import", "segment"], /name a file/],
    [["import", "segment", "-"], /say --yes or --dry-run/],
    [["import", "segment", "a", "--schema", "s"], /--schema: is for csv/],
    [["import", "csv", "a"], /name a --schema, or at least one --identifier/],
    [["import", "csv", "a", "--identifier", "email"], /must be COLUMN=NAME/],
    [["import", "csv", "a", "--schema", "s"], /--timestamp COLUMN: is needed/],
    [
      ["import", "csv", "a", "--identifier", "mail=Email", "--yes"],
      /--identifier: "Email" must be 1-64 characters: a lower/,
    ],
    [["import", "csv", "a", "--identifier", "a=b", "--trait", "city=Home city"], /--trait: "Home city" must be 1-64 /],
    [["doctor", "http://onym.example"], /^onym: doctor: takes no argument; --url names the service/],
    [["doctor", "--url", "ftp://onym.example"], /--url: ftp:.* is not an http or https URL/],
    [["doctor", "--url", "https://ada:secret@onym.example"], /^onym: --url: must have no user name or password/],
    [["doctor", "--url", "https://ada:secret@onym.example:x"], /^onym: --url: must have no user name or password/],
  ];
  for (const [args, says] of wrong)
    it(`refuses "${args.join(" ")}" in one line, with exit code 2`, async () => {
      const { exit, out, err } = await onym(args, { url: app().url, key: KEY });
      assert.deepEqual([exit, out], [2, ""], err);
      assert.match(err, says);
      assert.match(err, /^onym: [^\n]+\n$/);
      assert.doesNotMatch(err, /secret/);
    });

  it("has an exit code for each way to fail", async () => {
    const args = ["lookup", "email:a@example.com"];
    const closed = await closedPort();
    const stranger = await startStranger();
    // Each of those that are away is tried for ten seconds.
    const [noKey, wrongKey, away, awayAtOnce, login, cut, noFile] = await Promise.all([
      onym(args, { url: app().url }),
      onym(args, { url: app().url, key: KEY }),
      onym(args, { url: closed, key: KEY }),
      onym(["tail", "--once"], { url: closed, key: KEY }),
      onym(args, { url: `${stranger.url}/login`, key: KEY }),
      onym(args, { url: `${stranger.url}/cut`, key: KEY }),
      onym([...args, "--key-file", "/nowhere"], { url: app().url }),
    ]).finally(stranger.close);
    const all = [noKey, wrongKey, away, awayAtOnce, login, cut, noFile];
    assert.deepEqual(
      all.map(({ exit }) => exit),
      [4, 4, 3, 3, 3, 3, 1],
    );
    for (const { err } of all) assert.match(err, /^onym: [^\n]+\n$/);
    assert.match(away.err, /127\.0\.0\.1:\d+ does not answer \(ECONNREFUSED\)/);
    assert.match(login.err, /\/login does not answer in JSON\n/);
    assert.match(cut.err, /\/cut does not answer \(\w+\)\n/);
  });

  it("finds the key in the order of its places, and warns of one in the process list", async () => {
    const workspace = await app().workspace();
    const right = await workspace.key("viewer");
    const file = folder.file("key", `${right}\n`);
    const args = ["lookup", "email:a@example.com"];
    const known = /no profile/;
    const inFile = await onym([...args, "--key-file", file, "--key", KEY], { url: app().url, key: KEY });
    assert.match(inFile.out, known);
    assert.equal(inFile.err, "");
    const asArgument = await onym([...args, "--key", right], { url: app().url, key: KEY });
    assert.match(asArgument.out, known);
    assert.match(asArgument.err, /^onym: --key: others on this machine can read it/);
    folder.file("owner-key", right);
    const env = { DATA_DIR: folder.path() };
    assert.match((await onym(args, { url: app().url, env })).out, known);
    assert.equal((await onym(args, { url: app().url, key: KEY, env })).exit, 4, "ONYM_KEY comes first");
    const elsewhere = await onym([...args, "--url", "http://onym.invalid"], { env });
    assert.match(elsewhere.err, /no key/, "the key of this machine's service is for no other");
  });

  it("never prints what could steer a terminal", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const sent = await workspace.collect(schemaId, { email: "esc@example.com", cookie: "c-\u001b]0;owned\u0007" });
    await workspace.settled(sent.body["event_id"]);
    const key = await workspace.key("viewer");
    const { out } = await onym(["lookup", "email:esc@example.com"], { url: app().url, key });
    assert.ok(out.includes(String.raw`c-\u001b]0;owned\u0007`), out);
  });

  it("follows events, and shows each of them once", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const sent: unknown[] = [];
    const sendOne = async (n: number): Promise<void> => {
      const { body } = await workspace.collect(schemaId, { email: `f${n}@example.com` });
      await workspace.settled(body["event_id"]);
      sent.push(body["event_id"]);
    };
    await sendOne(0);
    await sendOne(1);
    const env = { PATH: process.env["PATH"], ONYM_URL: app().url, ONYM_KEY: await workspace.key("viewer") };
    const program = spawn(process.execPath, [MAIN, "tail", "--last", "1", "--json"], { env });
    let out = "";
    program.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    const shown = (): readonly unknown[] =>
      out
        .split("\n")
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { readonly event_id: string }).event_id);
    try {
      await eventually("the last event is shown", () => shown().length === 1);
      for (const n of [2, 3, 4]) await sendOne(n);
      await eventually("a new event is shown", () => shown().includes(sent[4]));
      await sendOne(5);
      await eventually("another is shown", () => shown().includes(sent[5]));
      assert.deepEqual(shown(), sent.slice(1));
    } finally {
      program.kill();
    }
  });

  it("runs as a program, and ends quietly when nobody reads on", async () => {
    const workspace = await app().workspace();
    for (let n = 0; n < 3; n += 1)
      await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: `u-${n}` }] });
    const env = { PATH: process.env["PATH"], ONYM_URL: app().url, ONYM_KEY: await workspace.key("viewer") };
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, "tail", "changes", "--once", "--json"], {
      env,
    });
    assert.equal(stdout.trim().split("\n").length, 3);
    const program = spawn(process.execPath, [MAIN, "tail", "changes"], { env, stdio: ["ignore", "pipe", "pipe"] });
    let err = "";
    program.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    program.stdout.once("data", () => program.stdout.destroy());
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: "u-3" }] });
    const again = setInterval(
      () =>
        void workspace.send("POST", "/v1/identify", {
          identifiers: [{ namespace: "user_id", value: crypto.randomUUID() }],
        }),
      300,
    );
    const code = await new Promise((resolve) => program.once("close", resolve));
    clearInterval(again);
    assert.deepEqual([code, err], [0, ""]);
  });

  it("does what it was asked for to its end, also when nobody reads on", async () => {
    const workspace = await app().workspace();
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) writeFileSync(path.join(folder.path(), `${name}.json`), '{"type":"object"}');
    const env = { PATH: process.env["PATH"], ONYM_URL: app().url, ONYM_KEY: await workspace.key("admin") };
    const push = async (): Promise<unknown> => {
      const program = spawn(process.execPath, [MAIN, "schemas", "push", folder.path()], { env });
      program.stdout.once("data", () => program.stdout.destroy());
      return new Promise((resolve) => program.once("close", resolve));
    };
    assert.equal(await push(), 0);
    const { body } = await workspace.send("GET", "/v1/schemas");
    assert.deepEqual(
      (body["schemas"] as readonly Readonly<Record<string, unknown>>[]).map((one) => one["schema_id"]),
      names,
    );
    writeFileSync(path.join(folder.path(), "d.json"), '{"type":"string"}');
    assert.equal(await push(), 1, "what is refused further on is told by the exit code");
  });

  it("goes on also when nobody reads what was refused", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const file = folder.file("some.jsonl", `${"no JSON\n".repeat(200)}{"email":"a@example.com"}\n`);
    const env = { PATH: process.env["PATH"], ONYM_URL: app().url, ONYM_KEY: await workspace.key("all") };
    const program = spawn(
      "sh",
      ["-c", `"$1" "$2" send "$3" <"$4" 2>&1 | head -n 1`, "sh", process.execPath, MAIN, schemaId, file],
      { env },
    );
    await new Promise((resolve) => program.once("close", resolve));
    await eventually("what was not refused is sent", async () => {
      const { body } = await workspace.send("GET", "/v1/events");
      return (body["events"] as readonly unknown[]).length === 1;
    });
  });
});
