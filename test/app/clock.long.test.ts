import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { keyIdOf } from "../../core/catalog/api-key.js";
import { createClock } from "../../core/clock.js";
import { newId, newIdsFrom } from "../../core/ids.js";
import { forge } from "../support/random/forge.js";
import { listAt, send, textAt, workspaceOf, type TestWorkspace } from "../support/service/app.js";
import { withApp, withFolder } from "../support/faults.js";
import { SERVERS } from "../support/servers/servers.js";

const HOUR_MS = 3_600_000;
const ADA = { namespace: "email", value: "ada@example.com" };
const COOKIE = { namespace: "cookie_id", value: "c-1" };

/** A machine's clock that a test can set; it stands still otherwise. */
const machine = (ms = Date.now()) => {
  const clock = { ms, now: () => clock.ms };
  return clock;
};

/** Unlinks the two, which were linked, and answers the change. */
async function unlinked(workspace: TestWorkspace): Promise<string> {
  assert.equal((await workspace.send("POST", "/v1/identify", { identifiers: [ADA, COOKIE] })).status, 200);
  const { status, body, text } = await workspace.send("POST", "/v1/identity/unlink", { from: ADA, to: COOKIE });
  assert.equal(status, 200, text);
  return textAt(body, "change_id");
}

/** Sends an event that names both, and answers it when it is folded. */
async function linkedAgain(workspace: TestWorkspace, schemaId: string): Promise<unknown> {
  const body = {
    schema_id: schemaId,
    timestamp: "2026-01-01T00:00:00Z",
    payload: { email: ADA.value, cookie: COOKIE.value },
  };
  const accepted = await workspace.send("POST", "/v1/collect", body);
  const event = (await workspace.settled(accepted.body["event_id"])).body;
  assert.deepEqual(event["dropped"], []);
  const { body: found } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers: [ADA] });
  assert.equal(listAt(found, "profiles.0.identifiers").length, 2);
  return event["received_at"];
}

/** The newest change comes first, and is no older than the ones before it. */
async function checkChanges(workspace: TestWorkspace, oldest: string): Promise<void> {
  const { body } = await workspace.send("GET", "/v1/changes");
  const changes = listAt(body, "changes");
  assert.equal(textAt(changes[1], "change_id"), oldest);
  assert.ok(textAt(changes[0], "change_id") > oldest);
  assert.ok(textAt(changes[0], "at") >= textAt(changes[1], "at"));
}

describe("A clock that is set back by an hour", () => {
  it("is not followed: what comes after an undo links again, and newer changes stand first", async () => {
    const clock = machine();
    await withApp({}, { now: clock.now }, async (app) => {
      const workspace = await app.workspace();
      const schemaId = await workspace.schema();
      const change = await unlinked(workspace);
      const before = new Date(clock.ms).toISOString();
      clock.ms -= HOUR_MS;
      assert.ok(String(await linkedAgain(workspace, schemaId)) >= before);
      await checkChanges(workspace, change);
    });
  });

  it("is not followed after a restart either", async () => {
    const clock = machine();
    await withFolder(async (folder) => {
      let left = { id: "", key: "", schemaId: "", change: "" };
      await withApp({ DATA_DIR: folder }, { now: clock.now }, async (app) => {
        const workspace = await app.workspace();
        const schemaId = await workspace.schema();
        const change = await unlinked(workspace);
        left = { id: workspace.id, key: await workspace.key("owner"), schemaId, change };
      });
      clock.ms -= HOUR_MS;
      await withApp({ DATA_DIR: folder }, { now: clock.now }, async (app) => {
        const workspace = workspaceOf(app.url, left.id, left.key);
        await linkedAgain(workspace, left.schemaId);
        await checkChanges(workspace, left.change);
      });
    });
  });

  it("is not followed after a restart, though the clock was days ahead before that", async () => {
    const clock = machine();
    await withFolder(async (folder) => {
      let left = { id: "", key: "", schemaId: "", change: "" };
      await withApp({ DATA_DIR: folder }, { now: clock.now }, async (app) => {
        const workspace = await app.workspace();
        left = { ...left, id: workspace.id, key: await workspace.key("owner"), schemaId: await workspace.schema() };
      });
      clock.ms -= 48 * HOUR_MS;
      await withApp({ DATA_DIR: folder }, { now: clock.now }, async (app) => {
        left = { ...left, change: await unlinked(workspaceOf(app.url, left.id, left.key)) };
      });
      const before = new Date(clock.ms).toISOString();
      clock.ms -= HOUR_MS;
      await withApp({ DATA_DIR: folder }, { now: clock.now }, async (app) => {
        const workspace = workspaceOf(app.url, left.id, left.key);
        assert.ok(String(await linkedAgain(workspace, left.schemaId)) >= before);
      });
    });
  });

  it("of one workspace may be ahead: its events and undos have its time, those of another one have not", async () => {
    const ahead = new Map<string, number>();
    await withApp({}, { ahead: (workspace) => ahead.get(workspace) ?? 0 }, async (app) => {
      const [shifted, other] = [await app.workspace(), await app.workspace()];
      ahead.set(shifted.id, 3 * 24 * HOUR_MS);
      const isAhead = async (workspace: TestWorkspace): Promise<readonly boolean[]> => {
        const schemaId = await workspace.schema();
        await unlinked(workspace);
        const received = String(await linkedAgain(workspace, schemaId));
        const { body } = await workspace.send("GET", "/v1/changes?outcome=unlinked");
        return [received, textAt(body, "changes.0.at")].map((at) => Date.parse(at) > Date.now() + HOUR_MS);
      };
      assert.deepEqual(
        [await isAhead(shifted), await isAhead(other)],
        [
          [true, true],
          [false, false],
        ],
      );
    });
  });

  it("keeps nobody out for longer than a minute: failed log-ins are counted by the machine's clock", async () => {
    const clock = machine();
    await withApp({ AUTH_FAILURES_PER_MINUTE: "3" }, { now: clock.now }, async (app) => {
      const key = await (await app.workspace()).key("viewer");
      const tryWith = async (tried: string) => (await send(app.url, "GET", "/v1/namespaces", { key: tried })).status;
      const wrong = forge(keyIdOf(key)!);
      clock.ms -= HOUR_MS;
      for (let n = 0; n < 3; n += 1) assert.equal(await tryWith(wrong), 401);
      assert.equal(await tryWith(wrong), 429);
      assert.equal(await tryWith(key), 429);
      clock.ms += 61_000;
      assert.equal(await tryWith(key), 200);
    });
  });

  // The embedded store has one process.
  if (SERVERS !== null)
    it("of one process among several is not followed: what it takes after an undo of another one links again", async () => {
      const late = machine(Date.now() - HOUR_MS);
      await withFolder(async (folder) => {
        const settings = { DATA_DIR: folder };
        await withApp(settings, {}, async (app) => {
          await withApp(settings, { now: late.now }, async (other) => {
            const workspace = await app.workspace();
            const schemaId = await workspace.schema();
            const change = await unlinked(workspace);
            // Each process asks for the others' time every second.
            await sleep(2_500);
            const seenByOther = workspaceOf(other.url, workspace.id, await workspace.key("owner"));
            await linkedAgain(seenByOther, schemaId);
            await checkChanges(seenByOther, change);
          });
        });
      });
    });

  it("moves time on by one with each undo, and does not follow what is more than a day ahead", () => {
    const base = machine(1_000);
    const clock = createClock(base.now);
    assert.deepEqual([clock.tick(), clock.now(), clock.tick(), clock.now()], [1_000, 1_001, 1_001, 1_002]);
    base.ms = 500;
    assert.equal(clock.now(), 1_002);
    clock.follow(5_000);
    assert.equal(clock.now(), 5_000);
    clock.follow(5_000 + 25 * HOUR_MS);
    assert.equal(clock.now(), 5_000);
    base.ms = 6_000;
    assert.equal(clock.now(), 6_000);
  });

  it("stops no running process for days: a time of its own that is more than a day ahead it takes back", () => {
    const base = machine(1_000);
    const clock = createClock(base.now);
    base.ms += 23 * HOUR_MS;
    const ahead = clock.now();
    base.ms = 1_000;
    assert.equal(clock.now(), ahead);
    base.ms += 48 * HOUR_MS;
    clock.now();
    base.ms = 2_000;
    assert.deepEqual([clock.now(), clock.tick(), clock.now()], [2_000, 2_000, 2_001]);
  });

  it("makes no new id that is smaller than an old one", () => {
    const ahead = Date.now() + 1_000;
    newIdsFrom(ahead);
    const ids = [newId(), newId()];
    assert.equal(parseInt(ids[0]!.slice(0, 8) + ids[0]!.slice(9, 13), 16), ahead);
    assert.ok(ids[0]! < ids[1]!);
    newIdsFrom(ahead - 10_000);
    assert.ok(newId() > ids[1]!);
  });
});
