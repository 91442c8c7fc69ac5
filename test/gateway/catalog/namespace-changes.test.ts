import assert from "node:assert/strict";
import type { WorkspaceId } from "../../../core/ids.js";
import { BUILT_IN_NAMESPACES } from "../../../core/identity/namespaces.js";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { aNamespace, putNamespace } from "../../support/builders.js";

const BUILT_IN = BUILT_IN_NAMESPACES.map(({ name }) => name).toSorted();
const EMAIL = { name: "email", kind: "person", normalization: "email", limit: null, priority: 500, blocked: [] };
const NEW = { kind: "person", normalization: "none", limit: null, priority: 0, blocked: [] };

describe("A namespace that is set", () => {
  const app = useApp({ NAMESPACES_MAX: "3" });
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const get = (name: string, of = workspace) => of.send("GET", `/v1/namespaces/${name}`);
  const put = (name: string, body: unknown, ifMatch?: string) =>
    workspace.send("PUT", `/v1/namespaces/${name}`, body, ifMatch === undefined ? {} : { "If-Match": ifMatch });
  const identify = (...identifiers: readonly (readonly [namespace: string, value: string])[]) =>
    workspace.send("POST", "/v1/identify", {
      identifiers: identifiers.map(([namespace, value]) => ({ namespace, value })),
    });

  it("keeps the value of each field that is not given", async () => {
    const first = await put("email", { limit: 2, blocked: ["shared@example.com"] });
    const expected = { ...EMAIL, limit: 2, blocked: ["shared@example.com"] };
    assert.deepEqual([first.status, first.body], [200, expected]);
    assert.deepEqual((await put("email", { priority: 800 })).body, { ...expected, priority: 800 });
    assert.deepEqual((await put("email", { limit: null })).body, { ...expected, priority: 800, limit: null });
    assert.deepEqual((await put("email", {})).body, { ...expected, priority: 800, limit: null });
    assert.deepEqual((await get("email")).body, { ...expected, priority: 800, limit: null });
    const { body } = await workspace.send("GET", "/v1/namespaces");
    assert.deepEqual(
      listAt(body, "namespaces").map((one) => at(one, "name")),
      BUILT_IN,
    );
    assert.equal(at(listAt(body, "namespaces")[BUILT_IN.indexOf("email")], "priority"), 800);
  });

  it("is 201 when it is new, with the values of a name that appears in use, and 200 from then on", async () => {
    const made = await put("card", { normalization: "phone", limit: 3 });
    assert.deepEqual([made.status, made.body], [201, { name: "card", ...NEW, normalization: "phone", limit: 3 }]);
    assert.deepEqual((await get("card")).body, made.body);
    assert.equal((await put("card", {})).status, 200);
    await identify(["used", "1"]);
    const changed = await put("used", { kind: "device" });
    assert.deepEqual([changed.status, changed.body], [200, { name: "used", ...NEW, kind: "device" }]);
    assert.equal((await put("phone", {})).status, 200);
  });

  it("takes each field in its bounds and refuses the rest with 422 that names it, and nothing changes", async () => {
    const good = [
      { kind: "device" },
      { normalization: "email" },
      { limit: 1 },
      { limit: 1_000 },
      { limit: null },
      { priority: 0 },
      { priority: 1_000 },
      { blocked: [] },
      { blocked: Array.from({ length: 1_000 }, (_, n) => `value ${n}`) },
      { blocked: ["x", "\u{1f600}".repeat(1_024)] },
    ];
    for (const body of good) assert.ok((await put("card", body)).status <= 201, JSON.stringify(body).slice(0, 80));
    const before = (await get("card")).body;
    const wrong: readonly (readonly [path: string, body: object])[] = [
      ...["group", "", null, 1].map((kind) => ["kind", { kind }] as const),
      ...["lower", null].map((normalization) => ["normalization", { normalization }] as const),
      ...[0, 1_001, -1, 1.5, "1", true].map((limit) => ["limit", { limit }] as const),
      ...[-1, 1_001, 0.5, null, "1"].map((priority) => ["priority", { priority }] as const),
      ["blocked", { blocked: "x" }],
      ["blocked", { blocked: null }],
      ["blocked", { blocked: Array.from({ length: 1_001 }, (_, n) => `${n}`) }],
      ["blocked.1", { blocked: ["x", ""] }],
      ["blocked.0", { blocked: ["x".repeat(1_025)] }],
      ["blocked.0", { blocked: [1] }],
      ...["name", "built_in", "limits", "registered_itself"].map((field) => [field, { [field]: 1 }] as const),
    ];
    for (const [path, body] of wrong) {
      const answer = await put("card", { limit: 7, ...body });
      const label = JSON.stringify(body).slice(0, 80);
      assert.deepEqual(
        [answer.status, answer.body["code"], errorPaths(answer)],
        [422, "validation_failed", [path]],
        label,
      );
    }
    assert.equal((await put("card", [])).status, 422);
    assert.deepEqual((await get("card")).body, before);
  });

  it("has a name of the right form, else 422 that names it", async () => {
    for (const name of ["Email", "1a", "_a", "a%20b", "a%3Ab", "%C3%A9", "%00", "a%0A", "__proto__", "a".repeat(65)]) {
      const answer = await put(name, {});
      assert.deepEqual([answer.status, errorPaths(answer)], [422, ["name"]], name);
    }
    for (const name of ["constructor", "a".repeat(64), "a_.-9"]) assert.equal((await put(name, {})).status, 201, name);
  });

  it("does not count as one that registered itself, and one that did goes on counting", async () => {
    for (const name of ["p1", "p2", "p3", "p4"]) assert.equal((await put(name, {})).status, 201);
    const item = { type: "string", "x-identity": { namespace: "n1" } };
    const schemaId = await workspace.schema({ type: "object", properties: { card: item } });
    assert.equal((await workspace.inline(schemaId, { card: "1" })).body["status"], "pass");
    for (const name of ["n1", "n2", "n3"]) assert.equal((await identify([name, "1"])).status, 200);
    assert.equal((await put("n1", { priority: 9 })).status, 200);
    assert.equal((await identify(["n4", "1"])).status, 422);
    assert.equal((await identify(["p1", "1"])).status, 200);
  });

  it("is one of at most 1,000 besides the built-in ones and those of a first use, which count apart; those that are there still change", async () => {
    const { catalog } = app().service.backends;
    assert.equal((await identify(["used", "1"])).status, 200);
    const fill = Array.from({ length: 999 }, (_, n) => aNamespace({ name: `n${n}` }));
    await Promise.all(fill.map((namespace) => putNamespace(catalog, workspace.id as WorkspaceId, namespace)));
    assert.equal((await put("last", {})).status, 201);
    const beyond = await put("more", { priority: 9 });
    assert.deepEqual([beyond.status, errorPaths(beyond)], [422, ["name"]]);
    assert.deepEqual([(await get("more")).status, (await identify(["later", "1"])).status], [404, 200]);
    assert.deepEqual((await put("email", { priority: 9 })).body, { ...EMAIL, priority: 9 });
    assert.equal((await put("last", { limit: 2 })).status, 200);
  });

  it("has a strong ETag, the same on PUT and GET and as long as its content is the same", async () => {
    const tag = async (name: string) => String((await get(name)).headers.etag);
    const builtIn = await tag("email");
    assert.match(builtIn, /^"[\w-]+"$/);
    assert.notEqual(await tag("phone"), builtIn);
    const changed = await put("email", { limit: 2 });
    assert.notEqual(changed.headers.etag, builtIn);
    assert.equal(await tag("email"), changed.headers.etag);
    assert.equal((await put("email", { limit: 2 })).headers.etag, changed.headers.etag);
    assert.equal((await put("email", { limit: null })).headers.etag, builtIn);
    assert.equal(await tag("email"), builtIn);
  });

  it("changes with If-Match only when it is as the caller knows it; else 412 and nothing changed", async () => {
    const known = String((await get("email")).headers.etag);
    const first = await put("email", { limit: 2 }, known);
    assert.equal(first.status, 200);
    const current = String(first.headers.etag);
    for (const stale of [known, `W/${current}`, '"none"', `"none", ${known}`, '""']) {
      const answer = await put("email", { limit: 9 }, stale);
      assert.deepEqual([answer.status, answer.body["code"]], [412, "precondition_failed"], stale);
    }
    assert.deepEqual((await get("email")).body, { ...EMAIL, limit: 2 });
    assert.equal((await put("email", { limit: 3 }, `"none" , ${current}`)).status, 200);
    assert.equal((await put("email", { limit: 4 }, "*")).status, 200);
    assert.equal((await put("fresh", {}, "*")).status, 412);
    assert.equal((await put("fresh", {}, known)).status, 412);
    assert.equal((await get("fresh")).status, 404);
  });

  it("takes an If-Match that is * or a list of ETags; another is 400 that names it", async () => {
    for (const header of ["", "none", "'a'", '"a', '"a" "b"', '"a",', "*, *", 'w/"a"', '"a b"']) {
      const answer = await put("email", { limit: 2 }, header);
      assert.deepEqual([answer.status, errorPaths(answer)], [400, ["If-Match"]], header);
    }
    assert.deepEqual((await get("email")).body, EMAIL);
  });

  it("is changed by one of many who know the same, and by all who change other fields", async () => {
    const known = String((await get("email")).headers.etag);
    const limits = Array.from({ length: 8 }, (_, n) => n + 1);
    const answers = await Promise.all(limits.map((limit) => put("email", { limit }, known)));
    const winners = limits.filter((_, n) => answers[n]!.status === 200);
    assert.equal(winners.length, 1);
    assert.ok(answers.every(({ status }) => status === 200 || status === 412));
    assert.equal((await get("email")).body["limit"], winners[0]);
    const fields = [{ limit: 5 }, { priority: 5 }, { kind: "device" }, { blocked: ["x"] }];
    await Promise.all(fields.map((body) => put("email", body)));
    const all = { ...EMAIL, limit: 5, priority: 5, kind: "device", blocked: ["x"] };
    assert.deepEqual((await get("email")).body, all);
  });

  it("keeps its normalization once it has identifiers: another is 409, and nothing changes", async () => {
    await identify(["email", "a@x"], ["card", "1"]);
    for (const [name, normalization] of [
      ["email", "none"],
      ["card", "phone"],
    ] as const) {
      const before = (await get(name)).body;
      const answer = await put(name, { normalization, limit: 9 });
      assert.deepEqual([answer.status, answer.body["code"]], [409, "conflict"]);
      assert.match(textAt(answer.body, "detail"), /^normalization: stays .* has identifiers/);
      assert.deepEqual((await get(name)).body, before);
      const same = await put(name, { ...before, name: undefined, limit: 9 });
      assert.deepEqual([same.status, same.body], [200, { ...before, limit: 9 }]);
    }
    assert.equal((await put("email", { normalization: "none" }, '"none"')).status, 412);
    const other = await app().workspace();
    for (const normalization of ["none", "phone"]) {
      const answer = await other.send("PUT", "/v1/namespaces/email", { normalization });
      assert.deepEqual([answer.status, answer.body["normalization"]], [200, normalization]);
    }
  });

  it("keeps its normalization once an event named it that is not folded, also if it is built in or was put: another is 409", async () => {
    assert.equal((await put("card", { limit: 3 })).status, 201);
    for (const namespace of ["mail2", "user_id", "card"]) {
      const item = { type: "string", "x-identity": { namespace } };
      const schemaId = await workspace.schema({ type: "object", properties: { mail: item } }, false);
      assert.equal((await workspace.collect(schemaId, { mail: "Ada@Example.com" })).status, 202);
      const before = (await get(namespace)).body;
      const answer = await put(namespace, { normalization: "email" });
      assert.deepEqual([answer.status, answer.body["code"]], [409, "conflict"], namespace);
      assert.match(textAt(answer.body, "detail"), /^normalization: stays none, because .* event/);
      assert.deepEqual((await get(namespace)).body, before);
      assert.equal((await put(namespace, { limit: 2 })).status, 200);
    }
  });

  it("is noted as used before a call links it or an SDK's event is accepted", async () => {
    const used = async (): Promise<readonly string[]> => {
      const stored = await app().service.backends.catalog.namespaces(workspace.id as WorkspaceId);
      return stored.filter((one) => one.used).map(({ name }) => name);
    };
    await identify(["email", "a@x"]);
    assert.deepEqual(await used(), ["email"]);
    const sides = [
      { namespace: "phone", value: "+12025550110" },
      { namespace: "customer_id", value: "c" },
    ];
    await workspace.send("POST", "/v1/alias", { anonymous: sides[0], known: sides[1] });
    assert.deepEqual(await used(), ["customer_id", "email", "phone"]);
    const track = { userId: "u", event: "Seen", messageId: "m" };
    const made = await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect" });
    const basic = `Basic ${Buffer.from(`${textAt(made.body, "key")}:`).toString("base64")}`;
    const tracked = await app().send("POST", "/v1/track", { body: track, headers: { Authorization: basic } });
    assert.equal(tracked.status, 200, tracked.text);
    assert.deepEqual(await used(), ["customer_id", "email", "phone", "user_id"]);
  });

  it("keeps its normalization while the rule of an audience names it, which holds values as they were normalized", async () => {
    await put("crm", {});
    for (const namespace of ["crm", "customer_id"]) {
      const rule = { $not: { $or: [{ event_count: 0 }, { [`identifiers.${namespace}`]: "Ada@Example.com" }] } };
      const made = await workspace.send("POST", "/v1/audiences", { name: namespace, rule });
      const audienceId = textAt(made.body, "audience_id");
      const answer = await put(namespace, { normalization: "email" });
      assert.deepEqual([answer.status, answer.body["code"]], [409, "conflict"], answer.text);
      const expected = `normalization: stays none, because the rule of audience ${audienceId} names the namespace.`;
      assert.equal(answer.body["detail"], expected);
      assert.equal((await put(namespace, { normalization: "none", limit: 9 })).status, 200);
      assert.equal((await workspace.send("DELETE", `/v1/audiences/${audienceId}`)).status, 204);
      assert.equal((await put(namespace, { normalization: "email" })).status, 200);
    }
  });

  it("may get another normalization after a dry run, a validation and values that never link", async () => {
    const identifiers = [{ namespace: "user_id", value: "Ada@Example.com" }];
    assert.equal((await workspace.send("POST", "/v1/identify?dry_run=true", { identifiers })).status, 200);
    const item = { type: "string", "x-identity": { namespace: "user_id" } };
    const schemaId = await workspace.schema({ type: "object", properties: { mail: item } }, false);
    assert.equal((await workspace.inline(schemaId, { mail: "Ada@Example.com" })).body["status"], "pass");
    assert.equal((await workspace.collect(schemaId, { mail: "null" })).status, 202);
    assert.equal((await put("user_id", { normalization: "email" })).status, 200);
  });

  it("blocks, normalises and ranks from the next request on", async () => {
    await put("card", { normalization: "email", blocked: ["Kiosk@x"] });
    const { body } = await identify(["card", " ABC@x "], ["card", "abc@x"], ["card", "'kiosk@x'"], ["user_id", "u"]);
    assert.deepEqual(body["dropped"], [{ identifier: { namespace: "card", value: "'kiosk@x'" }, rule: "blocked" }]);
    const found = await workspace.send("POST", "/v1/profiles/lookup", {
      identifiers: [{ namespace: "card", value: "Abc@x" }],
    });
    assert.deepEqual(listAt(found.body, "unknown"), []);
  });

  it("belongs to one workspace", async () => {
    const other = await app().workspace();
    await put("email", { limit: 2 });
    await put("card", {});
    assert.deepEqual((await get("email", other)).body, EMAIL);
    assert.equal((await get("card", other)).status, 404);
  });
});
