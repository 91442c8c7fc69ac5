import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  at,
  errorPaths,
  listAt,
  now,
  submission,
  textAt,
  useApp,
  type TestWorkspace,
} from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

const spent = { "x-trait": { name: "spent", merge: "sum" } };
const ORDER = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    order_id: { type: ["string", "null"], "x-trait": { name: "orders", merge: "count" } },
    total: { type: ["number", "null"], ...spent },
    lines: { type: "array", items: { type: "number", ...spent } },
  },
};
/** Numbers that no sum takes. */
const TOO_FINE = [0.1234567, 1e-7, 123_456_789_012.3456, 9_007_199_254_740_991, 1e300, 0.1 + 0.2];
const TAKEN = [999_999_999_999_999, -0.000001, 12_345_678.901234, 0, 1e14, 10_000_000_000_000.5, 1e15, -1e299];
/** As they are written, though a double keeps no more than 15 digits of them. */
const TOO_FINE_AS_WRITTEN = [
  "99999999999999.999",
  "562949953421311.99",
  "123456789012345.0000001",
  "0.1000000000000000055",
  "1.00000000000000000000001",
  "100000000000000000001e-20",
];
const TAKEN_AS_WRITTEN = ["1e15", "1.000000000000000000000", "0.10000000000000000", "100000000000000000000", "0e-40"];

describe("Sums and counts", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema(ORDER);
  });

  const collect = (payload: object) => workspace.collect(schemaId, payload);
  const folded = async (name: string, payload: object) => {
    const { status, body, text } = await collect({ email: `${name}@example.com`, ...payload });
    assert.equal(status, 202, text);
    return workspace.settled(body["event_id"]);
  };
  const profileOf = async (name: string) => {
    const identifiers = [{ namespace: "email", value: `${name}@example.com` }];
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
    return at(body, "profiles.0");
  };
  const shown = async (name: string) => {
    const profile = await profileOf(name);
    return [at(profile, "traits"), at(profile, "event_count")];
  };

  it("are exact: each value is added, each event with the field is counted, and null is no value", async () => {
    await folded("ada", { order_id: "o1", total: 0.1 });
    await folded("ada", { order_id: "o2", total: 0.2, lines: [0.3, -0.000001, 1e9] });
    await folded("ada", { order_id: null, total: null });
    await folded("ada", {});
    assert.deepEqual(await shown("ada"), [{ orders: 2, spent: 1_000_000_000.599999 }, 4]);
    await folded("bob", {});
    assert.deepEqual(await shown("bob"), [{}, 1]);
  });

  it("take each number of at most 15 digits, 6 of them after the decimal point", async () => {
    for (const total of TAKEN) assert.equal((await collect({ total })).status, 202, `${total}`);
    assert.equal((await workspace.inline(schemaId, { total: 1.5 })).body["status"], "pass");
  });

  it("refuse every other number at its path, by collect, check and batch alike: 422", async () => {
    for (const total of TOO_FINE) {
      const answer = await collect({ total });
      assert.deepEqual([answer.status, errorPaths(answer)], [422, ["total"]], `${total}`);
    }
    const inside = await collect({ lines: [1, 0.1234567] });
    assert.deepEqual([inside.status, errorPaths(inside)], [422, ["lines.1"]]);
    assert.match(textAt(inside.body, "errors.0.message"), /at most 15 digits, 6 of them after the decimal point/);
    assert.deepEqual(errorPaths(await workspace.inline(schemaId, { total: 0.1234567 })), ["total"]);
    const events = [{ total: 1 }, { total: 1e-7 }].map((payload) => submission(schemaId, payload));
    const batch = await workspace.send("POST", "/v1/collect/batch", { events });
    assert.deepEqual(
      [0, 1].map((n) => at(batch.body, `results.${n}.status`)),
      ["accepted", "rejected"],
      batch.text,
    );
  });

  it("look at the digits that were sent, not at those that a double keeps", async () => {
    const sent = (total: string, door = "") => {
      const body = `{"schema_id":"${schemaId}","timestamp":"${now()}","payload":{"lines":[1],"total": ${total} }}`;
      return door === "/batch"
        ? workspace.send("POST", "/v1/collect/batch", `{"events":[${body}]}`)
        : workspace.send("POST", `/v1/collect${door}`, body);
    };
    for (const total of TOO_FINE_AS_WRITTEN) {
      const answer = await sent(total);
      assert.deepEqual([answer.status, errorPaths(answer)], [422, ["total"]], total);
      assert.deepEqual(errorPaths(await sent(total, "?syncValidation=true")), ["total"], total);
      assert.equal(at((await sent(total, "/batch")).body, "results.0.status"), "rejected", total);
    }
    for (const total of TAKEN_AS_WRITTEN) assert.equal((await sent(total)).status, 202, total);
  });

  it("leave out of an item of an SDK a number whose digits a double does not keep, and do not fold it", async () => {
    const door = openSdkDoor(app());
    try {
      const planned = await workspace.schema({ type: "object", properties: { properties: ORDER } });
      const plan = await workspace.send("PUT", "/v1/sdk/plan", { events: { Order: { schema_id: planned } } });
      assert.equal(plan.status, 200);
      const messageId = randomUUID();
      const properties = { email: "kim@example.com", order_id: "o", total: "TOTAL" };
      const item = JSON.stringify({ type: "track", event: "Order", userId: "u-9", messageId, properties });
      const body = `{"batch":[${item.replace('"TOTAL"', "99999999999999.999")}]}`;
      assert.equal((await door.sendText(workspace, body, "all")).accepted, 1);
      const settled = await workspace.settled(door.eventIdOf(workspace, messageId));
      assert.deepEqual(
        listAt(settled.body, "violations").map((one) => textAt(one, "path")),
        ["properties.total"],
      );
      assert.deepEqual(await shown("kim"), [{ orders: 1 }, 1]);
    } finally {
      await door.close();
    }
  });

  it("leave out of an item of an SDK what they do not take, and name it; or quarantine it, as the settings say", async () => {
    const door = openSdkDoor(app());
    try {
      const schema = { type: "object", properties: { properties: ORDER } };
      const planned = await workspace.schema(schema);
      const events = { Order: { schema_id: planned }, Strict: { schema_id: planned, violations: "quarantine" } };
      assert.equal((await workspace.send("PUT", "/v1/sdk/plan", { events })).status, 200);
      const item = (event: string, total: number) => {
        const properties = { email: "eve@example.com", order_id: "o", total };
        return { type: "track", event, userId: "u-1", messageId: randomUUID(), properties };
      };
      const [fine, odd, strict] = [item("Order", 2.5), item("Order", 1e-7), item("Strict", 1e-7)];
      const sent = await door.send(workspace, [fine, odd, strict], "all");
      assert.deepEqual([sent.accepted, sent.quarantined], [2, 1]);
      for (const one of [fine, odd]) await workspace.settled(door.eventIdOf(workspace, one.messageId));
      const { body } = await workspace.send("GET", `/v1/events/${door.eventIdOf(workspace, odd.messageId)}`);
      assert.deepEqual(
        listAt(body, "violations").map((one) => textAt(one, "path")),
        ["properties.total"],
      );
      assert.deepEqual(await shown("eve"), [{ orders: 2, spent: 2.5 }, 2]);
    } finally {
      await door.close();
    }
  });

  it("move with the identifiers when profiles merge, part and are reverted", async () => {
    await folded("a", { order_id: "1", total: 0.1 });
    await folded("b", { order_id: "2", total: 0.2 });
    await folded("b", { total: 0.4 });
    const identifiers = ["a", "b"].map((name) => ({ namespace: "email", value: `${name}@example.com` }));
    const merge = async () => textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "change_id");
    const apart = async () => {
      assert.deepEqual(await shown("a"), [{ orders: 1, spent: 0.1 }, 1]);
      assert.deepEqual(await shown("b"), [{ orders: 1, spent: 0.6 }, 2]);
    };
    const change = await merge();
    assert.deepEqual(await shown("a"), [{ orders: 2, spent: 0.7 }, 3]);
    const reverted = await workspace.send("POST", `/v1/changes/${change}/revert`);
    assert.equal(reverted.status, 200, reverted.text);
    await apart();
    await merge();
    assert.deepEqual(await shown("b"), [{ orders: 2, spent: 0.7 }, 3]);
    await workspace.send("POST", "/v1/identity/unlink", { identifier: identifiers[1] });
    await apart();
  });

  it("are numbers in rules and in `top`, and a rule adds up the events of a window", async () => {
    for (const [name, totals] of [
      ["ada", [0.1, 0.2]],
      ["bob", [0.3, 0.5]],
      ["eve", []],
    ] as const) {
      await folded(name, {});
      for (const total of totals) await folded(name, { order_id: "o", total });
    }
    const found = async (rule: object, cursor?: unknown): Promise<readonly string[]> => {
      const { body } = await workspace.send("POST", "/v1/profiles/search", { rule, cursor });
      assert.equal(body["partial"], undefined);
      const names = listAt(body, "profiles").map((one) => textAt(one, "identifiers.0.value").slice(0, 3));
      // On a busy machine a page ends early.
      return body["next_cursor"] === null ? names : [...names, ...(await found(rule, body["next_cursor"]))];
    };
    assert.deepEqual(await found({ "traits.spent": 0.3 }), ["ada"]);
    assert.deepEqual(await found({ "traits.spent": { $gt: 0.3 } }), ["bob"]);
    assert.deepEqual(await found({ "traits.orders": { $exists: false } }), ["eve"]);
    assert.deepEqual(await found({ event_count: 3 }), ["ada", "bob"]);
    const sum = (is: object) => ({ $events: { schema_id: schemaId, sum: "total", is, within: "1d" } });
    assert.deepEqual(await found(sum({ $eq: 0.3 })), ["ada"]);
    assert.deepEqual(await found(sum({ $lte: 0 })), ["eve"]);
    const top = await workspace.send("POST", "/v1/profiles/top", { trait: "spent", limit: 2 });
    assert.deepEqual(
      listAt(top.body, "profiles").map((one) => at(one, "traits.spent")),
      [0.8, 0.3],
    );
  });

  it("stay what they are: another merge of the name is refused, in a new version too", async () => {
    const property = (merge: string) => ({
      type: "object",
      properties: { n: { type: "number", "x-trait": { name: "spent", merge } } },
    });
    for (const merge of ["count", "max", "latest"]) {
      const answer = await workspace.send("POST", "/v1/schemas", { schema: property(merge) });
      assert.deepEqual([answer.status, answer.body["code"]], [422, "invalid_schema"], merge);
    }
    const total = { type: ["number", "null"], "x-trait": { name: "spent", merge: "max" } };
    const schema = { ...ORDER, properties: { ...ORDER.properties, total } };
    const version = { schema, compatibility: "none" };
    const changed = await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, version);
    assert.deepEqual([changed.status, changed.body["code"]], [422, "invalid_schema"]);
    assert.equal((await workspace.send("POST", "/v1/schemas", { schema: property("sum") })).status, 201);
    const text = { type: "object", properties: { n: { type: "string", ...spent } } };
    const refused = await workspace.send("POST", "/v1/schemas", { schema: text });
    assert.deepEqual([refused.status, errorPaths(refused)], [422, ["schema.properties.n.x-trait"]]);
  });
});
