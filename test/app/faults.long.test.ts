import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import type { Backends } from "../../app/backends.js";
import { AppError } from "../../core/errors.js";
import { ownerKeyOf, run } from "../support/service/process.js";
import { at, listAt, send, startApp, textAt, until, type App, type TestWorkspace } from "../support/service/app.js";
import {
  collected,
  createHeldWorker,
  eventBody,
  profileOf,
  sqliteError,
  withApp,
  withFolder,
  withHeldApp,
  withHandler,
} from "../support/faults.js";
import { assertWithin } from "../support/house/yardstick.js";

const ADA = "ada@example.com";
const IDENTIFIERS = [
  { namespace: "email", value: ADA },
  { namespace: "user_id", value: "1" },
];

/** A disk whose every commit can be made to fail. */
function createDisk() {
  const disk = { failure: null as string | null, commits: 0 };
  const commit = (commit: () => void): void => {
    disk.commits += 1;
    if (disk.failure !== null) throw sqliteError(disk.failure);
    commit();
  };
  return Object.assign(disk, { commit });
}

/** A service with one event that its worker fails on: at the last step, because by then all else is written. */
async function startPoisoned() {
  const state = { poison: "", deliveries: 0 };
  const wrap = (backends: Backends): Backends => {
    const fold: Backends["events"]["fold"] = async (workspace, folds) => {
      if (folds.some(({ eventId }) => eventId === state.poison)) throw new AppError("validation_failed", "poison");
      return backends.events.fold(workspace, folds);
    };
    const counted = withHandler(backends, (handler) => (batch) => {
      if (batch.some(({ message }) => message.includes(state.poison))) state.deliveries += 1;
      return handler(batch);
    });
    return { ...counted, events: { ...backends.events, fold } };
  };
  const held = createHeldWorker();
  const app = await startApp({}, { wrap: (backends) => wrap(held.wrap(backends)) });
  const workspace = await app.workspace();
  const schemaId = await workspace.schema();
  const collect = (name: string) => collected(workspace, eventBody(schemaId, { email: `${name}@example.com` }));
  state.poison = await collect("poison");
  const neighbours = [await collect("a"), await collect("b"), await collect("c")];
  held.release();
  const since = performance.now();
  // Watched from now on: the tests that come first take time of their own.
  const parked = workspace
    .settled(state.poison, "dead")
    .then(({ body }) => ({ body, tookMs: performance.now() - since }));
  return { app, workspace, state, neighbours, since, parked };
}

describe("Under a fault the service", () => {
  let poisoned: Awaited<ReturnType<typeof startPoisoned>>;

  // First of all, because its tries take seconds, in which the other tests run.
  before(async () => {
    poisoned = await startPoisoned();
  });
  after(async () => {
    await poisoned.app.close();
  });

  it("lets the neighbours of a poison message through within a second", async () => {
    const { workspace, neighbours, since } = poisoned;
    for (const eventId of neighbours) assert.equal((await workspace.settled(eventId)).body["status"], "folded");
    const tookMs = performance.now() - since;
    await assertWithin(1_000, () => tookMs);
  });

  it("gives 503 for writes while the disk is full and says so by /readyz, still reads, and goes on when there is room again", async () => {
    const disk = createDisk();
    await withApp({}, { commit: disk.commit }, async (app) => {
      const workspace = await app.workspace();
      const schemaId = await workspace.schema();
      const first = await collected(workspace, eventBody(schemaId, { email: ADA, city: "Bern" }));
      await workspace.settled(first);
      disk.failure = "SQLITE_FULL";
      const second = eventBody(schemaId, { email: ADA, city: "Oslo" }, "2026-01-02T00:00:00Z");
      const refused = await workspace.send("POST", "/v1/collect", second, { "Idempotency-Key": "k" });
      assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "2"]);
      assert.equal((await workspace.send("POST", "/v1/identify", { identifiers: IDENTIFIERS })).status, 503);
      assert.equal((await workspace.send("GET", `/v1/events/${first}`)).status, 200);
      assert.deepEqual((await profileOf(workspace, ADA))?.traits, { city: "Bern" });
      await notReady(app, "disk is full");
      disk.failure = null;
      // Nobody writes, and it is ready again.
      const back = await until(
        () => app.send("GET", "/readyz"),
        ({ status }) => status === 200,
      );
      assert.deepEqual([back.status, back.body["reasons"]], [200, {}]);
      assert.equal((await workspace.settled(await collected(workspace, second, "k"))).body["status"], "folded");
      assert.equal((await workspace.send("POST", "/v1/identify", { identifiers: IDENTIFIERS })).status, 200);
      const profile = await profileOf(workspace, ADA);
      assert.deepEqual([profile?.traits, profile?.event_count], [{ city: "Oslo" }, 2]);
    });
  });

  it("goes on while no line of its log can be written", async () => {
    const full = await open("/dev/full", "w");
    await withFolder(async (folder) => {
      const program = run({ DATA_DIR: folder, LOG_LEVEL: "info" }, full.fd);
      try {
        const url = (await program.listening())!;
        const key = ownerKeyOf(program);
        for (let n = 0; n < 3; n += 1)
          assert.equal((await send(url, "POST", "/v1/collect", { key, body: {} })).status, 422, "a refusal is a line");
        assert.equal((await send(url, "GET", "/v1/schemas", { key })).status, 200);
        program.signal("SIGTERM");
        assert.equal(await program.exited(), 0);
      } finally {
        program.signal("SIGKILL");
        await full.close();
      }
    });
  });

  it("is read-only after an fsync error and tries no write again; a restart heals it", async () => {
    await withFolder(async (folder) => {
      const disk = createDisk();
      const left = { key: "", eventId: "", body: eventBody("", {}) };
      await withApp({ DATA_DIR: folder }, { commit: disk.commit }, async (app) => {
        const workspace = await app.workspace();
        left.key = await workspace.key("owner");
        left.body = eventBody(await workspace.schema(), { email: ADA });
        left.eventId = await collected(workspace, left.body);
        await workspace.settled(left.eventId);
        disk.failure = "SQLITE_IOERR_FSYNC";
        assert.equal((await workspace.send("POST", "/v1/collect", left.body)).status, 503);
        await checkReadOnly(app, workspace, disk, left);
      });
      await withApp({ DATA_DIR: folder }, {}, async (app) => {
        assert.equal((await app.send("GET", "/readyz")).status, 200);
        const { key, eventId, body } = left;
        assert.equal((await app.send("GET", `/v1/events/${eventId}`, { key })).body["status"], "folded");
        assert.equal((await app.send("POST", "/v1/collect", { key, body })).status, 202);
      });
    });
  });

  async function notReady(app: App, reason: string): Promise<void> {
    const { status, body, text } = await until(
      () => app.send("GET", "/readyz"),
      (answer) => answer.status === 503,
    );
    assert.deepEqual([status, body["status"], at(body, "checks.store")], [503, "not_ready", false], text);
    for (const part of ["queue", "store", "graph"]) assert.ok(textAt(body, `reasons.${part}`).includes(reason), text);
  }

  /** The disk works again: what was not written is not tried again all the same. */
  async function checkReadOnly(
    app: App,
    workspace: TestWorkspace,
    disk: ReturnType<typeof createDisk>,
    { eventId, body }: { readonly eventId: string; readonly body: unknown },
  ): Promise<void> {
    disk.failure = null;
    const { commits } = disk;
    const refused = await workspace.send("POST", "/v1/collect", body);
    assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "2"]);
    assert.equal((await workspace.send("GET", `/v1/events/${eventId}`)).status, 200);
    await notReady(app, "read-only until it is restarted");
    assert.equal((await app.send("GET", "/healthz")).status, 200);
    assert.equal(disk.commits, commits, "nothing may have been committed");
  }

  it("gives 503 at once when the queue is full, keeps what it has, and takes more when there is room", async () => {
    await withHeldApp({ QUEUE_LENGTH_MAX: "3" }, async (app, release) => {
      const workspace = await app.workspace();
      const schemaId = await workspace.schema();
      const accepted: string[] = [];
      for (const name of ["a", "b", "c"])
        accepted.push(await collected(workspace, eventBody(schemaId, { email: `${name}@example.com` })));
      const send = () => workspace.send("POST", "/v1/collect", eventBody(schemaId, { email: ADA }));
      const since = performance.now();
      const refused = await send();
      const tookMs = performance.now() - since;
      assert.deepEqual([refused.status, refused.headers["retry-after"]], [503, "2"]);
      await assertWithin(1_000, () => tookMs);
      await send();
      const told = app.records.filter((line) => line.includes("the queue is full"));
      assert.equal(told.length, 1, "one line for all");
      const ofRequests = app.records.filter((line) => line.includes(textAt(refused.body, "request_id")));
      assert.equal(ofRequests.length, 1);
      assert.doesNotMatch(ofRequests[0]!, /request failed|"place"/);
      release();
      for (const eventId of accepted) assert.equal((await workspace.settled(eventId)).body["status"], "folded");
      assert.equal((await until(send, ({ status }) => status === 202)).status, 202);
    });
  });

  it("stores what was queued under a key that is revoked meanwhile, which is 401 from then on", async () => {
    await withHeldApp({}, async (app, release) => {
      const workspace = await app.workspace();
      const body = eventBody(await workspace.schema(), { email: ADA });
      const { key, key_id } = (await workspace.send("POST", "/v1/keys", { role: "editor" })).body;
      const collect = () => app.send("POST", "/v1/collect", { key: String(key), body });
      const accepted = await collect();
      assert.equal(accepted.status, 202);
      await workspace.send("DELETE", `/v1/keys/${String(key_id)}`);
      assert.equal((await collect()).status, 401);
      release();
      assert.equal((await workspace.settled(accepted.body["event_id"])).body["status"], "folded");
      assert.equal((await profileOf(workspace, ADA))?.event_count, 1);
    });
  });

  it("folds by the schema version that an event was accepted with, whatever the schema became meanwhile", async () => {
    await withHeldApp({}, async (app, release) => {
      const workspace = await app.workspace();
      const schemaId = await workspace.schema();
      const eventId = await collected(workspace, eventBody(schemaId, { email: ADA, city: "Bern" }));
      const schema = {
        type: "object",
        required: ["town"],
        properties: { city: { type: "integer", "x-trait": { name: "number" } }, town: { type: "string" } },
      };
      const changed = { schema, compatibility: "none" };
      assert.equal((await workspace.send("POST", `/v1/schemas/${schemaId}/versions`, changed)).status, 201);
      release();
      const { body } = await workspace.settled(eventId);
      assert.deepEqual([body["status"], body["schema_version"]], ["folded", 1]);
      assert.deepEqual((await profileOf(workspace, ADA))?.traits, { city: "Bern" });
    });
  });

  it("cannot be made to pin a trait by a client whose clock is ahead: ten years are refused, hours are clamped", async () => {
    const clock = { ms: Date.UTC(2026, 0, 1) };
    const time = (ms: number): string => new Date(clock.ms + ms).toISOString();
    await withApp({}, { now: () => clock.ms }, async (app) => {
      const workspace = await app.workspace();
      const schemaId = await workspace.schema();
      const send = (city: string, aheadMs: number) =>
        workspace.send("POST", "/v1/collect", eventBody(schemaId, { email: ADA, city }, time(aheadMs)));
      assert.equal((await send("in ten years", 10 * 365 * 86_400_000)).status, 422);
      const early = await send("in 23 hours", 23 * 3_600_000);
      await workspace.settled(early.body["event_id"]);
      assert.deepEqual((await profileOf(workspace, ADA))?.traits, { city: "in 23 hours" });
      clock.ms += 6 * 60_000;
      await workspace.settled((await send("now", 0)).body["event_id"]);
      assert.deepEqual((await profileOf(workspace, ADA))?.traits, { city: "now" });
    });
  });

  it("parks a poison message with its reason within ten seconds and six tries", async () => {
    const { workspace, state, parked } = poisoned;
    const { body, tookMs } = await parked;
    assert.deepEqual([body["status"], body["reason"]], ["dead", "validation_failed"]);
    assert.ok(tookMs < 10_000, `${Math.round(tookMs)} ms`);
    assert.ok(state.deliveries >= 2 && state.deliveries <= 6, `${state.deliveries} deliveries`);
    const letters = listAt((await workspace.send("GET", "/v1/dead-letters")).body, "dead_letters");
    assert.deepEqual(
      letters.map((letter) => [at(letter, "event_id"), at(letter, "reason")]),
      [[state.poison, "validation_failed"]],
    );
  });
});
