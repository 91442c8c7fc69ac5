import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls, type Named } from "../../support/identity/calls.js";

const [ada, bob, phone, tablet] = [user("ada"), user("bob"), device("phone"), device("tablet")];
const valuesOf = (link: unknown): readonly string[] =>
  [textAt(link, "from.value"), textAt(link, "to.value")].toSorted();

describe("POST /v1/identity/unlink", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
  });
  const profiles = (...identifiers: readonly Named[]) => Promise.all(identifiers.map((one) => calls.profileOf(one)));

  it("takes one identifier out of its profile, and gives each part its former id", async () => {
    const first = await calls.identify(ada);
    const second = await calls.identify(phone);
    await calls.identify(ada, phone, tablet);
    const { body } = await calls.unlink({ identifier: phone });
    const ids = [first, second].map((answer) => textAt(answer.body, "profile_id"));
    assert.deepEqual({ ...body, change_id: "" }, { outcome: "unlinked", profile_ids: ids.toSorted(), change_id: "" });
    assert.deepEqual(await profiles(ada, phone, tablet), [ids[0], ids[1], ids[0]]);
    const change = await calls.get(`changes/${textAt(body, "change_id")}`);
    assert.deepEqual([change.body["source"], change.body["outcome"]], ["unlink", "unlinked"]);
  });

  it("takes out and explains what was linked before its value was blocked", async () => {
    await calls.identify(ada, tablet);
    const put = await workspace.send("PUT", "/v1/namespaces/device_id", { blocked: [tablet.value] });
    assert.equal(put.status, 200);
    assert.equal((await calls.explain(ada, tablet)).body["connected"], true);
    assert.equal((await calls.unlink({ from: ada, to: tablet })).body["outcome"], "unlinked");
  });

  it("parts two identifiers, and each side's data goes with it", async () => {
    const schemaId = await workspace.schema();
    const sent = [
      await workspace.collect(schemaId, { email: "a@example.com", city: "Rome" }),
      await workspace.collect(schemaId, { email: "b@example.com", city: "Oslo" }),
    ];
    for (const { body } of sent) await workspace.settled(body["event_id"]);
    const [a, b] = [id("email", "a@example.com"), id("email", "b@example.com")];
    await calls.identify(a, b);
    await calls.unlink({ from: b, to: a });
    const found = await Promise.all([a, b].map((one) => calls.post("profiles/lookup", { identifiers: [one] })));
    assert.deepEqual(
      found.map(({ body }) => at(body, "profiles.0.traits")),
      [{ city: "Rome" }, { city: "Oslo" }],
    );
    assert.deepEqual(
      found.map(({ body }) => at(body, "profiles.0.event_count")),
      [1, 1],
    );
  });

  it("says by which links the two are still joined", async () => {
    const { body: made } = await calls.identify(ada, phone, tablet);
    const { body } = await calls.unlink({ from: ada, to: phone });
    assert.deepEqual([body["outcome"], body["profile_ids"]], ["unlinked", [made["profile_id"]]]);
    assert.deepEqual(listAt(body, "still_joined_by").map(valuesOf), [
      ["ada", "tablet"],
      ["phone", "tablet"],
    ]);
    assert.equal(textAt(body, "still_joined_by.0.change_id"), made["change_id"]);
    const again = await calls.unlink({ from: phone, to: ada });
    assert.deepEqual([again.body["outcome"], again.body["change_id"]], ["unchanged", null]);
    assert.equal(listAt(again.body, "still_joined_by").length, 2);
  });

  it("tells the beginning of a path of kilobytes, and says partial: true", async () => {
    const ring = [...Array(12).keys()].map((n) => id("user_id", `${n}${"😀".repeat(1_020)}`));
    for (const [n, one] of ring.entries()) await calls.identify(one, ring[(n + 1) % ring.length]!);
    const asked = { from: ring[0]!, to: ring.at(-1)! };
    const refused = await calls.post("identity/unlink", { ...asked, forbid: true });
    const undone = await calls.unlink(asked);
    for (const { body } of [refused, undone]) {
      assert.equal(listAt(body, "still_joined_by").length, 7);
      assert.equal(body["partial"], true);
    }
    const { body } = await calls.explain(asked.from, asked.to);
    assert.deepEqual([listAt(body, "path").length, listAt(body, "bridges").length, body["partial"]], [7, 7, true]);
  });

  it("of what is not linked is 200 unchanged, without a change", async () => {
    const a = await calls.identify(ada);
    const b = await calls.identify(bob);
    const ids = [a, b].map(({ body }) => textAt(body, "profile_id"));
    const unchanged = { outcome: "unchanged", change_id: null };
    assert.deepEqual((await calls.unlink({ from: ada, to: bob })).body, { ...unchanged, profile_ids: ids.toSorted() });
    assert.deepEqual((await calls.unlink({ identifier: ada })).body, { ...unchanged, profile_ids: [ids[0]] });
    assert.equal((await calls.changes()).length, 2);
  });

  it("lets a later identify link again, unless the pair is forbidden", async () => {
    await calls.identify(ada, phone);
    await calls.unlink({ from: ada, to: phone });
    assert.equal((await calls.identify(ada, phone)).body["outcome"], "merged");
    await calls.unlink({ from: ada, to: phone, forbid: true });
    const unlinks = (await calls.changes()).filter((change) => at(change, "outcome") === "unlinked");
    const forbids = unlinks.map((change) => at(change, "forbid"));
    assert.deepEqual(forbids, [true, undefined]);
    const { body } = await calls.identify(ada, phone);
    assert.deepEqual([body["outcome"], body["dropped"]], ["partial", [{ identifier: phone, rule: "forbidden_pair" }]]);
    assert.notEqual(await calls.profileOf(ada), await calls.profileOf(phone));
  });

  it("with never on a pair that other links hold together is 409 still_joined, names them and changes nothing", async () => {
    await calls.identify(ada, phone, tablet);
    const before = await calls.changes();
    for (const query of ["", "?dry_run=true"]) {
      const answer = await calls.post(`identity/unlink${query}`, { from: ada, to: phone, forbid: true });
      assert.deepEqual([answer.status, answer.body["code"]], [409, "still_joined"]);
      assert.match(String(answer.headers["content-type"]), /^application\/problem\+json/);
      const links = listAt(answer.body, "still_joined_by");
      assert.deepEqual(links.map(valuesOf), [
        ["ada", "tablet"],
        ["phone", "tablet"],
      ]);
      assert.deepEqual(Object.keys(links[0] as object).toSorted(), [
        "at",
        "change_id",
        "event_id",
        "from",
        "key_id",
        "source",
        "to",
      ]);
    }
    assert.deepEqual(await calls.changes(), before);
    assert.equal(listAt((await calls.explain(ada, phone)).body, "path").length, 1);
    assert.deepEqual((await calls.get("identity/forbidden-pairs")).body["forbidden_pairs"], []);
  });

  it("with dry_run tells what it would do and changes nothing", async () => {
    const { body: made } = await calls.identify(ada, phone);
    const { body: lone } = await calls.identify(bob);
    const changes = await calls.changes();
    const { body } = await calls.unlink({ from: ada, to: phone, forbid: true }, "?dry_run=true");
    const profileId = textAt(made, "profile_id");
    const ids = listAt(body, "profile_ids");
    assert.equal(ids.length, 2);
    assert.deepEqual(body, {
      outcome: "unlinked",
      profile_ids: ids,
      change_id: null,
      dry_run: true,
      before: [{ profile_id: profileId, size: 2 }],
      after: ids.map((one) => ({ profile_id: one, size: 1 })),
      profiles_before: 1,
      profiles_after: 2,
    });
    const forbids = await calls.unlink({ from: ada, to: bob, forbid: true }, "?dry_run=true");
    assert.deepEqual([forbids.body["outcome"], forbids.body["change_id"]], ["forbidden", null]);
    const nothing = await calls.unlink({ identifier: bob }, "?dry_run=true");
    const self = [{ profile_id: lone["profile_id"], size: 1 }];
    assert.deepEqual([nothing.body["before"], nothing.body["after"]], [self, self]);
    assert.equal(await calls.profileOf(phone), profileId);
    assert.deepEqual(await calls.changes(), changes);
    assert.deepEqual((await calls.get("identity/forbidden-pairs")).body["forbidden_pairs"], []);
    const real = await calls.unlink({ from: ada, to: phone, forbid: true }, "?dry_run=false");
    assert.deepEqual(real.body["profile_ids"], ids);
  });

  it("takes one identifier or a pair, never both and never neither: 422 names the field", async () => {
    await calls.identify(ada, phone);
    const cases: readonly (readonly [unknown, readonly string[]])[] = [
      [{}, ["identifier"]],
      [{ from: ada }, ["to"]],
      [{ to: ada }, ["from"]],
      [{ forbid: true }, ["from", "to"]],
      [{ identifier: ada, from: ada, to: phone }, ["from", "to"]],
      [{ identifier: ada, forbid: true }, ["forbid"]],
      [{ from: ada, to: phone, forbid: "yes" }, ["forbid"]],
      [{ from: ada, to: ada }, ["to"]],
      [{ from: id("email", "x@example.com"), to: id("email", " X@example.com") }, ["to"]],
      [{ identifier: { namespace: "user_id" } }, ["identifier.value"]],
      [{ identifier: id("Wrong", "x") }, ["identifier.namespace"]],
      [{ from: ada, to: user("null") }, ["to"]],
      [{ identifier: ada, why: 1 }, ["why"]],
    ];
    for (const [body, paths] of cases) {
      const answer = await calls.post("identity/unlink", body);
      assert.equal(answer.status, 422, JSON.stringify(body));
      assert.deepEqual(errorPaths(answer), paths, JSON.stringify(body));
    }
    assert.equal(listAt((await calls.explain(ada, phone)).body, "path").length, 1);
  });

  it("of an identifier that was never seen is 404 and names the field", async () => {
    await calls.identify(ada);
    const cases: readonly (readonly [unknown, readonly string[]])[] = [
      [{ identifier: user("ghost") }, ["identifier"]],
      [{ from: user("ghost"), to: ada }, ["from"]],
      [{ from: ada, to: id("ghostspace", "x") }, ["to"]],
    ];
    for (const [body, paths] of cases) {
      const answer = await calls.post("identity/unlink", body);
      assert.deepEqual([answer.status, answer.body["code"], errorPaths(answer)], [404, "not_found", paths]);
    }
    assert.equal((await calls.get("namespaces/ghostspace")).status, 404);
  });

  it("refuses a dry_run that is neither true nor false, or given twice, with 400, and does nothing", async () => {
    await calls.identify(ada, phone);
    for (const query of ["?dry_run=1", "?dry_run=", "?dry_run=TRUE", "?dry_run=true&dry_run=true", "?dryRun=true"]) {
      const answer = await calls.post(`identity/unlink${query}`, { from: ada, to: phone });
      assert.deepEqual([answer.status, answer.body["code"]], [400, "invalid_parameter"], query);
    }
    assert.equal((await calls.explain(ada, phone)).body["connected"], true);
  });
});

describe("GET and DELETE /v1/identity/forbidden-pairs", () => {
  const app = useApp();
  let calls: IdentityCalls;
  beforeEach(async () => {
    calls = identityCalls(await app().workspace());
  });

  it("list the forbidden pairs with their evidence, and allow one of them", async () => {
    const began = Date.now();
    await calls.identify(ada);
    await calls.identify(bob);
    const forbidden = await calls.unlink({ from: ada, to: bob, forbid: true });
    assert.equal(forbidden.body["outcome"], "forbidden");
    assert.equal((await calls.unlink({ from: bob, to: ada, forbid: true })).body["outcome"], "unchanged");
    const listed = await calls.get("identity/forbidden-pairs");
    const forbiddenPairId = textAt(listed.body, "forbidden_pairs.0.forbidden_pair_id");
    const keyId = textAt((await calls.get("keys")).body, "keys.0.key_id");
    const { at: time, ...shown } = listAt(listed.body, "forbidden_pairs")[0] as Record<string, unknown>;
    assert.deepEqual(shown, {
      forbidden_pair_id: forbiddenPairId,
      from: ada,
      to: bob,
      change_id: forbidden.body["change_id"],
      key_id: keyId,
    });
    assert.ok(Date.parse(String(time)) >= began && Date.parse(String(time)) <= Date.now());
    assert.equal((await calls.identify(ada, bob)).body["outcome"], "partial");

    const allowed = await calls.workspace.send("DELETE", `/v1/identity/forbidden-pairs/${forbiddenPairId}`);
    const ids = await Promise.all([ada, bob].map((one) => calls.profileOf(one)));
    assert.deepEqual(
      [allowed.status, { ...allowed.body, change_id: "" }],
      [200, { outcome: "allowed", profile_ids: ids.map(String).toSorted(), change_id: "" }],
    );
    const change = await calls.get(`changes/${textAt(allowed.body, "change_id")}`);
    assert.deepEqual([change.body["source"], change.body["outcome"]], ["allow", "allowed"]);
    assert.deepEqual((await calls.get("identity/forbidden-pairs")).body, { forbidden_pairs: [], next_cursor: null });
    assert.equal((await calls.identify(ada, bob)).body["outcome"], "merged");
    assert.equal((await calls.workspace.send("DELETE", `/v1/identity/forbidden-pairs/${forbiddenPairId}`)).status, 404);
  });

  it("come in pages, each pair once", async () => {
    await calls.identify(ada);
    for (const value of ["1", "2", "3", "4", "5"]) {
      await calls.identify(device(value));
      await calls.unlink({ from: ada, to: device(value), forbid: true });
    }
    const pages = await calls.pages("identity/forbidden-pairs", 2);
    const pairs = pages.flatMap(({ body }) => listAt(body, "forbidden_pairs"));
    assert.equal(pages.length, 3);
    assert.deepEqual(pairs.map((pair) => textAt(pair, "to.value")).toSorted(), ["1", "2", "3", "4", "5"]);
  });

  it("keep workspaces apart, and answer 404 for an unknown id", async () => {
    await calls.identify(ada);
    await calls.identify(bob);
    await calls.unlink({ from: ada, to: bob, forbid: true });
    const forbiddenPairId = textAt(
      (await calls.get("identity/forbidden-pairs")).body,
      "forbidden_pairs.0.forbidden_pair_id",
    );
    const other = identityCalls(await app().workspace());
    await other.identify(ada, bob);
    assert.deepEqual((await other.get("identity/forbidden-pairs")).body["forbidden_pairs"], []);
    for (const target of [forbiddenPairId, randomUUID(), "x"]) {
      const answer = await other.workspace.send("DELETE", `/v1/identity/forbidden-pairs/${target}`);
      assert.deepEqual([answer.status, answer.body["code"]], [404, "not_found"], target);
    }
    assert.equal(listAt((await calls.get("identity/forbidden-pairs")).body, "forbidden_pairs").length, 1);
  });
});
