import assert from "node:assert/strict";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withApp, withFolder } from "../support/faults.js";
import { copyStore } from "../support/files.js";
import { SERVERS } from "../support/servers/servers.js";
import { textAt, workspaceOf, type App, type TestWorkspace } from "../support/service/app.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const eventOf = (schemaId: string) => ({
  schema_id: schemaId,
  timestamp: "2020-01-01T00:00:00Z",
  payload: { email: "ada@example.com" },
});

/** The machine's clock and real time, which a test moves; both stand still otherwise. In the past: new ids of all tests follow the latest. */
const world = () => {
  const time = { ms: Date.now() - 100 * DAY_MS, steadyMs: 0 };
  const pass = (ms: number): void => {
    time.ms += ms;
    time.steadyMs += ms;
  };
  return { time, pass, options: { now: () => time.ms, steady: () => time.steadyMs } };
};

/** An event that is kept for two days; answers its id. */
async function keptFor2Days(app: App, workspace: TestWorkspace): Promise<string> {
  const schemaId = await workspace.schema();
  const { body } = await workspace.send("GET", "/v1/datasets");
  const path = `/v1/datasets/${textAt(body, "datasets.0.dataset_id")}`;
  assert.equal((await workspace.send("PATCH", path, { retention_days: 2 })).status, 200);
  const { body: accepted } = await workspace.send("POST", "/v1/collect", eventOf(schemaId));
  await workspace.settled(accepted["event_id"]);
  await app.service.keeper!.rest();
  return textAt(accepted, "event_id");
}

/** A service that has such an event, and was stopped. */
async function leaves(settings: Record<string, string>, options: ReturnType<typeof world>["options"]) {
  let left = { id: "", key: "", eventId: "" };
  await withApp(settings, options, async (app) => {
    const workspace = await app.workspace();
    const eventId = await keptFor2Days(app, workspace);
    left = { id: workspace.id, key: await workspace.key("owner"), eventId };
  });
  return left;
}

async function statusOf(app: App, workspace: TestWorkspace, eventId: string): Promise<string> {
  await app.service.keeper!.rest();
  return textAt((await workspace.send("GET", `/v1/events/${eventId}`)).body, "status");
}

const linesWith = (app: App, text: string) => app.records.filter((line) => line.includes(text));

describe("Retention while the clock is wrong", () => {
  it("deletes nothing for an hour after the clock went ahead, says so, and says what it deletes later", () => {
    const { time, pass, options } = world();
    return withApp({}, options, async (app) => {
      const workspace = await app.workspace();
      const eventId = await keptFor2Days(app, workspace);
      time.ms += 40 * DAY_MS;
      assert.equal(await statusOf(app, workspace, eventId), "folded");
      assert.equal(linesWith(app, "the clock went ahead").length, 2, "one for each task that deletes");
      time.ms -= 40 * DAY_MS;
      pass(30 * HOUR_MS);
      assert.equal(await statusOf(app, workspace, eventId), "folded");
      // The service's time does not go back with the machine's.
      time.ms += 20 * HOUR_MS;
      assert.equal((await workspace.send("POST", "/v1/collect", eventOf("none"))).status, 422);
      time.ms -= 20 * HOUR_MS;
      pass(HOUR_MS);
      assert.equal(await statusOf(app, workspace, eventId), "folded");
      assert.deepEqual(linesWith(app, "retention deleted"), []);
      pass(18 * HOUR_MS);
      assert.equal(await statusOf(app, workspace, eventId), "dropped");
      const [line] = linesWith(app, "retention deleted");
      assert.match(line!, new RegExp(`"workspace":"${workspace.id}".*"deleted":1`));
    });
  });

  it("deletes nothing for an hour after a clock went ahead since the last start, however often it is started in that hour", () =>
    withFolder(async (folder) => {
      const { time, pass, options } = world();
      const settings = { DATA_DIR: folder };
      const left = await leaves(settings, options);
      time.ms += 40 * DAY_MS;
      for (let starts = 0; starts < 2; starts += 1)
        await withApp(settings, options, async (app) => {
          const workspace = workspaceOf(app.url, left.id, left.key);
          assert.equal(await statusOf(app, workspace, left.eventId), "folded");
          pass(60_000);
        });
      await withApp(settings, options, async (app) => {
        const workspace = workspaceOf(app.url, left.id, left.key);
        assert.equal(await statusOf(app, workspace, left.eventId), "folded");
        pass(HOUR_MS);
        assert.equal(await statusOf(app, workspace, left.eventId), "dropped");
      });
    }));

  it("deletes again after an hour in all, also where no start lasts an hour; after a longer stop the hour begins anew", () =>
    withFolder(async (folder) => {
      const { pass, options } = world();
      const settings = { DATA_DIR: folder };
      const left = await leaves(settings, options);
      const statuses: string[] = [];
      const runs = (app: App): Promise<void> => {
        pass(25 * 60_000);
        const workspace = workspaceOf(app.url, left.id, left.key);
        return statusOf(app, workspace, left.eventId).then((status) => void statuses.push(status));
      };
      for (const stopMs of [3 * DAY_MS, 60_000, 2 * HOUR_MS, 60_000, 60_000]) {
        pass(stopMs);
        await withApp(settings, options, runs);
      }
      assert.deepEqual(statuses, ["folded", "folded", "folded", "folded", "dropped"]);
    }));

  it("does not take hours in which nobody asked the service anything for a stop", () =>
    withFolder(async (folder) => {
      const { pass, options } = world();
      const settings = { DATA_DIR: folder };
      const left = await leaves(settings, options);
      await withApp(settings, options, async () => {
        await sleep(2_500);
        pass(3 * HOUR_MS);
      });
      await withApp(settings, options, async (app) => {
        await statusOf(app, workspaceOf(app.url, left.id, left.key), left.eventId);
        assert.deepEqual(linesWith(app, "the clock went ahead"), []);
      });
    }));
});

// What several processes use, each of them writes every second.
if (SERVERS === null)
  describe("A service that nobody asks anything", () => {
    it("writes no time", () =>
      withApp({}, {}, async ({ service }) => {
        const beats = async (): Promise<number> => (await service.backends.catalog.timeKept()).beats;
        // What the start asked is kept within a second.
        await sleep(2_500);
        const before = await beats();
        await sleep(2_500);
        assert.equal(await beats(), before);
      }));

    it("deletes again after an hour in all, also where it is killed within the hour", () =>
      withFolder(async (folder) => {
        const { pass, options } = world();
        const [running, killed] = [path.join(folder, "running"), path.join(folder, "killed")];
        const left = await leaves({ DATA_DIR: running }, options);
        // What the start asked is kept within a second, and so is what it has waited.
        const waits = async (): Promise<void> => {
          await sleep(2_500);
          pass(35 * 60_000);
          await sleep(2_500);
        };
        pass(3 * DAY_MS);
        await withApp({ DATA_DIR: running }, options, async () => {
          await waits();
          await copyStore(running, killed);
        });
        pass(40 * 60_000);
        await withApp({ DATA_DIR: killed }, options, async (app) => {
          await waits();
          const workspace = workspaceOf(app.url, left.id, left.key);
          assert.equal(await statusOf(app, workspace, left.eventId), "dropped");
        });
      }));
  });
