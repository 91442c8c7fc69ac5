import assert from "node:assert/strict";
import { errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls } from "../../support/identity/calls.js";

const [ada, bob, phone] = [user("ada"), user("bob"), device("phone")];

describe("A dry run of identify or alias", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
  });
  const dryIdentify = async (...identifiers: readonly unknown[]) =>
    (await calls.post("identify?dry_run=true", { identifiers })).body;
  const dryAlias = async (anonymous: unknown, known: unknown) =>
    (await calls.post("alias?dry_run=true", { anonymous, known })).body;
  const nothing = { change_id: null, dropped: [], merged_profile_ids: [], dry_run: true };

  it("that would create has no profile_id to tell, and creates nothing", async () => {
    const created = { ...nothing, outcome: "created", profile_id: null, before: [] };
    assert.deepEqual(await dryIdentify(ada, phone), { ...created, after: [{ profile_id: null, size: 2 }] });
    assert.deepEqual(await dryAlias(phone, ada), { ...created, after: [{ profile_id: null, size: 2 }] });
    assert.deepEqual(await calls.changes(), []);
    assert.equal(await calls.profileOf(ada), null);
  });

  it("that would link or merge tells the profiles before and after, and the real one then says the same", async () => {
    const a = textAt((await calls.identify(ada)).body, "profile_id");
    const b = textAt((await calls.identify(bob)).body, "profile_id");
    const links = await dryIdentify(ada, phone);
    assert.deepEqual(links, {
      ...nothing,
      outcome: "linked",
      profile_id: a,
      before: [{ profile_id: a, size: 1 }],
      after: [{ profile_id: a, size: 2 }],
    });
    const merges = await dryAlias(bob, ada);
    assert.deepEqual(merges, {
      ...nothing,
      outcome: "merged",
      profile_id: a,
      merged_profile_ids: [b],
      before: [
        { profile_id: a, size: 1 },
        { profile_id: b, size: 1 },
      ],
      after: [{ profile_id: a, size: 2 }],
    });
    assert.equal(await calls.profileOf(bob), b);
    assert.equal((await calls.changes()).length, 2);
    const { body } = await calls.alias(bob, ada);
    const { dry_run: _flag, before: _before, after: _after, ...told } = merges;
    assert.deepEqual({ ...body, change_id: null }, told);
  });

  it("of a repeat is unchanged, before and after", async () => {
    const { body } = await calls.identify(ada, phone);
    const refs = [{ profile_id: body["profile_id"], size: 2 }];
    const { profile_id } = body;
    const unchanged = { ...nothing, outcome: "unchanged", profile_id, before: refs, after: refs };
    assert.deepEqual(await dryIdentify(ada, phone), unchanged);
    assert.deepEqual(await dryAlias(phone, ada), unchanged);
  });

  it("registers no namespace, and is refused where the real one would have no room for it", async () => {
    await dryIdentify(id("loyalty", "1"));
    await dryAlias(id("loyalty", "1"), id("club", "1"));
    for (const name of ["loyalty", "club"]) assert.equal((await calls.get(`namespaces/${name}`)).status, 404);
    const names = Array.from({ length: 100 }, (_, i) => id(`own-${i}`, "1"));
    for (let i = 0; i < 100; i += 20) await calls.identify(...names.slice(i, i + 20));
    for (const target of ["identify?dry_run=true", "identify"]) {
      const answer = await calls.post(target, { identifiers: [id("beyond", "1")] });
      assert.deepEqual([answer.status, errorPaths(answer)], [422, ["identifiers.0"]], target);
    }
    const alias = await calls.post("alias?dry_run=true", { anonymous: id("beyond", "1"), known: ada });
    assert.deepEqual([alias.status, errorPaths(alias)], [422, ["anonymous"]]);
  });

  it("lists blocked values, and is 422 when none is left", async () => {
    const body = await dryIdentify(ada, user("null"));
    assert.deepEqual(body["dropped"], [{ identifier: user("null"), rule: "blocked" }]);
    const answer = await calls.post("identify?dry_run=true", { identifiers: [user("null")] });
    assert.deepEqual([answer.status, answer.body["code"]], [422, "blocked_identifier"]);
  });

  it("that a rule would refuse is the same 409, and leaves no change", async () => {
    await calls.identify(ada);
    await calls.identify(bob);
    await calls.unlink({ from: ada, to: bob, forbid: true });
    const answer = await calls.post("alias?dry_run=true", { anonymous: bob, known: ada });
    assert.deepEqual([answer.status, answer.body["code"]], [409, "merge_refused"]);
    assert.deepEqual([answer.body["rule"], answer.body["change_id"]], ["forbidden_pair", null]);
    assert.deepEqual(await calls.changes("?outcome=refused"), []);
  });

  it("needs dry_run to be true or false: any other value, or it twice, is 400 and does nothing", async () => {
    for (const query of ["dry_run=1", "dry_run=", "dry_run=True", "dry_run=false&dry_run=true", "dry-run=true"])
      for (const [target, body] of [
        ["identify", { identifiers: [ada] }],
        ["alias", { anonymous: ada, known: bob }],
      ] as const) {
        const answer = await calls.post(`${target}?${query}`, body);
        assert.deepEqual([answer.status, answer.body["code"]], [400, "invalid_parameter"], query);
        assert.deepEqual(errorPaths(answer), [query.split("=")[0]]);
      }
    assert.deepEqual(await calls.changes(), []);
    const real = await calls.post("identify?dry_run=false", { identifiers: [ada] });
    assert.equal(real.body["dry_run"], undefined);
    assert.equal(await calls.profileOf(ada), real.body["profile_id"]);
  });

  it("reads, so it is closed to a key that may only send, and so is taking back", async () => {
    const identifiers = [ada, phone];
    const dry = await workspace.as("all", "POST", "/v1/identify?dry_run=true", { identifiers });
    const alias = await workspace.as("all", "POST", "/v1/alias?dry_run=true", { anonymous: phone, known: ada });
    assert.deepEqual([dry.status, dry.body["code"], alias.status], [403, "insufficient_scope", 403]);
    const { body } = await calls.identify(ada, phone);
    for (const caller of ["collect", "all", "viewer", "editor"] as const) {
      const unlink = await workspace.as(caller, "POST", "/v1/identity/unlink?dry_run=true", { from: ada, to: phone });
      const revert = await workspace.as(caller, "POST", `/v1/changes/${textAt(body, "change_id")}/revert?dry_run=true`);
      assert.deepEqual([unlink.status, revert.status], [403, 403], caller);
    }
    const viewed = await workspace.as("viewer", "POST", "/v1/identity/explain", { from: ada, to: phone });
    assert.equal(listAt(viewed.body, "path").length, 1);
  });
});
