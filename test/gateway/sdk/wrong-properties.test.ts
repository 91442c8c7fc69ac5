import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

const [TEXT, NUMBER] = [{ type: "string" }, { type: "number" }];

describe("Items of SDKs with wrong properties", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let door: ReturnType<typeof openSdkDoor>;
  before(() => {
    door = openSdkDoor(app());
  });
  after(() => door.close());
  beforeEach(async () => {
    workspace = await app().workspace();
  });

  const put = async (what: "settings" | "plan", body: unknown): Promise<void> => {
    const answer = await workspace.send("PUT", `/v1/sdk/${what}`, body);
    assert.equal(answer.status, 200, answer.text);
  };
  /** What is stored of a call, where this is the schema of its properties. */
  const stored = async (violations: "mark" | "omit", properties: object, sent: object) => {
    const schemaId = await workspace.schema({ properties: { properties } });
    await put("plan", { events: { Order: { schema_id: schemaId, violations } } });
    const item = { type: "track", event: "Order", userId: "u-1", messageId: randomUUID(), properties: sent };
    await door.send(workspace, [item], "all");
    return workspace.settled(door.eventIdOf(workspace, item.messageId), "folded");
  };
  const left = async (properties: object, sent: object): Promise<unknown> =>
    at((await stored("omit", properties, sent)).body, "payload.properties");
  const toldOf = ({ body }: { readonly body: unknown }): unknown =>
    listAt(body, "violations").map((one) => textAt(one, "path"));

  it("lose each of hundreds where the policy omits them", async () => {
    const wrong = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`n${n}`, "x"]));
    assert.deepEqual(await left({ additionalProperties: NUMBER }, { ...wrong, total: 1 }), { total: 1 });
  });

  it("keep what is right, also if it is wrong without what they lose", async () => {
    const pair = { minProperties: 2, properties: { total: NUMBER } };
    assert.deepEqual(await left(pair, { total: "x", city: "Rome" }), { city: "Rome" });
    const either = { anyOf: [{ required: ["email"] }, { required: ["phone"] }], properties: { email: TEXT } };
    assert.deepEqual(await left(either, { email: 5, total: 7, city: "Rome" }), { total: 7, city: "Rome" });
    const dotted = { required: ["utm.source"], properties: { "utm.source": TEXT } };
    assert.deepEqual(await left(dotted, { utm: "x", "utm.source": 5, ok: 1 }), { utm: "x", ok: 1 });
    assert.deepEqual(await left(dotted, { utm: "x", ok: 1 }), { utm: "x", ok: 1 });
  });

  it("lose of the traits those of a long list, and not all", async () => {
    const ids = { type: "array", items: { ...TEXT, "x-trait": { name: "product_ids", merge: "union" } } };
    const properties = { properties: { city: { ...TEXT, "x-trait": { name: "city" } }, product_ids: ids } };
    const sent = { city: "Rome", product_ids: Array.from({ length: 90 }, (_, n) => 100 + n) };
    const { body } = await stored("mark", properties, sent);
    const shown = await workspace.send("GET", `/v1/profiles/${textAt(body, "profile_id")}`);
    assert.deepEqual(at(shown.body, "traits"), { city: "Rome" });
  });

  it("say what is wrong only without what they lost", async () => {
    const pair = { minProperties: 2, properties: { total: NUMBER } };
    assert.deepEqual(toldOf(await stored("omit", pair, { total: "x", city: "Rome" })), [
      "properties.total",
      "properties",
    ]);
  });

  it("lose each of several wrong objects of a built-in schema", async () => {
    await put("settings", { violations: "omit" });
    const item = {
      type: "track",
      event: "Order",
      userId: "u-1",
      messageId: randomUUID(),
      properties: 5,
      context: 6,
      a: 7,
    };
    await door.send(workspace, [item], "all");
    const shown = await workspace.settled(door.eventIdOf(workspace, item.messageId), "folded");
    assert.deepEqual(at(shown.body, "payload"), { event: "Order", a: 7 });
    assert.deepEqual(toldOf(shown), ["context", "properties"]);
  });
});
