import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLog } from "../../app/logger.js";
import { AppError } from "../../core/errors.js";
import { newId, type WebhookId, type WorkspaceId } from "../../core/ids.js";
import { createWebhookTask, type WebhookDeps } from "../../keeper/webhooks/task.js";
import { aWebhook } from "../contracts/catalog/webhook-store.contract.js";

/** As many webhooks that are always behind, so many in each workspace; all turns that were begun end with `endTurns`. */
function crowd(count: number, perWorkspace: number, sizes: (at: number) => Promise<unknown> = async () => null) {
  const workspaces = Array.from({ length: Math.ceil(count / perWorkspace) }, () => newId<WorkspaceId>());
  let asked = 0;
  const ids = Array.from({ length: count }, () => newId<WebhookId>()).toSorted();
  // Where it stands in the feed says which one it is.
  const all = ids.map((webhookId, n) => {
    const workspace = workspaces[Math.floor(n / perWorkspace)]!;
    const webhook = aWebhook(workspace, { webhookId, delivered: n });
    const ask = (): WorkspaceId => ((asked += 1), workspace);
    return Object.defineProperty(webhook, "workspace", { get: ask });
  });
  const turns = all.map(() => 0);
  const ends: (() => void)[] = [];
  const deps = {
    webhooks: {
      openWebhooks: async ({ limit, after }: { readonly limit: number; readonly after: WebhookId | null }) =>
        all.filter(({ webhookId }) => webhookId > (after ?? "")).slice(0, limit),
    },
    seats: {
      sizes: async (workspace: WorkspaceId) => {
        await sizes(workspaces.indexOf(workspace));
        return { head: count };
      },
      feed: async (_: WorkspaceId, delivered: number) => {
        turns[delivered]! += 1;
        await new Promise<void>((resolve) => ends.push(resolve));
        return { head: count, oldest: 1, entries: [] };
      },
    },
    now: () => 1,
    log: silentLog,
    isAlone: true,
  } as unknown as WebhookDeps;
  const task = createWebhookTask(deps);
  /** The turns that began first. */
  const end = (max = Infinity): number => {
    const ending = ends.splice(0, max);
    for (const one of ending) one();
    return ending.length;
  };
  return {
    task,
    end,
    asked: () => asked,
    /** A round, and then all that it began. */
    round: async () => {
      while ((await task.step()) === 0);
      end();
      await sleep(2);
    },
    turns,
  };
}

describe("Webhooks that are all behind", () => {
  it("of one workspace have turns alike, however many they are", async () => {
    const { round, turns } = crowd(5, 5);
    for (let n = 0; n < 10; n += 1) await round();
    assert.ok(Math.min(...turns) >= 8 && Math.max(...turns) - Math.min(...turns) <= 1, String(turns));
  });

  it("of many workspaces have turns alike, also where they are many pages", async () => {
    const { round, turns } = crowd(320, 4);
    for (let n = 0; n < 5; n += 1) await round();
    assert.ok(Math.min(...turns) >= 1 && Math.max(...turns) <= 2, String(turns));
  });

  it("have a turn in the same round where the others' end soon", async () => {
    const { round, end, turns } = crowd(640, 4);
    await round();
    for (let ended = 1; ended > 0; await sleep(2)) ended = end();
    assert.deepEqual(new Set(turns), new Set([1]));
  });

  it("have one turn at a time, also where one that waited begins while a round goes on", async () => {
    let gate = Promise.resolve();
    const { task, end, turns } = crowd(6, 5, async (at) => (at === 1 ? gate : null));
    await task.step();
    assert.deepEqual(turns, [1, 1, 1, 1, 0, 1]);
    let open = (): void => undefined;
    gate = new Promise((resolve) => (open = resolve));
    const round = task.step();
    await sleep(2);
    end(1);
    await sleep(2);
    assert.deepEqual(turns, [1, 1, 1, 1, 1, 1]);
    open();
    await round;
    end(1);
    await sleep(2);
    assert.deepEqual(turns, [1, 1, 1, 1, 1, 1]);
  });

  it("are not all gone through at each end of a turn", async () => {
    const { round, end, asked } = crowd(5_000, 4);
    await round();
    const before = asked();
    for (let n = 0; n < 10; n += 1) {
      end();
      await sleep(2);
    }
    assert.ok(asked() - before < 100_000, `${asked() - before} were asked about`);
  });

  it("are as far behind as they were while their feed is away", async () => {
    let isAway = false;
    const away = new AppError("unavailable", "It is away.");
    const { task, round } = crowd(1, 1, async () => assert.ok(!isAway, away));
    await round();
    await sleep(50);
    isAway = true;
    await assert.rejects(round(), away);
    assert.ok(task.lagMs() >= 50);
  });

  it("are held up by no workspace whose feed is away, and the keeper waits where all are", async () => {
    const away = new AppError("unavailable", "It is away.");
    const one = crowd(20, 4, async (at) => assert.ok(at !== 2, away));
    await one.round();
    assert.deepEqual(
      one.turns.map((turns, n) => turns - Number(n < 8 || n >= 12)),
      one.turns.map(() => 0),
    );
    await assert.rejects(crowd(20, 4, async () => assert.fail(away)).round(), away);
  });
});
