import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { openBackends } from "../../../app/backends.js";
import { createLifecycle } from "../../../app/lifecycle.js";
import { silentLog } from "../../../app/logger.js";
import { readConfig } from "../../../core/config.js";
import { andThen, eventually } from "../../shared/async.js";
import { openClient, type Answer } from "../../shared/client.js";
import type { Ground } from "../../shared/grounds.js";
import { beginLife, type Life } from "../process/life.js";
import * as act from "./stage.js";
import type { Stage } from "./stage.js";
import type { CrashRow, Remains } from "./table.js";
import type { KillPoint } from "./points.js";

/**
 * Kills a process of the service at the row's point and goes on with what it left: the client retries what it got no answer for.
 * Throws unless the event or the link is there exactly once at the end.
 */
export async function runCrashRow(row: CrashRow, openGround: () => Promise<Ground>): Promise<void> {
  const ground = await openGround();
  const run = async (): Promise<void> => {
    const stage = await act.prepare(ground);
    const answer = await crash(stage, row);
    if (row.clientSaw === "answer") assert.equal(answer?.status, 202);
    else assert.equal(answer, null, "the client must not get an answer");
    if (row.remains) await requireRemains(stage, row.remains);
    await act.withService(ground, async (play) => {
      if (row.sends === "erasure") return act.requireErased(play.client, stage);
      if (row.sends === "identify") return act.retryIdentify(play.client, stage);
      if (row.sends === "batch") await act.retryBatch(play.client, stage);
      else if (row.clientSaw === "reset") await act.retryEvent(play.client, stage);
      return act.requireFoldedOnce(play, stage);
    });
  };
  await andThen(run, () => ground.drop());
}

const DYING_MS = 15_000;
const REQUESTS = {
  event: act.theEvent,
  batch: act.theBatch,
  identify: act.theIdentify,
  erasure: act.theErasure,
} as const;

/** Kills at the row's point. Null when the client got no answer. */
async function crash(stage: Stage, row: CrashRow): Promise<Answer | null> {
  const { at, mode } = row;
  const kill = at && ({ kind: "step", step: at[0], moment: at[1], call: at[2] ?? 1 } as const);
  const doomed = await begin(stage, mode, kill);
  // The client talks to another process where the worker dies alone.
  const gateway = mode === "worker" ? await begin(stage, "gateway", null) : doomed;
  const client = openClient(gateway.url, 1);
  try {
    const request = REQUESTS[row.sends](stage);
    const answer = await client.send(request).catch(() => null);
    if (kill === null) doomed.kill();
    const ending = await Promise.race([doomed.ended, sleep(DYING_MS, null, { ref: false })]);
    assert.equal(ending?.signal, "SIGKILL", "the process must have died at the point");
    return answer;
  } finally {
    doomed.kill();
    gateway.kill();
    client.close();
    await gateway.ended;
  }
}

async function begin(stage: Stage, mode: CrashRow["mode"], kill: KillPoint | null): Promise<Life> {
  const life = await beginLife({ settings: { ...stage.ground.settings, MODE: mode }, kill });
  if (!("url" in life)) throw new Error(`The service did not start: ${life.log}`);
  return life;
}

/** A broker takes a moment to see that the process is gone. */
const NOTICED_MS = 3_000;

/** Looks into what the dead process left, before anybody goes on with it. */
async function requireRemains(stage: Stage, wanted: Remains): Promise<void> {
  const lifecycle = createLifecycle(silentLog);
  try {
    const config = readConfig(stage.ground.settings);
    const { queue, events } = await openBackends(config, silentLog, lifecycle);
    const look = async (): Promise<void> => {
      const event = await events.find(stage.site.workspace, act.theEventId(stage));
      assert.deepEqual({ queued: await queue.depth(), event: event?.status ?? "none" }, wanted);
    };
    await eventually(look, NOTICED_MS);
  } finally {
    await lifecycle.close();
  }
}
