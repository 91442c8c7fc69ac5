import assert from "node:assert/strict";
import {
  aWorld,
  createAudience,
  exportOf,
  feedOf,
  identifier,
  KINDS,
  sendAll,
  sendLines,
  shownOf,
  type Line,
} from "../../support/service/imports.js";
import { EMBEDDED } from "../../support/servers/servers.js";
import { NDJSON } from "../../support/service/batch.js";
import { at, listAt, startApp, textAt, useApp, type App, type TestWorkspace } from "../../support/service/app.js";

describe("An import of exports", () => {
  const source = useApp();
  let target: App;
  before(async () => {
    target = await startApp(EMBEDDED);
  });
  after(() => target.close());

  // On the servers the second way is from the embedded store to them.
  for (const [seed, isBack] of [
    [1, false],
    [2, true],
    [3, false],
  ] as const)
    it(`into an empty workspace gives the same profiles, ids, links and counts (world ${seed})`, async () => {
      const [here, there] = isBack ? [target, source()] : [source(), target];
      const from = await here.workspace();
      await aWorld(from, seed);
      const into = await there.workspace();
      assert.deepEqual((await into.send("POST", "/v1/imports")).body, { open: true, stands: [] });
      for (const kind of KINDS) {
        const lines = await exportOf(from, kind);
        await sendAll(into, lines, 40);
        // As after a break.
        await sendAll(into, lines.slice(-30), 30);
      }
      // Nobody enters while half of a profile stands.
      await there.service.keeper!.rest();
      assert.deepEqual(await feedOf(into), []);
      assert.equal((await into.send("DELETE", "/v1/imports")).status, 204);
      await here.service.keeper!.rest();
      await there.service.keeper!.rest();
      const wanted = await shownOf(from);
      const entered = wanted.audiences.flatMap((one, n) =>
        wanted.members[n]!.map((id) => `entered built ${textAt(one, "audience_id")} ${id}`),
      );
      assert.ok(entered.length > 5, `${entered.length} members`);
      assert.deepEqual((await feedOf(into)).toSorted(), entered.toSorted());
      assert.ok(wanted.profiles.length > 1 && wanted.changes.length > 20, `${wanted.profiles.length} profiles`);
      assert.deepEqual(await shownOf(into), wanted);
      // And what it exports is what was imported.
      for (const kind of KINDS) {
        // Which events of a facet wait for their marks is another thing on each backend.
        const settled = (one: unknown) => {
          const facet = (one as Line)["facet"] as readonly unknown[] | undefined;
          return { ...(one as Line), facet: facet?.slice(0, 4) };
        };
        const without = (text: string): string => {
          const line = JSON.parse(text) as Line;
          const identifiers =
            line["type"] === "profile" ? listAt(line, "identifiers").map(settled) : line["identifiers"];
          return JSON.stringify({ ...line, identifiers, position: undefined });
        };
        const [again, first] = [await exportOf(into, kind), await exportOf(from, kind)];
        assert.deepEqual(again.map(without).toSorted(), first.map(without).toSorted(), kind);
      }
    });

  it("behaves like the original afterwards: what was unlinked stays apart, what was undone can be undone", async () => {
    const from = await source().workspace();
    const identify = (workspace: TestWorkspace, ...identifiers: readonly unknown[]) =>
      workspace.send("POST", "/v1/identify", { identifiers });
    const made = await identify(from, identifier("email", "ada@example.com"), identifier("cookie_id", "c-1"));
    await identify(from, identifier("email", "bob@example.com"));
    await from.send("POST", "/v1/identity/unlink", {
      from: identifier("email", "ada@example.com"),
      to: identifier("email", "bob@example.com"),
      forbid: true,
    });
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    for (const kind of KINDS) await sendAll(into, await exportOf(from, kind), 1_000);
    await into.send("DELETE", "/v1/imports");
    const dropped = await identify(
      into,
      identifier("email", "ada@example.com"),
      identifier("email", "bob@example.com"),
    );
    assert.deepEqual(
      listAt(dropped.body, "dropped").map((one) => at(one, "rule")),
      ["forbidden_pair"],
    );
    const undone = await into.send("POST", `/v1/changes/${textAt(made.body, "change_id")}/revert`);
    assert.deepEqual([undone.status, undone.body["outcome"]], [200, "reverted"]);
    const explained = await into.send("POST", "/v1/identity/explain", {
      from: identifier("email", "ada@example.com"),
      to: identifier("cookie_id", "c-1"),
    });
    assert.equal(explained.body["connected"], false);
  });

  it("takes a revert back that was made before, also where its lines came twice", async () => {
    const from = await source().workspace();
    const [ada, cookie] = [identifier("email", "ada@example.com"), identifier("cookie_id", "c-1")];
    await from.send("POST", "/v1/identify", { identifiers: [ada, cookie] });
    const unlinked = await from.send("POST", "/v1/identity/unlink", { identifier: ada });
    const restored = await from.send("POST", `/v1/changes/${textAt(unlinked.body, "change_id")}/revert`);
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    for (const kind of KINDS)
      for (let time = 0; time < 2; time += 1) await sendAll(into, await exportOf(from, kind), 1_000);
    await into.send("DELETE", "/v1/imports");
    const undone = await into.send("POST", `/v1/changes/${textAt(restored.body, "change_id")}/revert`);
    assert.deepEqual([undone.status, undone.body["outcome"]], [200, "reverted"]);
    const explained = await into.send("POST", "/v1/identity/explain", { from: ada, to: cookie });
    assert.equal(explained.body["connected"], false);
  });

  it("brings the catalog as it was, with what its first use added", async () => {
    const from = await source().workspace();
    await from.send("POST", "/v1/identify", { identifiers: [identifier("loyalty", "x-1")] });
    await from.send("PUT", "/v1/namespaces/loyalty", { limit: 2 });
    const catalog = await exportOf(from, "catalog");
    assert.ok(catalog.some((line) => line.includes('"loyalty"') && line.includes('"registered_itself":true')));
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    await sendAll(into, catalog, 10);
    const copied = await exportOf(into, "catalog");
    const unsigned = (lines: readonly string[]) => lines.map((line) => line.replace(/"position":"[^"]*"/, ""));
    assert.deepEqual(unsigned(copied), unsigned(catalog));
  });

  it("is refused where anything stands, by its name, and without one that is open", async () => {
    const into = await target.workspace();
    const closed = await sendLines(into, ['{"type":"end","complete":true,"lines":0}']);
    assert.deepEqual([closed.status, closed.body["code"]], [409, "conflict"]);
    await into.send("POST", "/v1/identify", { identifiers: [identifier("email", "ada@example.com")] });
    await into.schema();
    await createAudience(into, "everybody", {});
    const stands = ["profiles", "changes", "schemas", "datasets", "namespaces", "traits", "audiences"];
    assert.deepEqual((await into.send("POST", "/v1/imports?dry_run=true")).body, { open: false, stands });
    const refused = await into.send("POST", "/v1/imports");
    assert.deepEqual([refused.status, refused.body["stands"]], [409, stands]);
    assert.equal((await into.as("editor", "POST", "/v1/imports")).status, 403);
  });

  it("goes on when it was opened before, though things stand by then", async () => {
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    await sendAll(into, ['{"type":"trait","position":"x","name":"city","merge":"latest","registered_itself":true}'], 1);
    assert.deepEqual((await into.send("POST", "/v1/imports")).body, { open: true, stands: ["traits"] });
  });

  it("says which line is wrong, and where: nothing of the request is stored", async () => {
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    const uid = "0197a000-0000-7000-8000-00000000000";
    const profile = (last: string, ...identifiers: readonly object[]) =>
      JSON.stringify({
        type: "profile",
        position: "x",
        profile_id: uid + last,
        traits: {},
        first_seen: null,
        last_seen: null,
        event_count: 0,
        identifiers,
      });
    const good = profile("1", { uid: `${uid}1`, namespace: "email", value: "a@example.com" });
    const pathsOf = async (...lines: readonly string[]) => {
      const { status, body, text } = await sendLines(into, lines);
      assert.equal(status, 422, text);
      return listAt(body, "errors").map((one) => textAt(one, "path"));
    };
    assert.deepEqual(await pathsOf(good, "no JSON"), ["lines.1"]);
    assert.deepEqual(await pathsOf(good, '{"type":"person"}'), ["lines.1.type"]);
    assert.deepEqual(await pathsOf('{"type":"dataset","position":"x"}'), [
      "lines.0.dataset_id",
      "lines.0.name",
      "lines.0.schema_id",
      "lines.0.unified_profile",
      "lines.0.retention_days",
      "lines.0.created_at",
    ]);
    const ts = "2026-01-01T00:00:00.000000000Z";
    const values = Array.from({ length: 101 }, (_, n) => 1_000 - n);
    const ofTrait = (...trait: readonly unknown[]) => [ts, ts, 1, [["t", ...trait]]];
    const facets = [
      [1, 2],
      [7, null, 0, []],
      ["2026-01-01T00:00:00Z", ts, 1, []],
      [null, null, "x", []],
      [ts, ts, -1, []],
      [ts, ts, 1, [], "x"],
      [ts, ts, 1, [], [], 1],
      [ts, ts, 1, [], ["no id"]],
      [
        ts,
        ts,
        1,
        [
          ["t", "count", 1],
          ["t", "count", 1],
        ],
      ],
      [ts, ts, 1, [["no name", "count", 1]]],
      ofTrait("foo", 1),
      ofTrait("latest", "x", ts),
      ofTrait("latest", "x", "now", `${uid}1`),
      ofTrait("first", "x", ts, 1),
      ofTrait("first", {}, ts, `${uid}1`),
      ofTrait("latest", "x".repeat(1_025), ts, `${uid}1`),
      ofTrait("min", null),
      ofTrait("max", [1]),
      ofTrait("count", 1.5),
      ofTrait("sum", "9".repeat(400)),
      ofTrait("sum", "07"),
      ofTrait("sum", 7),
      ofTrait("union", []),
      ofTrait("union", [null]),
      ofTrait("union", [1, 2]),
      ofTrait("union", [2, 2]),
      ofTrait("union", values),
      ofTrait(
        "union",
        ["y".repeat(1_000), "e", "d", "c", "b", "a"].map((text) => text.padEnd(1_000, "x")),
      ),
    ];
    for (const facet of facets)
      assert.deepEqual(
        await pathsOf(profile("1", { uid: `${uid}1`, namespace: "email", value: "a", facet })),
        ["lines.0.identifiers.0.facet"],
        JSON.stringify(facet).slice(0, 100),
      );
    const taken = [
      ["first", "latest", "x", ts, `${uid}1`],
      ["none", "first", null, ts, `${uid}1`],
      ["sum", "sum", "-12"],
      ["union", "union", [...values.slice(0, 98), true, false]],
      ["visits", "count", 2],
    ];
    const whole = { uid: `${uid}1`, namespace: "email", value: "a", facet: [null, ts, 1, taken, [`${uid}1`]] };
    const checked = await into.send("POST", "/v1/imports/lines?dry_run=true", profile("1", whole), NDJSON);
    assert.equal(checked.status, 200, checked.text);
    assert.deepEqual(await pathsOf(profile("1")), ["lines.0.identifiers"]);
    assert.deepEqual((await into.send("GET", "/v1/profiles")).body["profiles"], []);
    assert.equal((await sendLines(into, [good])).status, 200);
    // Its identifier has another uid here.
    const other = await sendLines(into, [profile("5", { uid: `${uid}5`, namespace: "email", value: "a@example.com" })]);
    assert.equal(other.status, 409, other.text);
  });

  it("is refused beside the original: an id names one profile of an installation", async () => {
    const from = await target.workspace();
    await from.send("POST", "/v1/identify", { identifiers: [identifier("email", "ada@example.com")] });
    const into = await target.workspace();
    await into.send("POST", "/v1/imports");
    const refused = await sendLines(into, await exportOf(from, "profiles"));
    assert.deepEqual([refused.status, refused.body["code"]], [409, "conflict"]);
  });
});
