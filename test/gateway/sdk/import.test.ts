import assert from "node:assert/strict";
import { at, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { basic, identifiersOf, profileOf, sendSdk, track } from "../../support/sdk/client.js";

const HOUR_MS = 3_600_000;
const ago = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();

describe("POST /v1/import with a key of ours", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await app().workspace();
  });
  const load = (items: readonly object[], query = "") =>
    workspace.as("admin", "POST", `/v1/import${query}`, { batch: items });

  it("stores each call once, however often it is imported", async () => {
    const items = [track({ userId: "u-i1" }), track({ userId: "u-i1" })];
    for (const _ of [1, 2]) {
      const answer = await load(items);
      assert.deepEqual([answer.status, answer.body["accepted"]], [200, 2], answer.text);
    }
    // Behind all that could have been stored twice.
    await load([track({ userId: "u-i1", event: "Last" })]);
    assert.equal((await profileOf(workspace, ["user_id", "u-i1"], 3))?.["event_count"], 3);
  });

  it("stores nothing again that the named sender has sent", async () => {
    const item = track({ userId: "u-i2" });
    const key = await workspace.key("collect");
    await sendSdk(app(), "/v1/batch", { key, body: { batch: [item] } });
    const { body } = await workspace.send("GET", "/v1/keys");
    const first = (body["keys"] as readonly object[]).find((one) => at(one, "send") === "collect");
    const rotated = await workspace.send("POST", `/v1/keys/${textAt(first, "key_id")}/rotate`);
    const archived = { ...item, receivedAt: ago(0) };
    const answer = await load([archived], `?sender=${textAt(rotated.body, "key_id")}`);
    assert.equal(answer.body["accepted"], 1, answer.text);
    await load([track({ userId: "u-i2" })]);
    assert.equal((await profileOf(workspace, ["user_id", "u-i2"], 2))?.["event_count"], 2);
    await load([archived]);
    assert.equal(
      (await profileOf(workspace, ["user_id", "u-i2"], 3))?.["event_count"],
      3,
      "without a sender it is new",
    );
  });

  it("refuses a sender that is no key of the workspace, and names the parameter", async () => {
    const other = await app().workspace();
    const { body } = await other.send("GET", "/v1/keys");
    for (const sender of ["nobody", textAt(body, "keys.0.key_id")]) {
      const answer = await load([track()], `?sender=${sender}`);
      assert.deepEqual([answer.status, at(answer.body, "errors.0.path")], [400, "sender"]);
    }
  });

  it("corrects a wrong clock by the time at which each call came", async () => {
    const at3 = { userId: "u-i3", originalTimestamp: ago(101), sentAt: ago(101), timestamp: ago(1) };
    const claimed = { ...at3, sentAt: new Date(Date.parse(at3.sentAt) + 5_000).toISOString() };
    await load([track({ ...claimed, receivedAt: ago(100) }), track({ ...claimed, event: "Unknown" })]);
    const profile = await profileOf(workspace, ["user_id", "u-i3"], 2);
    const list = await workspace.send("GET", `/v1/profiles/${String(profile?.["profile_id"])}/events`);
    const hours = (list.body["events"] as readonly object[]).map((event) =>
      Math.round((Date.now() - Date.parse(textAt(event, "timestamp"))) / HOUR_MS),
    );
    assert.deepEqual(
      hours.toSorted((a, b) => a - b),
      [100, 101],
    );
  });

  it("links all that a call says, because no page sends with such a key", async () => {
    await load([track({ userId: "u-i4", context: { externalIds: [{ type: "customer_id", id: "c-i4" }] } })]);
    const profile = await profileOf(workspace, ["user_id", "u-i4"], 1);
    assert.deepEqual(identifiersOf(profile), ["customer_id:c-i4", "user_id:u-i4"]);
  });

  it("takes the previous id of an alias for the user of a call before it, however each writes it", async () => {
    const emails = await app().workspace();
    const set = await emails.as("owner", "PUT", "/v1/namespaces/user_id", { normalization: "email" });
    assert.equal(set.status, 200, set.text);
    const alias = (previousId: string, userId: string) => ({ type: "alias", previousId, userId });
    const batch = [
      track({ userId: "Ada@Example.com" }),
      alias("ada@example.com", "new@example.com"),
      track({ userId: "guest-7", anonymousId: "a-i5" }),
      alias("guest-7", "bob@example.com"),
    ];
    const answer = await emails.as("admin", "POST", "/v1/import", { batch });
    assert.deepEqual([answer.status, answer.body["accepted"]], [200, 4], answer.text);
    const identifiers = async (user: string, events: number) =>
      identifiersOf(await profileOf(emails, ["user_id", user], events));
    assert.deepEqual(await identifiers("new@example.com", 2), ["user_id:ada@example.com", "user_id:new@example.com"]);
    const visitor = await identifiers("bob@example.com", 1);
    assert.deepEqual(visitor, ["anonymous_id:guest-7", "user_id:bob@example.com"], "what is no user_id names no user");
  });

  it("leaves the path to SDKs that come with a collect-only key", async () => {
    const headers = { Authorization: basic(await workspace.key("collect")) };
    const answer = await app().send("POST", "/v1/import", { body: { batch: [track()] }, headers });
    assert.equal(answer.status, 200, answer.text);
  });

  it("refuses what is no batch", async () => {
    const answer = await workspace.as("admin", "POST", "/v1/import", { events: [] });
    assert.deepEqual([answer.status, at(answer.body, "errors.0.path")], [400, "batch"]);
  });
});
