import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const id = (namespace: string, value: string) => ({ namespace, value });
const EMPTY = { traits: {}, audiences: [], first_seen: null, last_seen: null, event_count: 0 };

const trait = (name: string, merge: string, type: string) => ({ type, "x-trait": { name, merge } });

describe("Profiles", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema();
  });
  const lookup = (...identifiers: readonly unknown[]) => workspace.send("POST", "/v1/profiles/lookup", { identifiers });
  const identify = async (...identifiers: readonly unknown[]) =>
    textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
  const event = async (payload: unknown, timestamp: string) => {
    const body = { schema_id: schemaId, timestamp, payload };
    const accepted = await workspace.send("POST", "/v1/collect", body);
    return workspace.settled(accepted.body["event_id"]);
  };

  it("are read by id: identifiers, traits, audiences, first and last seen, event count", async () => {
    const profileId = await identify(id("user_id", "u"), id("cookie_id", "c"));
    const { status, body } = await workspace.send("GET", `/v1/profiles/${profileId}`);
    assert.equal(status, 200);
    const identifiers = listAt(body, "identifiers").toSorted((a, b) =>
      textAt(a, "value") < textAt(b, "value") ? -1 : 1,
    );
    assert.deepEqual(
      { ...body, identifiers },
      { profile_id: profileId, identifiers: [id("cookie_id", "c"), id("user_id", "u")], ...EMPTY },
    );
  });

  it("are current: what an event says is there as soon as the event is folded", async () => {
    const first = await event({ email: "p@example.com", city: "York" }, "2026-01-02T00:00:00Z");
    await event({ email: "p@example.com", city: "Leeds" }, "2026-01-01T00:00:00Z");
    const { body } = await workspace.send("GET", `/v1/profiles/${textAt(first.body, "profile_id")}`);
    assert.deepEqual(body["traits"], { city: "York" });
    assert.equal(body["first_seen"], "2026-01-01T00:00:00.000Z");
    assert.equal(body["last_seen"], "2026-01-02T00:00:00.000Z");
    assert.equal(body["event_count"], 2);
  });

  it("join the facets of what was merged, and move no event", async () => {
    const a = await event({ email: "a@example.com", city: "Rome" }, "2026-01-01T00:00:00Z");
    const b = await event({ email: "b@example.com", city: "Oslo" }, "2026-01-02T00:00:00Z");
    await identify(id("email", "a@example.com"), id("email", "b@example.com"));
    for (const one of [a, b]) {
      const { body } = await workspace.send("GET", `/v1/profiles/${textAt(one.body, "profile_id_then")}`);
      assert.deepEqual(body["traits"], { city: "Oslo" });
      assert.equal(body["event_count"], 2);
      const again = await workspace.send("GET", `/v1/events/${textAt(one.body, "event_id")}`);
      assert.equal(again.body["profile_id"], body["profile_id"]);
      assert.equal(again.body["profile_id_then"], one.body["profile_id_then"]);
    }
  });

  it("fold each kind of merge", async () => {
    schemaId = await workspace.schema({
      type: "object",
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        first: trait("first", "first", "string"),
        low: trait("low", "min", "number"),
        high: trait("high", "max", "number"),
        tags: { type: "array", items: trait("tags", "union", "string") },
      },
    });
    const email = "merge@example.com";
    await event({ email, first: "b", low: 2, high: 2, tags: ["x"] }, "2026-01-02T00:00:00Z");
    await event({ email, first: "a", low: 3, high: 3, tags: ["y", "x"] }, "2026-01-01T00:00:00Z");
    const { body } = await lookup(id("email", email));
    const traits = at(body, "profiles.0.traits") as Record<string, unknown>;
    const tags = (traits["tags"] as string[]).toSorted();
    assert.deepEqual({ ...traits, tags }, { first: "a", low: 2, high: 3, tags: ["x", "y"] });
  });

  it("say of each trait how it is merged, and which event said it", async () => {
    schemaId = await workspace.schema({
      type: "object",
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
        city: trait("city", "latest", "string"),
        born: trait("born", "first", "string"),
        spent: trait("spent", "sum", "number"),
      },
    });
    const email = "source@example.com";
    const first = await event({ email, city: "Bonn", born: "x", spent: 1 }, "2026-01-01T00:00:00Z");
    const last = await event({ cookie: "c-source", city: "Ulm", born: "y", spent: 2.5 }, "2026-01-02T00:00:00.0001Z");
    const profileId = await identify(id("email", email), id("cookie_id", "c-source"));
    const { status, body } = await workspace.send("GET", `/v1/profiles/${profileId}/traits`);
    assert.equal(status, 200);
    assert.deepEqual(body, {
      profile_id: profileId,
      traits: [
        { name: "born", value: "x", merge: "first", event_id: first.body["event_id"], at: "2026-01-01T00:00:00.000Z" },
        {
          name: "city",
          value: "Ulm",
          merge: "latest",
          event_id: last.body["event_id"],
          at: "2026-01-02T00:00:00.0001Z",
        },
        { name: "spent", value: 3.5, merge: "sum", event_id: null, at: null },
      ],
    });
    const { body: shown } = await workspace.send("GET", `/v1/profiles/${profileId}`);
    assert.deepEqual(shown["traits"], { born: "x", city: "Ulm", spent: 3.5 });
    const stranger = await app().workspace();
    assert.equal((await stranger.send("GET", `/v1/profiles/${profileId}/traits`)).status, 404);
  });

  it("do not let a wrong client clock pin a trait for ever", async () => {
    const soon = new Date(Date.now() + 23 * 3_600_000).toISOString();
    const early = await event({ email: "clock@example.com", city: "Future" }, soon);
    const { body } = await workspace.send("GET", `/v1/profiles/${textAt(early.body, "profile_id")}`);
    assert.ok(textAt(body, "last_seen") < new Date(Date.now() + 6 * 60_000).toISOString());
  });

  it("are looked up by identifiers, at most 100: found ones with what matched, and the unknown rest", async () => {
    const profileId = await identify(id("email", "l@example.com"), id("user_id", "l"));
    const asked = [id("email", "L@Example.com"), id("user_id", "l"), id("user_id", "stranger"), id("user_id", "null")];
    const { status, body } = await lookup(...asked);
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).toSorted(), ["profiles", "unknown"]);
    assert.equal(textAt(body, "profiles.0.profile_id"), profileId);
    assert.deepEqual(listAt(body, "profiles.0.matched"), asked.slice(0, 2));
    assert.deepEqual(body["unknown"], asked.slice(2));
    const many = (count: number) => Array.from({ length: count }, (_, i) => id("user_id", `n-${i}`));
    assert.equal((await lookup(...many(100))).status, 200);
    for (const count of [0, 101]) assert.deepEqual(errorPaths(await lookup(...many(count))), ["identifiers"]);
  });

  it("are looked up by ids, current and retired, beside identifiers; foreign and erased ones are unknown", async () => {
    const workspace = await app().workspace();
    const other = await app().workspace();
    const one = (namespace: string, value: string) => ({ identifiers: [{ namespace, value }] });
    const idOf = async (of: TestWorkspace, body: unknown) =>
      textAt((await of.send("POST", "/v1/identify", body)).body, "profile_id");
    const ada = await idOf(workspace, one("user_id", "ada"));
    const phone = await idOf(workspace, one("device_id", "phone"));
    const bob = await idOf(workspace, one("email", "bob@example.com"));
    const gone = await idOf(workspace, one("email", "gone@example.com"));
    const foreign = await idOf(other, one("user_id", "ada"));
    await workspace.send("POST", "/v1/alias", {
      anonymous: { namespace: "device_id", value: "phone" },
      known: { namespace: "user_id", value: "ada" },
    });
    assert.equal((await workspace.send("DELETE", `/v1/profiles/${gone}`)).status < 300, true);
    const asked = {
      profile_ids: [phone, bob, foreign, gone, ada, bob],
      identifiers: [{ namespace: "user_id", value: "ada" }],
    };
    const { status, body, text } = await workspace.send("POST", "/v1/profiles/lookup", asked);
    assert.equal(status, 200, text);
    const found = new Map(listAt(body, "profiles").map((profile) => [textAt(profile, "profile_id"), profile]));
    assert.deepEqual([...found.keys()].toSorted(), [ada, bob].toSorted());
    assert.deepEqual((at(found.get(ada), "matched_ids") as string[]).toSorted(), [ada, phone].toSorted());
    assert.deepEqual(at(found.get(ada), "matched"), asked.identifiers);
    assert.deepEqual([at(found.get(bob), "matched_ids"), at(found.get(bob), "matched")], [[bob], []]);
    assert.deepEqual([body["unknown"], (body["unknown_ids"] as string[]).toSorted()], [[], [foreign, gone].toSorted()]);
    const nothing = await workspace.send("POST", "/v1/profiles/lookup", {});
    assert.deepEqual([nothing.status, errorPaths(nothing)], [422, ["identifiers"]]);
  });

  it("are never created by a look-up, nor is a namespace", async () => {
    await lookup(id("user_id", "ghost"), id("ghostspace", "1"));
    assert.deepEqual((await lookup(id("user_id", "ghost"))).body, { profiles: [], unknown: [id("user_id", "ghost")] });
    assert.equal((await workspace.send("GET", "/v1/namespaces/ghostspace")).status, 404);
  });

  it("name the namespace of a look-up that is of a wrong form", async () => {
    const answer = await lookup(id("user_id", "x"), id("Wrong Name", "x"));
    assert.equal(answer.status, 422);
    assert.deepEqual(errorPaths(answer), ["identifiers.1.namespace"]);
  });

  it("of an unknown id and of no id at all are the same 404", async () => {
    for (const target of [randomUUID(), "x", "%00", "__proto__", "A".repeat(300)])
      for (const tail of ["", "/events", "/identifiers"]) {
        const { status, body } = await workspace.send("GET", `/v1/profiles/${target}${tail}`);
        assert.deepEqual([status, body["code"]], [404, "not_found"], target + tail);
      }
  });

  it("list their events, newest first by time and then by id, in pages", async () => {
    const times = ["2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"];
    const events = [];
    for (const time of times) events.push(await event({ email: "list@example.com" }, time));
    const profileId = textAt(events[0]!.body, "profile_id");
    const ids: string[] = [];
    let query = "";
    for (let page = 0; page < 3; page++) {
      const { body } = await workspace.send("GET", `/v1/profiles/${profileId}/events?limit=2${query}`);
      ids.push(...listAt(body, "events").map((one) => textAt(one, "event_id")));
      if (body["next_cursor"] === null) break;
      query = `&cursor=${textAt(body, "next_cursor")}`;
    }
    const byTime = events
      .map(({ body }) => [textAt(body, "timestamp"), textAt(body, "event_id")] as const)
      .toSorted((a, b) => (a.join() < b.join() ? 1 : -1));
    assert.deepEqual(
      ids,
      byTime.map(([, eventId]) => eventId),
    );
  });

  it("list their identifiers in pages that stay stable under inserts, also through a merge", async () => {
    const profileId = await identify(...Array.from({ length: 5 }, (_, i) => id("device_id", `d-${i}`)));
    const first = await workspace.send("GET", `/v1/profiles/${profileId}/identifiers?limit=3`);
    await identify(id("device_id", "d-0"), id("device_id", "later"));
    const cursor = textAt(first.body, "next_cursor");
    const rest = await workspace.send("GET", `/v1/profiles/${profileId}/identifiers?cursor=${cursor}`);
    const values = [...listAt(first.body, "identifiers"), ...listAt(rest.body, "identifiers")].map((one) =>
      textAt(one, "value"),
    );
    assert.deepEqual(values.toSorted(), ["d-0", "d-1", "d-2", "d-3", "d-4", "later"]);
    assert.equal(rest.body["next_cursor"], null);
  });

  it("of the same identifiers in two workspaces are two profiles, and neither sees the other's", async () => {
    const other = await app().workspace();
    const identifiers = [id("email", "both@example.com")];
    const mine = await workspace.send("POST", "/v1/identify", { identifiers });
    const theirs = await other.send("POST", "/v1/identify", { identifiers });
    assert.notEqual(mine.body["profile_id"], theirs.body["profile_id"]);
    for (const tail of ["", "/events", "/identifiers"])
      assert.equal((await other.send("GET", `/v1/profiles/${textAt(mine.body, "profile_id")}${tail}`)).status, 404);
    const found = await other.send("POST", "/v1/profiles/lookup", { identifiers });
    assert.equal(textAt(found.body, "profiles.0.profile_id"), theirs.body["profile_id"]);
  });
});

describe("A profile of more identifiers than one answer joins", () => {
  const app = useApp({ PROFILE_IDENTIFIERS_MAX: "100" });

  it("says partial: true", async () => {
    const workspace = await app().workspace();
    const groups = Array.from({ length: 7 }, (_, group) => [
      id("user_id", "hub"),
      ...Array.from({ length: 15 }, (_, i) => id("device_id", `d-${group}-${i}`)),
    ]);
    let profileId = "";
    for (const identifiers of groups)
      profileId = textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
    const { body } = await workspace.send("GET", `/v1/profiles/${profileId}`);
    assert.equal(body["partial"], true);
    assert.equal(listAt(body, "identifiers").length, 100);
    const events = await workspace.send("GET", `/v1/profiles/${profileId}/events`);
    assert.equal(events.body["partial"], true);
  });

  it("joins what is asked for, also when it stands beyond the part", async () => {
    const workspace = await app().workspace();
    const last = id("user_id", "last");
    for (let group = 0; group < 8; group += 1) {
      const devices = Array.from({ length: 15 }, (_, i) => id("device_id", `${group}-${i}`));
      await workspace.send("POST", "/v1/identify", { identifiers: [id("user_id", "hub"), ...devices] });
    }
    await workspace.send("POST", "/v1/identify", { identifiers: [id("user_id", "hub"), last] });
    const schemaId = await workspace.schema({
      properties: {
        user: { type: "string", "x-identity": { namespace: "user_id" } },
        city: { type: "string", "x-trait": { name: "city" } },
      },
    });
    const sent = await workspace.collect(schemaId, { user: "last", city: "Bern" });
    await workspace.settled(sent.body["event_id"]);
    const found = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [last] });
    const profile = listAt(found.body, "profiles")[0];
    assert.deepEqual(at(profile, "traits"), { city: "Bern" });
    assert.deepEqual([at(profile, "event_count"), at(profile, "partial")], [1, true]);
  });
});

describe("A page of large events", () => {
  const app = useApp();

  it("ends early, and the pages together hold them all", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema({
      properties: { user: { type: "string", "x-identity": { namespace: "user_id" } } },
    });
    for (let n = 0; n < 12; n += 1) {
      const sent = await workspace.collect(schemaId, { user: "u", n, filler: "x".repeat(250_000) });
      await workspace.settled(sent.body["event_id"]);
    }
    const found = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [id("user_id", "u")] });
    const path = `/v1/profiles/${textAt(found.body, "profiles.0.profile_id")}/events?limit=100`;
    const first = await workspace.send("GET", path);
    const second = await workspace.send("GET", `${path}&cursor=${textAt(first.body, "next_cursor")}`);
    const numbers = [first, second].map(({ body }) => listAt(body, "events").map((event) => at(event, "payload.n")));
    assert.deepEqual(numbers, [
      [11, 10, 9, 8, 7, 6, 5, 4],
      [3, 2, 1, 0],
    ]);
    assert.equal(second.body["next_cursor"], null);
  });
});
