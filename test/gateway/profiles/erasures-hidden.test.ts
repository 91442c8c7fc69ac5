import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import {
  at,
  listAt,
  SIGNUP_SCHEMA,
  textAt,
  until,
  useApp,
  type Answer,
  type TestWorkspace,
} from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";

/** The keeper finds no erasure that is open, so all that is stored stays there, and what is not shown is hidden. */
describe("Between the answer to an erasure and its end", () => {
  const app = useApp(
    {},
    { wrap: (backends) => ({ ...backends, graph: { ...backends.graph, openErasures: async () => [] } }) },
  );
  const secret = `canary${randomBytes(8).toString("hex")}`;
  const [EMAIL, COOKIE, OTHER] = [
    { namespace: "email", value: `${secret}@example.com` },
    { namespace: "cookie_id", value: `${secret}-cookie` },
    { namespace: "email", value: "bob@example.com" },
  ];
  let workspace: TestWorkspace;
  let profileId: string;
  let [folded, kept, letter, died, change] = ["", "", "", "", ""];

  const targets = (): readonly (readonly [method: string, target: string, body?: unknown])[] => [
    ["GET", "/v1/events"],
    ["GET", "/v1/events?status=folded"],
    ["GET", "/v1/events?status=stored"],
    ["GET", `/v1/events/${folded}`],
    ["GET", `/v1/events/${folded}?wait=1`],
    ["GET", `/v1/events/${kept}`],
    ["GET", `/v1/events/${died}`],
    ["GET", "/v1/dead-letters"],
    ["GET", "/v1/dead-letters?reason=quarantined"],
    ["GET", `/v1/dead-letters/${letter}`],
    ["GET", "/v1/changes"],
    ["GET", `/v1/changes/${change}`],
    ["GET", "/v1/profiles"],
    ["GET", `/v1/profiles/${profileId}`],
    ["GET", `/v1/profiles/${profileId}/traits`],
    ["GET", `/v1/profiles/${profileId}/events`],
    ["GET", `/v1/profiles/${profileId}/identifiers`],
    ["GET", `/v1/profiles/${profileId}/graph`],
    ["GET", `/v1/profiles/${profileId}/history`],
    ["POST", "/v1/profiles/search", { rule: { "traits.city": `${secret}-city` } }],
    ["POST", "/v1/profiles/top", { trait: "city", limit: 10 }],
    ["GET", "/v1/identity/forbidden-pairs"],
    ["GET", "/v1/identity/shared-identifiers"],
    ["GET", "/v1/exports/events"],
    ["GET", "/v1/exports/profiles"],
    ["GET", "/v1/exports/links"],
    ["GET", "/v1/exports/changes"],
    ["GET", "/v1/stats"],
  ];
  const showing = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for (const [method, target, body] of targets())
      if ((await workspace.send(method, target, body)).text.includes(secret)) found.push(target);
    return found;
  };

  before(async () => {
    workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { unplanned: "quarantine" });
    const payload = { email: EMAIL.value, cookie: COOKIE.value, city: `${secret}-city` };
    folded = textAt((await workspace.collect(await workspace.schema(), payload)).body, "event_id");
    kept = textAt((await workspace.collect(await workspace.schema(SIGNUP_SCHEMA, false), payload)).body, "event_id");
    await workspace.settled(folded);
    await workspace.settled(kept, "stored");
    const identified = await workspace.send("POST", "/v1/identify", { identifiers: [OTHER] });
    assert.equal(identified.status, 200);
    const pair = { from: COOKIE, to: OTHER, forbid: true };
    assert.equal((await workspace.send("POST", "/v1/identity/unlink", pair)).status, 200);
    const door = openSdkDoor(app());
    const item = { type: "track", event: "Unknown", messageId: randomUUID(), properties: { note: secret } };
    await door.send(workspace, [{ ...item, context: { traits: { email: EMAIL.value } } }]);
    await door.close();
    const letters = await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ body }) => listAt(body, "dead_letters").length === 1,
    );
    letter = textAt(letters.body, "dead_letters.0.dead_letter_id");
    died = textAt(letters.body, "dead_letters.0.event_id");
    const lookup = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [EMAIL] });
    profileId = textAt(lookup.body, "profiles.0.profile_id");
    change = textAt((await workspace.send("GET", `/v1/profiles/${profileId}/history`)).body, "changes.0.change_id");
  });

  it("no route shows the person, by any id or identifier, and before it these did", async () => {
    const before = await showing();
    const hiding = targets().map(([, target]) => target);
    const never = new Set([
      "/v1/dead-letters",
      "/v1/dead-letters?reason=quarantined",
      "/v1/identity/shared-identifiers",
      "/v1/stats",
    ]);
    assert.deepEqual(
      before,
      hiding.filter((target) => !never.has(target)),
    );
    const erased: Answer = await workspace.send("DELETE", `/v1/profiles/${profileId}`);
    assert.equal(erased.status, 202, erased.text);
    assert.deepEqual(await showing(), []);
    assert.deepEqual(listAt((await workspace.send("GET", "/v1/dead-letters")).body, "dead_letters"), []);
    assert.equal((await workspace.send("GET", `/v1/dead-letters/${letter}`)).status, 404);
    const replayed = await workspace.send("POST", "/v1/dead-letters/replay", { dead_letter_ids: [letter] });
    assert.deepEqual([at(replayed.body, "replayed"), at(replayed.body, "skipped.0.why")], [0, "erased"], replayed.text);
    assert.equal((await workspace.send("GET", `/v1/events/${died}`)).status, 404, "it is in a letter alone");
    for (const eventId of [folded, kept])
      assert.equal((await workspace.send("GET", `/v1/events/${eventId}`)).body["status"], "dropped");
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [EMAIL, COOKIE] });
    assert.deepEqual(listAt(body, "profiles"), []);
    const explain = await workspace.send("POST", "/v1/identity/explain", { from: EMAIL, to: COOKIE });
    assert.equal(explain.status, 404, explain.text);
  });
});
