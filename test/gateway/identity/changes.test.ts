import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { at, errorPaths, listAt, textAt, useApp, type Answer, type TestWorkspace } from "../../support/service/app.js";
import { device, id, identityCalls, user, type IdentityCalls } from "../../support/identity/calls.js";

const [ada, bob, phone, tablet] = [user("ada"), user("bob"), device("phone"), device("tablet")];
const idsOf = (changes: readonly unknown[]): readonly string[] => changes.map((change) => textAt(change, "change_id"));
const changeOf = ({ body }: Answer): string => textAt(body, "change_id");

describe("GET /v1/changes", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let calls: IdentityCalls;
  beforeEach(async () => {
    workspace = await app().workspace();
    calls = identityCalls(workspace);
  });

  it("lists every change, newest first, in pages that stay stable under new ones", async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift(changeOf(await calls.identify(ada, device(`d-${i}`))));
    assert.deepEqual(idsOf(await calls.changes()), made);
    const first = await calls.get("changes?limit=2");
    await calls.identify(bob);
    const rest = await calls.get(`changes?cursor=${textAt(first.body, "next_cursor")}`);
    const all = [...listAt(first.body, "changes"), ...listAt(rest.body, "changes")];
    assert.deepEqual([idsOf(all), rest.body["next_cursor"]], [made, null]);
  });

  it("shows who did what to whom: source, key, time, identifiers, and the profile ids before and after", async () => {
    const began = Date.now();
    const a = await calls.identify(ada);
    const b = await calls.identify(bob);
    const merge = await calls.alias(bob, ada);
    const { body, status } = await calls.get(`changes/${changeOf(merge)}`);
    assert.equal(status, 200);
    const { at: time, ...shown } = body;
    const ids = [a, b].map((answer) => textAt(answer.body, "profile_id"));
    assert.deepEqual(shown, {
      change_id: merge.body["change_id"],
      outcome: "merged",
      source: "alias",
      event_id: null,
      key_id: textAt((await calls.get("keys")).body, "keys.0.key_id"),
      identifiers: [bob, ada],
      before: ids,
      after: [ids[0]],
      dropped: [],
    });
    assert.ok(Date.parse(String(time)) >= began && Date.parse(String(time)) <= Date.now());
    assert.deepEqual((await calls.changes())[0], body);
  });

  it("names the event that linked", async () => {
    const schemaId = await workspace.schema();
    const sent = await workspace.collect(schemaId, { email: "e@example.com", cookie: "c" });
    const event = await workspace.settled(sent.body["event_id"]);
    const [change, ...more] = await calls.changes();
    assert.deepEqual([at(change, "source"), at(change, "event_id")], ["event", sent.body["event_id"]]);
    assert.deepEqual([at(change, "outcome"), at(change, "before")], ["created", []]);
    assert.deepEqual([at(change, "after"), at(change, "at")], [[event.body["profile_id"]], event.body["received_at"]]);
    assert.deepEqual(more, []);
  });

  it("has none of a repeat, which changes nothing", async () => {
    await calls.identify(ada, phone);
    await calls.identify(ada, phone);
    await calls.alias(phone, ada);
    assert.equal((await calls.changes()).length, 1);
  });

  it("filters by outcome; another word is 400, and a cursor is good for its filter alone", async () => {
    const created = [changeOf(await calls.identify(ada)), changeOf(await calls.identify(bob))];
    const merged = changeOf(await calls.identify(ada, bob));
    const unlinked = changeOf(await calls.unlink({ from: ada, to: bob }));
    const reverted = changeOf(await calls.revert(unlinked));
    const listed = { created: created.toReversed(), merged: [merged], unlinked: [unlinked], reverted: [reverted] };
    for (const [outcome, expected] of Object.entries(listed))
      assert.deepEqual(idsOf(await calls.changes(`?outcome=${outcome}`)), expected, outcome);
    for (const outcome of ["linked", "unchanged", "partial", "refused", "forbidden", "allowed"])
      assert.deepEqual(await calls.changes(`?outcome=${outcome}`), [], outcome);
    for (const outcome of ["", "Merged", "toString", "merged,created"]) {
      const answer = await calls.get(`changes?outcome=${outcome}`);
      assert.deepEqual(
        [answer.status, answer.body["code"], errorPaths(answer)],
        [400, "invalid_parameter", ["outcome"]],
      );
    }
    const cursor = textAt((await calls.get("changes?outcome=created&limit=1")).body, "next_cursor");
    assert.deepEqual(idsOf(await calls.changes(`?outcome=created&cursor=${cursor}`)), [created[0]]);
    for (const query of ["", "outcome=merged&"])
      assert.equal((await calls.get(`changes?${query}cursor=${cursor}`)).body["code"], "invalid_cursor");
  });

  it("keeps workspaces apart, and answers 404 for an unknown id", async () => {
    const made = changeOf(await calls.identify(ada));
    const other = identityCalls(await app().workspace());
    assert.deepEqual(await other.changes(), []);
    for (const target of [made, randomUUID(), "x", "%00"]) {
      const answer = await other.get(`changes/${target}`);
      assert.deepEqual([answer.status, answer.body["code"]], [404, "not_found"], target);
    }
  });
});

describe("GET /v1/profiles/{id}/history", () => {
  const app = useApp();
  let calls: IdentityCalls;
  beforeEach(async () => {
    calls = identityCalls(await app().workspace());
  });

  it("tells all that happened to a profile and to those that came into it, newest first", async () => {
    const a = await calls.identify(ada, phone);
    const b = await calls.identify(bob);
    await calls.identify(id("email", "stranger@example.com"));
    const merge = await calls.identify(bob, phone);
    const grown = await calls.identify(phone, tablet);
    const expected = [grown, merge, b, a].map(changeOf);
    for (const { body } of [a, b]) {
      const { body: history } = await calls.get(`profiles/${textAt(body, "profile_id")}/history`);
      assert.deepEqual([idsOf(listAt(history, "changes")), history["next_cursor"]], [expected, null]);
    }
    const [newest] = listAt((await calls.get(`profiles/${textAt(a.body, "profile_id")}/history`)).body, "changes");
    assert.deepEqual(newest, (await calls.get(`changes/${changeOf(grown)}`)).body);
  });

  it("stays with both sides when they are parted", async () => {
    const made = await calls.identify(ada, phone);
    const parted = await calls.unlink({ from: ada, to: phone });
    for (const profileId of listAt(parted.body, "profile_ids")) {
      const { body } = await calls.get(`profiles/${String(profileId)}/history`);
      assert.deepEqual(idsOf(listAt(body, "changes")), [changeOf(parted), changeOf(made)]);
    }
  });

  it("comes in pages, under the id as it was asked, also when the profile merges meanwhile", async () => {
    await calls.identify(user("older"));
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.unshift(changeOf(await calls.identify(ada, device(`d-${i}`))));
    const retired = String(await calls.profileOf(ada));
    const first = await calls.get(`profiles/${retired}/history?limit=2`);
    await calls.identify(ada, user("older"));
    const cursor = textAt(first.body, "next_cursor");
    const rest = await calls.get(`profiles/${retired}/history?cursor=${cursor}`);
    const listed = idsOf([...listAt(first.body, "changes"), ...listAt(rest.body, "changes")]);
    assert.deepEqual(
      listed.filter((change) => made.includes(change)),
      made,
    );
    const now = String(await calls.profileOf(ada));
    assert.equal((await calls.get(`profiles/${now}/history?cursor=${cursor}`)).body["code"], "invalid_cursor");
  });

  it("of an unknown id, and of a foreign one, is 404", async () => {
    const { body } = await calls.identify(ada);
    const other = identityCalls(await app().workspace());
    for (const target of [randomUUID(), "x", textAt(body, "profile_id")]) {
      const answer = await other.get(`profiles/${target}/history`);
      assert.deepEqual([answer.status, answer.body["code"]], [404, "not_found"], target);
    }
  });
});
