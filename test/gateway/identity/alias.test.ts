import assert from "node:assert/strict";
import { errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const id = (namespace: string, value: string) => ({ namespace, value });

describe("POST /v1/alias", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const alias = (anonymous: unknown, known: unknown) => workspace.send("POST", "/v1/alias", { anonymous, known });

  it("connects an anonymous identifier to a known person and answers 200 with the profile id", async () => {
    const person = await workspace.send("POST", "/v1/identify", { identifiers: [id("user_id", "u-1")] });
    const { status, body } = await alias(id("anonymous_id", "visitor-1"), id("user_id", "u-1"));
    assert.equal(status, 200);
    assert.equal(body["profile_id"], person.body["profile_id"]);
    assert.equal(body["outcome"], "linked");
    assert.deepEqual(Object.keys(body).toSorted(), [
      "change_id",
      "dropped",
      "merged_profile_ids",
      "outcome",
      "profile_id",
    ]);
  });

  it("together with identify keeps one person from appearing as several profiles", async () => {
    const visitor = await workspace.send("POST", "/v1/identify", { identifiers: [id("cookie_id", "c")] });
    const person = await workspace.send("POST", "/v1/identify", { identifiers: [id("email", "p@example.com")] });
    assert.notEqual(visitor.body["profile_id"], person.body["profile_id"]);
    const joined = await alias(id("cookie_id", "c"), id("email", "p@example.com"));
    assert.equal(joined.body["outcome"], "merged");
    const identifiers = [id("cookie_id", "c"), id("email", "p@example.com")];
    const lookup = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
    assert.equal(listAt(lookup.body, "profiles").length, 1);
  });

  it("changes nothing when it is repeated, in either direction", async () => {
    const first = await alias(id("cookie_id", "c"), id("user_id", "u"));
    for (const again of [
      await alias(id("cookie_id", "c"), id("user_id", "u")),
      await alias(id("user_id", "u"), id("cookie_id", "c")),
    ])
      assert.deepEqual([again.body["outcome"], again.body["profile_id"]], ["unchanged", first.body["profile_id"]]);
  });

  it("takes either side in any namespace", async () => {
    assert.equal((await alias(id("email", "a@example.com"), id("loyalty", "1"))).status, 200);
    assert.equal((await workspace.send("GET", "/v1/namespaces/loyalty")).status, 200);
  });

  it("needs both sides: a missing or wrong one is 422 and named", async () => {
    assert.deepEqual(errorPaths(await workspace.send("POST", "/v1/alias", {})), ["anonymous", "known"]);
    assert.deepEqual(errorPaths(await alias(id("cookie_id", "c"), { namespace: "user_id" })), ["known.value"]);
    assert.deepEqual(errorPaths(await alias("c", id("user_id", "u"))), ["anonymous"]);
    assert.deepEqual(errorPaths(await alias(id("Cookie", "c"), id("user_id", "u"))), ["anonymous.namespace"]);
  });

  it("answers 422 for a blocked side and names which", async () => {
    const answer = await alias(id("cookie_id", "undefined"), id("user_id", "u"));
    assert.deepEqual([answer.status, answer.body["code"]], [422, "blocked_identifier"]);
    assert.equal(answer.body["title"], "Blocked values identify nobody");
    assert.deepEqual(errorPaths(answer), ["anonymous"]);
    const both = await alias(id("cookie_id", "null"), id("user_id", "null"));
    assert.deepEqual(errorPaths(both), ["anonymous", "known"]);
    const lookup = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [id("user_id", "u")] });
    assert.deepEqual(lookup.body["profiles"], []);
  });

  it("answers 422 for a side that is no e-mail or phone and names which", async () => {
    const answer = await alias(id("cookie_id", "c"), id("email", "nobody"));
    assert.deepEqual([answer.status, errorPaths(answer)], [422, ["known.value"]]);
    assert.deepEqual(errorPaths(await alias(id("phone", "nobody"), id("email", "x"))), [
      "anonymous.value",
      "known.value",
    ]);
  });

  it("answers 422 when both sides are the same identifier, also after normalising", async () => {
    assert.equal((await alias(id("user_id", "u"), id("user_id", "u"))).status, 422);
    const answer = await alias(id("email", "A@example.com"), id("email", " a@example.com"));
    assert.equal(answer.status, 422);
    assert.match(textAt(answer.body, "detail"), /same identifier/);
  });

  it("refuses unknown fields", async () => {
    const body = { anonymous: id("cookie_id", "c"), known: id("user_id", "u"), previous: 1 };
    assert.deepEqual(errorPaths(await workspace.send("POST", "/v1/alias", body)), ["previous"]);
  });
});
