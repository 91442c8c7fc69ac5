import assert from "node:assert/strict";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const BUILT_IN = [
  "advertising_id",
  "anonymous_id",
  "cookie_id",
  "customer_id",
  "device_id",
  "email",
  "phone",
  "user_id",
];

const names = (body: unknown) => listAt(body, "namespaces").map((one) => textAt(one, "name"));

describe("Namespaces", () => {
  const app = useApp({ NAMESPACES_MAX: "3" });
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const identify = (namespace: string) =>
    workspace.send("POST", "/v1/identify", { identifiers: [{ namespace, value: "1" }] });

  it("list the built-in ones with kind, normalization, limit, priority and blocked", async () => {
    const { status, body } = await workspace.send("GET", "/v1/namespaces");
    assert.equal(status, 200);
    assert.deepEqual(names(body), BUILT_IN);
    assert.equal(body["next_cursor"], null);
    const email = listAt(body, "namespaces").find((one) => at(one, "name") === "email");
    assert.deepEqual(email, {
      name: "email",
      kind: "person",
      normalization: "email",
      limit: null,
      priority: 500,
      blocked: [],
    });
  });

  it("are read by name; an unknown one is 404", async () => {
    assert.equal((await workspace.send("GET", "/v1/namespaces/phone")).body["normalization"], "phone");
    for (const name of ["nothing", "Email", "__proto__", "constructor", "%00"])
      assert.equal((await workspace.send("GET", `/v1/namespaces/${name}`)).status, 404, name);
  });

  it("appear when they are first used, in this workspace only", async () => {
    await identify("loyalty");
    assert.ok(names((await workspace.send("GET", "/v1/namespaces")).body).includes("loyalty"));
    const other = await app().workspace();
    assert.deepEqual(names((await other.send("GET", "/v1/namespaces")).body), BUILT_IN);
  });

  it("register themselves up to the limit of the workspace; one more is 422, in identify, alias and collect", async () => {
    for (const name of ["n1", "n2", "n3"]) assert.equal((await identify(name)).status, 200);
    const beyond = await identify("n4");
    assert.equal(beyond.status, 422);
    assert.deepEqual(errorPaths(beyond), ["identifiers.0"]);
    const sides = { anonymous: { namespace: "n5", value: "1" }, known: { namespace: "n1", value: "1" } };
    assert.equal((await workspace.send("POST", "/v1/alias", sides)).status, 422);
    const item = { type: "string", "x-identity": { namespace: "n6" } };
    const schemaId = await workspace.schema({ type: "object", properties: { card: item } });
    const collected = await workspace.collect(schemaId, { card: "1" });
    assert.deepEqual([collected.status, errorPaths(collected)], [422, ["card"]]);
    assert.deepEqual(errorPaths(await workspace.inline(schemaId, { card: "1" })), ["card"]);
    assert.equal((await identify("n1")).status, 200);
    assert.deepEqual(
      names((await workspace.send("GET", "/v1/namespaces")).body),
      [...BUILT_IN, "n1", "n2", "n3"].toSorted(),
    );
  });

  it("are not added by a sending key, in identify or alias: 422 names the field and the way; those that are there serve it", async () => {
    const ask = (target: string, body: unknown) => workspace.as("all", "POST", target, body);
    const [known, unknown] = ["user_id", "loyalty"].map((namespace) => ({ namespace, value: "1" }));
    const refused = await ask("/v1/identify", { identifiers: [known, unknown] });
    assert.deepEqual([refused.status, errorPaths(refused)], [422, ["identifiers.1.namespace"]]);
    assert.match(refused.text, /PUT \/v1\/namespaces/);
    assert.deepEqual(errorPaths(await ask("/v1/alias", { anonymous: unknown, known })), ["anonymous.namespace"]);
    assert.deepEqual(names((await workspace.send("GET", "/v1/namespaces")).body), BUILT_IN);
    await workspace.send("PUT", "/v1/namespaces/loyalty", {});
    assert.equal((await ask("/v1/identify", { identifiers: [known, unknown] })).status, 200);
  });

  it("are added by a sending key with an event, because the schema names them, and where the workspace allows it", async () => {
    const card = { type: "string", "x-identity": { namespace: "card" } };
    const schemaId = await workspace.schema({ type: "object", properties: { card } });
    const event = { schema_id: schemaId, timestamp: "2026-01-31T12:00:00Z", payload: { card: "1" } };
    assert.equal((await workspace.as("all", "POST", "/v1/collect", event)).status, 202);
    const settings = { shared_identifier_limit: null, sending_keys_add_namespaces: true };
    await workspace.send("PUT", "/v1/identity/settings", settings);
    const identifiers = [{ namespace: "loyalty", value: "1" }];
    assert.equal((await workspace.as("all", "POST", "/v1/identify", { identifiers })).status, 200);
    const added = names((await workspace.send("GET", "/v1/namespaces")).body).filter(
      (name) => !BUILT_IN.includes(name),
    );
    assert.deepEqual(added, ["card", "loyalty"]);
  });

  it("register none of a request's names when they do not all fit", async () => {
    await identify("n1");
    const identifiers = ["m1", "m2", "m3"].map((namespace) => ({ namespace, value: "1" }));
    assert.equal((await workspace.send("POST", "/v1/identify", { identifiers })).status, 422);
    assert.deepEqual(names((await workspace.send("GET", "/v1/namespaces")).body), [...BUILT_IN, "n1"].toSorted());
  });

  it("are listed in pages: limit 1 to 100, else 400, and a cursor of this list, else 400", async () => {
    const seen: string[] = [];
    let query = "?limit=3";
    for (let page = 0; page < 5; page++) {
      const { body } = await workspace.send("GET", `/v1/namespaces${query}`);
      seen.push(...names(body));
      if (body["next_cursor"] === null) break;
      assert.match(textAt(body, "next_cursor"), /^[A-Za-z0-9_-]+$/);
      query = `?limit=3&cursor=${textAt(body, "next_cursor")}`;
    }
    assert.deepEqual(seen, BUILT_IN);
    for (const limit of ["0", "101", "x", "", "-1", "1.5", "1&limit=2"]) {
      const answer = await workspace.send("GET", `/v1/namespaces?limit=${limit}`);
      assert.equal(answer.status, 400, limit);
      assert.match(textAt(answer.body, "detail"), /limit/);
    }
    const first = textAt((await workspace.send("GET", "/v1/namespaces?limit=1")).body, "next_cursor");
    const tampered = (first[0] === "A" ? "B" : "A") + first.slice(1);
    for (const cursor of ["", "x", tampered, `${first}A`, `${first}!`, "%00"]) {
      const answer = await workspace.send("GET", `/v1/namespaces?cursor=${cursor}`);
      assert.deepEqual([answer.status, answer.body["code"]], [400, "invalid_cursor"], cursor);
    }
  });
});
