import assert from "node:assert/strict";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const SIMPLE = { type: "object", properties: { n: { type: "integer" } } };

const trait = (merge: string) => ({
  type: "object",
  properties: { t: { type: "number", "x-trait": { name: "t", merge } } },
});

describe("Schemas", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const register = (body: unknown) => workspace.send("POST", "/v1/schemas", body);

  it("are registered with 201 and shown with id, version, compatibility and the schema as sent", async () => {
    const text = '{"schema":{ "type":"object",  "title":"\\u00e9 1.0" },"schema_id":"signup"}';
    const made = await register(text);
    assert.equal(made.status, 201);
    const fields = ["compatibility", "created_at", "schema", "schema_id", "version", "warnings"];
    assert.deepEqual(Object.keys(made.body).toSorted(), fields);
    assert.deepEqual(
      [made.body["schema_id"], made.body["version"], made.body["compatibility"]],
      ["signup", 1, "backward"],
    );
    assert.ok(made.text.includes('"schema":{ "type":"object",  "title":"\\u00e9 1.0" }'), made.text);
    const read = await workspace.send("GET", "/v1/schemas/signup");
    const { warnings, ...shown } = made.body;
    assert.deepEqual(warnings, []);
    assert.deepEqual([read.status, read.body], [200, shown]);
    assert.ok(read.text.includes('"schema":{ "type":"object",  "title":"\\u00e9 1.0" }'), read.text);
  });

  it("get an id of their own when the client does not choose one", async () => {
    const { body } = await register({ schema: SIMPLE });
    assert.match(textAt(body, "schema_id"), /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
  });

  it("have a schema_id of the documented form; another one is 422", async () => {
    for (const schemaId of ["a", "A.b_c-1", "0".repeat(128)])
      assert.equal((await register({ schema: SIMPLE, schema_id: schemaId })).status, 201, schemaId);
    for (const schemaId of ["", ".a", "-a", "a/b", "a b", "é", "0".repeat(129), "a\n", 7, null]) {
      const answer = await register({ schema: SIMPLE, schema_id: schemaId });
      assert.equal(answer.status, 422, String(schemaId));
      assert.deepEqual(errorPaths(answer), ["schema_id"]);
    }
  });

  it("keep the ids of the built-in schemas of SDKs, which every workspace has, to themselves", async () => {
    for (const schemaId of ["sdk.track", "sdk.anything"]) {
      const answer = await register({ schema: SIMPLE, schema_id: schemaId });
      assert.deepEqual([answer.status, errorPaths(answer)], [422, ["schema_id"]]);
      const version = await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, { schema: SIMPLE });
      assert.deepEqual([version.status, errorPaths(version)], [422, ["schema_id"]]);
    }
    const shown = await workspace.send("GET", "/v1/schemas/sdk.identify");
    assert.deepEqual([shown.status, shown.body["version"]], [200, 1]);
    assert.equal((await workspace.send("GET", "/v1/schemas/sdk.other")).status, 404);
    assert.equal((await workspace.send("GET", "/v1/schemas/sdk.track/versions/2")).status, 404);
    const sent = await workspace.collect("sdk.track", { event: "Order Completed" });
    assert.equal(sent.status, 202, sent.text);
  });

  it("answer 409 when the schema_id is taken, also when many ask at once", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => register({ schema: SIMPLE, schema_id: "race" })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, 409, 409, 409, 409],
    );
    assert.equal((await register({ schema: SIMPLE, schema_id: "race" })).body["code"], "conflict");
  });

  it("are effective at once after the 201", async () => {
    for (let i = 0; i < 10; i++) {
      const schemaId = await workspace.schema(SIMPLE, null);
      assert.equal((await workspace.collect(schemaId, { n: i })).status, 202);
      assert.equal((await workspace.collect(schemaId, { n: "x" })).status, 422);
    }
  });

  it("have immutable versions 1, 2, 3, each of which stays readable", async () => {
    const schemaId = await workspace.schema(SIMPLE, null);
    const wider = { type: "object", properties: { n: { type: "integer" }, m: { type: "string" } } };
    const next = await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, { schema: wider });
    assert.deepEqual([next.status, next.body["version"]], [201, 2]);
    const first = await workspace.send("GET", `/v1/schemas/${schemaId}/versions/1`);
    assert.deepEqual(first.body["schema"], SIMPLE);
    assert.deepEqual((await workspace.send("GET", `/v1/schemas/${schemaId}`)).body["version"], 2);
    const list = await workspace.send("GET", `/v1/schemas/${schemaId}/versions`);
    assert.deepEqual(
      listAt(list.body, "schemas").map((one) => at(one, "version")),
      [1, 2],
    );
    for (const version of ["3", "0", "-1", "01", "x", "1.0", "99999999999"])
      assert.equal((await workspace.send("GET", `/v1/schemas/${schemaId}/versions/${version}`)).status, 404, version);
  });

  it("refuse a version under which events of the last one would no longer match: 409 incompatible_schema", async () => {
    const schemaId = await workspace.schema(SIMPLE, null);
    const narrower = [
      { ...SIMPLE, required: ["n"] },
      { type: "object", properties: { n: { type: "string" } } },
      { type: "object", properties: { n: { type: "integer", maximum: 5 } } },
    ];
    for (const schema of narrower) {
      const answer = await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, { schema });
      assert.deepEqual([answer.status, answer.body["code"]], [409, "incompatible_schema"], JSON.stringify(schema));
      assert.ok(listAt(answer.body, "errors").length > 0);
      const forced = { schema, compatibility: "none" };
      const own = await workspace.schema(SIMPLE, null);
      assert.equal((await workspace.send("POST", `/v1/schemas/${own}/versions`, forced)).status, 201);
    }
  });

  it("refuse a version without an x-identity that the last one had, unless the caller insists", async () => {
    const identity = { type: "string", "x-identity": { namespace: "customer_id" } };
    const schemaId = await workspace.schema({ type: "object", properties: { id: identity } }, null);
    const without = { schema: { type: "object", properties: { id: { type: "string" } } } };
    const answer = await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, without);
    assert.deepEqual([answer.status, answer.body["code"]], [409, "incompatible_schema"]);
    assert.deepEqual(errorPaths(answer), ["schema.properties.id.x-identity"]);
    const insisted = { ...without, compatibility: "none" };
    assert.equal((await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, insisted)).status, 201);
  });

  it("go back to an earlier version's content when it is posted with compatibility none", async () => {
    const schemaId = await workspace.schema(SIMPLE, null);
    const wider = { type: "object", properties: { n: { type: ["integer", "string"] } } };
    const add = (body: unknown) => workspace.send("POST", `/v1/schemas/${schemaId}/versions`, body);
    assert.equal((await add({ schema: wider })).body["version"], 2);
    const first = (await workspace.send("GET", `/v1/schemas/${schemaId}/versions/1`)).body["schema"];
    assert.equal((await add({ schema: first })).status, 409);
    const back = await add({ schema: first, compatibility: "none" });
    assert.deepEqual([back.status, back.body["version"], back.body["schema"]], [201, 3, SIMPLE]);
    assert.equal((await workspace.collect(schemaId, { n: "x" })).status, 422);
    const again = await add({ schema: first });
    assert.deepEqual([again.status, again.body["version"]], [201, 4], "the same content is a version too");
  });

  it("are tried with dry_run: the answer of the real call with 200, and nothing is stored", async () => {
    const tried = (path: string, body: unknown) => workspace.send("POST", `/v1/schemas${path}?dry_run=true`, body);
    const { schema, ...named } = { schema: { ...trait("max"), owner: "me" }, schema_id: "tried" };
    const first = await tried("", { schema, ...named });
    const { created_at: _at, ...shown } = first.body;
    assert.equal(first.status, 200);
    const warnings = [{ path: "schema.owner", message: "is not a keyword, and is ignored" }];
    const expected = { ...named, version: 1, compatibility: "backward", warnings, dry_run: true, schema };
    assert.deepEqual(shown, expected);
    assert.equal((await tried("", { schema })).body["schema_id"], null, "no id is made");
    assert.equal((await workspace.send("GET", "/v1/schemas/tried")).status, 404);
    assert.equal((await tried("/tried/versions", { schema })).status, 404);
    assert.equal(
      (await register({ schema: trait("min"), schema_id: "tried" })).status,
      201,
      "nor was the trait's merge",
    );

    assert.equal((await tried("", { schema: SIMPLE, schema_id: "tried" })).status, 409);
    assert.equal((await tried("", { schema })).status, 422, "the trait has another merge by now");
    assert.equal((await tried("/tried/versions", { schema: { type: "string" } })).status, 422);
    const narrower = { ...trait("min"), required: ["t"] };
    const refused = await tried("/tried/versions", { schema: narrower });
    assert.deepEqual([refused.status, refused.body["code"]], [409, "incompatible_schema"]);
    const next = await tried("/tried/versions", { schema: narrower, compatibility: "none" });
    assert.deepEqual([next.status, next.body["version"], next.body["schema_id"]], [200, 2, "tried"]);
    assert.equal((await workspace.send("GET", "/v1/schemas/tried")).body["version"], 1);
    assert.equal((await workspace.send("POST", "/v1/schemas?dry_run=yes", { schema: SIMPLE })).status, 400);
  });

  it("number versions without a gap when many are registered at once", async () => {
    const schemaId = await workspace.schema(SIMPLE, null);
    const add = () => workspace.send("POST", `/v1/schemas/${schemaId}/versions`, { schema: SIMPLE });
    const answers = await Promise.all(Array.from({ length: 5 }, add));
    assert.deepEqual(
      answers.map(({ body }) => Number(body["version"])).toSorted((a, b) => a - b),
      [2, 3, 4, 5, 6],
    );
  });

  it("assert formats", async () => {
    const schemaId = await workspace.schema(
      { type: "object", properties: { e: { type: "string", format: "email" } } },
      null,
    );
    assert.equal((await workspace.collect(schemaId, { e: "nobody" })).status, 422);
    assert.equal((await workspace.collect(schemaId, { e: "a@example.com" })).status, 202);
  });

  it("change nothing of the event: no default is filled in, no type converted, nothing removed", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", default: 7 }, s: { type: "string" } } };
    const schemaId = await workspace.schema(schema, null);
    assert.equal((await workspace.collect(schemaId, { n: "1" })).status, 422);
    const accepted = await workspace.collect(schemaId, { s: "x", extra: 1 });
    assert.deepEqual((await workspace.settled(accepted.body["event_id"], "stored")).body["payload"], {
      s: "x",
      extra: 1,
    });
  });

  it("take required names that every object inherits for missing", async () => {
    const schemaId = await workspace.schema({ type: "object", required: ["constructor"] }, null);
    assert.deepEqual(errorPaths(await workspace.collect(schemaId, {})), ["constructor"]);
  });

  it("are listed by id in pages", async () => {
    for (const schemaId of ["c", "a", "b"]) await register({ schema: SIMPLE, schema_id: schemaId });
    const first = await workspace.send("GET", "/v1/schemas?limit=2");
    assert.deepEqual(
      listAt(first.body, "schemas").map((one) => at(one, "schema_id")),
      ["a", "b"],
    );
    const rest = await workspace.send("GET", `/v1/schemas?limit=2&cursor=${textAt(first.body, "next_cursor")}`);
    assert.deepEqual(
      listAt(rest.body, "schemas").map((one) => at(one, "schema_id")),
      ["c"],
    );
    assert.equal(rest.body["next_cursor"], null);
  });

  it("of another workspace look unknown: to read, to version, to collect and to make a dataset of", async () => {
    const schemaId = await workspace.schema(SIMPLE, null);
    const other = await app().workspace();
    const targets = [
      `/v1/schemas/${schemaId}`,
      `/v1/schemas/${schemaId}/versions`,
      `/v1/schemas/${schemaId}/versions/1`,
    ];
    for (const target of targets) assert.equal((await other.send("GET", target)).status, 404);
    assert.equal((await other.send("POST", targets[1]!, { schema: SIMPLE })).status, 404);
    const foreign = await other.collect(schemaId, { n: 1 });
    const unknown = await other.collect("unknown", { n: 1 });
    assert.deepEqual([foreign.status, foreign.body["code"]], [422, "unknown_schema"]);
    assert.deepEqual({ ...foreign.body, request_id: "" }, { ...unknown.body, request_id: "" });
    const dataset = await other.send("POST", "/v1/datasets", { name: "d", schema_id: schemaId });
    assert.deepEqual([dataset.status, dataset.body["code"]], [422, "unknown_schema"]);
    assert.deepEqual((await other.send("GET", "/v1/schemas")).body, { schemas: [], next_cursor: null });
    assert.equal((await other.send("POST", "/v1/schemas", { schema: SIMPLE, schema_id: schemaId })).status, 201);
  });
});
