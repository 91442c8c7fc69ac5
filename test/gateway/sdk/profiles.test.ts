import assert from "node:assert/strict";
import { useApp, type TestWorkspace } from "../../support/service/app.js";
import { basic, identifiersOf, profileOf, sendSdk, track } from "../../support/sdk/client.js";
import { recordings, type Recorded } from "../../support/sdk/recorded.js";

const DUMMY = "onym_AbCdEfGh_secret";
/** One visitor in all of them: the browsers' SDKs made up an id each. */
const asSent = (request: Recorded, key: string): string => JSON.stringify(request.body).replaceAll(DUMMY, key);

/** The request again, with the head that it had. */
const replay = (app: ReturnType<ReturnType<typeof useApp>>, request: Recorded, key: string) => {
  const names = Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const kept = names.filter(([name]) => ["content-type", "anonymousid", "sentat", "x-retry-count"].includes(name));
  const isBasic = names.some(([name, value]) => name === "authorization" && value.startsWith("Basic"));
  const query = new URLSearchParams(request.query).toString().replaceAll(DUMMY, key);
  return sendSdk(app, `${request.path.replace("/sdk/", "/")}${query === "" ? "" : `?${query}`}`, {
    key: isBasic ? key : null,
    body: asSent(request, key),
    headers: Object.fromEntries(kept),
    gzip: request.content_encoding === "gzip",
  });
};

/** What becomes of the visitor of each SDK's recorded calls; `*`: the id that the browser made up. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "segment-analytics-node": ["anonymous_id:anon-1", "customer_id:c-9", "email:ada@example.com", "user_id:u-1"],
  "segment-analytics-go": ["anonymous_id:anon-1", "email:ada@example.com", "user_id:u-1"],
  "segment-analytics-python": ["anonymous_id:anon-1", "email:ada@example.com", "user_id:u-1"],
  "rudder-sdk-node": ["anonymous_id:anon-1", "customer_id:c-9", "email:ada@example.com", "user_id:u-1"],
  "rudder-analytics-java": ["anonymous_id:anon-1", "email:ada@example.com", "user_id:u-1"],
  "segment-analytics-next": ["anonymous_id:*", "email:ada@example.com", "user_id:u-1"],
};
const SCENARIO: Readonly<Record<string, string>> = { "segment-analytics-next": "one_by_one" };

describe("Recorded requests of SDKs, sent again with a collect-only key", () => {
  const app = useApp();

  for (const { name, scenarios } of recordings()) {
    const requests = scenarios[SCENARIO[name] ?? "requests"];
    const expected = EXPECTED[name];
    if (requests === undefined || expected === undefined) continue;
    it(`of ${name} make one profile with the right identifiers`, async () => {
      const workspace = await app().workspace();
      const key = await workspace.key("collect");
      let items = 0;
      for (const request of requests) {
        const answer = await replay(app(), request, key);
        assert.equal(answer.status, 200, answer.text);
        assert.deepEqual([answer.body["success"], answer.body["rejected"]], [true, []], answer.text);
        items += Number(answer.body["accepted"]);
      }
      const others = name === "segment-analytics-python" ? 1 : 0;
      const profile = await profileOf(workspace, ["user_id", "u-1"], items - others);
      assert.equal(profile?.["event_count"], items - others);
      const shown = identifiersOf(profile).map((one) =>
        one.startsWith("anonymous_id:") && expected.includes("anonymous_id:*") ? "anonymous_id:*" : one,
      );
      assert.deepEqual(shown, expected);
    });
  }

  for (const { name, scenarios } of recordings())
    it(`of ${name} are accepted, each of them`, async () => {
      const workspace = await app().workspace();
      const key = await workspace.key("collect");
      for (const request of Object.values(scenarios).flat()) {
        const answer = await replay(app(), request, key);
        assert.equal(answer.status, 200, `${request.path}: ${answer.text}`);
        assert.deepEqual(answer.body["rejected"], []);
        assert.ok(!answer.text.includes("u-1"), "an answer shows no data");
      }
    });
});

describe("An event of an SDK", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let key: string;
  before(async () => {
    workspace = await app().workspace();
    key = await workspace.key("collect");
  });

  it("is one event however often it is sent, and its payload is what was sent", async () => {
    const item = track({ userId: "u-once", properties: { total: 1.5 } });
    for (let time = 0; time < 3; time += 1) {
      const body = { batch: [item], sentAt: new Date(Date.now() + time) };
      assert.equal((await sendSdk(app(), "/v1/batch", { key, body })).body["accepted"], 1);
    }
    const profile = await profileOf(workspace, ["user_id", "u-once"], 1);
    const list = await workspace.send("GET", `/v1/profiles/${String(profile?.["profile_id"])}/events`);
    const [event, ...more] = list.body["events"] as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual([more.length, event?.["schema_id"]], [0, "sdk.track"]);
    assert.deepEqual(event?.["payload"], {
      event: item.event,
      timestamp: item.timestamp,
      properties: { total: 1.5 },
    });
  });

  it("counts a repeat within a request", async () => {
    const item = track({ userId: "u-twice" });
    const { body } = await sendSdk(app(), "/v1/batch", { key, body: { batch: [item, item, track()] } });
    assert.deepEqual(body, { success: true, accepted: 2, duplicates: 1, quarantined: 0, rejected: [] });
  });

  it("may link by hand only with a bearer key: the same path takes both", async () => {
    const own = await app().send("POST", "/v1/identify", {
      key: await workspace.key("editor"),
      body: { identifiers: [{ namespace: "user_id", value: "u-own" }] },
    });
    assert.ok(typeof own.body["profile_id"] === "string", own.text);
    const sdk = await app().send("POST", "/v1/identify", {
      body: { userId: "u-own", anonymousId: "a-own" },
      headers: { Authorization: basic(key) },
    });
    assert.deepEqual([sdk.status, sdk.body["accepted"]], [200, 1], sdk.text);
    const profile = await profileOf(workspace, ["user_id", "u-own"], 1);
    assert.deepEqual(identifiersOf(profile), ["anonymous_id:a-own", "user_id:u-own"]);
    const refused = await app().send("POST", "/v1/identify", { key, body: { userId: "u-own" } });
    assert.equal(refused.status, 403);
  });

  it("takes an alias's previous id for a user who is known, and a collect-only key joins no two users", async () => {
    for (const item of [track({ userId: "known-1" }), track({ userId: "known-2" })])
      await sendSdk(app(), "/v1/track", { key, body: item });
    await profileOf(workspace, ["user_id", "known-1"], 1);
    await profileOf(workspace, ["user_id", "known-2"], 1);
    const body = { userId: "known-2", previousId: "known-1" };
    assert.equal((await sendSdk(app(), "/v1/alias", { key, body })).status, 200);
    const profile = await profileOf(workspace, ["user_id", "known-2"], 2);
    assert.deepEqual(identifiersOf(profile), ["user_id:known-2"]);
    assert.equal(
      (await sendSdk(app(), "/v1/alias", { key, body: { userId: "known-2", previousId: "visitor" } })).status,
      200,
    );
    const joined = await profileOf(workspace, ["user_id", "known-2"], 3);
    assert.deepEqual(identifiersOf(joined), ["anonymous_id:visitor", "user_id:known-2"]);
  });

  it("has the traits of its own call, not those that its context remembers", async () => {
    const owner = await app().workspace();
    const own = await owner.key("collect");
    await owner.send("PUT", "/v1/sdk/settings", { collect_only_adds_traits: true });
    const now = { email: "new@example.com", plan: null, seats: [3] };
    const before = { email: "old@example.com", plan: "free", seats: 2, city: "London" };
    for (const [userId, parts] of [
      ["u-context-last", { traits: now, context: { traits: before } }],
      ["u-context-first", { context: { traits: before }, traits: now }],
    ] as const) {
      await sendSdk(app(), "/v1/identify", { key: own, body: { userId, ...parts } });
      const profile = await profileOf(owner, ["user_id", userId], 1);
      assert.deepEqual(profile?.["traits"], { city: "London", email: "new@example.com", plan: null }, userId);
    }
  });
});
