import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { json, onym, useFolder, type Running } from "../support/cli.js";
import { identifiersOf, profileOf } from "../support/sdk/client.js";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const lines = (...objects: readonly unknown[]): string => objects.map((one) => `${JSON.stringify(one)}\n`).join("");
const ONCE = "onym: the input can be read only once: say --yes or --dry-run (onym import --help tells more)\n";

describe("onym import", () => {
  const app = useApp();
  const folder = useFolder();
  let workspace: TestWorkspace;
  let key: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    key = await workspace.key("admin");
  });
  const run = (args: readonly string[], running: Running = {}) =>
    onym(["import", ...args], { url: app().url, key, ...running });
  const profile = (namespace: string, value: string, events: number) =>
    profileOf(workspace, [namespace, value], events);

  it("shows what would come of the files, and sends after a yes only", async () => {
    const file = folder.file(
      "ask.jsonl",
      lines({ type: "track", event: "A", userId: "u-ask", messageId: "m-1", timestamp: "2025-01-31T12:00:00Z" }),
    );
    const no = await run(["segment", file], { answer: false });
    assert.equal(no.exit, 1);
    assert.match(
      no.err,
      /^1 item, 2025-01-31T12:00:00.000Z to 2025-01-31T12:00:00.000Z\n {2}track 1\nidentifiers: user_id 1\n/,
    );
    assert.match(no.err, /Import 1 item\?\nonym: nothing was imported\n$/);
    assert.equal((await run(["segment", file])).exit, 2, "nobody can be asked");
    const identifiers = [{ namespace: "user_id", value: "u-ask" }];
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
    assert.deepEqual(body["profiles"], []);
    const yes = await run(["segment", file], { answer: true });
    assert.deepEqual([yes.exit, yes.out], [0, "1 item sent: 1 accepted\n"]);
    assert.equal((await profile("user_id", "u-ask", 1))?.["event_count"], 1);
  });

  it("tells lines that cannot be sent by file and line, and sends the others", async () => {
    const good = { type: "track", event: "A", userId: "u-mixed", messageId: "m-1" };
    const [jump, last] = [lines({ ...good, type: "jump", messageId: "m-2" }), lines({ ...good, messageId: "m-3" })];
    const long = "x".repeat(4_000_000);
    const file = folder.file("mixed.jsonl", `${lines(good)}{"type":\n[1]\n\n${jump}${long}\r\n\n${last}`);
    const trial = await run(["segment", file, "--dry-run", "--json"]);
    assert.equal(trial.exit, 1);
    assert.deepEqual(
      ["items", "unreadable", "unfit"].map((name) => at(json(trial), name)),
      [3, 3, 1],
    );
    const ran = await run(["segment", file, "--yes", "--json"]);
    assert.deepEqual([ran.exit, json(ran)], [1, { sent: 3, accepted: 2, duplicates: 0, rejected: 1, unreadable: 3 }]);
    for (const [line, message] of [
      [2, "is not valid JSON"],
      [3, "is not a JSON object"],
      [5, "type: must be one of"],
      [6, "has more than 3500000 bytes"],
    ] as const)
      assert.ok(ran.err.includes(`mixed.jsonl:${line}: ${message}`), ran.err);
  });

  it("counts all that was refused, and names the first twenty", async () => {
    const bad = (n: number) => ({ type: "jump", messageId: `m-${n}`, userId: "u-bad" });
    const file = folder.file("bad.jsonl", lines(...Array.from({ length: 30 }, (_, n) => bad(n))));
    const ran = await run(["segment", file, "--yes"]);
    assert.deepEqual([ran.exit, ran.out], [1, "30 items sent: 0 accepted, 30 refused\n"]);
    assert.equal(ran.err.match(/bad\.jsonl:\d+: type/g)?.length, 20);
    assert.match(ran.err, /^onym: and 10 more problems$/m);
  });

  it("gives a call without an id one that is the same the next time", async () => {
    const file = folder.file(
      "no-id.jsonl",
      lines({ type: "track", event: "A", userId: "u-no-id", timestamp: "2025-01-31T12:00:00Z" }),
    );
    for (const _ of [1, 2]) assert.equal((await run(["rudder", file, "--yes"])).exit, 0);
    folder.file(
      "no-id.jsonl",
      lines({ type: "track", event: "B", userId: "u-no-id", timestamp: "2025-01-31T12:00:00Z" }),
    );
    await run(["rudder", file, "--yes"]);
    assert.equal((await profile("user_id", "u-no-id", 2))?.["event_count"], 2);
  });

  it("stores nothing again that the named sender has sent", async () => {
    const message = {
      type: "track",
      event: "A",
      userId: "u-sender",
      messageId: "m-s",
      timestamp: "2025-01-31T12:00:00Z",
    };
    const file = folder.file("sender.jsonl", lines(message));
    await run(["segment", file, "--yes"]);
    const listed = await workspace.send("GET", "/v1/keys");
    const admin = listAt(listed.body, "keys").find((one) => at(one, "role") === "admin");
    const owner = await workspace.key("owner");
    const again = await run(["segment", file, "--yes", "--sender", textAt(admin, "key_id")], { key: owner });
    assert.equal(again.exit, 0, again.err);
    await run(["segment", folder.file("sender-2.jsonl", lines({ ...message, messageId: "m-t" })), "--yes"]);
    assert.equal((await profile("user_id", "u-sender", 2))?.["event_count"], 2);
    const wrong = await run(["segment", file, "--yes", "--sender", "nobody"]);
    assert.deepEqual([wrong.exit, /sender: must be the id of a key/.test(wrong.err)], [1, true], wrong.err);
  });

  it("reads folders, gzip and the input", async () => {
    const track = (n: number) => lines({ type: "track", event: "A", userId: "u-many", messageId: `m-${n}` });
    folder.file("2.jsonl.gz", gzipSync(track(2)));
    const stdin = await run(["segment", "-", "--yes"], { stdin: gzipSync(track(1)) });
    assert.equal(stdin.out, "1 item sent: 1 accepted\n", stdin.err);
    const file = folder.file("cut.gz", gzipSync(track(3)).subarray(0, -12));
    const cut = await run(["segment", file, "--yes"]);
    assert.deepEqual([cut.exit, /cut\.gz: the gzip is damaged or ends early/.test(cut.err)], [1, true], cut.err);
    assert.match(cut.err, /stopped after 0 items.*run it again/);
  });

  it("reads a pipe once: it sends or shows, and does not ask in between", async () => {
    const pipe = path.join(folder.path(), "pipe");
    execFileSync("mkfifo", [pipe]);
    const call = lines({ type: "track", event: "A", userId: "u-pipe", messageId: "m-1" });
    const writer = spawn("sh", ["-c", 'printf %s "$1" > "$2"', "sh", call, pipe]);
    try {
      const asked = await run(["segment", pipe], { answer: false });
      assert.deepEqual([asked.exit, asked.err], [2, ONCE]);
      const sent = await run(["segment", pipe, "--yes"], { isTerminal: true });
      assert.deepEqual([sent.exit, sent.out], [0, "1 item sent: 1 accepted\n"], sent.err);
      assert.ok(!sent.err.includes("%"), "nobody knows how much is in a pipe");
    } finally {
      writer.kill();
    }
  });

  it("foresees the merges that limits refuse, with who is there already", async () => {
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    const both = [
      { namespace: "user_id", value: "u-1" },
      { namespace: "anonymous_id", value: "a-1" },
    ];
    await workspace.send("POST", "/v1/identify", { identifiers: both });
    const identify = (messageId: string, userId: string, anonymousId: string) => ({
      type: "identify",
      messageId,
      userId,
      anonymousId,
      traits: {},
    });
    const messages = [
      identify("m-1", "u-2", "a-1"),
      identify("m-2", "u-3", "a-3"),
      identify("m-3", "u-4", "a-3"),
      identify("m-4", "u-3", "a-4"),
    ];
    const file = folder.file("limits.jsonl", lines(...messages));
    const trial = await run(["segment", file, "--dry-run", "--json"]);
    assert.equal(trial.exit, 0, trial.err);
    assert.deepEqual([at(json(trial), "refusedMerges"), at(json(trial), "limits")], [2, { user_id: 1 }]);
    const said = listAt(json(trial), "remarks").map((one) => textAt(one, "message"));
    assert.deepEqual(said, [
      "a limit keeps anonymous_id:a-1 apart from user_id:u-2",
      "a limit keeps anonymous_id:a-3 apart from user_id:u-4",
    ]);
    await run(["segment", file, "--yes"]);
    assert.deepEqual(identifiersOf(await profile("user_id", "u-3", 2)), [
      "anonymous_id:a-3",
      "anonymous_id:a-4",
      "user_id:u-3",
    ]);
    assert.deepEqual(
      identifiersOf(await profile("user_id", "u-2", 1)),
      ["user_id:u-2"],
      "the service does as foreseen",
    );
  });

  it("foresees whom an alias names, however each call writes it", async () => {
    await workspace.as("owner", "PUT", "/v1/namespaces/user_id", { normalization: "email" });
    const batch = Array.from({ length: 1_000 }, () => ({ type: "track", event: "A", userId: "Ada@x.de" }));
    const alias = (previousId: string, userId: string) => ({ type: "alias", previousId, userId });
    const file = folder.file("who.jsonl", lines(...batch, alias("ADA@x.de", "bob@x.de"), alias("Bob@x.de", "cy@x.de")));
    assert.deepEqual(at(json(await run(["segment", file, "--dry-run", "--json"])), "identifiers"), { user_id: 3 });
  });

  it("makes links and traits of PostHog's events", async () => {
    const event = (uuid: string, name: string, distinct_id: string, properties: object) => ({
      uuid,
      event: name,
      distinct_id,
      properties,
      timestamp: "2025-01-31 12:00:00.000",
    });
    const file = folder.file(
      "posthog.jsonl",
      lines(
        event("p-1", "$pageview", "ph-anon", { $is_identified: false, $device_id: "ph-device" }),
        event("p-2", "$identify", "ph-user", {
          $is_identified: true,
          $anon_distinct_id: "ph-anon",
          $set: { email: "ph@example.com" },
        }),
        event("p-3", "ordered", "ph-user", {
          $is_identified: true,
          $device_id: "ph-user",
          $set: { plan: "pro" },
          total: 5,
        }),
        event("p-4", "$create_alias", "ph-user", { alias: "ph-old" }),
        event("p-5", "$create_alias", "ph-anew", { alias: "ph-new", $is_identified: false }),
        event("p-6", "$create_alias", "ph-told", { alias: "ph-own", $device_id: "ph-own", $is_identified: false }),
      ),
    );
    const ran = await run(["posthog", file, "--yes", "--json"]);
    assert.deepEqual([ran.exit, at(json(ran), "accepted")], [0, 7], ran.err);
    assert.deepEqual(identifiersOf(await profile("user_id", "ph-new", 1)), ["anonymous_id:ph-anew", "user_id:ph-new"]);
    assert.deepEqual(identifiersOf(await profile("user_id", "ph-told", 1)), ["anonymous_id:ph-own", "user_id:ph-told"]);
    const found = await profile("user_id", "ph-user", 5);
    assert.deepEqual(identifiersOf(found), [
      "anonymous_id:ph-anon",
      "anonymous_id:ph-old",
      "email:ph@example.com",
      "user_id:ph-user",
    ]);
    assert.deepEqual([at(found, "traits.plan"), found?.["event_count"]], ["pro", 5]);
  });

  it("makes people of the rows of a CSV file, once", async () => {
    const csv = 'id,mail,"full name",note\r\n7,csv@example.com,"Ada ""A."" Lovelace","two\nlines"\r\n8,,Nobody,\r\n';
    const file = folder.file("people.csv", csv);
    const args = [
      "csv",
      file,
      "--identifier",
      "id=customer_id",
      "--identifier",
      "mail=email",
      "--trait",
      "full name=name",
    ];
    for (const _ of [1, 2]) assert.equal((await run([...args, "--yes"])).out, "2 items sent: 2 accepted\n");
    await run(["csv", folder.file("more.csv", "id\n7\n"), "--identifier", "id=customer_id", "--yes"]);
    const found = await profile("email", "csv@example.com", 2);
    assert.deepEqual(identifiersOf(found), ["customer_id:7", "email:csv@example.com"]);
    assert.deepEqual([at(found, "traits.name"), found?.["event_count"]], ['Ada "A." Lovelace', 2]);
    // With --id, a row that says something new is no repeat, nor is one of somebody else.
    const imports = async (text: string, identifier: string) => {
      const file = folder.file("cities.csv", `id,city\n7,${text}\n`);
      const ran = await run(["csv", file, "--identifier", identifier, "--trait", "city=city", "--id", "id", "--yes"]);
      assert.equal(ran.out, "1 item sent: 1 accepted\n", ran.err);
    };
    for (const text of ["Paris", "Paris", "London"]) await imports(text, "id=customer_id");
    await imports("Paris", "id=lead_id");
    const moved = await profile("customer_id", "7", 4);
    assert.deepEqual([at(moved, "traits.city"), moved?.["event_count"]], ["London", 4]);
    assert.equal(at(await profile("lead_id", "7", 1), "traits.city"), "Paris");
  });

  it("makes events of the rows of a CSV file, with the types of their schema", async () => {
    const schema = {
      type: "object",
      required: ["email"],
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        total: { type: "number" },
        gift: { type: "boolean" },
        address: { type: "object", properties: { zip: { type: "string" } } },
      },
    };
    const schemaId = await workspace.schema(schema);
    const file = folder.file(
      "orders.csv",
      "email,sum,gift,zip,at\no@example.com,9.5,true,01234,2025-01-31T12:00:00Z\no@example.com,x,,,2025-01-31T12:00:00Z\n",
    );
    const fields = ["email=email", "sum=total", "gift=gift", "zip=address.zip"].flatMap((field) => ["--field", field]);
    const args = ["csv", file, "--schema", schemaId, "--timestamp", "at", ...fields];
    const trial = await run([...args, "--dry-run", "--json"]);
    assert.deepEqual([at(json(trial), "unfit"), at(json(trial), "identifiers")], [1, { email: 1 }], trial.err);
    for (const _ of [1, 2]) {
      const ran = await run([...args, "--yes", "--json"]);
      assert.deepEqual([at(json(ran), "accepted"), at(json(ran), "rejected")], [1, 1]);
      assert.match(ran.err, /orders\.csv:3: total: must be number/);
    }
    const found = await profile("email", "o@example.com", 1);
    const { body } = await workspace.send("GET", `/v1/profiles/${String(found?.["profile_id"])}/events`);
    assert.equal(listAt(body, "events").length, 1);
    assert.deepEqual(at(body, "events.0.payload"), {
      email: "o@example.com",
      total: 9.5,
      gift: true,
      address: { zip: "01234" },
    });
  });

  it("looks at each line of an open quote once", async () => {
    const file = folder.file("open.csv", `a\n"${`${"x".repeat(49)}\n`.repeat(70_000)}`);
    const before = process.cpuUsage().user;
    const ran = await run(["csv", file, "--identifier", "a=user_id", "--yes"]);
    assert.deepEqual([ran.exit, /line 2: a quote is not closed/.test(ran.err)], [1, true], ran.err);
    const seconds = (process.cpuUsage().user - before) / 1e6;
    assert.ok(seconds < 5, `${seconds} s`);
  });

  it("names the line of a CSV file that is none", async () => {
    for (const [text, says] of [
      ["a,b\n1\n", /line 2: has 1 fields, the first line has 2/],
      ['a\n"1\n', /line 2: a quote is not closed/],
      ["a,a\n1,2\n", /line 1: two columns have the same name/],
      ["b\n1\n", /line 1: there is no column "a"/],
    ] as const) {
      const ran = await run(["csv", folder.file("wrong.csv", text), "--identifier", "a=user_id", "--yes"]);
      assert.deepEqual([ran.exit, says.test(ran.err)], [1, true], ran.err);
    }
  });
});
