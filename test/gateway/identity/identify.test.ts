import assert from "node:assert/strict";
import { errorPaths, listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const id = (namespace: string, value: string) => ({ namespace, value });

const many = (count: number) => Array.from({ length: count }, (_, i) => id("device_id", `many-${i}`));

describe("POST /v1/identify", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const identify = (...identifiers: readonly unknown[]) => workspace.send("POST", "/v1/identify", { identifiers });

  it("links one or more identifiers to a profile and answers 200 with its id at once", async () => {
    const { status, body } = await identify(id("email", "ada@example.com"), id("cookie_id", "c-1"));
    assert.equal(status, 200);
    assert.match(textAt(body, "profile_id"), UUID);
    assert.equal(body["outcome"], "created");
    assert.match(textAt(body, "change_id"), UUID);
    assert.deepEqual([body["merged_profile_ids"], body["dropped"]], [[], []]);
  });

  it("links the identifiers of one request to the same profile", async () => {
    const list = [id("email", "a@example.com"), id("user_id", "u-1"), id("device_id", "d-1")];
    const { body } = await identify(...list);
    const lookup = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: list });
    assert.equal(listAt(lookup.body, "profiles").length, 1);
    assert.equal(textAt(lookup.body, "profiles.0.profile_id"), body["profile_id"]);
    assert.deepEqual(listAt(lookup.body, "profiles.0.matched"), list);
  });

  it("shows the link to the very next look-up by the same identifier", async () => {
    for (let i = 0; i < 20; i++) {
      const one = id("user_id", `fresh-${i}`);
      const { body } = await identify(one, id("cookie_id", `fresh-${i}`));
      const lookup = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [one] });
      assert.equal(textAt(lookup.body, "profiles.0.profile_id"), body["profile_id"]);
    }
  });

  it("changes nothing when it is repeated: the same id, outcome unchanged, no change_id", async () => {
    const first = await identify(id("email", "r@example.com"), id("cookie_id", "r"));
    const again = await identify(id("cookie_id", "r"), id("email", "R@example.com "));
    assert.equal(again.body["profile_id"], first.body["profile_id"]);
    assert.deepEqual([again.body["outcome"], again.body["change_id"]], ["unchanged", null]);
    const single = await identify(id("email", "r@example.com"));
    assert.equal(single.body["outcome"], "unchanged");
  });

  it("merges two profiles into the older id, and the retired id keeps resolving", async () => {
    const a = await identify(id("email", "m@example.com"));
    const b = await identify(id("cookie_id", "m"));
    const merged = await identify(id("cookie_id", "m"), id("email", "m@example.com"));
    assert.equal(merged.body["outcome"], "merged");
    assert.equal(merged.body["profile_id"], a.body["profile_id"]);
    assert.deepEqual(merged.body["merged_profile_ids"], [b.body["profile_id"]]);
    const old = await workspace.send("GET", `/v1/profiles/${textAt(b.body, "profile_id")}`);
    assert.equal(old.status, 200);
    assert.equal(old.body["profile_id"], a.body["profile_id"]);
    assert.equal(old.body["resolved_from"], b.body["profile_id"]);
  });

  it("adds a new identifier to a known profile as linked", async () => {
    const first = await identify(id("user_id", "l"));
    const next = await identify(id("user_id", "l"), id("phone", "+442079460958"));
    assert.deepEqual([next.body["outcome"], next.body["profile_id"]], ["linked", first.body["profile_id"]]);
  });

  it("links two identifiers of one profile that were never sent together: outcome linked", async () => {
    await identify(id("user_id", "t"), id("email", "t@example.com"));
    await identify(id("user_id", "t"), id("cookie_id", "t"));
    assert.equal((await identify(id("email", "t@example.com"), id("cookie_id", "t"))).body["outcome"], "linked");
  });

  it("drops blocked values and lists them with the rule, without making the outcome partial", async () => {
    const { body } = await identify(id("email", "d@example.com"), id("user_id", "null"), id("cookie_id", " UNDEFINED"));
    assert.equal(body["outcome"], "created");
    assert.deepEqual(body["dropped"], [
      { identifier: id("user_id", "null"), rule: "blocked" },
      { identifier: id("cookie_id", " UNDEFINED"), rule: "blocked" },
    ]);
  });

  it("answers 422 when no identifier is left", async () => {
    const answer = await identify(id("user_id", "anonymous"), id("email", "0"));
    assert.deepEqual([answer.status, answer.body["code"]], [422, "blocked_identifier"]);
    assert.deepEqual(errorPaths(answer), ["identifiers.0", "identifiers.1"]);
  });

  it("answers 422 for a value that is no e-mail or phone and names it, and links none of the others", async () => {
    const answer = await identify(id("email", "nobody"), id("user_id", "v"), id("phone", "+12025550110 or so"));
    assert.deepEqual([answer.status, answer.body["code"]], [422, "validation_failed"]);
    assert.deepEqual(errorPaths(answer), ["identifiers.0.value", "identifiers.2.value"]);
    const asked = [id("user_id", "v"), id("email", "nobody")];
    const lookup = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: asked });
    assert.deepEqual(lookup.body, { profiles: [], unknown: asked });
  });

  it("keeps two extensions of one phone number apart, and takes two spellings of it for one", async () => {
    const five = await identify(id("phone", "+12025550110 ext. 5"));
    const seven = await identify(id("phone", "+12025550110 ext. 7"));
    assert.notEqual(five.body["profile_id"], seven.body["profile_id"]);
    const again = await identify(id("phone", "001 202 555 0110 x5"));
    assert.deepEqual([again.body["outcome"], again.body["profile_id"]], ["unchanged", five.body["profile_id"]]);
  });

  it("takes 1 to 20 identifiers per request; none or 21 are 422", async () => {
    assert.equal((await identify(...many(20))).status, 200);
    for (const count of [0, 21]) {
      const answer = await identify(...many(count));
      assert.equal(answer.status, 422);
      assert.deepEqual(errorPaths(answer), ["identifiers"]);
    }
  });

  it("takes values of 1 to 1,024 characters as sent; others are 422", async () => {
    assert.equal((await identify(id("user_id", "\u{1f600}".repeat(1_024)))).status, 200);
    for (const value of ["", "x".repeat(1_025)]) {
      const answer = await identify(id("user_id", value));
      assert.equal(answer.status, 422);
      assert.deepEqual(errorPaths(answer), ["identifiers.0.value"]);
    }
  });

  it("requires namespace and value to be strings, and nothing beside them", async () => {
    const cases: readonly (readonly [unknown, readonly string[]])[] = [
      [{ namespace: "email" }, ["identifiers.0.value"]],
      [{ value: "x" }, ["identifiers.0.namespace"]],
      [{ namespace: "email", value: 7 }, ["identifiers.0.value"]],
      [{ namespace: null, value: "x" }, ["identifiers.0.namespace"]],
      [{ namespace: "email", value: "x", primary: true }, ["identifiers.0.primary"]],
      ["email:x", ["identifiers.0"]],
    ];
    for (const [item, paths] of cases) {
      const answer = await identify(item);
      assert.equal(answer.status, 422, JSON.stringify(item));
      assert.deepEqual(errorPaths(answer), paths);
    }
    assert.deepEqual(errorPaths(await workspace.send("POST", "/v1/identify", {})), ["identifiers"]);
  });

  it("refuses a namespace of a wrong form and registers one of the right form by itself", async () => {
    const wrong = await identify(id("E-Mail", "x"));
    assert.equal(wrong.status, 422);
    assert.deepEqual(errorPaths(wrong), ["identifiers.0.namespace"]);
    assert.equal((await identify(id("loyalty.card", "x"))).status, 200);
    const known = await workspace.send("GET", "/v1/namespaces/loyalty.card");
    assert.deepEqual([known.status, known.body["priority"]], [200, 0]);
  });

  it("keeps identifiers apart that only look alike, whatever delimiters they hold", async () => {
    const values = ["a:b", "a", "a\0b", "a\0", "a'b", 'a"b', "a\u2028b", "A", " a"];
    const answers = await Promise.all(values.map((value) => identify(id("user_id", value))));
    assert.equal(new Set(answers.map(({ body }) => body["profile_id"])).size, values.length);
    const lookup = { identifiers: values.map((value) => id("user_id", value)) };
    const found = await workspace.send("POST", "/v1/profiles/lookup", lookup);
    const identifiers = listAt(found.body, "profiles").map((profile) => textAt(profile, "identifiers.0.value"));
    assert.deepEqual(identifiers.toSorted(), values.toSorted());
  });

  it("gives the same profile whatever order concurrent requests come in", async () => {
    const requests = Array.from({ length: 40 }, (_, i) => [
      id("user_id", `ring-${i}`),
      id("user_id", `ring-${(i + 1) % 40}`),
    ]);
    await Promise.all(requests.map((pair) => identify(...pair)));
    const answers = await Promise.all(requests.map((pair) => identify(...pair)));
    assert.equal(new Set(answers.map(({ body }) => body["profile_id"])).size, 1);
    assert.ok(answers.every(({ body }) => body["outcome"] === "unchanged"));
  });
});
