import assert from "node:assert/strict";
import { at, listAt, textAt, until, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";

const email = (value: string) => ({ namespace: "email", value });
const cookie = (value: string) => ({ namespace: "cookie_id", value });

const completed = (workspace: TestWorkspace, erasureId: unknown): Promise<Answer> =>
  until(
    () => workspace.send("GET", `/v1/erasures/${String(erasureId)}`),
    ({ body }) => body["status"] === "completed",
  );

describe("Erasures", () => {
  const app = useApp();

  it("erase a profile: it is gone at once, its events soon, and the receipt counts them", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const events: string[] = [];
    for (const payload of [{ email: "ada@example.com", cookie: "c-1", city: "London" }, { email: "ada@example.com" }])
      events.push(textAt((await workspace.collect(schemaId, payload)).body, "event_id"));
    const other = textAt((await workspace.collect(schemaId, { email: "bob@example.com" })).body, "event_id");
    for (const eventId of [...events, other]) await workspace.settled(eventId);
    const lookup = () => workspace.send("POST", "/v1/profiles/lookup", { identifiers: [email("ada@example.com")] });
    const profileId = textAt((await lookup()).body, "profiles.0.profile_id");

    const preview = await workspace.send("DELETE", `/v1/profiles/${profileId}?dry_run=true`);
    assert.equal(preview.status, 200, preview.text);
    assert.deepEqual(preview.body, {
      dry_run: true,
      profile_id: profileId,
      identifiers: { email: 1, cookie_id: 1 },
      events: 2,
    });
    const ifMatch = { "If-Match": String(preview.headers["etag"]) };
    const wrong = await workspace.send("DELETE", `/v1/profiles/${profileId}`, undefined, { "If-Match": '"other"' });
    assert.equal(wrong.status, 412, wrong.text);

    const erased = await workspace.send("DELETE", `/v1/profiles/${profileId}`, undefined, ifMatch);
    assert.equal(erased.status, 202, erased.text);
    const erasureId = textAt(erased.body, "erasure_id");
    assert.equal((await workspace.send("GET", `/v1/profiles/${profileId}`)).status, 404);
    assert.deepEqual(listAt((await lookup()).body, "profiles"), []);
    for (const eventId of events) {
      const { body } = await workspace.send("GET", `/v1/events/${eventId}`);
      assert.deepEqual([body["status"], body["reason"], body["payload"]], ["dropped", "erased", null]);
    }

    const again = await workspace.send("DELETE", `/v1/profiles/${profileId}`);
    assert.deepEqual([again.status, again.body["erasure_id"]], [202, erasureId]);
    const { body: receipt } = await completed(workspace, erasureId);
    assert.equal(receipt["status"], "completed");
    assert.deepEqual(receipt["identifiers"], { email: 1, cookie_id: 1 });
    assert.deepEqual([at(receipt, "removed.events"), at(receipt, "removed.facets")], [2, 1]);
    assert.equal((await workspace.send("GET", `/v1/events/${other}`)).body["status"], "folded");
    const check = await workspace.send("POST", "/v1/erasures/check", {
      identifiers: [email("Ada@Example.com"), cookie("c-1"), email("bob@example.com")],
    });
    assert.deepEqual(
      listAt(check.body, "identifiers").map((one) => [at(one, "erasure_id"), at(one, "in_profile")]),
      [
        [erasureId, false],
        [erasureId, false],
        [null, true],
      ],
    );
  });

  it("keep a suppressed person out whatever comes, until they are readmitted", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    const erased = await workspace.send("POST", "/v1/erasures", {
      identifiers: [email("ada@example.com"), cookie("c-1")],
      suppress: true,
    });
    assert.equal(erased.status, 202, erased.text);
    const erasureId = textAt(erased.body, "erasure_id");
    const alone = await workspace.send("POST", "/v1/identify", { identifiers: [email("Ada@example.com")] });
    assert.equal(alone.status, 422, alone.text);
    const beside = await workspace.send("POST", "/v1/identify", {
      identifiers: [email("bob@example.com"), cookie("c-1")],
    });
    assert.equal(beside.status, 200, beside.text);
    assert.deepEqual(beside.body["dropped"], [{ identifier: cookie("c-1"), rule: "suppressed" }]);
    const alias = { anonymous: cookie("c-1"), known: email("bob@example.com") };
    assert.equal((await workspace.send("POST", "/v1/alias", alias)).status, 422);
    const event = await workspace.collect(schemaId, { email: "ada@example.com", city: "London" });
    const { body } = await workspace.settled(event.body["event_id"], "dropped");
    assert.deepEqual([body["status"], body["reason"]], ["dropped", "erased"]);
    const receipt = () => workspace.send("GET", `/v1/erasures/${erasureId}`);
    const counted = await until(receipt, (answer) => at(answer.body, "late.events") === 1);
    assert.equal(at(counted.body, "late.events"), 1);

    const readmitted = await workspace.send("POST", `/v1/erasures/${erasureId}/readmit`);
    assert.equal(readmitted.status, 200, readmitted.text);
    assert.notEqual(readmitted.body["readmitted_at"], null);
    const again = await workspace.send("POST", "/v1/identify", { identifiers: [email("ada@example.com")] });
    assert.equal(again.status, 200, again.text);
    assert.equal((await workspace.send("POST", `/v1/erasures/${erasureId}/readmit`)).text, readmitted.text);
  });

  it("take what never folds from whom it names behind a shared identifier, and keep it away", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/namespaces/email", { limit: 1 });
    await workspace.send("PUT", "/v1/identity/settings", { shared_identifier_limit: 2 });
    const properties = {
      email: { type: "string", "x-identity": { namespace: "email" } },
      customer: { type: "string", "x-identity": { namespace: "user_id" } },
    };
    const [order, visit] = [
      await workspace.schema({ title: "order", properties }),
      await workspace.schema({ title: "visit", properties }, false),
    ];
    const walkIn = (name: string) => ({ customer: "walk-in", email: `${name}@example.com` });
    for (const name of ["bob", "cat", "dan"])
      await workspace.settled((await workspace.collect(order, walkIn(name))).body["event_id"]);
    const [adas, bobs] = [await workspace.collect(visit, walkIn("ada")), await workspace.collect(visit, walkIn("bob"))];
    for (const { body } of [adas, bobs]) await workspace.settled(body["event_id"], "stored");
    const statusOf = async ({ body }: Answer): Promise<unknown> =>
      (await workspace.send("GET", `/v1/events/${textAt(body, "event_id")}`)).body["status"];

    const asked = { identifiers: [email("ada@example.com")], suppress: true };
    const erased = await workspace.send("POST", "/v1/erasures", asked);
    assert.equal(erased.status, 202, erased.text);
    assert.deepEqual([await statusOf(adas), await statusOf(bobs)], ["dropped", "stored"]);
    const { body: receipt } = await completed(workspace, erased.body["erasure_id"]);
    assert.equal(at(receipt, "removed.events"), 1);
    const later = await workspace.collect(visit, walkIn("ada"));
    assert.equal((await workspace.settled(later.body["event_id"], "dropped")).body["status"], "dropped");
  });

  it("count who is named twice once", async () => {
    const workspace = await app().workspace();
    await workspace.schema();
    const identifiers = [email("Ada@Example.com"), email("ada@example.com"), cookie("c-1"), cookie("c-1")];
    const preview = await workspace.send("POST", "/v1/erasures?dry_run=true", { identifiers });
    assert.deepEqual(at(preview.body, "identifiers"), { email: 1, cookie_id: 1 }, preview.text);
    const erased = await workspace.send("POST", "/v1/erasures", { identifiers });
    const { body: receipt } = await completed(workspace, textAt(erased.body, "erasure_id"));
    assert.deepEqual(receipt["identifiers"], { email: 1, cookie_id: 1 });
  });

  it("refuse what they cannot read, and know only their own workspace", async () => {
    const [workspace, other] = [await app().workspace(), await app().workspace()];
    const identified = await workspace.send("POST", "/v1/identify", { identifiers: [email("ada@example.com")] });
    const profileId = textAt(identified.body, "profile_id");
    const erase = (body: unknown) => workspace.send("POST", "/v1/erasures", body);
    const wrong: readonly (readonly [unknown, number, string])[] = [
      [{}, 422, "profile_id"],
      [{ profile_id: profileId, identifiers: [email("ada@example.com")] }, 422, "identifiers"],
      [{ identifiers: [email("nobody")] }, 422, "identifiers.0.value"],
      [{ identifiers: [{ namespace: "E mail", value: "x" }] }, 422, "identifiers.0.namespace"],
      [{ identifiers: [] }, 422, "identifiers"],
    ];
    for (const [body, status, path] of wrong) {
      const answer = await erase(body);
      assert.deepEqual([answer.status, at(answer.body, "errors.0.path")], [status, path], answer.text);
    }
    assert.equal((await other.send("DELETE", `/v1/profiles/${profileId}`)).status, 404);
    assert.equal((await other.send("POST", "/v1/erasures", { profile_id: profileId })).status, 404);
    await workspace.send("POST", "/v1/identify", { identifiers: [email("bob@example.com")] });
    const both = { identifiers: [email("ada@example.com"), email("bob@example.com")] };
    for (const several of [
      await erase(both),
      await workspace.send("POST", "/v1/erasures?dry_run=true", both),
      await workspace.send("POST", "/v1/erasures", both, { "If-Match": '"seen"' }),
    ]) {
      assert.equal(several.status, 409, several.text);
      assert.equal(listAt(several.body, "profile_ids").length, 2);
    }
    const erasureId = textAt((await erase({ profile_id: profileId })).body, "erasure_id");
    for (const method of ["GET", "POST"] as const) {
      const target = `/v1/erasures/${erasureId}${method === "POST" ? "/readmit" : ""}`;
      assert.equal((await other.send(method, target)).status, 404, target);
      assert.equal((await workspace.as("editor", method, target)).status, 403, target);
    }
    assert.deepEqual(listAt((await other.send("GET", "/v1/erasures")).body, "erasures"), []);
    const check = await other.send("POST", "/v1/erasures/check", { identifiers: [email("ada@example.com")] });
    assert.equal(at(check.body, "identifiers.0.erasure_id"), null);
  });
});
