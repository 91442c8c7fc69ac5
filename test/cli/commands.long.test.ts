import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { WorkspaceId } from "../../core/ids.js";
import { aDeadLetter } from "../support/builders.js";
import { closedPort, json, jsonLines, onym, useFolder, type Running } from "../support/cli.js";
import { at, listAt, SIGNUP_SCHEMA, textAt, useApp, type TestWorkspace } from "../support/service/app.js";
import { startFaultyProxy } from "../support/service/faulty-proxy.js";

describe("onym on the command line", () => {
  const app = useApp();
  const folder = useFolder();
  let workspace: TestWorkspace;
  let schemaId: string;
  let key: string;
  before(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
    key = await workspace.key("owner");
  });
  const run = (args: readonly string[], running: Running = {}) => onym(args, { url: app().url, key, ...running });

  it("send prints the event's id, and an idempotency key makes it one event", async () => {
    const args = ["send", schemaId, '{"email":"send@example.com"}', "--timestamp", "2026-01-31T12:00:00Z"];
    const [one, two] = [
      await run([...args, "--idempotency-key", "k-1"]),
      await run([...args, "--idempotency-key", "k-1"]),
    ];
    assert.match(one.out, /^[0-9a-f-]{36}\n$/);
    assert.equal(two.out, one.out);
    assert.equal((await workspace.settled(one.out.trim())).body["timestamp"], "2026-01-31T12:00:00Z");
  });

  it("send takes a payload from each line, names the lines that are refused, and sends the others", async () => {
    const stdin = [
      '{"email":"l1@example.com"}\r\n\nnone\n{"email":7}\n{"email":"l5@example.com"}',
      '{"email":"l6@example.com","age":12345678901234567890}',
      '{"email":"l7@example.com","email":"l8@example.com"}',
    ].join("\n");
    const ran = await run(["send", schemaId, "--json"], { stdin });
    assert.equal(ran.exit, 1);
    assert.equal(jsonLines(ran).length, 2);
    assert.match(ran.err, /^onym: line 3: the payload is not a JSON object$/m);
    assert.match(ran.err, /^onym: line 4: email: must be string/m);
    assert.match(ran.err, /^onym: line 6: age: is a number that a double cannot represent; send it as a string$/m);
    assert.match(ran.err, /^onym: line 7: email: is a duplicate key$/m);
    for (const sent of jsonLines(ran)) await workspace.settled(at(sent, "event_id"));
  });

  it("send --check tells all that is wrong and stores nothing", async () => {
    const ran = await run(["send", schemaId, '{"email":7,"age":-1}', "--check"]);
    assert.equal(ran.exit, 1);
    assert.match(ran.out, /^fail\n/);
    for (const field of ["email", "age"]) assert.match(ran.out, new RegExp(`^  ${field}: must be`, "m"));
    assert.equal((await run(["send", schemaId, '{"email":"ok@example.com"}', "--check"])).out, "pass\n");
  });

  it("lookup shows the profile, and names who has none", async () => {
    await workspace.collect(schemaId, { email: "look@example.com", city: "London" });
    const found = await run(["lookup", "email:LOOK@example.com", "--wait", "10"]);
    assert.equal(found.exit, 0, found.err);
    for (const part of ["email:look@example.com", 'city = "London"', "1 event,"])
      assert.ok(found.out.includes(part), part);
    const unknown = await run(["lookup", "email:nobody@example.com", "--json"]);
    assert.equal(unknown.exit, 1);
    assert.equal(textAt(json(unknown), "unknown.0.value"), "nobody@example.com");
  });

  it("explain shows the links between two, and says so when there are none", async () => {
    await workspace.send("POST", "/v1/identify", {
      identifiers: [
        { namespace: "email", value: "ex@example.com" },
        { namespace: "user_id", value: "u-ex" },
      ],
    });
    const ran = await run(["explain", "email:ex@example.com", "user_id:u-ex"]);
    assert.deepEqual([ran.exit, ran.out.includes("identify")], [0, true], ran.err);
    await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: "u-far" }] });
    const apart = await run(["explain", "email:ex@example.com", "user_id:u-far"]);
    assert.deepEqual([apart.exit, apart.out], [1, "email:ex@example.com and user_id:u-far are not connected\n"]);
  });

  describe("undo", () => {
    const linked = async (name: string): Promise<string> => {
      const identifiers = ["email", "user_id"].map((namespace) => ({ namespace, value: `${name}@example.com` }));
      return textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "change_id");
    };
    const isLinked = async (name: string): Promise<boolean> => {
      const ran = await run(["explain", `email:${name}@example.com`, `user_id:${name}@example.com`, "--json"]);
      return at(json(ran), "connected") === true;
    };

    it("--dry-run shows what would be, and changes nothing", async () => {
      const ran = await run(["undo", await linked("dry"), "--dry-run"]);
      assert.match(ran.out, /^would be: reverted\nprofiles before/);
      assert.equal(await isLinked("dry"), true);
    });

    it("asks first, and does nothing after a no", async () => {
      const change = await linked("no");
      const ran = await run(["undo", change], { answer: false });
      assert.equal(ran.exit, 1);
      assert.match(ran.err, /would be: reverted[^]*Do it\?\nonym: nothing was changed\n$/);
      assert.equal(await isLinked("no"), true);
      assert.equal((await run(["undo", change], { answer: true })).exit, 0);
      assert.equal(await isLinked("no"), false);
    });

    it("does not guess where nobody can be asked", async () => {
      const ran = await run(["undo", await linked("alone")]);
      assert.deepEqual([ran.exit, await isLinked("alone")], [2, true]);
    });

    it("takes two identifiers apart, for good with --forbid", async () => {
      await linked("two");
      const pair = ["email:two@example.com", "user_id:two@example.com"];
      const ran = await run(["undo", ...pair, "--forbid", "--yes", "--json"]);
      assert.equal(at(json(ran), "outcome"), "unlinked");
      await linked("two");
      assert.equal(await isLinked("two"), false);
    });

    it("shows by which links the two are still one person, before and after", async () => {
      await linked("held");
      const own = ["email:held@example.com", "user_id:held@example.com"];
      for (const name of own) {
        const [namespace, value] = name.split(":");
        const cookie = { namespace: "cookie_id", value: "c-held" };
        await workspace.send("POST", "/v1/identify", { identifiers: [{ namespace, value }, cookie] });
      }
      const held = [
        "still in one profile, held together by:",
        "  email:held@example.com -- cookie_id:c-held: identify, .+, change [0-9a-f-]{36}",
        "  (?:cookie_id:c-held -- user_id:held@example.com|user_id:held@example.com -- cookie_id:c-held): identify, .+",
      ].join("\n");
      const trial = await run(["undo", ...own, "--dry-run"]);
      assert.match(trial.out, new RegExp(`^would be: unlinked\n[^]*\n${held}\n$`));
      const asked = await run(["undo", ...own], { answer: false });
      assert.match(asked.err, new RegExp(`\n${held}\nDo it\\?\n`));
      const undone = await run(["undo", ...own, "--yes"]);
      assert.match(undone.out, new RegExp(`^unlinked, change .+\nprofiles: [0-9a-f-]{36}\n${held}\n$`));
      assert.deepEqual([undone.exit, await isLinked("held")], [0, true]);
      const again = await run(["undo", ...own, "--yes"]);
      assert.match(again.out, new RegExp(`^unchanged\nprofiles: [0-9a-f-]{36}\n${held}\n$`));
    });

    it("shows which links a rule keeps out of a revert, before and after", async () => {
      await linked("out");
      const email = { namespace: "email", value: "out@example.com" };
      const cookie = { namespace: "cookie_id", value: "c-out" };
      await workspace.send("POST", "/v1/identify", { identifiers: [email, cookie] });
      const taken = await run(["undo", "email:out@example.com", "--yes", "--json"]);
      await run(["undo", "email:out@example.com", "user_id:out@example.com", "--forbid", "--yes"]);
      const change = textAt(json(taken), "change_id");
      const kept = "not linked again: email:out@example.com -- user_id:out@example.com \\(rule: forbidden_pair\\)";
      const trial = await run(["undo", change, "--dry-run"]);
      assert.match(trial.out, new RegExp(`^would be: reverted\n[^]*\n${kept}\n$`));
      const undone = await run(["undo", change, "--yes"]);
      assert.match(undone.out, new RegExp(`^reverted, change .+\nprofiles: .+\n${kept}\n$`));
      assert.deepEqual([undone.exit, await isLinked("out")], [0, false]);
    });

    it("takes one identifier from all others", async () => {
      await linked("one");
      assert.equal((await run(["undo", "email:one@example.com", "--yes"])).exit, 0);
      assert.equal(await isLinked("one"), false);
    });
  });

  it("tail shows the last changes, oldest first, and goes on where the list has pages", async () => {
    const other = await app().workspace();
    for (let n = 0; n < 105; n += 1)
      await other.send("POST", "/v1/identify", { identifiers: [{ namespace: "user_id", value: `u-${n}` }] });
    const ran = await run(["tail", "changes", "--once", "--last", "102", "--json"], { key: await other.key("viewer") });
    const values = jsonLines(ran).map((change) => textAt(change, "identifiers.0.value"));
    assert.deepEqual(
      values,
      Array.from({ length: 102 }, (_, n) => `u-${n + 3}`),
    );
  });

  it("tail shows of an erased identifier that it was erased", async () => {
    const other = await app().workspace();
    const ada = { namespace: "email", value: "ada@example.com" };
    await other.send("POST", "/v1/identify", { identifiers: [ada, { namespace: "user_id", value: "u-1" }] });
    assert.equal((await other.send("POST", "/v1/erasures", { identifiers: [ada] })).status, 202);
    const ran = await run(["tail", "changes", "--once"], { key: await other.key("viewer") });
    assert.match(ran.out, /email \(erased\)/);
    assert.doesNotMatch(ran.out, /undefined|ada/);
  });

  it("tail shows the events of one person", async () => {
    const sent = await workspace.collect(schemaId, { email: "tail@example.com" });
    await workspace.settled(sent.body["event_id"]);
    const ran = await run(["tail", "events", "email:tail@example.com", "--once"]);
    assert.ok(ran.out.includes(textAt(sent.body, "event_id")), ran.err);
    const ofSchema = await run(["tail", "--schema", schemaId, "--last", "1", "--once", "--json"]);
    assert.deepEqual(
      jsonLines(ofSchema).map((event) => at(event, "event_id")),
      [sent.body["event_id"]],
      ofSchema.err,
    );
    assert.equal((await run(["tail", "--schema", "other", "--once"])).out, "");
    assert.equal((await run(["tail", "dead-letters", "--once"])).exit, 0);
  });

  it("keys makes, lists, rotates and revokes", async () => {
    const made = await run([
      "keys",
      "create",
      "--send",
      "collect",
      "--name",
      "shop",
      "--origin",
      "https://a.example",
      "--json",
    ]);
    assert.deepEqual([at(json(made), "send"), at(json(made), "origins")], ["collect", ["https://a.example"]], made.err);
    const id = textAt(json(made), "key_id");
    assert.match((await run(["keys"])).out, new RegExp(`^${id} +editor +collect +shop`, "m"));
    const rotated = await run(["keys", "rotate", id]);
    assert.match(rotated.out, /^onym_\S+\n$/);
    assert.match(rotated.err, new RegExp(`^${id} works until `));
    assert.equal((await run(["keys", "delete", id])).exit, 2, "it asks");
    assert.equal((await run(["keys", "delete", id], { answer: true })).exit, 0);
    assert.doesNotMatch((await run(["keys", "list"])).out, new RegExp(`^${id} `, "m"));
  });

  it("schemas go out to files and come back: pull, diff, push", async () => {
    const other = await app().workspace();
    const run = (...args: readonly string[]) => onym(["schemas", ...args], { url: app().url, key: ownerKey });
    const ownerKey = await other.key("owner");
    const id = await other.schema(SIGNUP_SCHEMA, null);
    const place = path.join(folder.path(), "pulled");
    assert.equal((await run("pull", place)).exit, 0);
    const file = path.join(place, `${id}.json`);
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), SIGNUP_SCHEMA);
    assert.deepEqual([(await run("diff", place)).exit, (await run("push", place)).out], [0, `${id}: unchanged\n`]);

    const { city: _, ...properties } = SIGNUP_SCHEMA.properties;
    const changed = {
      ...SIGNUP_SCHEMA,
      required: ["email", "plan"],
      properties: { ...properties, plan: { type: "string" }, age: { type: "number" } },
    };
    folder.file(`pulled/${id}.json`, JSON.stringify(changed));
    folder.file("pulled/added.json", JSON.stringify(SIGNUP_SCHEMA));
    const differs = await run("diff", place);
    assert.equal(differs.exit, 1);
    for (const line of [
      "- properties.city",
      '+ properties.plan: {"type":"string"}',
      '~ properties.age.type: "integer" -> "number"',
    ])
      assert.ok(differs.out.includes(line), line);
    assert.match(differs.out, /^added\n {2}\+ is only in the file$/m);
    const refused = await run("push", file);
    assert.equal(refused.exit, 1);
    assert.ok(refused.err.startsWith("onym: "), refused.err);
    const pushed = await run("push", place, "--compatibility", "none");
    assert.match(pushed.out, /^added: version 1 registered$/m);
    assert.match(pushed.out, new RegExp(`^${id}: version 2 registered$`, "m"));
    assert.equal((await run("diff", place)).exit, 0);
  });

  it("doctor names the key's role, the limit of user_id, and what was refused", async () => {
    const ran = await run(["doctor", "--json"]);
    const checks = listAt(json(ran), "checks").map((check) => [textAt(check, "check"), textAt(check, "status")]);
    assert.deepEqual(checks.slice(0, 6), [
      ["service", "ok"],
      ["readyz", "ok"],
      ["clock", "ok"],
      ["versions", "ok"],
      ["key", "ok"],
      ["user_id", "warn"],
    ]);
    for (const role of ["owner", "admin", "editor", "viewer", "collect", "all"] as const) {
      const { out } = await run(["doctor"], { key: await workspace.key(role) });
      const named = role === "collect" || role === "all" ? "sending key" : role;
      assert.match(out, new RegExp(`^ok +key +${named} \\(from ONYM_KEY\\)$`, "m"));
    }
    const letter = aDeadLetter({ workspace: workspace.id as WorkspaceId, killsEvent: false, times: 1 });
    await app().service.backends.events.bury(letter);
    assert.match((await run(["doctor"])).out, /^warn +dead letters +1: \w+$/m);
    await app().service.backends.events.noteReplay(letter.workspace!, letter.deadLetterId, 1, Date.now());
    assert.match((await run(["doctor"])).out, /^ok +dead letters +none$/m, "a replayed one is over");
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    assert.match((await run(["doctor"])).out, /^ok +user_id +at most 1 in a profile$/m);
  });

  it("doctor tells what it found also where the service is there and its store is not", async () => {
    const fateOf = (_: number, target: string) => (target.startsWith("/v1/") ? { status: 503 } : "pass");
    const proxy = await startFaultyProxy(app().url, fateOf);
    try {
      const ran = await run(["doctor"], { url: proxy.url });
      assert.deepEqual([ran.exit, ran.err], [1, ""]);
      for (const line of [/^ok +service +http/m, /^ok +readyz +ready$/m, /^fail +workspace +503 unknown: /m])
        assert.match(ran.out, line);
    } finally {
      await proxy.close();
    }
  });

  it("doctor fails for a key that is not valid, and for a service that does not answer", async () => {
    const wrong = await run(["doctor"], { key: "onym_AbCdEfGhIj_wrong" });
    assert.deepEqual([wrong.exit, /^fail +key +is not valid here/m.test(wrong.out)], [1, true], wrong.out);
    const away = await run(["doctor"], { url: await closedPort() });
    assert.deepEqual([away.exit, /^fail +service .*does not answer \(ECONNREFUSED\)/m.test(away.out)], [1, true]);
  });
});
