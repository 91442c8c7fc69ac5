import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { at, listAt, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

const ORDER = {
  type: "object",
  required: ["properties"],
  properties: {
    event: { type: "string" },
    properties: {
      type: "object",
      required: ["order_id"],
      properties: {
        order_id: { type: "string", "x-identity": { namespace: "order" } },
        total: { type: "number", "x-trait": { name: "largest_order", merge: "max" } },
        city: { type: "string", "x-trait": { name: "city" } },
        tags: { type: "array", maxItems: 3, items: { type: "string", "x-trait": { name: "tags", merge: "union" } } },
        lines: { type: "array", items: { type: "object", properties: { price: { type: "number" } } } },
      },
    },
  },
};

describe("Items of SDKs by plan and policy", () => {
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
  const planned = async (policy: object = {}): Promise<void> =>
    put("plan", { events: { "Order Completed": { schema_id: await workspace.schema(ORDER), ...policy } } });
  const track = (properties: object, changes: object = {}) => ({
    type: "track",
    event: "Order Completed",
    userId: "u-1",
    messageId: randomUUID(),
    properties,
    ...changes,
  });
  const eventOf = (item: { readonly messageId: string }, status: "folded" | "dead" | "stored" = "folded") =>
    workspace.settled(door.eventIdOf(workspace, item.messageId), status);
  const traitsIn = async ({ body }: { readonly body: unknown }): Promise<unknown> => {
    const shown = await workspace.send("GET", `/v1/profiles/${textAt(body, "profile_id")}`);
    return at(shown.body, "traits");
  };
  const letter = async (item: { readonly messageId: string }) => {
    const target = `/v1/dead-letters?event_id=${door.eventIdOf(workspace, item.messageId)}`;
    const answer = await until(
      () => workspace.send("GET", target),
      ({ body }) => listAt(body, "dead_letters").length > 0,
    );
    return listAt(answer.body, "dead_letters")[0];
  };

  it("have the built-in schema of their type, and fold", async () => {
    const items = [
      track({ total: 1 }),
      { type: "identify", userId: "u-1", messageId: randomUUID(), traits: { plan: "pro", tags: ["x"] } },
      { type: "page", name: "Home", userId: "u-1", messageId: randomUUID() },
    ];
    assert.deepEqual(await door.send(workspace, items, "all"), {
      accepted: 3,
      duplicates: 0,
      notKept: 0,
      quarantined: 0,
      rejected: [],
    });
    const shown = await Promise.all(items.map((item) => eventOf(item)));
    assert.deepEqual(
      shown.map(({ body }) => [body["schema_id"], body["schema_version"], body["violations"]]),
      [
        ["sdk.track", 1, []],
        ["sdk.identify", 1, []],
        ["sdk.page", 1, []],
      ],
    );
    assert.equal(new Set(shown.map(({ body }) => body["profile_id"])).size, 1);
    const { body } = await workspace.send("GET", `/v1/profiles/${textAt(shown[0]!.body, "profile_id")}`);
    assert.equal(at(body, "traits.plan"), "pro", JSON.stringify(body));
  });

  it("have the plan's schema by the name of their event", async () => {
    await planned();
    const item = track({ order_id: "o-1", total: 12 });
    assert.equal((await door.send(workspace, [item], "all")).accepted, 1);
    const { body } = await eventOf(item);
    assert.notEqual(body["schema_id"], "sdk.track");
    assert.deepEqual(body["violations"], []);
    const page = { type: "page", name: "Order Completed", userId: "u-1", messageId: randomUUID() };
    await door.send(workspace, [page]);
    assert.equal((await eventOf(page)).body["schema_id"], "sdk.page", "the plan is about tracked events");
  });

  it("are marked when they do not match, link, and fold only the traits that passed", async () => {
    await planned({ violations: "mark" });
    const item = track({ order_id: "o-1", total: "12", city: "Kiel", lines: [{ price: "x" }] });
    assert.equal((await door.send(workspace, [item], "all")).accepted, 1);
    const { body } = await eventOf(item);
    assert.deepEqual(body["violations"], [
      { path: "properties.total", message: "must be number" },
      { path: "properties.lines.0.price", message: "must be number" },
    ]);
    assert.deepEqual(at(body, "payload.properties"), item.properties, "the payload is as it was sent");
    const { body: shown } = await workspace.send("GET", `/v1/profiles/${textAt(body, "profile_id")}`);
    assert.deepEqual(Object.keys(at(shown, "traits") as object), ["city"]);
    assert.match(JSON.stringify(shown), /o-1/, "its identifiers are linked");
  });

  it("fold of a list the items that passed, and none of a list that did not", async () => {
    await planned({ violations: "mark" });
    const items = [track({ order_id: "o-1", tags: ["a", 5] }), track({ order_id: "o-1", tags: ["b", "c", "d", "e"] })];
    assert.equal((await door.send(workspace, items, "all")).accepted, 2);
    const [some, none] = [await eventOf(items[0]!), await eventOf(items[1]!)];
    const paths = [some, none].map(({ body }) => textAt(body, "violations.0.path"));
    assert.deepEqual(paths, ["properties.tags.1", "properties.tags"]);
    assert.deepEqual(at(await traitsIn(none), "tags"), ["a"]);
  });

  it("lose the wrong properties where the policy omits them, and say which", async () => {
    await planned({ violations: "omit" });
    const item = track({ order_id: "o-1", total: "12", city: "Kiel", lines: [{ price: "x" }, { price: 1 }] });
    await door.send(workspace, [item], "all");
    const { body } = await eventOf(item);
    assert.deepEqual(at(body, "payload.properties"), { order_id: "o-1", city: "Kiel" });
    assert.equal(listAt(body, "violations").length, 2);
    const missing = track({ total: 1 });
    await door.send(workspace, [missing], "all");
    assert.deepEqual((await eventOf(missing)).body["violations"], [
      { path: "properties.order_id", message: "is required" },
    ]);
  });

  it("are quarantined where the policy says so: durably, out of every profile, with the reasons", async () => {
    await planned();
    await put("settings", { violations: "quarantine" });
    const [bad, good] = [track({ order_id: "o-1", total: "12" }), track({ order_id: "o-2" })];
    const { rejected, ...counts } = await door.send(workspace, [bad, good], "all");
    assert.deepEqual(counts, { accepted: 1, duplicates: 0, quarantined: 1, notKept: 0 });
    const errors = [{ path: "properties.total", message: "must be number" }];
    assert.deepEqual(rejected, [{ index: 0, messageId: bad.messageId, errors }]);
    assert.equal(textAt(await letter(bad), "reason"), "quarantined");
    const { body } = await eventOf(bad, "dead");
    assert.deepEqual([body["reason"], body["violations"], body["profile_id"]], ["quarantined", errors, null]);
    assert.doesNotMatch(
      JSON.stringify(
        (await workspace.send("GET", `/v1/profiles/${textAt((await eventOf(good)).body, "profile_id")}`)).body,
      ),
      /o-1/,
    );
  });

  it("that the plan does not know are accepted, marked or quarantined, and an entry decides for itself", async () => {
    const other = () => track({ a: 1 }, { event: "Other" });
    const sent = async () => {
      const item = other();
      const answer = await door.send(workspace, [item]);
      return { item, answer };
    };
    await planned();
    const accepted = await sent();
    assert.deepEqual((await eventOf(accepted.item)).body["violations"], []);
    await put("settings", { unplanned: "mark" });
    const marked = await sent();
    assert.deepEqual((await eventOf(marked.item)).body["violations"], [
      { path: "event", message: "is not in the plan" },
    ]);
    await put("settings", { unplanned: "quarantine" });
    const quarantined = await sent();
    assert.deepEqual([quarantined.answer.accepted, quarantined.answer.quarantined], [0, 1]);
    await put("plan", { events: { Other: { unplanned: "accept" } } });
    assert.equal((await sent()).answer.accepted, 1);
    const identify = { type: "identify", userId: "u-1", messageId: randomUUID(), traits: {} };
    assert.equal((await door.send(workspace, [identify])).accepted, 1, "only what track names is planned");
  });

  it("that can be no event are quarantined beside the others, and a repeat in the request counts once", async () => {
    const [good, future, odd] = [
      track({}),
      track({}, { timestamp: new Date(Date.now() + 30 * 3_600_000).toISOString() }),
      { type: "sale", messageId: randomUUID(), writeKey: "secret" },
    ];
    const large = track({ text: "x".repeat(300_000) });
    const { rejected, ...counts } = await door.send(workspace, [good, future, odd, large, good]);
    assert.deepEqual(counts, { accepted: 1, duplicates: 1, quarantined: 3, notKept: 0 });
    assert.deepEqual(
      rejected.map(({ index, errors }) => [index, errors[0]?.path]),
      [
        [1, "timestamp"],
        [2, "type"],
        [3, ""],
      ],
    );
    for (const item of [future, odd, large]) assert.equal(textAt(await letter(item), "reason"), "quarantined");
    const shown = await eventOf(large, "dead");
    assert.deepEqual(at(shown.body, "payload"), {
      type: "track",
      messageId: large.messageId,
      bytes: JSON.stringify(large).length,
    });
    assert.doesNotMatch((await eventOf(odd, "dead")).text, /secret/);
  });

  it("sent again with other bytes are one event and no dead letter", async () => {
    const item = track({ a: 1 });
    await door.send(workspace, [item]);
    await eventOf(item);
    assert.equal((await door.send(workspace, [{ ...item, properties: { a: 2 } }])).accepted, 1);
    const last = track({});
    await door.send(workspace, [last]);
    await eventOf(last);
    assert.deepEqual(at((await eventOf(item)).body, "payload.properties"), { a: 1 });
    assert.deepEqual(listAt((await workspace.send("GET", "/v1/dead-letters")).body, "dead_letters"), []);
  });

  it("of a collect-only key add neither traits nor namespaces, unless the workspace lets it", async () => {
    const identify = () => ({
      type: "identify",
      userId: "u-1",
      messageId: randomUUID(),
      traits: { plan: "pro" },
      context: { externalIds: [{ type: "crm_id", id: "c-1" }] },
    });
    const first = identify();
    assert.equal((await door.send(workspace, [first])).accepted, 1);
    const shown = await eventOf(first);
    assert.deepEqual(
      listAt(shown.body, "violations").map((one) => textAt(one, "path")),
      ["context.externalIds.0.id", "traits.plan"],
    );
    assert.deepEqual(await traitsIn(shown), {});
    await put("settings", { collect_only_adds_traits: true });
    const second = identify();
    await door.send(workspace, [second]);
    assert.deepEqual(
      listAt((await eventOf(second)).body, "violations").map((one) => textAt(one, "path")),
      ["context.externalIds.0.id"],
    );
    assert.equal(
      at((await workspace.send("GET", `/v1/profiles/${textAt(shown.body, "profile_id")}`)).body, "traits.plan"),
      "pro",
    );
    assert.equal((await workspace.send("GET", "/v1/namespaces/crm_id")).status, 404);
    const third = identify();
    await door.send(workspace, [third], "all");
    assert.deepEqual((await eventOf(third)).body["violations"], []);
    assert.equal((await workspace.send("GET", "/v1/namespaces/crm_id")).status, 200);
  });

  it("of an alias link the previous id as a user where one is known, else as a visitor", async () => {
    const alias = (previousId: string, userId: string) => ({
      type: "alias",
      previousId,
      userId,
      messageId: randomUUID(),
    });
    const [visitor, user] = [alias("v-1", "u-1"), alias("u-1", "u-2")];
    await door.send(workspace, [visitor], "all");
    await eventOf(visitor);
    await door.send(workspace, [user], "all");
    const identifiers = async (item: { messageId: string }) => {
      const id = textAt((await eventOf(item)).body, "profile_id");
      const { body } = await workspace.send("GET", `/v1/profiles/${id}/identifiers`);
      return listAt(body, "identifiers")
        .map((one) => `${textAt(one, "namespace")}=${textAt(one, "value")}`)
        .toSorted();
    };
    assert.deepEqual(await identifiers(user), ["anonymous_id=v-1", "user_id=u-1", "user_id=u-2"]);
    const [known, scoped] = [track({}, { userId: "u-8" }), alias("u-8", "u-9")];
    await door.send(workspace, [known, scoped]);
    assert.deepEqual(await identifiers(scoped), ["user_id=u-9"], "a collect-only key joins no two users");
    assert.deepEqual(
      listAt((await eventOf(scoped)).body, "dropped").map((one) => textAt(one, "rule")),
      ["scope"],
    );
  });

  it("with more than twenty identifiers keep those of the highest priority, and name what was left out", async () => {
    const externalIds = Array.from({ length: 21 }, (_, n) => ({
      type: n < 2 ? "cookie_id" : "customer_id",
      id: `c-${n}`,
    }));
    const item = track({}, { context: { externalIds: [...externalIds, externalIds[3]] } });
    await door.send(workspace, [item], "all");
    const shown = await eventOf(item);
    assert.deepEqual(
      listAt(shown.body, "violations").map((one) => textAt(one, "path")),
      ["context.externalIds.0.id", "context.externalIds.1.id"],
    );
  });
});
