import assert from "node:assert/strict";
import { at, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const id = (namespace: string, value: string) => ({ namespace, value });
const SHOP = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "largest_order", merge: "max" } },
    tags: { type: "array", items: { type: "string", "x-trait": { name: "tags", merge: "union" } } },
  },
};

describe("Search over profiles", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  /** By the letter of the e-mail address. */
  let ids: ReadonlyMap<string, string>;

  const identify = async (...identifiers: readonly unknown[]) =>
    textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
  const event = async (letter: string, payload: object, timestamp = "2026-01-01T00:00:00Z") => {
    const body = { schema_id: schemaId, timestamp, payload: { email: `${letter}@example.com`, ...payload } };
    return workspace.settled((await workspace.send("POST", "/v1/collect", body)).body["event_id"]);
  };
  const lettersIn = (body: unknown) =>
    listAt(body, "profiles").map((profile) => [...ids].find(([, one]) => one === textAt(profile, "profile_id"))![0]);
  /** All pages of it, and the answers. */
  const all = async (path: string, asked: object) => {
    const answers: Readonly<Record<string, unknown>>[] = [];
    for (let cursor = {}; ;) {
      const { status, body } = await workspace.send("POST", path, { ...asked, ...cursor });
      assert.equal(status, 200, JSON.stringify(body));
      answers.push(body);
      if (body["next_cursor"] === null) return answers;
      cursor = { cursor: body["next_cursor"] };
    }
  };
  const found = async (rule: object, limit = 50) =>
    (await all("/v1/profiles/search", { rule, limit })).flatMap(lettersIn).join("");
  const problems = async (path: string, body: object) => {
    const refused = await workspace.send("POST", path, body);
    assert.equal(refused.status, 422);
    return listAt(refused.body, "errors").map((error) => `${textAt(error, "path")}: ${textAt(error, "message")}`);
  };

  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema(SHOP);
    const made = new Map<string, string>();
    for (const letter of ["a", "b", "c", "d", "e"]) {
      const number = "abcde".indexOf(letter);
      const payload = { city: ["Paris", "Lyon", "Rome"][number % 3], total: [10, 40, 20, 40, 30][number] };
      made.set(letter, textAt((await event(letter, payload)).body, "profile_id"));
    }
    made.set("f", await identify(id("user_id", "f"), id("cookie_id", "f")));
    ids = made;
  });

  it("answers each profile once, in pages, as it is read by its id", async () => {
    assert.equal(await found({}), "abcdef");
    assert.equal(await found({}, 1), "abcdef");
    assert.equal(await found({ "traits.city": "Paris" }, 1), "ad");
    const { body } = await workspace.send("POST", "/v1/profiles/search", { rule: { "traits.city": "Rome" } });
    const alone = await workspace.send("GET", `/v1/profiles/${ids.get("c")!}`);
    assert.deepEqual(body, { profiles: [alone.body], next_cursor: null, looked_at: 6 });
  });

  it("judges fields, identifiers, numbers of events and the clock", async () => {
    await event("b", { total: 1 }, new Date().toISOString());
    assert.equal(
      await found({ "traits.city": { $in: ["Paris", "Lyon"] }, "traits.largest_order": { $gte: 40 } }),
      "bd",
    );
    assert.equal(await found({ $or: [{ "traits.city": { $starts: "R" } }, { first_seen: null }] }), "cf");
    assert.equal(await found({ "traits.city": { $exists: false } }), "f");
    assert.equal(await found({ event_count: { $gte: 2 } }), "b");
    assert.equal(await found({ last_seen: { $gt: { $now: "-1d" } } }), "b");
    assert.equal(await found({ $not: { last_seen: { $lt: { $now: "-1d" } } } }), "bf");
    assert.equal(await found({ "identifiers.user_id": { $exists: true } }), "f");
  });

  it("judges the events of a profile, also of those that were linked", async () => {
    await event("a", { total: 0.1 }, "2026-01-02T00:00:00Z");
    await event("a", { total: 0.2 }, "2026-01-03T00:00:00Z");
    await event("b", { total: 5 }, new Date().toISOString());
    const events = (condition: object) => found({ $events: { schema_id: schemaId, ...condition } });
    assert.equal(await events({ at_least: 2 }), "ab");
    assert.equal(await events({ at_least: 2, where: { total: { $lt: 1 } } }), "a");
    assert.equal(await events({ within: "1d" }), "b");
    assert.equal(await events({ sum: "total", is: 10.3 }), "a");
    assert.equal(await events({ sum: "total", is: { $gte: 5, $lt: 6 }, within: "1d" }), "b");
    assert.equal(await found({ $not: { $events: { schema_id: schemaId } } }), "f");
    await identify(id("user_id", "f"), id("email", "b@example.com"));
    assert.equal(await events({ within: "1d" }), "b");
  });

  it("asks the graph for an identifier, and looks at no other profile", async () => {
    const { body } = await workspace.send("POST", "/v1/profiles/search", {
      rule: { $and: [{ "identifiers.email": "B@Example.com" }, { "traits.city": "Lyon" }] },
    });
    assert.deepEqual([lettersIn(body), body["looked_at"]], [["b"], 1]);
    const rule = { "identifiers.email": { $in: ["e@example.com", "x@example.com", "a@example.com"] } };
    assert.equal(await found(rule), "ae");
    assert.equal(await found(rule, 1), "ae");
    assert.equal(await found({ ...rule, "traits.city": "Lyon" }), "e");
    assert.equal(await found({ "identifiers.email": "nobody" }), "");
    // These hold for others too.
    assert.equal(await found({ $or: [rule, { "traits.city": "Rome" }] }), "ace");
    assert.equal(await found({ $not: { "identifiers.email": "a@example.com" } }), "bcdef");
    assert.equal(await found({ "identifiers.email": { $in: [null, "a@example.com"] } }), "af");
  });

  it("answers what kept its id exactly once, whatever is linked and taken apart meanwhile", async () => {
    const seen: string[] = [];
    let cursor = {};
    for (const change of [
      () => identify(id("email", "e@example.com"), id("email", "b@example.com")),
      () => event("c", { total: 11 }),
      () =>
        workspace.send("POST", "/v1/identity/unlink", {
          from: id("email", "e@example.com"),
          to: id("email", "b@example.com"),
        }),
      () => event("new", { total: 1 }),
    ]) {
      const rule = { "traits.largest_order": { $gte: 10 } };
      const { body } = await workspace.send("POST", "/v1/profiles/search", { rule, limit: 1, ...cursor });
      seen.push(...lettersIn(body));
      for (const profile of listAt(body, "profiles")) assert.ok(Number(at(profile, "traits.largest_order")) >= 10);
      cursor = { cursor: textAt(body, "next_cursor") };
      await change();
    }
    assert.deepEqual(seen, ["a", "b", "c", "d"]);
  });

  it("reads large profiles whole before it judges them", async () => {
    for (const part of ["1", "2"]) {
      const many = Array.from({ length: 15 }, (_, n) => id("cookie_id", `${part}-${n}`));
      await identify(id("email", "a@example.com"), ...many);
    }
    assert.equal(await found({ "traits.city": "Paris" }), "ad");
    assert.equal(await found({ "identifiers.cookie_id": { $starts: "2-" } }), "a");
    assert.deepEqual((await all("/v1/profiles/top", { trait: "largest_order", limit: 6 })).flatMap(lettersIn), [
      "b",
      "d",
      "e",
      "c",
      "a",
    ]);
  });

  it("counts profiles, all of them or those that a rule holds for, small and large ones", async () => {
    const many = Array.from({ length: 15 }, (_, n) => id("cookie_id", `1-${n}`));
    const more = Array.from({ length: 15 }, (_, n) => id("cookie_id", `2-${n}`));
    for (const part of [many, more]) await identify(id("email", "a@example.com"), ...part);
    const count = async (asked: object) => {
      const answers = await all("/v1/profiles/count", asked);
      return ["count", "looked_at"].map((name) => answers.reduce((sum, body) => sum + Number(body[name]), 0));
    };
    assert.deepEqual(await count({}), [6, 6]);
    assert.deepEqual(await count({ rule: { "traits.city": "Paris" } }), [2, 6]);
    assert.deepEqual(await count({ rule: { "identifiers.email": "b@example.com" } }), [1, 1]);
    assert.deepEqual(await count({ rule: { $events: { where: {} } } }), [5, 6]);
    assert.deepEqual(await problems("/v1/profiles/count", { rule: { "traits.town": 1 } }), [
      "rule.traits.town: is not a trait of this workspace",
    ]);
  });

  it("ranks profiles by a trait, of equal ones the older first", async () => {
    await event("a", { tags: ["x", "z"] });
    await event("e", { tags: ["y"] });
    const top = async (trait: string, limit: number) => {
      const answers = await all("/v1/profiles/top", { trait, limit });
      assert.equal(answers.at(-1)!["exact"], true);
      return lettersIn(answers.at(-1)).join("");
    };
    assert.equal(await top("largest_order", 3), "bde");
    assert.equal(await top("largest_order", 100), "bdeca");
    assert.equal(await top("city", 2), "ca");
    assert.equal(await top("tags", 5), "ae");
  });

  it("refuses a rule with the path of what is wrong, and the cursor of another rule", async () => {
    const search = (rule: object) => problems("/v1/profiles/search", { rule });
    assert.deepEqual(await search({ $and: [{}, { "traits.city": { $gtx: 1 } }] }), [
      "rule.$and.1.traits.city.$gtx: is not an operator here; use $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte, $exists, $starts, $ends, $contains",
    ]);
    assert.deepEqual(await search({ "traits.town": 1 }), ["rule.traits.town: is not a trait of this workspace"]);
    assert.deepEqual(await search({ $events: { schema_id: schemaId, where: { totl: 1 } } }), [
      "rule.$events.where.totl: no version of the schema declares this",
    ]);
    assert.deepEqual(await problems("/v1/profiles/search", { rule: 1 }), ["rule: must be object"]);
    assert.deepEqual(await problems("/v1/profiles/top", { trait: "town" }), [
      "trait: is not a trait of this workspace",
    ]);
    const { body } = await workspace.send("POST", "/v1/profiles/search", { rule: {}, limit: 1 });
    const cursor = textAt(body, "next_cursor");
    const other = await workspace.send("POST", "/v1/profiles/search", { rule: { event_count: 1 }, cursor });
    assert.deepEqual([other.status, other.body["code"]], [400, "invalid_cursor"]);
  });

  it("keeps workspaces apart: names, profiles and cursors", async () => {
    const other = await app().workspace();
    const { body } = await other.send("POST", "/v1/profiles/search", { rule: {} });
    assert.deepEqual(body["profiles"], []);
    const named = await other.send("POST", "/v1/profiles/search", { rule: { "traits.city": "Paris" } });
    assert.equal(named.status, 422);
    const own = await workspace.send("POST", "/v1/profiles/search", { rule: {}, limit: 1 });
    const moved = await other.send("POST", "/v1/profiles/search", { rule: {}, cursor: own.body["next_cursor"] });
    assert.equal(moved.status, 400);
  });
});
