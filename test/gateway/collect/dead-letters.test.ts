import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkspaceId } from "../../../core/ids.js";
import { aDeadLetter } from "../../support/builders.js";
import {
  at,
  errorPaths,
  listAt,
  submission,
  textAt,
  useApp,
  type Answer,
  type TestWorkspace,
} from "../../support/service/app.js";

const STRICT = {
  type: "object",
  properties: { properties: { type: "object", properties: { total: { type: "number" } } } },
};
const LOOSE = {
  type: "object",
  properties: {
    properties: {
      type: "object",
      properties: { total: { type: ["number", "string"] }, city: { type: "string", "x-trait": { name: "city" } } },
    },
  },
};

describe("Dead letters", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let writeKey: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    const made = await workspace.send("POST", "/v1/keys", { role: "editor", send: "collect" });
    assert.equal(made.status, 201, made.text);
    writeKey = textAt(made.body, "key");
  });

  const batch = async (...items: readonly object[]): Promise<Answer> => {
    const answer = await app().send("POST", "/v1/batch", { body: { batch: items, writeKey } });
    assert.equal(answer.status, 200, answer.text);
    return answer;
  };
  const track = (properties: object, changes: object = {}) => ({
    type: "track",
    event: "Order Completed",
    userId: "u-1",
    messageId: randomUUID(),
    properties,
    ...changes,
  });
  const letters = async (query = ""): Promise<readonly unknown[]> => {
    const { body, status, text } = await workspace.send(
      "GET",
      `/v1/dead-letters?${query.includes("wait=") ? "" : "wait=10"}${query}`,
    );
    assert.equal(status, 200, text);
    return listAt(body, "dead_letters");
  };
  const letter = async (id: string) => (await workspace.send("GET", `/v1/dead-letters/${id}`)).body;
  /** How many were replayed, and why the others were not. */
  const replay = async (...ids: readonly string[]): Promise<readonly unknown[]> => {
    const { body, status, text } = await workspace.send("POST", "/v1/dead-letters/replay", { dead_letter_ids: ids });
    assert.equal(status, 200, text);
    return [body["replayed"], ...listAt(body, "skipped").map((one) => at(one, "why"))];
  };
  const errorsOf = async (id: string): Promise<readonly unknown[]> => {
    const { body } = await workspace.send("POST", "/v1/dead-letters/replay", { dead_letter_ids: [id] });
    return listAt(listAt(body, "skipped")[0], "errors");
  };
  const plan = async (schema: object): Promise<string> => {
    const schemaId = await workspace.schema(schema);
    const events = { "Order Completed": { schema_id: schemaId, violations: "quarantine" } };
    assert.equal((await workspace.send("PUT", "/v1/sdk/plan", { events })).status, 200);
    return schemaId;
  };

  it("show what was quarantined, whole: what is wrong with it, who sent it, and its payload", async () => {
    await plan(STRICT);
    const item = track({ total: "12" });
    await batch(item);
    const [listed] = await letters("&reason=quarantined");
    const whole = await letter(textAt(listed, "dead_letter_id"));
    const { errors, payload, received_at, timestamp, ...rest } = whole;
    const { error, ...alike } = listed as Readonly<Record<string, unknown>>;
    assert.deepEqual(rest, alike);
    assert.deepEqual([error], errors);
    assert.deepEqual(errors, [{ path: "properties.total", message: "must be number" }]);
    assert.deepEqual(payload, { event: item.event, properties: item.properties });
    assert.deepEqual([rest["schema_id"], rest["reason"], rest["state"]], ["sdk.track", "quarantined", "open"]);
    assert.equal(rest["key_id"], writeKey.split("_")[1]);
    assert.ok(typeof received_at === "string" && typeof timestamp === "string");
    assert.doesNotMatch(JSON.stringify(whole), new RegExp(writeKey));
    const other = await app().workspace();
    const foreign = `/v1/dead-letters/${textAt(listed, "dead_letter_id")}`;
    assert.equal((await other.send("GET", foreign)).status, 404);
    assert.equal((await workspace.as("editor", "GET", foreign)).status, 403);
  });

  it("are waited for without the memory of an answer, so that all else is read meanwhile", async () => {
    const all = [workspace, ...(await Promise.all([1, 2, 3, 4].map(() => app().workspace())))];
    const { events } = app().service.backends;
    const waiting = all.slice(1).map((one) => one.send("GET", "/v1/dead-letters?limit=100&wait=10"));
    await sleep(300);
    for (const one of all) {
      const read = await one.send("GET", "/v1/profiles");
      assert.equal(read.status, 200, read.text);
    }
    await Promise.all(all.map(({ id }) => events.bury(aDeadLetter({ workspace: id as WorkspaceId }))));
    for (const { status, body } of await Promise.all(waiting))
      assert.deepEqual([status, listAt(body, "dead_letters").length], [200, 1]);
  });

  it("are listed beside other answers of the workspace: a page of large ones ends early, and the next goes on", async () => {
    const { events } = app().service.backends;
    const made = Array.from({ length: 30 }, (_, n) =>
      aDeadLetter({ workspace: workspace.id as WorkspaceId, at: n + 1, message: Buffer.alloc(200_000, "x") }),
    );
    for (const one of made) await events.bury(one);
    const seen: unknown[] = [];
    const sizes: number[] = [];
    for (let cursor = ""; ;) {
      const { body } = await workspace.send("GET", `/v1/dead-letters?limit=25${cursor}`);
      const page = listAt(body, "dead_letters");
      sizes.push(page.length);
      seen.push(...page.map((one) => at(one, "dead_letter_id")));
      if (body["next_cursor"] === null) break;
      cursor = `&cursor=${textAt(body, "next_cursor")}`;
    }
    assert.deepEqual(seen, made.map(({ deadLetterId }) => deadLetterId).toReversed());
    assert.ok(Math.max(...sizes) <= 18, `${sizes.join(", ")} letters a page`);
  });

  it("are found by the key that sent them: what an SDK sent, and what collect refused", async () => {
    const schemaId = await plan(STRICT);
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    await batch(track({ total: "12" }), track({ total: "13" }));
    assert.equal(
      (await workspace.as("editor", "POST", "/v1/collect", submission(schemaId, { properties: 1 }))).status,
      422,
    );
    const found = async (key: string, query = "") => {
      const listed = await letters(`&key_id=${key.split("_")[1]!}${query}`);
      return listed.map((one) => textAt(one, "reason")).toSorted();
    };
    assert.deepEqual(await found(writeKey), ["quarantined", "quarantined"]);
    assert.deepEqual(await found(await workspace.key("editor")), ["rejected"]);
    assert.deepEqual(await found(writeKey, "&reason=rejected&wait=0"), []);
    assert.deepEqual(await found(await workspace.key("viewer"), "&wait=0"), []);
    const refused = await workspace.send("GET", `/v1/dead-letters?key_id=${"x".repeat(65)}`);
    assert.deepEqual([refused.status, errorPaths(refused)], [400, ["key_id"]]);
  });

  it("are listed on from where the last one stood, also when it is gone, or died again and is the newest", async () => {
    const { events } = app().service.backends;
    const id = workspace.id as WorkspaceId;
    const buried = [1, 2, 3, 4].map((time) => aDeadLetter({ workspace: id, eventId: null, at: time }));
    const [oldest, second, third, newest] = buried.map(({ deadLetterId }) => deadLetterId);
    for (const one of buried) await events.bury(one);
    const page = async (cursor: string | null = null) => {
      const query = cursor === null ? "" : `&cursor=${cursor}`;
      const { body, text } = await workspace.send("GET", `/v1/dead-letters?limit=1${query}`);
      return [
        listAt(body, "dead_letters").map((one) => at(one, "dead_letter_id")),
        body["next_cursor"] as string | null,
        text,
      ] as const;
    };
    const [first, behindNewest] = await page();
    assert.deepEqual(first, [newest]);
    await events.bury({ ...buried[3]!, at: 9, times: 2 });
    const [next, behindThird, text] = await page(behindNewest);
    assert.deepEqual(next, [third], text);
    await events.removeLetters(id, [third!]);
    const [then, behindSecond] = await page(behindThird);
    assert.deepEqual(then, [second]);
    assert.deepEqual((await page(behindSecond)).slice(0, 2), [[oldest], null]);
  });

  it("are judged again by the schema of now: refused while it refuses, and one event once it accepts", async () => {
    await plan(STRICT);
    const item = track({ total: "12", city: "Kiel" }, { timestamp: "2026-01-31T12:00:00.5+01:00" });
    await batch(item);
    const id = textAt((await letters())[0], "dead_letter_id");
    const eventId = textAt((await letters())[0], "event_id");
    const before = await letter(id);
    const errors = [{ path: "properties.total", message: "must be number" }];
    assert.deepEqual(await replay(id), [0, "refused"]);
    assert.deepEqual(await errorsOf(id), errors);
    assert.deepEqual([(await letter(id))["state"], (await letter(id))["replayed"]], ["open", 0]);
    const schemaId = await plan(LOOSE);
    for (const _ of [1, 2]) {
      assert.deepEqual(await replay(id), [1]);
      const { body } = await workspace.settled(eventId);
      assert.deepEqual(
        [body["schema_id"], body["received_at"], body["timestamp"], body["violations"]],
        [schemaId, before["received_at"], "2026-01-31T11:00:00.500Z", []],
      );
      assert.deepEqual(at(body, "payload.properties"), item.properties);
    }
    const stands = await letter(id);
    assert.deepEqual([stands["state"], stands["outcome"]], ["replayed", "queued"]);
    assert.ok(String(stands["replayed_at"]) > String(stands["at"]));
    const { body: event } = await workspace.settled(eventId);
    const { body } = await workspace.send("GET", `/v1/profiles/${textAt(event, "profile_id")}`);
    assert.deepEqual([at(body, "traits.city"), at(body, "event_count")], ["Kiel", 1], JSON.stringify(body));
    await batch(item);
    assert.equal((await letters()).length, 1, "its sender may send it again as well");
  });

  it("link no more by a replay than the key that sent them could", async () => {
    await plan(STRICT);
    const item = track({ total: "12", other: "u-2" });
    await batch(item);
    await letters();
    const other = { type: "string", "x-identity": { namespace: "user_id" } };
    await plan({ type: "object", properties: { properties: { type: "object", properties: { other } } } });
    const [one] = await letters();
    assert.deepEqual(await replay(textAt(one, "dead_letter_id")), [1]);
    const { body } = await workspace.settled(textAt(one, "event_id"));
    assert.deepEqual(body["dropped"], [{ identifier: { namespace: "user_id", value: "u-2" }, rule: "scope" }]);
  });

  it("that no schema makes an event of stay refused, and an id that nothing has is not found", async () => {
    await batch({ type: "sale", messageId: "m-1", userId: "u-1" });
    const id = textAt((await letters())[0], "dead_letter_id");
    const none = randomUUID();
    assert.deepEqual(await replay(id, none, id), [0, "not_found", "refused"]);
    assert.equal(textAt((await errorsOf(id))[0], "path"), "type");
    const other = await app().workspace();
    const foreign = await other.send("POST", "/v1/dead-letters/replay", { dead_letter_ids: [id] });
    assert.equal(textAt(listAt(foreign.body, "skipped")[0], "why"), "not_found");
    for (const ids of [[], ["x"], Array(1_001).fill(id), "all"])
      assert.equal((await workspace.send("POST", "/v1/dead-letters/replay", { dead_letter_ids: ids })).status, 422);
    assert.equal((await workspace.as("editor", "POST", "/v1/dead-letters/replay", {})).status, 403);
  });

  it("hold what collect refuses where the workspace wants it, and the refusal is the same", async () => {
    const schemaId = await workspace.schema();
    const refused = await workspace.collect(schemaId, { email: 7 });
    assert.equal((await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true })).status, 200);
    const kept = await workspace.collect(schemaId, { email: 7 });
    const shown = ({ status, body }: Answer) => [status, { ...body, request_id: "" }];
    assert.deepEqual(shown(kept), shown(refused));
    assert.equal((await workspace.inline(schemaId, { email: 7 })).status, 200, "a check keeps nothing");
    const [one, ...more] = await letters("&reason=rejected");
    assert.deepEqual(more, []);
    const whole = await letter(textAt(one, "dead_letter_id"));
    assert.deepEqual(whole["errors"], kept.body["errors"]);
    assert.deepEqual([whole["schema_id"], at(whole, "payload.payload")], [schemaId, { email: 7 }]);
    const { body } = await workspace.send("GET", `/v1/events/${textAt(one, "event_id")}`);
    assert.deepEqual([body["status"], body["reason"]], ["dead", "rejected"]);
  });

  it("hold rejects that a replay accepts once their schema is there", async () => {
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const sent = await workspace.send("POST", "/v1/collect", submission("late", { email: "ada@example.com" }), {
      "Idempotency-Key": "k-1",
    });
    assert.deepEqual([sent.status, sent.body["code"]], [422, "unknown_schema"]);
    const id = textAt((await letters())[0], "dead_letter_id");
    assert.deepEqual(await replay(id), [0, "refused"]);
    const schema = { type: "object", properties: { email: { type: "string", "x-identity": { namespace: "email" } } } };
    assert.equal((await workspace.send("POST", "/v1/schemas", { schema, schema_id: "late" })).status, 201);
    await workspace.send("POST", "/v1/datasets", { name: "d", schema_id: "late", unified_profile: true });
    assert.deepEqual(await replay(id), [1]);
    const { body } = await workspace.settled(textAt(await letter(id), "event_id"));
    assert.deepEqual(body["payload"], { email: "ada@example.com" });
  });

  it("hold each item that a batch rejects, under its own key, and a replay reads it as an item", async () => {
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const item = { ...submission("late", { city: "Kiel" }), idempotency_key: "k-3" };
    const good = submission(await workspace.schema(), { email: "ada@example.com" });
    const answer = await workspace.send("POST", "/v1/collect/batch", { events: [item, good, submission("late", {})] });
    assert.deepEqual([answer.status, answer.body["rejected"]], [207, 2]);
    let kept = await letters("&reason=rejected");
    for (let tries = 0; kept.length < 2 && tries < 500; tries += 1) kept = await letters("&reason=rejected");
    assert.equal(kept.length, 2);
    await workspace.send("POST", "/v1/schemas", { schema: { type: "object" }, schema_id: "late" });
    assert.deepEqual(await replay(...kept.map((one) => textAt(one, "dead_letter_id"))), [2]);
    const again = await workspace.send("POST", "/v1/collect/batch", { events: [item] });
    const eventId = textAt(listAt(again.body, "results")[0], "event_id");
    assert.ok(
      kept.some((one) => textAt(one, "event_id") === eventId),
      "one event, whoever sends it",
    );
    await workspace.settled(eventId, "stored");
    const { body } = await workspace.send("GET", "/v1/dead-letters?reason=idempotency_mismatch");
    assert.deepEqual(body["dead_letters"], []);
  });

  it("do not stand in the way of the same Idempotency-Key, sent right", async () => {
    await workspace.send("PUT", "/v1/sdk/settings", { keep_rejects: true });
    const schemaId = await workspace.schema();
    const headers = { "Idempotency-Key": "k-2" };
    assert.equal((await workspace.collect(schemaId, { email: 7 }, headers)).status, 422);
    const good = await workspace.collect(schemaId, { email: "ada@example.com" }, headers);
    assert.equal(good.status, 202, good.text);
    await workspace.settled(good.body["event_id"]);
    assert.equal((await letters()).length, 1);
  });
});
