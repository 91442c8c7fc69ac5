import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { encodeMessage } from "../../../core/event/message.js";
import type { EventId, KeyId, SchemaId, WorkspaceId } from "../../../core/ids.js";
import { deadLetterIdFor } from "../../../core/ids.js";
import type { EventRecord } from "../../../core/event/event.js";
import { temporaryFolder } from "../../support/backends.js";
import { anEvent } from "../../support/builders.js";
import { dropPlaces } from "../../support/house/places.js";
import { placesOf, SERVERS } from "../../support/servers/servers.js";
import { at, listAt, startApp, textAt, until, type App, type TestWorkspace } from "../../support/service/app.js";
import { openSdkDoor } from "../../support/service/sdk.js";
import { whereIs } from "../../support/erasure/stores.js";

const SCHEMA = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    user: { type: "string", "x-identity": { namespace: "user_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    first: { type: "string", "x-trait": { name: "first", merge: "first" } },
    tags: { type: "array", items: { type: "string", "x-trait": { name: "tags", merge: "union" } } },
    note: { type: "string" },
  },
};

/** Unique values in every place where a person can stand; each names its place. */
describe("The canary of an erasure", () => {
  const secret = `canary${randomBytes(8).toString("hex")}`;
  const value = (place: string): string => `${secret}-${place}`;
  const email = (place: string): string => `${secret}-${place}@example.com`;
  const EMAIL = { namespace: "email", value: email("person") };
  const [COOKIE, USER] = [
    { namespace: "cookie_id", value: value("cookie") },
    { namespace: "user_id", value: value("user") },
  ];
  const others = {
    email: { namespace: "email", value: "bob@example.com" },
    cookie: { namespace: "cookie_id", value: "c-bob" },
  };
  let folder: string;
  let app: App;
  let workspace: TestWorkspace;
  let door: ReturnType<typeof openSdkDoor>;
  let [folding, stored] = ["", ""];

  const where = () => whereIs(secret, folder, placesOf(folder));
  const collect = async (schemaId: string, payload: object, more: object = {}, headers = {}) => {
    const body = { schema_id: schemaId, timestamp: new Date().toISOString(), payload, ...more };
    return workspace.send("POST", "/v1/collect", body, headers);
  };
  const rested = async (): Promise<void> => {
    await until(
      async () => ({ status: await app.service.backends.queue.depth(), body: {}, headers: {}, text: "" }),
      ({ status }) => status === 0,
    );
  };
  const aRecord = (changes: Partial<EventRecord>): EventRecord =>
    anEvent({
      workspace: workspace.id as WorkspaceId,
      schemaId: folding as SchemaId,
      schemaVersion: 1,
      keyId: "testkey000" as KeyId,
      receivedAt: Date.now(),
      effectiveTs: new Date().toISOString().replace("Z", "000000Z"),
      ...changes,
    });

  before(async () => {
    folder = await temporaryFolder();
    app = await startApp({ DATA_DIR: folder });
    door = openSdkDoor(app);
    workspace = await app.workspace();
  });
  after(async () => {
    await door.close();
    await app.close();
    if (SERVERS !== null) await dropPlaces(placesOf(folder));
    await rm(folder, { recursive: true, force: true });
  });

  it("stands in every place where a person can stand", async () => {
    await workspace.send("PUT", "/v1/namespaces/email", { limit: 1 });
    await workspace.send("PUT", "/v1/sdk/settings", { unplanned: "quarantine", keep_rejects: true });
    folding = await workspace.schema(SCHEMA);
    stored = await workspace.schema(SCHEMA, false);
    const payload = { email: EMAIL.value, cookie: COOKIE.value, user: USER.value };
    const facts = { city: value("city"), first: value("first"), tags: [value("tag")], note: value("note") };
    const key = { "Idempotency-Key": "order-1" };
    const folded = textAt((await collect(folding, { ...payload, ...facts }, {}, key)).body, "event_id");
    const kept = textAt((await collect(stored, { ...payload, note: value("stored") })).body, "event_id");
    await workspace.settled(folded);
    await workspace.settled(kept, "stored");
    // A change that a rule cut short, a forbidden pair, and values that were seen with somebody else.
    for (const identifiers of [
      [others.email, others.cookie],
      [EMAIL, COOKIE, USER],
      [others.cookie, EMAIL],
    ])
      assert.ok((await workspace.send("POST", "/v1/identify", { identifiers })).status < 400);
    const apart = { from: USER, to: others.email, forbid: true };
    assert.equal((await workspace.send("POST", "/v1/identity/unlink", apart)).status, 200);
    // Quarantined, rejected, dead, and another body under the same key.
    const { quarantined } = await door.send(workspace, [
      { type: "track", event: "Nobody planned", userId: USER.value, messageId: randomUUID(), properties: facts },
      { type: "nothing", anonymousId: "x", userId: USER.value, messageId: value("message") },
    ]);
    assert.equal(quarantined, 2);
    assert.equal((await collect(folding, { ...payload, city: 1, note: value("reject") })).status, 422);
    const dying = aRecord({ identifiers: [EMAIL], payload: Buffer.from(JSON.stringify({ ...payload, ...facts })) });
    await app.service.backends.events.insert(dying.workspace, [dying]);
    await app.service.backends.events.bury({
      deadLetterId: deadLetterIdFor(dying.eventId, "event"),
      workspace: dying.workspace,
      eventId: dying.eventId,
      reason: "internal",
      at: Date.now(),
      message: encodeMessage(dying),
      killsEvent: true,
      times: 1,
      replayed: 0,
      replayedAt: null,
    });
    await app.service.backends.queue.publish(
      encodeMessage(aRecord({ eventId: folded as EventId, fingerprint: "another", identifiers: [EMAIL] })),
    );
    await rested();
    await until(
      () => workspace.send("GET", "/v1/dead-letters"),
      ({ body }) => listAt(body, "dead_letters").length === 5,
    );
    const letters = listAt((await workspace.send("GET", "/v1/dead-letters")).body, "dead_letters");
    assert.deepEqual(letters.map((one) => textAt(one, "reason")).toSorted(), [
      "idempotency_mismatch",
      "internal",
      "quarantined",
      "quarantined",
      "rejected",
    ]);
    assert.ok((await where()).length > 0, "it can be found");
  });

  it("is in no store, file or log once the erasure is completed, and nothing shows it from the answer on", async () => {
    const erased = await workspace.send("POST", "/v1/erasures", { identifiers: [EMAIL] });
    assert.equal(erased.status, 202, erased.text);
    const shown = await Promise.all(
      [
        "/v1/events",
        "/v1/dead-letters",
        "/v1/changes",
        "/v1/profiles",
        "/v1/identity/forbidden-pairs",
        "/v1/identity/shared-identifiers",
        "/v1/exports/events",
        "/v1/exports/profiles",
        "/v1/exports/links",
        "/v1/exports/changes",
        "/v1/erasures",
        "/v1/stats",
      ].map(async (target) => [target, (await workspace.send("GET", target)).text] as const),
    );
    for (const [target, text] of shown) assert.ok(!text.includes(secret), target);
    const erasureId = textAt(erased.body, "erasure_id");
    const receipt = await until(
      () => workspace.send("GET", `/v1/erasures/${erasureId}`),
      ({ body }) => body["status"] === "completed",
    );
    assert.equal(receipt.body["status"], "completed", receipt.text);
    assert.deepEqual(await where(), []);
    assert.deepEqual(
      app.records.filter((line) => line.includes(secret)),
      [],
    );
    assert.deepEqual(receipt.body["identifiers"], { email: 1, cookie_id: 1, user_id: 1 });
    assert.deepEqual(
      ["events", "facets", "dead_letters"].map((name) => at(receipt.body, `removed.${name}`)),
      [3, 1, 5],
    );
  });

  it("stays out when everything comes again: redelivered, replayed, backfilled, imported with its old times, and sent again", async () => {
    const [before] = listAt((await workspace.send("GET", "/v1/erasures")).body, "erasures");
    const [erasureId, erasedAt] = [textAt(before, "erasure_id"), Date.parse(textAt(before, "erased_at"))];
    const payload = { email: EMAIL.value, cookie: COOKIE.value, user: USER.value, city: value("city") };
    const identifiers = [USER, EMAIL, COOKIE];
    const old = new Date(erasedAt - 86_400_000).toISOString();
    const bytes = Buffer.from(JSON.stringify(payload));
    const times = { receivedAt: erasedAt - 1_000, effectiveTs: old.replace("Z", "000000Z"), timestamp: old };
    const { queue } = app.service.backends;
    // Messages from before the erasure: one that folds, one that does not, and one that only names the person second.
    for (const changes of [
      {},
      { folds: false, schemaId: stored as SchemaId },
      { identifiers: [{ ...COOKIE, value: value("new") }, EMAIL] },
    ])
      await queue.publish(encodeMessage(aRecord({ ...times, identifiers, payload: bytes, ...changes })));
    // History from a warehouse, with its own timestamps, by each door.
    const sent = await Promise.all([
      collect(folding, payload, { timestamp: old }),
      collect(stored, payload, { timestamp: old }),
      workspace.send("POST", "/v1/collect/batch", {
        events: [folding, stored].map((schemaId) => ({ schema_id: schemaId, timestamp: old, payload })),
      }),
    ]);
    assert.deepEqual(
      sent.map(({ status }) => status),
      [202, 202, 202],
    );
    await door.send(workspace, [
      { type: "identify", userId: USER.value, messageId: randomUUID(), timestamp: old, traits: { email: EMAIL.value } },
      { type: "track", event: "Nobody planned", userId: USER.value, messageId: randomUUID(), timestamp: old },
    ]);
    assert.equal((await collect(folding, { ...payload, city: 1 }, { timestamp: old })).status, 422);
    // A retry under the key of an event that is gone is answered as it was, and stores nothing.
    const retried = await collect(folding, payload, { timestamp: old }, { "Idempotency-Key": "order-2" });
    assert.equal(retried.status, 202);
    await rested();
    await workspace.settled(textAt(retried.body, "event_id"), "dropped");
    // What did not fold is to fold now.
    const datasets = listAt((await workspace.send("GET", "/v1/datasets")).body, "datasets");
    const dataset = textAt(
      datasets.find((one) => at(one, "schema_id") === stored),
      "dataset_id",
    );
    await workspace.send("PATCH", `/v1/datasets/${dataset}`, { unified_profile: true });
    assert.equal((await workspace.send("POST", `/v1/datasets/${dataset}/backfill`)).status, 202);
    const replayed = await workspace.send("POST", "/v1/dead-letters/replay", {});
    assert.deepEqual([replayed.status, at(replayed.body, "replayed")], [200, 0], replayed.text);
    await app.service.keeper!.rest();
    await rested();
    await app.service.backends.purge();
    assert.deepEqual(await where(), []);
    assert.deepEqual(
      app.records.filter((line) => line.includes(secret)),
      [],
    );
    const { body } = await workspace.send("GET", `/v1/erasures/${erasureId}`);
    assert.equal(at(body, "late.events"), 11, JSON.stringify(body));
    const found = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
    assert.deepEqual(listAt(found.body, "profiles"), []);
  });

  it("lets the person begin anew, with another profile and another id", async () => {
    const [before] = listAt((await workspace.send("GET", "/v1/erasures")).body, "erasures");
    const event = await collect(folding, { email: EMAIL.value, city: value("again") });
    await workspace.settled(textAt(event.body, "event_id"));
    const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [EMAIL, COOKIE] });
    const [profile] = listAt(body, "profiles");
    assert.deepEqual(at(profile, "identifiers"), [EMAIL]);
    assert.notEqual(textAt(profile, "profile_id"), textAt(before, "profile_id"));
    assert.deepEqual([at(profile, "traits"), at(profile, "event_count")], [{ city: value("again") }, 1]);
  });
});
