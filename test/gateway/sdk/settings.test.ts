import assert from "node:assert/strict";
import { at, errorPaths, listAt, submission, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";
import { track } from "../../support/sdk/client.js";

const DEFAULTS = {
  unplanned: "accept",
  violations: "mark",
  keep_rejects: false,
  collect_only_adds_traits: false,
  phone: false,
  device_id: false,
  advertising_id: false,
};

describe("The settings and the plan of SDKs", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const put = (what: "settings" | "plan", body: unknown, headers = {}) =>
    workspace.send("PUT", `/v1/sdk/${what}`, body, headers);
  const read = async (what: "settings" | "plan", of = workspace) => (await of.send("GET", `/v1/sdk/${what}`)).body;

  it("are the defaults until the workspace sets them, and what is omitted is a default again", async () => {
    assert.deepEqual([await read("settings"), await read("plan")], [DEFAULTS, { events: {} }]);
    const { body } = await put("settings", { unplanned: "quarantine", keep_rejects: true });
    assert.deepEqual(body, { ...DEFAULTS, unplanned: "quarantine", keep_rejects: true });
    assert.deepEqual(await read("settings"), body);
    assert.deepEqual((await put("settings", { phone: true })).body, { ...DEFAULTS, phone: true });
    assert.deepEqual(await read("settings", await app().workspace()), DEFAULTS, "of another workspace");
  });

  it("take the known words and nothing else, and stay as they were", async () => {
    await put("settings", { violations: "omit" });
    assert.deepEqual(errorPaths(await put("settings", { unplanned: "drop", phone: 1, more: 1 })), [
      "more",
      "phone",
      "unplanned",
    ]);
    assert.deepEqual(await read("settings"), { ...DEFAULTS, violations: "omit" });
  });

  it("the plan is answered as it was put, whatever its events are called, and a PUT replaces it", async () => {
    const schemaId = await workspace.schema();
    const events = {
      "Order Completed": { schema_id: schemaId, violations: "quarantine" },
      "Debug\n\u{1F600}": { unplanned: "quarantine" },
      constructor: { schema_id: schemaId },
    };
    // Written out: in a literal, the name would set a prototype.
    const text = `{"events":{"__proto__":{"schema_id":"${schemaId}"},${JSON.stringify(events).slice(1)}}`;
    const answer = await put("plan", text);
    assert.equal(answer.status, 200, answer.text);
    const shown = await read("plan");
    assert.deepEqual(shown, answer.body);
    const names = Object.keys(at(shown, "events") as object).toSorted();
    assert.deepEqual(names, ["Debug\n\u{1F600}", "Order Completed", "__proto__", "constructor"].toSorted());
    assert.deepEqual(at(shown, "events.Order Completed"), {
      schema_id: schemaId,
      unplanned: null,
      violations: "quarantine",
    });
    assert.deepEqual((await put("plan", { events: {} })).body, { events: {} });
  });

  it("the plan names only schemas that the workspace has, and says where it does not", async () => {
    const foreign = await (await app().workspace()).schema();
    const events = { Good: { schema_id: await workspace.schema() }, Bad: { schema_id: foreign }, Worse: { x: 1 } };
    assert.deepEqual(errorPaths(await put("plan", { events })), ["events.Worse.x"]);
    assert.deepEqual(errorPaths(await put("plan", { events: { ...events, Worse: {} } })), ["events.Bad.schema_id"]);
    assert.deepEqual(await read("plan"), { events: {} });
    assert.deepEqual(errorPaths(await put("plan", { events: { "": {} } })), ["events."]);
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`e${n}`, {}]));
    assert.deepEqual(errorPaths(await put("plan", { events: many })), ["events"]);
    const long = Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`${n}`.padStart(256, "x"), {}]));
    assert.deepEqual(errorPaths(await put("plan", { events: long })), ["events"]);
    assert.equal((await put("plan", {})).status, 422);
  });

  it("the plan tells a wrong member once", async () => {
    const plan = (event: object) => put("plan", { events: { A: event } });
    for (const [name, values] of [
      ["unplanned", ["drop", 5]],
      ["violations", ["drop", 5]],
      ["schema_id", [5, "", "x".repeat(129)]],
    ] as const)
      for (const value of values) assert.deepEqual(errorPaths(await plan({ [name]: value })), [`events.A.${name}`]);
    assert.equal((await plan({ schema_id: null, unplanned: null, violations: null })).status, 200);
  });

  it("a change with If-Match takes place only over what was read", async () => {
    for (const [what, first, second] of [
      ["settings", { phone: true }, { phone: false }],
      ["plan", { events: { A: {} } }, { events: { B: {} } }],
    ] as const) {
      const { headers } = await workspace.send("GET", `/v1/sdk/${what}`);
      const changed = await put(what, first, { "If-Match": headers.etag });
      assert.equal(changed.status, 200, changed.text);
      const stale = await put(what, second, { "If-Match": headers.etag });
      assert.deepEqual([stale.status, textAt(stale.body, "code")], [412, "precondition_failed"]);
      assert.deepEqual(await read(what), changed.body);
      assert.equal((await put(what, second, { "If-Match": changed.headers.etag })).status, 200);
    }
  });

  it("are read by viewers and changed by admins", async () => {
    for (const what of ["settings", "plan"] as const) {
      assert.equal((await workspace.as("viewer", "GET", `/v1/sdk/${what}`)).status, 200);
      assert.equal((await workspace.as("editor", "PUT", `/v1/sdk/${what}`, { events: {} })).status, 403);
      assert.equal(
        (await workspace.as("admin", "PUT", `/v1/sdk/${what}`, what === "plan" ? { events: {} } : {})).status,
        200,
      );
    }
    assert.deepEqual(listAt(await read("plan"), "events"), {});
  });
});

describe("The names of traits that collect-only keys add", () => {
  const app = useApp({ TRAITS_MAX: "5" });

  it("are at most half of those of the workspace, so that other keys still add theirs", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { collect_only_adds_traits: true });
    const schemaId = await workspace.schema({
      type: "object",
      properties: {
        user: { type: "string", "x-identity": { namespace: "user_id" } },
        t: { type: "object", "x-traits": true },
      },
    });
    const leftOut = async (caller: "collect" | "all", t: object): Promise<readonly string[]> => {
      const body = submission(schemaId, { user: "u-1", t });
      const sent = await workspace.as(caller, "POST", "/v1/collect", body);
      const { body: shown } = await workspace.settled(sent.body["event_id"]);
      return listAt(shown, "violations").map((one) => `${textAt(one, "path")} ${textAt(one, "message")}`);
    };
    const full = (name: string, max: string) =>
      `t.${name} is not a trait: ${name} would exceed the ${max} by first use`;
    const half = "2 names up to which collect-only keys may create more";
    assert.deepEqual(await leftOut("collect", { a: 1, b: 2, c: 3 }), [full("c", half)]);
    assert.deepEqual(await leftOut("all", { plan: "gold", d: 1, e: 1, f: 1 }), [
      full("f", "5 names that a workspace may create"),
    ]);
    assert.deepEqual(await leftOut("collect", { a: 2, plan: "silver", g: 1 }), [full("g", half)]);
  });
});

describe("The namespaces that collect-only keys add", () => {
  const few = { NAMESPACES_MAX: "5" };
  const app = useApp(few);
  let door: ReturnType<typeof openSdkDoor>;
  before(() => {
    door = openSdkDoor(app(), few);
  });
  after(() => door.close());

  it("are at most half of those of the workspace, so that other keys still add theirs", async () => {
    const workspace = await app().workspace();
    const settings = { shared_identifier_limit: null, sending_keys_add_namespaces: true };
    await workspace.send("PUT", "/v1/identity/settings", settings);
    const refused = async (caller: "collect" | "all", ...types: readonly string[]): Promise<readonly string[]> => {
      const item = track({ context: { externalIds: types.map((type) => ({ type, id: `${type}-9` })) } });
      assert.equal((await door.send(workspace, [item], caller)).accepted, 1);
      const { body } = await workspace.settled(door.eventIdOf(workspace, item.messageId));
      return listAt(body, "violations").map((one) => textAt(one, "message"));
    };
    const full = (name: string, max: string) => `namespace ${name} would exceed the ${max} by first use`;
    const half = "2 namespaces up to which collect-only keys may create more";
    assert.deepEqual(
      await refused("collect", "x1", "x2", "x3"),
      ["x1", "x2", "x3"].map((name) => full(name, half)),
    );
    assert.deepEqual(await refused("collect", "x1", "x2"), []);
    assert.deepEqual(await refused("collect", "x3"), [full("x3", half)]);
    const schemaId = await workspace.schema({
      type: "object",
      properties: { crm: { type: "string", "x-identity": { namespace: "crm_id" } } },
    });
    assert.equal(
      (await workspace.as("editor", "POST", "/v1/collect", submission(schemaId, { crm: "c-9" }))).status,
      202,
    );
    assert.deepEqual(await refused("all", "y1", "y2"), []);
    const whole = "5 namespaces that a workspace may create";
    assert.deepEqual(await refused("all", "y3"), [full("y3", whole)]);
  });
});
