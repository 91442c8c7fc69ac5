import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { at, listAt, textAt, useApp } from "../../support/service/app.js";
import { device, identityCalls, user, type IdentityCalls } from "../../support/identity/calls.js";

const [ada, bob, phone, tablet] = [user("ada"), user("bob"), device("phone"), device("tablet")];
const valuesOf = (link: unknown): readonly string[] =>
  [textAt(link, "from.value"), textAt(link, "to.value")].toSorted();

describe("POST /v1/changes/{id}/revert", () => {
  const app = useApp();
  let calls: IdentityCalls;
  beforeEach(async () => {
    calls = identityCalls(await app().workspace());
  });

  it("takes a merge back: each side has its former id again, and twice is unchanged", async () => {
    const a = await calls.identify(ada, phone);
    const b = await calls.identify(bob, tablet);
    const merge = await calls.identify(phone, tablet);
    const ids = [a, b].map(({ body }) => textAt(body, "profile_id"));
    const { body } = await calls.revert(merge.body["change_id"]);
    assert.deepEqual({ ...body, change_id: "" }, { outcome: "reverted", profile_ids: ids.toSorted(), change_id: "" });
    assert.deepEqual(await Promise.all([ada, phone, bob, tablet].map((one) => calls.profileOf(one))), [
      ids[0],
      ids[0],
      ids[1],
      ids[1],
    ]);
    const again = await calls.revert(merge.body["change_id"]);
    assert.deepEqual(again.body, { outcome: "unchanged", profile_ids: ids.toSorted(), change_id: null });
    const change = await calls.get(`changes/${textAt(body, "change_id")}`);
    assert.equal(change.body["reverts"], merge.body["change_id"]);
  });

  it("restores what an unlink removed", async () => {
    const made = await calls.identify(ada, phone, tablet);
    const undone = await calls.unlink({ identifier: phone });
    assert.notEqual(await calls.profileOf(phone), made.body["profile_id"]);
    const { body } = await calls.revert(undone.body["change_id"]);
    assert.deepEqual([body["outcome"], body["profile_ids"]], ["reverted", [made.body["profile_id"]]]);
    assert.equal(await calls.profileOf(phone), made.body["profile_id"]);
    const [link] = listAt((await calls.explain(ada, phone)).body, "path");
    assert.equal(at(link, "change_id"), made.body["change_id"]);
  });

  it("leaves removed, and lists, a link that a rule forbids by now", async () => {
    await calls.identify(ada, phone);
    const undone = await calls.unlink({ from: ada, to: phone });
    await calls.unlink({ from: ada, to: phone, forbid: true });
    const { body } = await calls.revert(undone.body["change_id"]);
    assert.deepEqual([body["outcome"], body["change_id"]], ["unchanged", null]);
    const [dropped] = listAt(body, "dropped");
    assert.deepEqual([valuesOf(dropped), at(dropped, "rule")], [["ada", "phone"], "forbidden_pair"]);
    assert.equal(listAt(body, "dropped").length, 1);
    assert.notEqual(await calls.profileOf(ada), await calls.profileOf(phone));
  });

  it("of which a rule keeps a part out says so in its record too, and lists all profiles after it", async () => {
    await calls.identify(ada, phone);
    await calls.identify(tablet, phone);
    const undone = await calls.unlink({ identifier: phone });
    await calls.unlink({ from: ada, to: phone, forbid: true });
    const { body } = await calls.revert(undone.body["change_id"]);
    const record = (await calls.get(`changes/${textAt(body, "change_id")}`)).body;
    assert.equal(listAt(body, "dropped").length, 1);
    assert.deepEqual(record["dropped"], body["dropped"]);
    assert.deepEqual(body["profile_ids"], record["after"]);
    const again = await calls.revert(body["change_id"]);
    const ids = await Promise.all([phone, tablet].map((one) => calls.profileOf(one)));
    assert.deepEqual(again.body["profile_ids"], ids.map(String).toSorted());
  });

  it("tells the first of the links of kilobytes that a rule keeps out, and says partial: true", async () => {
    const long = (name: string) => `${name}${"😀".repeat(1_020)}`;
    const hub = device(long("hub"));
    for (let n = 0; n < 12; n++) await calls.identify(hub, user(long(`${n}`)));
    const undone = await calls.unlink({ identifier: hub });
    assert.equal((await calls.workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 })).status, 200);
    for (const query of ["?dry_run=true", ""]) {
      const { body } = await calls.revert(undone.body["change_id"], query);
      assert.deepEqual(
        [body["outcome"], listAt(body, "dropped").length, body["partial"]],
        ["reverted", 7, true],
        `${query} has 7 of 11`,
      );
    }
    const [record] = await calls.changes("?limit=1");
    assert.equal(listAt(record, "dropped").length, 7);
  });

  it("of an unlink from which a rule keeps out every link is unchanged: what was removed stays removed", async () => {
    await calls.identify(ada, phone);
    const undone = await calls.unlink({ identifier: phone });
    await calls.unlink({ from: ada, to: phone, forbid: true });
    const { body } = await calls.revert(undone.body["change_id"]);
    assert.deepEqual([body["outcome"], body["change_id"], listAt(body, "dropped").length], ["unchanged", null, 1]);
    assert.equal((await calls.changes()).length, 3);
  });

  it("says by which links the identifiers are still joined", async () => {
    const made = await calls.identify(ada, phone);
    await calls.identify(ada, tablet);
    await calls.identify(phone, tablet);
    const { body } = await calls.revert(made.body["change_id"]);
    assert.equal(body["outcome"], "reverted");
    const path = listAt(body, "still_joined_by").map((link) => valuesOf(link).join("-"));
    assert.deepEqual(path.toSorted(), ["ada-tablet", "phone-tablet"]);
    assert.equal(listAt(body, "profile_ids").length, 1);
  });

  it("with dry_run tells what it would do and changes nothing", async () => {
    const { body: made } = await calls.identify(ada, phone);
    const { body } = await calls.revert(made["change_id"], "?dry_run=true");
    const ids = listAt(body, "profile_ids");
    assert.deepEqual(body, {
      outcome: "reverted",
      profile_ids: ids,
      change_id: null,
      dry_run: true,
      before: [{ profile_id: made["profile_id"], size: 2 }],
      after: ids.map((one) => ({ profile_id: one, size: 1 })),
      profiles_before: 1,
      profiles_after: 2,
    });
    assert.equal(await calls.profileOf(phone), made["profile_id"]);
    assert.equal((await calls.changes()).length, 1);
    assert.equal((await calls.post(`changes/${textAt(made, "change_id")}/revert?dry_run=yes`)).status, 400);
    assert.equal(await calls.profileOf(phone), made["profile_id"]);
  });

  it("needs no body, and refuses what is asked for in one instead of passing it over", async () => {
    const { body } = await calls.identify(ada, phone);
    const path = `changes/${textAt(body, "change_id")}/revert`;
    const asked = await calls.post(path, { dry_run: true });
    assert.deepEqual([asked.status, asked.body["code"]], [422, "validation_failed"]);
    assert.deepEqual(asked.body["errors"], [{ path: "dry_run", message: "is not a known field" }]);
    assert.deepEqual([(await calls.post(path, "{")).status, (await calls.post(path, [])).status], [400, 422]);
    assert.equal(await calls.profileOf(phone), body["profile_id"]);
    assert.equal((await calls.post(path, {})).body["outcome"], "reverted");
  });

  it("of an unknown change, and of a foreign one, is 404 and changes nothing", async () => {
    const { body } = await calls.identify(ada, phone);
    const other = identityCalls(await app().workspace());
    await other.identify(ada, phone);
    for (const target of [textAt(body, "change_id"), randomUUID(), "x"]) {
      const answer = await other.post(`changes/${target}/revert`);
      assert.deepEqual([answer.status, answer.body["code"]], [404, "not_found"], target);
    }
    for (const side of [calls, other]) assert.equal((await side.explain(ada, phone)).body["connected"], true);
  });
});
