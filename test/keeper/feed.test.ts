import assert from "node:assert/strict";
import { AppError } from "../../core/errors.js";
import { newId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { createFeedRetention } from "../../keeper/feed.js";
import { startApp } from "../support/service/app.js";

const DAY_MS = 86_400_000;

describe("Retention of the feed", () => {
  it("trims the feed of each workspace by its own time, in pieces, and keeps the last entry", async () => {
    const calls: string[] = [];
    const workspaces = [newId<WorkspaceId>(), newId<WorkspaceId>()];
    let left = 2;
    const task = createFeedRetention({
      seats: {
        feeds: async ({ after }) => workspaces.filter((one) => after === null || one > after),
        trim: async (workspace, before, _limit, now) => {
          calls.push(`${workspaces.indexOf(workspace)} ${before / DAY_MS} ${now! / DAY_MS}`);
          return workspace === workspaces[0] && (left -= 1) > 0;
        },
      },
      days: 30,
      now: (workspace) => (workspaces.indexOf(workspace) + 100) * DAY_MS,
    });
    while ((await task.step()) === 0);
    assert.deepEqual(calls, ["0 70 100", "0 70 100", "1 71 101"]);
    left = 1;
    assert.equal(await task.step(), 0);
    assert.equal(calls.at(-1), "0 70 100");
  });

  it("goes on with the others when a workspace fails, and comes back to it in the next walk", async () => {
    const workspaces = [newId<WorkspaceId>(), newId<WorkspaceId>(), newId<WorkspaceId>()];
    const calls: number[] = [];
    const task = createFeedRetention({
      seats: {
        feeds: async ({ after }) => workspaces.filter((one) => after === null || one > after),
        trim: async (workspace) => {
          calls.push(workspaces.indexOf(workspace));
          if (workspace === workspaces[1]) throw new AppError("damaged", "its rows are");
          return false;
        },
      },
      days: 30,
      now: () => 0,
    });
    const walk = async (): Promise<void> => {
      for (let pieces = 0; pieces < 9; pieces += 1) if ((await task.step().catch(() => 0)) > 0) return;
    };
    await walk();
    assert.deepEqual(calls, [0, 1, 2]);
    await walk();
    assert.deepEqual(calls, [0, 1, 2, 0, 1, 2]);
  });

  it("is done by the service, also where there never was an audience: after FEED_DAYS what was before is 410 feed_trimmed with oldest", async () => {
    let aheadMs = 0;
    const app = await startApp({ FEED_DAYS: "7" }, { ahead: () => aheadMs });
    try {
      const workspace = await app.workspace();
      const { seats } = app.service.backends;
      const profileId = newId<ProfileId>();
      for (const n of [1, 2, 3])
        await seats.append(workspace.id as WorkspaceId, `test ${n}`, [
          { type: "profile_erased", at: Date.now(), profileId },
        ]);
      aheadMs = 6 * DAY_MS;
      await app.service.keeper!.rest();
      assert.equal((await workspace.send("GET", "/v1/feed?after=0")).status, 200);
      aheadMs = 8 * DAY_MS;
      await app.service.keeper!.rest();
      const trimmed = await workspace.send("GET", "/v1/feed?after=0");
      assert.deepEqual([trimmed.status, trimmed.body["code"], trimmed.body["oldest"]], [410, "feed_trimmed", 3]);
      assert.equal((await workspace.send("GET", "/v1/feed?after=2")).status, 200);
    } finally {
      await app.close();
    }
  });
});
