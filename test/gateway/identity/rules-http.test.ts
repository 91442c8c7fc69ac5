import assert from "node:assert/strict";
import { at, errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls } from "../../support/identity/calls.js";

const [ada, bob, phone, tablet] = [user("ada"), user("bob"), device("phone"), device("tablet")];

describe("The rules of a workspace", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
    const limited = await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    assert.equal(limited.status, 200, limited.text);
  });
  const sharedIdentifierLimit = async (limit: number | null): Promise<void> => {
    const set = await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: limit });
    assert.equal(set.status, 200, set.text);
  };

  it("drop what would break a limit from an identify: partial, each with the rule, and a change that says so", async () => {
    await calls.identify(ada, phone);
    const other = await calls.identify(bob);
    const { body } = await calls.identify(bob, phone, tablet);
    assert.equal(body["outcome"], "partial");
    assert.deepEqual(body["dropped"], [{ identifier: phone, rule: "limit" }]);
    assert.equal(body["profile_id"], other.body["profile_id"]);
    assert.equal(await calls.profileOf(tablet), other.body["profile_id"]);
    const { body: change } = await calls.get(`changes/${textAt(body, "change_id")}`);
    assert.deepEqual([change["outcome"], change["dropped"]], ["partial", body["dropped"]]);
    assert.deepEqual(listAt(change, "identifiers"), [bob, phone, tablet]);
  });

  it("refuse with 422 an identify that names more values of a namespace than its limit, also as a dry run", async () => {
    for (const query of ["", "?dry_run=true"]) {
      const answer = await calls.post(`identify${query}`, { identifiers: [phone, ada, bob] });
      assert.deepEqual([answer.status, answer.body["code"]], [422, "validation_failed"]);
      assert.deepEqual(errorPaths(answer), ["identifiers.2"]);
    }
    assert.deepEqual(await calls.changes(), []);
    assert.equal((await calls.identify(ada, phone, ada, user("null"))).body["outcome"], "created");
  });

  it("refuse an alias as a whole: 409 merge_refused with the rule, the profiles of both sides and the change", async () => {
    const a = await calls.identify(ada, phone);
    const b = await calls.identify(bob);
    const answer = await calls.post("alias", { anonymous: phone, known: bob });
    assert.deepEqual([answer.status, answer.body["code"], answer.body["rule"]], [409, "merge_refused", "limit"]);
    assert.match(String(answer.headers["content-type"]), /^application\/problem\+json/);
    assert.deepEqual(answer.body["profile_ids"], [a.body["profile_id"], b.body["profile_id"]]);
    const { body: change } = await calls.get(`changes/${textAt(answer.body, "change_id")}`);
    assert.deepEqual([change["outcome"], change["rule"], change["source"]], ["refused", "limit", "alias"]);
    assert.deepEqual(listAt(change, "identifiers"), [phone, bob]);
    assert.deepEqual(await calls.changes("?outcome=refused"), [change]);
    assert.notEqual(await calls.profileOf(bob), await calls.profileOf(phone));
  });

  it("name a side that was never seen with null", async () => {
    const { body } = await calls.identify(ada);
    const answer = await calls.post("alias", { anonymous: bob, known: ada });
    assert.deepEqual([answer.status, answer.body["profile_ids"]], [409, [null, body["profile_id"]]]);
    assert.equal(await calls.profileOf(bob), null);
  });

  it("drop identifiers of an event in order, its facet's first, and the event says which", async () => {
    const schemaId = await workspace.schema({
      properties: {
        user: { type: "string", "x-identity": { namespace: "user_id" } },
        device: { type: "string", "x-identity": { namespace: "device_id" } },
        city: { type: "string", "x-trait": { name: "city" } },
      },
    });
    await calls.identify(ada, phone);
    const sent = await workspace.collect(schemaId, { user: "bob", device: "phone", city: "Oslo" });
    const { body } = await workspace.settled(sent.body["event_id"]);
    assert.deepEqual(body["dropped"], [{ identifier: phone, rule: "limit" }]);
    assert.equal(body["profile_id"], await calls.profileOf(bob));
    assert.notEqual(await calls.profileOf(phone), body["profile_id"]);
  });

  it("leave what stands: a profile beyond a new limit stays one, and a repeat is unchanged", async () => {
    await calls.identify(phone, tablet);
    await workspace.send("PUT", "/v1/namespaces/device_id", { limit: 1 });
    assert.equal(await calls.profileOf(phone), await calls.profileOf(tablet));
    assert.equal((await calls.alias(tablet, phone)).body["outcome"], "unchanged");
  });

  it("stop an identifier that touches too many people: it is dropped, listed, and shown in its profile", async () => {
    await sharedIdentifierLimit(2);
    const kiosk = device("kiosk");
    const first = await calls.identify(user("u-1"), kiosk);
    const profileId = textAt(first.body, "profile_id");
    assert.deepEqual((await calls.get("identity/shared-identifiers")).body, {
      shared_identifiers: [],
      next_cursor: null,
    });
    assert.equal((await calls.get(`profiles/${profileId}`)).body["shared_identifiers"], undefined);
    assert.deepEqual((await calls.identify(user("u-2"), kiosk)).body["dropped"], [
      { identifier: kiosk, rule: "limit" },
    ]);
    const third = await calls.identify(user("u-3"), kiosk);
    assert.deepEqual(third.body["dropped"], [{ identifier: kiosk, rule: "shared_identifier" }]);

    const kioskId = String(await calls.profileOf(kiosk));
    const listed = await calls.get("identity/shared-identifiers");
    assert.deepEqual(listed.body, { shared_identifiers: [{ ...kiosk, profile_id: kioskId }], next_cursor: null });
    const profile = await calls.get(`profiles/${kioskId}`);
    assert.deepEqual(profile.body["shared_identifiers"], [kiosk]);
    const found = await calls.post("profiles/lookup", { identifiers: [kiosk] });
    assert.deepEqual(at(found.body, "profiles.0.shared_identifiers"), [kiosk]);
    const graph = await calls.get(`profiles/${kioskId}/graph`);
    const marks = listAt(graph.body, "nodes").map((node) => [textAt(node, "value"), at(node, "shared")]);
    assert.deepEqual(marks, [["kiosk", true]]);
    const refused = await calls.post("alias", { anonymous: kiosk, known: user("u-4") });
    assert.deepEqual([refused.status, refused.body["rule"]], [409, "shared_identifier"]);
    assert.deepEqual(refused.body["profile_ids"], [kioskId, null]);
  });

  it("list and show as shared identifiers those alone that are beyond the limit of now", async () => {
    await sharedIdentifierLimit(1);
    for (const kiosk of ["k-1", "k-2", "k-3", "k-4"])
      for (const person of kiosk === "k-1" || kiosk === "k-3" ? ["a", "b"] : ["a", "b", "c"])
        await calls.identify(user(`${kiosk}-${person}`), device(kiosk));
    // What is beyond a limit is noted as far as that limit needs it, so it takes another sight to be beyond a higher one.
    await sharedIdentifierLimit(2);
    for (const kiosk of ["k-2", "k-4"]) await calls.identify(user(`${kiosk}-d`), device(kiosk));
    const pages = await calls.pages("identity/shared-identifiers", 1);
    assert.deepEqual(
      pages.map(({ body }) => listAt(body, "shared_identifiers").map((one) => textAt(one, "value"))),
      [["k-2"], ["k-4"]],
    );
    const shownAt = async (kiosk: string) =>
      (await calls.get(`profiles/${String(await calls.profileOf(device(kiosk)))}`)).body["shared_identifiers"];
    assert.deepEqual([await shownAt("k-1"), await shownAt("k-2")], [undefined, [device("k-2")]]);
    await sharedIdentifierLimit(null);
    assert.deepEqual([await shownAt("k-2"), (await calls.profileOf(device("k-2"))) !== null], [undefined, true]);
  });

  it("list shared identifiers in pages, each once, and keep workspaces apart", async () => {
    await sharedIdentifierLimit(1);
    for (const kiosk of ["k-1", "k-2", "k-3"])
      for (const person of ["u-1", "u-2"]) await calls.identify(user(`${kiosk}-${person}`), device(kiosk));
    const pages = await calls.pages("identity/shared-identifiers", 2);
    assert.deepEqual(
      pages.map(({ body }) => listAt(body, "shared_identifiers").map((one) => textAt(one, "value"))),
      [["k-1", "k-2"], ["k-3"]],
    );
    const other = identityCalls(await app().workspace());
    assert.deepEqual((await other.get("identity/shared-identifiers")).body["shared_identifiers"], []);
  });

  it("hold for the workspace that set them alone", async () => {
    const other = identityCalls(await app().workspace());
    const { body } = await other.identify(ada, bob, id("email", "x@example.com"));
    assert.deepEqual([body["outcome"], body["dropped"]], ["created", []]);
  });
});
