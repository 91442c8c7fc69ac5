import assert from "node:assert/strict";
import { newId } from "../../../core/ids.js";
import { exportOf, identifier, sendAll, sendLines } from "../../support/service/imports.js";
import { at, errorPaths, listAt, startApp, useApp, type App, type TestWorkspace } from "../../support/service/app.js";
import { EMBEDDED } from "../../support/servers/servers.js";

const AT = "2026-01-01T00:00:00.000Z";
const line = (type: string, members: object): string => JSON.stringify({ type, position: "x", ...members });
const schema = (given: unknown, over: object = {}): string => {
  const said = { version: 1, compatibility: "none", linear: true, traits: [], created_at: AT };
  return line("schema", { schema_id: "s", ...said, ...over, schema: given });
};
const namespace = (name: string, over: object = {}): string => {
  const settings = { kind: "person", normalization: "none", limit: null, priority: 0, blocked: [] };
  return line("namespace", { name, ...settings, registered_itself: false, used: false, ...over });
};
const trait = (name: string, merge = "latest"): string => line("trait", { name, merge, registered_itself: true });
const dataset = (over: object = {}): string => {
  const settings = { schema_id: "s", unified_profile: false, retention_days: null, created_at: AT };
  return line("dataset", { dataset_id: newId(), name: "a", ...settings, ...over });
};
const SETTINGS = {
  unplanned: "accept",
  violations: "mark",
  keep_rejects: false,
  collect_only_adds_traits: false,
  phone: false,
  device_id: false,
  advertising_id: false,
};
const planned = (name: string, schemaId: string | null = null) => ({
  name,
  schema_id: schemaId,
  unplanned: null,
  violations: null,
});
const sdk = (...plan: readonly object[]): string => line("sdk", { settings: SETTINGS, plan });
const SOUND = { type: "object", properties: { a: { type: "string" } } };
const long = (characters: number): string => "x".repeat(characters);

/** What no route would take -> the lines, and the paths of what is wrong with the last of them. */
const REFUSED: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  "a schema that answers with a promise": [
    [schema({ $async: true, type: "object", required: ["x"] })],
    ["schema.$async"],
  ],
  "a schema that is no object": [[schema(5)], ["schema"]],
  "a schema with a type that there is not": [[schema({ type: 5 })], ["schema.type"]],
  "a schema that is too large": [[schema({ ...SOUND, title: long(65_536) })], ["schema"]],
  "a schema with a long pattern": [
    [schema({ properties: { a: { pattern: long(513) } } })],
    ["schema.properties.a.pattern"],
  ],
  "a schema with the id of a built-in one": [[schema(SOUND, { schema_id: "sdk.track" })], ["schema_id"]],
  "a schema of a later version": [[schema(SOUND, { version: 2 })], ["version"]],
  "a limit of a namespace": [[namespace("a", { limit: 1_001 })], ["limit"]],
  "a priority of a namespace": [[namespace("a", { priority: 1_001 })], ["priority"]],
  "a blocked value that is too long": [[namespace("a", { blocked: [long(1_025)] })], ["blocked.0"]],
  "blocked values beyond their bytes": [
    [
      namespace("a", { blocked: Array.from({ length: 200 }, (_, n) => `${n}${long(1_000)}`) }),
      namespace("b", { blocked: Array.from({ length: 200 }, (_, n) => `${n}${long(1_000)}`), registered_itself: true }),
    ],
    ["blocked"],
  ],
  "a namespace by first use beyond their number": [
    ["a", "b", "c"].map((name) => namespace(name, { registered_itself: true })),
    ["name"],
  ],
  "a trait by first use beyond their number": [["a", "b", "c"].map((name) => trait(name)), ["name"]],
  "a trait with another name than traits have": [[trait("a b")], ["name"]],
  "a trait by first use with a merge": [[trait("a", "sum")], ["merge"]],
  "a dataset of an unknown schema": [[dataset()], ["schema_id"]],
  "a dataset without a name": [[schema(SOUND), dataset({ name: "" })], ["name"]],
  "a retention that is too long": [[schema(SOUND), dataset({ retention_days: 36_501 })], ["retention_days"]],
  "a shared identifier limit": [
    [line("identity_settings", { shared_identifier_limit: 101, sending_keys_add_namespaces: false })],
    ["shared_identifier_limit"],
  ],
  "a plan of unknown schemas": [[sdk(planned("a"), planned("b", "s"))], ["plan.1.schema_id"]],
  "a plan with a name twice": [[sdk(planned("a"), planned("b"), planned("a"))], ["plan.2.name"]],
  "a plan with a long name": [[sdk(planned(long(257)))], ["plan.0.name"]],
  "a plan of too many bytes": [
    [sdk(...Array.from({ length: 1_000 }, (_, n) => planned(`${n}${long(200)}`)))],
    ["plan"],
  ],
  "a plan of too many events": [[sdk(...Array.from({ length: 1_001 }, (_, n) => planned(`${n}`)))], ["plan"]],
};

describe("The catalog of an import", () => {
  const app = useApp({ NAMESPACES_MAX: "2", TRAITS_MAX: "2" });
  let source: App;
  before(async () => {
    source = await startApp({ ...EMBEDDED, NAMESPACES_MAX: "2", TRAITS_MAX: "2" });
  });
  after(() => source.close());
  const opened = async (): Promise<TestWorkspace> => {
    const into = await app().workspace();
    assert.equal((await into.send("POST", "/v1/imports")).status, 200);
    return into;
  };
  const catalogOf = async (workspace: TestWorkspace) =>
    (await exportOf(workspace, "catalog")).map((text) => text.replace(/"position":"[^"]*"/, ""));

  for (const [what, [lines, paths]] of Object.entries(REFUSED))
    it(`refuses ${what} as its route does, names line and field, and stores nothing of it`, async () => {
      const into = await opened();
      const last = lines.length - 1;
      const refused = await sendLines(into, lines);
      const expected = paths.map((path) => `lines.${last}.${path}`);
      assert.deepEqual([refused.status, errorPaths(refused)], [422, expected], refused.text);
      const beside = await opened();
      const nothing = await catalogOf(beside);
      if (last > 0) await sendAll(beside, lines.slice(0, last), last);
      // Where its shape is wrong, nothing of the whole request.
      const allowed = [nothing, await catalogOf(beside)].map((one) => one.join("\n"));
      assert.ok(allowed.includes((await catalogOf(into)).join("\n")));
    });

  it("stores nothing of a request in which one schema would not be registered, and says so without storing, too", async () => {
    const into = await opened();
    const lines = [namespace("a"), schema(SOUND), schema({ $async: true }, { schema_id: "t" })];
    const tried = await into.send("POST", "/v1/imports/lines?dry_run=true", lines.join("\n"), {
      "Content-Type": "application/x-ndjson",
    });
    for (const { status, body } of [tried, await sendLines(into, lines)])
      assert.deepEqual([status, errorPaths({ body } as typeof tried)], [422, ["lines.2.schema.$async"]]);
    const { body } = await into.send("POST", "/v1/imports?dry_run=true");
    assert.deepEqual(body["stands"], []);
  });

  it("finds out itself what a schema says: what its line says of that does not count", async () => {
    const into = await opened();
    const largest = { type: "number", "x-trait": { name: "a", merge: "max" } };
    const given = { type: "object", properties: { a: largest, b: { type: "array", uniqueItems: true, maxItems: 9 } } };
    await sendAll(into, [schema(given, { linear: true, traits: [{ name: "b", merge: "sum" }] })], 1);
    const stored = (await exportOf(into, "catalog")).find((text) => text.includes('"type":"schema"'));
    const { linear, traits } = JSON.parse(stored!) as { readonly linear: boolean; readonly traits: unknown };
    assert.deepEqual([linear, traits], [false, [{ name: "a", merge: "max" }]]);
  });

  it("takes what a workspace at its limits has, twice, as after a break", async () => {
    const from = await source.workspace();
    for (const name of ["one", "two"])
      await from.send("POST", "/v1/identify", { identifiers: [identifier(name, "1")] });
    await from.send("PUT", "/v1/namespaces/three", { blocked: ["none"] });
    const open = { type: "object", properties: { t: { type: "object", "x-traits": true } } };
    const schemaId = await from.schema(open);
    const sent = await from.collect(schemaId, { t: { a: "1", b: "2" } });
    await from.settled(sent.body["event_id"], "stored").catch(() => undefined);
    // It declares a name that counts as added by its first use.
    await from.schema({ type: "object", properties: { a: { type: "string", "x-trait": { name: "a" } } } });
    // Incompatible with the first, and the third compatible with the second.
    const other = { type: "object", required: ["n"], properties: { t: { type: "string" }, n: { type: "number" } } };
    for (const [given, compatibility] of [
      [other, "none"],
      [{ ...other, required: [] }, "backward"],
    ] as const) {
      const added = await from.send("POST", `/v1/schemas/${schemaId}/versions`, { schema: given, compatibility });
      assert.equal(added.status, 201, added.text);
    }
    const plan = await from.send("PUT", "/v1/sdk/plan", { events: { Bought: { schema_id: schemaId } } });
    assert.equal(plan.status, 200, plan.text);
    const into = await opened();
    for (let times = 0; times < 2; times += 1) await sendAll(into, await exportOf(from, "catalog"), 3);
    const wanted = await catalogOf(from);
    assert.deepEqual(await catalogOf(into), wanted);
    assert.equal(wanted.filter((text) => text.includes('"registered_itself":true')).length, 4);
  });

  it("has no other judge than the route for a namespace with identifiers, or a dataset that audiences need", async () => {
    const into = await opened();
    await sendAll(into, [namespace("crm"), schema(SOUND), schema(SOUND, { schema_id: "t" })], 3);
    await into.send("POST", "/v1/identify", { identifiers: [identifier("crm", "1")] });
    assert.equal((await sendLines(into, [namespace("crm", { normalization: "email" })])).status, 409);
    const datasetId = newId();
    await sendAll(into, [dataset({ dataset_id: datasetId })], 1);
    assert.equal((await sendLines(into, [dataset({ dataset_id: datasetId, schema_id: "t" })])).status, 409);
    const counted = { $events: { schema_id: "s", within: "30d" } };
    assert.equal((await into.send("POST", "/v1/audiences", { name: "a", rule: counted })).status, 201);
    const short = await sendLines(into, [dataset({ dataset_id: datasetId, retention_days: 7 })]);
    assert.deepEqual(
      [short.status, short.body["code"], errorPaths(short)],
      [409, "in_use", ["lines.0.retention_days"]],
    );
    const [stored] = listAt((await into.send("GET", "/v1/datasets")).body, "datasets");
    assert.equal(at(stored, "schema_id"), "s");
  });
});
