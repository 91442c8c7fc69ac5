import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Explanation } from "../../../core/identity/api.js";
import type { Uid } from "../../../core/ids.js";
import type { Services } from "../../../commands/services.js";
import { identityRoutes } from "../../../gateway/routes/identity.js";
import type { Context, Reply } from "../../../gateway/route.js";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls, type Named } from "../../support/identity/calls.js";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const [ada, phone, tablet, cookie] = [user("ada"), device("phone"), device("tablet"), id("cookie_id", "c")];

/** Both sides of a link, sorted: a link has no direction for who asks. */
const sidesOf = (link: unknown): readonly string[] => [textAt(link, "from.value"), textAt(link, "to.value")].toSorted();

describe("POST /v1/identity/explain", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
  });

  it("answers a shortest path with the evidence of every link: source, change, key and time", async () => {
    const began = Date.now();
    const first = await calls.identify(ada, phone);
    const second = await calls.alias(cookie, phone);
    const { body } = await calls.explain(ada, cookie);
    assert.deepEqual([body["connected"], body["profile_id"]], [true, await calls.profileOf(ada)]);
    const path = listAt(body, "path");
    assert.deepEqual(path.map(sidesOf), [
      ["ada", "phone"],
      ["c", "phone"],
    ]);
    const keyId = textAt((await calls.get("keys")).body, "keys.0.key_id");
    for (const [i, [source, change]] of [["identify", first] as const, ["alias", second] as const].entries()) {
      const { at: time, from, to, ...evidence } = path[i] as Record<string, unknown>;
      assert.deepEqual(evidence, {
        source,
        event_id: null,
        change_id: change.body["change_id"],
        key_id: keyId,
      });
      assert.deepEqual(Object.keys(from as object), ["namespace", "value"]);
      assert.deepEqual(Object.keys(to as object), ["namespace", "value"]);
      assert.match(String(time), ISO);
      assert.ok(Date.parse(String(time)) >= began && Date.parse(String(time)) <= Date.now());
    }
  });

  it("names the event that linked, and the key that sent it", async () => {
    const schemaId = await workspace.schema();
    const sent = await workspace.collect(schemaId, { email: "e@example.com", cookie: "c-1" });
    const event = await workspace.settled(sent.body["event_id"]);
    const { body } = await calls.explain(id("email", "e@example.com"), id("cookie_id", "c-1"));
    const [link] = listAt(body, "path");
    assert.deepEqual([at(link, "source"), at(link, "event_id")], ["event", sent.body["event_id"]]);
    assert.equal(at(link, "at"), event.body["received_at"]);
    assert.equal(at(link, "key_id"), textAt((await calls.get("keys")).body, "keys.0.key_id"));
  });

  it("names the bridges: the links of the path whose removal alone would part the two", async () => {
    await calls.identify(ada, phone);
    await calls.identify(phone, tablet, cookie);
    const { body } = await calls.explain(ada, cookie);
    assert.equal(listAt(body, "path").length, 2);
    assert.deepEqual(listAt(body, "bridges").map(sidesOf), [["ada", "phone"]]);
    await calls.unlink({ from: phone, to: cookie });
    const after = await calls.explain(ada, cookie);
    assert.deepEqual(listAt(after.body, "path").map(sidesOf), [
      ["ada", "phone"],
      ["phone", "tablet"],
      ["c", "tablet"],
    ]);
    assert.equal(listAt(after.body, "bridges").length, 3);
  });

  it("says that two are apart, also when they were one before", async () => {
    await calls.identify(ada, phone);
    await calls.identify(tablet);
    const apart = { connected: false, profile_id: null, path: [], bridges: [] };
    assert.deepEqual((await calls.explain(ada, tablet)).body, apart);
    await calls.unlink({ from: ada, to: phone });
    assert.deepEqual((await calls.explain(ada, phone)).body, apart);
  });

  it("of one and the same identifier is an empty path", async () => {
    const { body } = await calls.identify(ada);
    const same = { connected: true, profile_id: body["profile_id"], path: [], bridges: [] };
    assert.deepEqual((await calls.explain(ada, ada)).body, same);
  });

  it("normalises by the namespace, as a look-up does", async () => {
    await calls.identify(id("email", "n@example.com"), ada);
    assert.equal((await calls.explain(id("email", " N@Example.com"), ada)).body["connected"], true);
  });

  it("answers 404 for an identifier that was never seen, names its field and registers no namespace", async () => {
    await calls.identify(ada);
    const cases: readonly (readonly [Named, Named, readonly string[]])[] = [
      [ada, user("ghost"), ["to"]],
      [user("ghost"), ada, ["from"]],
      [ada, id("ghostspace", "x"), ["to"]],
    ];
    for (const [from, to, paths] of cases) {
      const answer = await calls.post("identity/explain", { from, to });
      assert.deepEqual([answer.status, answer.body["code"]], [404, "not_found"]);
      assert.deepEqual(errorPaths(answer), paths);
    }
    assert.equal((await calls.get("namespaces/ghostspace")).status, 404);
  });

  it("needs two identifiers of the right form: what is wrong is 422 and named", async () => {
    const cases: readonly (readonly [unknown, readonly string[]])[] = [
      [{}, ["from", "to"]],
      [{ from: ada }, ["to"]],
      [{ from: ada, to: "x" }, ["to"]],
      [{ from: ada, to: phone, via: cookie }, ["via"]],
      [{ from: ada, to: id("Wrong", "x") }, ["to.namespace"]],
      [{ from: id("user_id", ""), to: ada }, ["from.value"]],
    ];
    for (const [body, paths] of cases) {
      const answer = await calls.post("identity/explain", body);
      assert.equal(answer.status, 422, JSON.stringify(body));
      assert.deepEqual(errorPaths(answer), paths);
    }
    const nobody = await calls.post("identity/explain", { from: ada, to: user("null") });
    assert.deepEqual([nobody.status, nobody.body["code"], errorPaths(nobody)], [422, "blocked_identifier", ["to"]]);
  });

  it("sees nothing of another workspace", async () => {
    await calls.identify(ada, phone);
    const other = identityCalls(await app().workspace());
    await other.identify(ada);
    assert.equal((await other.post("identity/explain", { from: ada, to: phone })).status, 404);
  });
});

describe("An explanation of a profile with more links than are searched", () => {
  it("has no path and says partial: true", async () => {
    const explanation: Explanation = {
      connected: true,
      profileId: randomUUID() as Uid,
      path: null,
      bridges: null,
      isPartial: true,
    };
    const deps = {
      catalog: { namespaces: () => Promise.resolve([]) },
      identity: { explain: () => Promise.resolve(explanation) },
    } as unknown as Services;
    const route = identityRoutes(deps).find(({ path }) => path === "/v1/identity/explain")!;
    const body = { from: ada, to: phone };
    const { json } = (await route.handle({
      workspace: randomUUID(),
      body,
      takeBytesForLong: async () => false,
    } as unknown as Context)) as Reply;
    const { profileId } = explanation;
    assert.deepEqual(JSON.parse(String(json)), {
      connected: true,
      profile_id: profileId,
      path: null,
      bridges: null,
      partial: true,
    });
  });
});

describe("GET /v1/profiles/{id}/graph", () => {
  const app = useApp();
  let calls: IdentityCalls;
  beforeEach(async () => {
    calls = identityCalls(await app().workspace());
  });
  const uidsOf = (body: unknown): readonly string[] => listAt(body, "nodes").map((node) => textAt(node, "uid"));
  const pairOf = (link: unknown): string => `${textAt(link, "from")} ${textAt(link, "to")}`;

  it("shows the identifiers by age and the links between them, with the evidence of each", async () => {
    const made = await calls.identify(ada, phone);
    const aliased = await calls.alias(cookie, ada);
    const profileId = textAt(made.body, "profile_id");
    const { body } = await calls.get(`profiles/${profileId}/graph`);
    assert.deepEqual([body["profile_id"], body["next_cursor"]], [profileId, null]);
    assert.deepEqual(
      listAt(body, "nodes").map((node) => textAt(node, "value")),
      ["ada", "phone", "c"],
    );
    assert.deepEqual(Object.keys(listAt(body, "nodes")[0] as object), ["uid", "namespace", "value"]);
    const uids = uidsOf(body);
    assert.deepEqual(uids, uids.toSorted());
    const links = listAt(body, "links");
    const ofChange = (change: unknown) => links.find((link) => at(link, "change_id") === change) as object;
    const keyId = textAt((await calls.get("keys")).body, "keys.0.key_id");
    const shown = { event_id: null, key_id: keyId };
    const identified = ofChange(made.body["change_id"]);
    assert.deepEqual(
      { ...identified, at: "" },
      { from: uids[0], to: uids[1], source: "identify", change_id: made.body["change_id"], at: "", ...shown },
    );
    const named = ofChange(aliased.body["change_id"]);
    assert.deepEqual([at(named, "source"), at(named, "from"), at(named, "to")], ["alias", uids[2], uids[0]]);
    assert.match(textAt(named, "at"), ISO);
    assert.equal(links.length, 2);
  });

  it("comes in pages, whose limit counts both: first all nodes, then the links, each once", async () => {
    const devices = Array.from({ length: 5 }, (_, i) => device(`d-${i}`));
    const { body } = await calls.identify(...devices);
    const target = `profiles/${textAt(body, "profile_id")}/graph`;
    const whole = (await calls.get(`${target}?limit=100`)).body;
    assert.deepEqual([listAt(whole, "nodes").length, listAt(whole, "links").length], [5, 10]);
    for (const limit of [1, 2, 3, 4, 5, 7, 14]) {
      const pages = (await calls.pages(target, limit)).map((page) => page.body);
      for (const page of pages.slice(0, -1))
        assert.equal(listAt(page, "nodes").length + listAt(page, "links").length, limit);
      assert.deepEqual(pages.flatMap(uidsOf), uidsOf(whole));
      assert.deepEqual(
        pages.flatMap((page) => listAt(page, "links")),
        listAt(whole, "links"),
      );
      assert.equal(pages.length, Math.ceil(15 / limit), `limit ${limit}`);
    }
  });

  it("goes on through a merge, under the id as it was asked", async () => {
    await calls.identify(user("older"), cookie);
    const { body } = await calls.identify(ada, phone, tablet);
    const retired = textAt(body, "profile_id");
    const first = (await calls.get(`profiles/${retired}/graph?limit=2`)).body;
    await calls.identify(tablet, user("newer"));
    await calls.identify(ada, user("older"));
    const rest = await calls.get(`profiles/${retired}/graph?limit=100&cursor=${textAt(first, "next_cursor")}`);
    assert.equal(rest.status, 200, rest.text);
    assert.equal(rest.body["profile_id"], await calls.profileOf(user("older")));
    assert.deepEqual(
      [...listAt(first, "nodes"), ...listAt(rest.body, "nodes")].map((node) => textAt(node, "value")),
      ["ada", "phone", "tablet", "newer"],
    );
    assert.equal(new Set(listAt(rest.body, "links").map(pairOf)).size, 6);
    const other = await calls.get(
      `profiles/${textAt(rest.body, "profile_id")}/graph?cursor=${textAt(first, "next_cursor")}`,
    );
    assert.deepEqual([other.status, other.body["code"]], [400, "invalid_cursor"]);
  });

  it("tells nodes that came while the links were read before more of them, and no link twice", async () => {
    const { body } = await calls.identify(ada, phone, tablet);
    const target = `profiles/${textAt(body, "profile_id")}/graph`;
    const first = (await calls.get(`${target}?limit=4`)).body;
    assert.deepEqual([listAt(first, "nodes").length, listAt(first, "links").length], [3, 1]);
    await calls.identify(tablet, user("late"));
    const second = (await calls.get(`${target}?limit=1&cursor=${textAt(first, "next_cursor")}`)).body;
    assert.deepEqual([textAt(second, "nodes.0.value"), second["links"]], ["late", []]);
    const last = (await calls.get(`${target}?cursor=${textAt(second, "next_cursor")}`)).body;
    assert.deepEqual([last["nodes"], last["next_cursor"]], [[], null]);
    const links = [...listAt(first, "links"), ...listAt(last, "links")].map(pairOf);
    assert.deepEqual([links.length, new Set(links).size], [4, 4]);
  });

  it("shows no link that was taken back", async () => {
    const { body } = await calls.identify(ada, phone, tablet);
    await calls.unlink({ from: ada, to: phone });
    const shown = (await calls.get(`profiles/${textAt(body, "profile_id")}/graph`)).body;
    assert.deepEqual([listAt(shown, "nodes").length, listAt(shown, "links").length], [3, 2]);
  });

  it("of an unknown id, and of a foreign one, is 404", async () => {
    const { body } = await calls.identify(ada);
    const other = identityCalls(await app().workspace());
    for (const target of [randomUUID(), "x", textAt(body, "profile_id")]) {
      const answer = await other.get(`profiles/${target}/graph`);
      assert.deepEqual([answer.status, answer.body["code"]], [404, "not_found"]);
    }
  });
});
