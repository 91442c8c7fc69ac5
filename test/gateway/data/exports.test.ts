import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { gunzipSync } from "node:zlib";
import { at, listAt, send, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const id = (namespace: string, value: string) => ({ namespace, value });
const KINDS = ["catalog", "profiles", "events", "links", "changes"] as const;
type Line = Readonly<Record<string, unknown>>;

describe("Exports", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });

  const identify = async (...identifiers: readonly unknown[]) =>
    textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
  const collect = async (payload: object) => {
    const sent = await workspace.collect(schemaId, payload);
    return (await workspace.settled(sent.body["event_id"])).body;
  };
  const linesIn = (text: string): readonly Line[] =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Line);
  const exported = async (kind: string, after: string | null = null): Promise<readonly Line[]> => {
    const query = after === null ? "" : `?after=${after}`;
    const { status, text } = await workspace.as("admin", "GET", `/v1/exports/${kind}${query}`);
    assert.equal(status, 200, text);
    const lines = linesIn(text);
    assert.deepEqual(lines.at(-1), { type: "end", complete: true, lines: lines.length - 1 });
    return lines.slice(0, -1);
  };
  /** A person with two identifiers and an event, another one, and two that may never be one. */
  const aWorld = async () => {
    const event = await collect({ email: "ada@example.com", cookie: "c-1", city: "Paris" });
    const other = await identify(id("email", "bob@example.com"));
    await workspace.send("POST", "/v1/identity/unlink", {
      from: id("email", "ada@example.com"),
      to: id("email", "bob@example.com"),
      forbid: true,
    });
    return { event, profileId: textAt(event, "profile_id"), other };
  };

  it("of profiles have identifiers, traits and what each identifier's events say", async () => {
    const { profileId, other } = await aWorld();
    const [first, second, ...rest] = await exported("profiles");
    assert.deepEqual(rest, []);
    const { body: shown, text } = await workspace.send("GET", `/v1/profiles/${profileId}`);
    assert.equal(shown["profile_id"], profileId, text);
    assert.deepEqual(
      ["profile_id", "traits", "first_seen", "last_seen"].map((name) => first![name]),
      ["profile_id", "traits", "first_seen", "last_seen"].map((name) => shown[name]),
    );
    const identifiers = listAt(first, "identifiers");
    assert.deepEqual(
      identifiers.map((one) => id(textAt(one, "namespace"), textAt(one, "value"))),
      shown["identifiers"],
    );
    assert.deepEqual(identifiers.filter((one) => at(one, "facet") !== undefined).length, 1);
    assert.equal(first!["partial"], undefined);
    assert.deepEqual([second!["profile_id"], second!["traits"], second!["first_seen"]], [other, {}, null]);
  });

  it("of events have everything that was decided about each, with its payload on one line", async () => {
    const body = `{"schema_id":"${schemaId}","timestamp":"2026-01-01T00:00:00Z",\n"payload":{"email":\r\n "ada@example.com", "city": "a\\nb"}}`;
    const sent = await workspace.send("POST", "/v1/collect", body, { "Idempotency-Key": "k" });
    const shown = (await workspace.settled(sent.body["event_id"])).body;
    await workspace.settled((await workspace.collect(schemaId, { email: "n/a" })).body["event_id"], "stored");
    const [first, second] = await exported("events");
    assert.deepEqual(first!["payload"], { email: "ada@example.com", city: "a\nb" });
    for (const name of ["event_id", "status", "timestamp", "received_at", "schema_version", "profile_id_then"])
      assert.deepEqual(first![name], shown[name], name);
    assert.deepEqual(first!["identifiers"], [id("email", "ada@example.com")]);
    assert.equal(first!["facet"], shown["profile_id"]);
    assert.match(String(first!["fingerprint"]), /./);
    assert.deepEqual(
      [second!["dropped"], second!["facet"]],
      [[{ identifier: id("email", "n/a"), rule: "blocked" }], null],
    );
  });

  it("of links have the forbidden pairs, then the links with their evidence; of changes all records; of the catalog all settings", async () => {
    const { event, profileId } = await aWorld();
    const [pair, link, ...rest] = await exported("links");
    assert.deepEqual(rest, []);
    assert.deepEqual([link!["type"], link!["profile_id"], link!["event_id"]], ["link", profileId, event["event_id"]]);
    assert.deepEqual([pair!["type"], pair!["from"]], ["forbidden_pair", id("email", "ada@example.com")]);
    const outcomes = (await exported("changes")).map((change) => change["outcome"]);
    assert.deepEqual(outcomes, ["forbidden", "created", "created"]);
    await workspace.send("PUT", "/v1/namespaces/crm_id", { kind: "person" });
    const audiences = [{ "traits.city": "Paris" }, { "traits.city": "Lyon" }];
    const ids: string[] = [];
    for (const rule of audiences)
      ids.push(textAt((await workspace.send("POST", "/v1/audiences", { name: "a", rule })).body, "audience_id"));
    // By age, but for what a rule refers to.
    await workspace.send("PUT", `/v1/audiences/${ids[0]!}`, { rule: { $not: { $audience: ids[1] } } });
    const catalog = await exported("catalog");
    assert.deepEqual(
      catalog.map((line) => line["type"]),
      [
        "identity_settings",
        "namespace",
        "namespace",
        "namespace",
        "trait",
        "schema",
        "sdk",
        "dataset",
        "audience",
        "audience",
      ],
    );
    assert.deepEqual(
      catalog.slice(8).map(({ audience_id, rule, version }) => [audience_id, rule, version]),
      [
        [ids[1], { "traits.city": "Lyon" }, 1],
        [ids[0], { $not: { $audience: ids[1] } }, 2],
      ],
    );
    assert.deepEqual([at(catalog[5], "schema_id"), at(catalog[4], "name")], [schemaId, "city"]);
    assert.deepEqual(
      catalog.slice(1, 4).map(({ name, used }) => [name, used]),
      [
        ["cookie_id", true],
        ["crm_id", false],
        ["email", true],
      ],
    );
  });

  it("go on behind any line, and answer the same as if they had not stopped", async () => {
    await aWorld();
    await identify(...Array.from({ length: 20 }, (_, n) => id("cookie_id", `many-${n}`)));
    for (let n = 0; n < 12; n++)
      await identify(
        id("email", "ada@example.com"),
        ...Array.from({ length: 19 }, (_, m) => id("cookie_id", `large-${n}-${m}`)),
      );
    for (const kind of ["profiles", "events", "links", "changes"]) {
      const all = await exported(kind);
      assert.ok(all.length >= (kind === "events" ? 1 : 3), kind);
      for (const n of new Set(
        [0, 1, all.length >> 1, all.length - 2, all.length - 1].filter((one) => one >= 0 && one < all.length),
      ))
        assert.deepEqual(await exported(kind, textAt(all[n], "position")), all.slice(n + 1), `${kind} ${n}`);
    }
    // Its parts are one after the other, and have each identifier once.
    const parts = (await exported("profiles")).filter((line) => line["partial"] === true);
    assert.ok(parts.length > 1);
    const values = parts.flatMap((part) => listAt(part, "identifiers").map((one) => textAt(one, "value")));
    assert.deepEqual([values.length, new Set(values).size], [230, 230]);
  });

  it("meet a profile that keeps its id exactly once, whatever is linked and taken apart between their lines", async () => {
    const letters = ["a", "b", "c", "d", "e"];
    const ids = new Map<string, string>();
    for (const letter of letters) ids.set(letter, await identify(id("cookie_id", letter)));
    const seen: unknown[] = [];
    let position: string | null = null;
    const changes = [
      () => identify(id("cookie_id", "e"), id("cookie_id", "b")),
      () => workspace.send("POST", "/v1/identity/unlink", { from: id("cookie_id", "e"), to: id("cookie_id", "b") }),
      () => identify(id("cookie_id", "d"), id("cookie_id", "a")),
      () => identify(id("cookie_id", "new")),
    ];
    for (const change of changes) {
      const [line] = await exported("profiles", position);
      seen.push(line!["profile_id"]);
      position = textAt(line, "position");
      await change();
    }
    assert.deepEqual(
      seen,
      ["a", "b", "c", "e"].map((letter) => ids.get(letter)),
    );
    assert.equal((await exported("profiles", position)).length, 1);
  });

  it("are gzip for who takes it, and the same text", async () => {
    await aWorld();
    const key = await workspace.key("admin");
    const get = async (encoding: string) => {
      const headers = { Authorization: `Bearer ${key}`, "Accept-Encoding": encoding, Accept: "application/x-ndjson" };
      const request = http.get(new URL(`${app().url}/v1/exports/events`), { headers });
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      const bytes = Buffer.concat((await response.toArray()) as Buffer[]);
      return { encoding: response.headers["content-encoding"], bytes };
    };
    const plain = await get("identity");
    const zipped = await get("br, gzip");
    assert.deepEqual([plain.encoding, zipped.encoding], [undefined, "gzip"]);
    assert.equal(gunzipSync(zipped.bytes).toString(), plain.bytes.toString());
    const head = await send(app().url, "HEAD", "/v1/exports/events", { key });
    assert.deepEqual([head.status, head.text], [200, ""]);
  });

  it("are for admins, and refuse what is no position of theirs and what is no parameter", async () => {
    await aWorld();
    const other = await app().workspace();
    const [line] = await exported("profiles");
    for (const kind of KINDS) {
      const target = `/v1/exports/${kind}`;
      for (const role of ["viewer", "editor", "collect"] as const)
        assert.equal((await workspace.as(role, "GET", target)).status, 403, kind);
      assert.equal((await send(app().url, "GET", target)).status, 401);
      const bad = await workspace.send("GET", `${target}?after=nonsense`);
      assert.deepEqual(
        [bad.status, bad.body["code"], textAt(listAt(bad.body, "errors")[0], "path")],
        [400, "invalid_cursor", "after"],
      );
      assert.equal((await workspace.send("GET", `${target}?limit=5`)).status, 400);
      assert.equal((await workspace.send("POST", target, {})).status, 405);
      assert.equal((await workspace.send("GET", target, undefined, { Accept: "text/html" })).status, 406);
      assert.equal((await workspace.send("GET", `${target}?after=`)).status, 400);
    }
    const foreign = `/v1/exports/profiles?after=${String(line!["position"])}`;
    assert.equal((await other.send("GET", foreign)).status, 400);
    assert.equal((await workspace.send("GET", foreign.replace("profiles", "links"))).status, 400);
    assert.deepEqual(
      (await other.send("GET", "/v1/exports/profiles")).text,
      '{"type":"end","complete":true,"lines":0}\n',
    );
  });

  it("leave one line in the log, with who took how much and no value", async () => {
    await aWorld();
    const before = app().records.length;
    await exported("events");
    const [record, ...rest] = app()
      .records.slice(before)
      .filter((one) => one.includes("export"));
    assert.deepEqual(rest, []);
    const told = JSON.parse(record!) as Line;
    assert.deepEqual(
      ["workspace_id", "route", "outcome", "lines"].map((name) => told[name]),
      [workspace.id, "/v1/exports/events", "complete", 1],
    );
    assert.match(String(told["key_id"]), /./);
    assert.doesNotMatch(record!, /ada@|example|Paris|"c-1"/);
  });
});
