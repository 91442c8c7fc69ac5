import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import { newId, type KeyId, type WorkspaceId } from "../../core/ids.js";
import { minuteOf, summarize, type StatCount } from "../../core/stats.js";
import { createRecorder } from "../../app/telemetry/recorder.js";
import { createMemoryStats } from "../../store/memory-stats.js";
import { statsStoreContract } from "../contracts/stats-store.contract.js";
import { at, listAt, textAt, useApp } from "../support/service/app.js";

const MINUTE = 29_500_000;
const NOW = MINUTE * 60_000;
const eventsOf = (counts: readonly StatCount[]): number => counts.reduce((sum, { events }) => sum + events, 0);

describe("StatsStore of one process", () => {
  for (const [sentence, check] of Object.entries(statsStoreContract)) it(sentence, () => check(createMemoryStats()));

  it("counts together what is beyond the combinations that a workspace may have", async () => {
    const store = createMemoryStats();
    const workspace = newId<WorkspaceId>();
    for (let n = 0; n < 700; n += 1)
      await store.add([
        { workspace, minute: MINUTE, keyId: `k${n}` as KeyId, schemaId: null, outcome: "accepted", events: 1 },
      ]);
    const counts = await store.read(workspace, MINUTE);
    assert.equal(counts.length, 501);
    assert.equal(counts.find(({ keyId }) => keyId === null)?.events, 200);
    assert.equal(eventsOf(counts), 700);
  });

  it("forgets the workspace that sent nothing for the longest time, when there is no room for all", async () => {
    const store = createMemoryStats(3);
    const workspaces = Array.from({ length: 4 }, () => newId<WorkspaceId>());
    const add = (workspace: WorkspaceId) =>
      store.add([{ workspace, minute: MINUTE, keyId: null, schemaId: null, outcome: "accepted", events: 1 }]);
    for (const workspace of [...workspaces.slice(0, 3), workspaces[0]!, workspaces[3]!]) await add(workspace);
    const known = await Promise.all(workspaces.map(async (one) => eventsOf(await store.read(one, MINUTE))));
    assert.deepEqual(known, [2, 0, 1, 1]);
  });
});

describe("The recorder of statistics", () => {
  const setUp = () => {
    const state = { now: NOW, isAway: false, takes: Infinity, added: [] as StatCount[], errors: [] as unknown[] };
    const recorder = createRecorder({
      store: {
        add: async (counts) => {
          if (state.isAway || state.takes === 0) throw new AppError("unavailable", "away");
          state.takes -= 1;
          state.added.push(...counts);
        },
      },
      now: () => state.now,
      onError: (error) => void state.errors.push(error),
    });
    return { state, recorder };
  };
  const workspace = newId<WorkspaceId>();
  const keyed = (keyId: string) => ({ workspace, keyId: keyId as KeyId });

  it("passes on each event once, in its minute", async () => {
    const { state, recorder } = setUp();
    for (const outcome of ["accepted", "accepted", "validation_failed"] as const)
      recorder.count(outcome, keyed("a"), "order");
    state.now += 60_000;
    recorder.count("accepted", keyed("a"), "order");
    await recorder.flush();
    await recorder.close();
    const rows = state.added.map(({ minute, keyId, schemaId, outcome, events }) => [
      minute - MINUTE,
      keyId,
      schemaId,
      outcome,
      events,
    ]);
    assert.deepEqual(rows, [
      [0, "a", "order", "accepted", 2],
      [0, "a", "order", "validation_failed", 1],
      [1, "a", "order", "accepted", 1],
    ]);
  });

  it("keeps what the store does not take, and passes it on later", async () => {
    const { state, recorder } = setUp();
    state.isAway = true;
    recorder.count("accepted", keyed("a"), null);
    await assert.rejects(recorder.flush());
    recorder.count("accepted", keyed("a"), null);
    state.isAway = false;
    await recorder.close();
    assert.equal(eventsOf(state.added), 2);
  });

  it("passes on a thousand counts at a time, and of those that one failure stops none twice", async () => {
    const { state, recorder } = setUp();
    for (let n = 0; n < 3; n += 1) {
      const one = newId<WorkspaceId>();
      for (let key = 0; key < 500; key += 1)
        recorder.count("accepted", { workspace: one, keyId: `k${n}-${key}` as KeyId }, null);
    }
    state.takes = 1;
    await assert.rejects(recorder.flush());
    assert.equal(eventsOf(state.added), 1_000);
    state.takes = Infinity;
    await recorder.close();
    assert.equal(eventsOf(state.added), 1_500);
  });

  it("counts without key and schema what is beyond the combinations of a minute", async () => {
    const { state, recorder } = setUp();
    for (let n = 0; n < 10_000; n += 1) recorder.count("accepted", keyed(`k${n}`), `s${n}`);
    recorder.count("accepted", { workspace: newId<WorkspaceId>(), keyId: "other" as KeyId }, "order");
    await recorder.close();
    assert.equal(eventsOf(state.added), 10_001);
    assert.equal(state.added.length, 502);
    assert.ok(state.added.some(({ keyId }) => keyId === "other"));
  });
});

describe("The summary of an hour", () => {
  it("leaves out what is older, and counts what a faster clock wrote as of now", () => {
    const workspace = newId<WorkspaceId>();
    const count = (minute: number): StatCount => ({
      workspace,
      minute,
      keyId: null,
      schemaId: null,
      outcome: "accepted",
      events: 1,
    });
    const { accepted, minutes } = summarize([count(MINUTE - 60), count(MINUTE - 59), count(MINUTE + 1)], MINUTE);
    assert.deepEqual([accepted, minutes.length, minutes[0]!.accepted, minutes[59]!.accepted], [2, 60, 1, 1]);
    assert.equal(minutes[59]!.minute, MINUTE);
  });

  it("says when something was accepted last: what was quarantined or refused since was not", () => {
    const count = (minute: number, outcome: StatCount["outcome"]): StatCount => ({
      workspace: newId<WorkspaceId>(),
      minute,
      keyId: null,
      schemaId: null,
      outcome,
      events: 1,
    });
    const counts = [
      count(MINUTE - 3, "accepted"),
      count(MINUTE - 2, "validation_failed"),
      count(MINUTE, "quarantined"),
    ];
    const [sender] = summarize(counts, MINUTE).senders;
    assert.deepEqual([sender?.lastAcceptedMinute, sender?.lastRejectedMinute], [MINUTE - 3, MINUTE - 2]);
  });
});

describe("GET /v1/stats", () => {
  const app = useApp();

  it("tells a workspace what each of its keys sent, by schema and code, and nothing of others", async () => {
    const [workspace, other] = [await app().workspace(), await app().workspace()];
    const schemaId = await workspace.schema();
    for (const email of ["ada@example.com", "bob@example.com"])
      assert.equal((await workspace.collect(schemaId, { email })).status, 202);
    assert.equal((await workspace.collect(schemaId, { email: 7 })).status, 422);
    assert.equal((await workspace.collect("no_such_schema", {})).status, 422);
    assert.equal((await workspace.inline(schemaId, { email: 7 })).status, 200);
    const { status, body } = await workspace.as("viewer", "GET", "/v1/stats");
    assert.equal(status, 200);
    assert.deepEqual(
      ["accepted", "quarantined", "rejected"].map((name) => at(body, name)),
      [2, 0, 2],
    );
    const senders = listAt(body, "senders").map((sender) => [at(sender, "schema_id"), at(sender, "codes")]);
    assert.deepEqual(
      new Map(senders as [string, unknown][]),
      new Map<unknown, unknown>([
        [schemaId, { validation_failed: 1 }],
        [null, { unknown_schema: 1 }],
      ]),
    );
    assert.equal(new Set(listAt(body, "senders").map((sender) => textAt(sender, "key_id"))).size, 1);
    assert.equal(listAt(body, "minutes").length, 60);
    const lastAt = Date.parse(textAt(body, "senders.0.last_rejected_at"));
    assert.ok(minuteOf(Date.now()) - minuteOf(lastAt) <= 1);
    const { body: others } = await other.as("viewer", "GET", "/v1/stats");
    assert.deepEqual([at(others, "accepted"), listAt(others, "senders")], [0, []]);
  });

  it("counts a quarantined item under the schema that its dead letter names", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/sdk/settings", { unplanned: "quarantine" });
    const key = await workspace.key("collect");
    const headers = { Authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` };
    const batch = [{ type: "track", event: "Not Planned", userId: "u-1" }, { type: "dance" }];
    assert.equal((await app().send("POST", "/v1/batch", { body: { batch }, headers })).status, 200);
    const { body } = await workspace.as("viewer", "GET", "/v1/stats");
    const senders = listAt(body, "senders").map((one) => [at(one, "schema_id"), at(one, "quarantined")]);
    assert.deepEqual(
      new Map(senders as [unknown, unknown][]),
      new Map<unknown, unknown>([
        ["sdk.track", 1],
        [null, 1],
      ]),
    );
  });

  it("counts refused calls of identify and alias too, by key and code, and no dry run", async () => {
    const workspace = await app().workspace();
    await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 });
    const [ada, bob] = ["ada", "bob"].map((value) => ({ namespace: "user_id", value }));
    const wrong = { identifiers: [{ namespace: "email", value: "" }] };
    for (const path of ["/v1/identify", "/v1/identify?dry_run=true"])
      assert.equal((await workspace.send("POST", path, wrong)).status, 422);
    for (const path of ["/v1/alias", "/v1/alias?dry_run=true"])
      assert.equal((await workspace.send("POST", path, { anonymous: ada, known: bob })).status, 409);
    assert.equal((await workspace.send("POST", "/v1/identify", { identifiers: [ada] })).status, 200);
    const { body } = await workspace.as("viewer", "GET", "/v1/stats");
    assert.deepEqual([at(body, "accepted"), at(body, "rejected"), listAt(body, "senders").length], [0, 2, 1]);
    assert.deepEqual(
      [at(body, "senders.0.schema_id"), at(body, "senders.0.codes")],
      [null, { validation_failed: 1, merge_refused: 1 }],
    );
  });
});
