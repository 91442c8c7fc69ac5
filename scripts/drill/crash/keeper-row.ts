import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import { AppError } from "../../../core/errors.js";
import { decodeMessage, encodeMessage } from "../../../core/event/message.js";
import { andThen, eventually } from "../../shared/async.js";
import { openClient, requireAnswer, type Client, type Request } from "../../shared/client.js";
import type { Ground } from "../../shared/grounds.js";
import { beginLife, type Life } from "../process/life.js";
import { AUDIENCE_ROWS, doAudience, prepareAudience, requireAudience, type AudienceAct } from "./audience-rows.js";
import type { Moment, Step } from "./points.js";
import * as act from "./stage.js";
import type { Play, Stage } from "./stage.js";

/** One kill while something that was stored long ago is taken up again. */
export interface KeeperRow {
  readonly title: string;
  readonly does: "replay" | "retention" | "backfill" | AudienceAct;
  readonly at: readonly [step: Step, moment: Moment, call?: number];
}

const row = (does: keyof typeof SAYS, title: string, ...at: KeeperRow["at"]): KeeperRow => ({
  title: `killed ${title}: ${SAYS[does]}`,
  does,
  at,
});
const SAYS = {
  replay: "the event is folded once, and its letter is open no more",
  retention: "the event goes, its profile stays, and a retry is not counted",
  backfill: "the event is folded once",
};

export const KEEPER_TABLE: readonly KeeperRow[] = [
  row("replay", "before the publish of a replay", "publishAll", "before"),
  row("replay", "between the publish of a replay and its note", "note", "before"),
  row("replay", "in the note of a replay, before its commit", "note", "uncommitted"),
  row("replay", "between the note of a replay and the answer", "note", "committed"),
  row("retention", "before retention drops", "drop", "before"),
  row("retention", "in a drop, before its commit", "drop", "uncommitted"),
  row("retention", "between a drop and the next", "drop", "committed"),
  row("backfill", "before the fold of a backfill", "fold", "before"),
  row("backfill", "in the fold of a backfill, before its commit", "fold", "uncommitted"),
  row("backfill", "between the fold of a backfill and its note", "saveBackfill", "before"),
  row("backfill", "in the note of a backfill, before its commit", "saveBackfill", "uncommitted"),
  row("backfill", "between the note of a backfill and its end", "saveBackfill", "committed"),
  ...AUDIENCE_ROWS,
];

/** As in `SERVERS_TABLE`. */
export const KEEPER_SERVERS_TABLE: readonly KeeperRow[] = KEEPER_TABLE.map((one) => {
  const [step, moment, call = 1] = one.at;
  if (step === "fold") return { ...one, at: moment === "before" ? ["pin", "before"] : ["mark", "before"] };
  return { ...one, at: [step, moment === "uncommitted" ? "during" : moment === "committed" ? "after" : moment, call] };
});

const OLD_MS = 10 * 86_400_000;
const DYING_MS = 10_000;
const RESERVED_MS = 10_000;

const request = (stage: Stage, method: Request["method"], path: string, body?: object): Request => ({
  method,
  path,
  key: stage.site.key,
  ...(body !== undefined && { body }),
});

const datasetOf = async (client: Client, stage: Stage): Promise<string> => {
  const { datasets } = await requireAnswer<{ readonly datasets: readonly { readonly dataset_id: string }[] }>(
    client,
    200,
    request(stage, "GET", "/v1/datasets"),
  );
  return `/v1/datasets/${datasets[0]!.dataset_id}`;
};
const change = async (client: Client, stage: Stage, body: object): Promise<void> => {
  await requireAnswer(client, 200, request(stage, "PATCH", await datasetOf(client, stage), body));
};

/** What stands before the kill. */
const PREPARE: Readonly<Record<KeeperRow["does"], (stage: Stage) => Promise<void>>> = {
  replay: (stage) => {
    const dying = ({ events, ...others }: Backends): Backends => ({
      ...others,
      events: { ...events, fold: () => Promise.reject(new AppError("validation_failed", "It dies.")) },
    });
    return act.withService(
      stage.ground,
      async ({ client }) => {
        await act.retryEvent(client, stage);
        await act.untilSettled(client, stage, act.theEventId(stage), ["dead"]);
      },
      { settings: { WORKER_TRIES_MAX: "1" }, wrap: dying },
    );
  },
  retention: (stage) => {
    const old = (message: Buffer): Buffer => {
      const decoded = decodeMessage(message);
      assert.ok(decoded.kind === "event");
      return encodeMessage({ ...decoded.event, receivedAt: decoded.event.receivedAt - OLD_MS });
    };
    const aging = ({ queue, ...others }: Backends): Backends => ({
      ...others,
      queue: { ...queue, publish: (message) => queue.publish(old(message)) },
    });
    return act.withService(
      stage.ground,
      async (play) => {
        await act.retryEvent(play.client, stage);
        await act.requireFoldedOnce(play, stage);
      },
      { wrap: aging },
    );
  },
  backfill: (stage) =>
    act.withService(stage.ground, async ({ client }) => {
      await change(client, stage, { unified_profile: false });
      await act.retryEvent(client, stage);
      await act.untilSettled(client, stage, act.theEventId(stage), ["stored"]);
      await change(client, stage, { unified_profile: true });
    }),
  look: (stage) => prepareAudience(stage, "look"),
  build: (stage) => prepareAudience(stage, "build"),
  delete: (stage) => prepareAudience(stage, "delete"),
  erase: (stage) => prepareAudience(stage, "erase"),
};

/** What makes the doomed process come to the point. */
const DO: Readonly<Record<KeeperRow["does"], (client: Client, stage: Stage, doomed: Life) => Promise<unknown>>> = {
  replay: async (client, stage) => {
    const answer = await client.send(request(stage, "POST", "/v1/dead-letters/replay", {})).catch(() => null);
    assert.equal(answer, null, "the client must not get an answer");
  },
  retention: async (client, stage, doomed) => {
    await change(client, stage, { retention_days: 1 });
    // It dies meanwhile.
    await Promise.race([doomed.ask("rest").catch(() => {}), doomed.ended]);
  },
  backfill: async (client, stage) =>
    requireAnswer(client, 202, request(stage, "POST", `${await datasetOf(client, stage)}/backfill`, {})),
  look: (client, stage) => doAudience(client, stage, "look"),
  build: (client, stage) => doAudience(client, stage, "build"),
  delete: (client, stage) => doAudience(client, stage, "delete"),
  erase: (client, stage) => doAudience(client, stage, "erase"),
};

/** What must be true in the end. */
const REQUIRE: Readonly<Record<KeeperRow["does"], (play: Play, stage: Stage) => Promise<void>>> = {
  replay: async (play, stage) => {
    const { client } = play;
    await act.untilAnswer(client, stage, 200, request(stage, "POST", "/v1/dead-letters/replay", {}));
    await act.requireFoldedOnce(play, stage);
    const open = request(stage, "GET", "/v1/dead-letters?state=open");
    const { dead_letters } = await requireAnswer<{ readonly dead_letters: readonly unknown[] }>(client, 200, open);
    assert.deepEqual(dead_letters, []);
  },
  retention: async ({ client, service }, stage) => {
    await service.keeper!.rest();
    const requireGone = async (): Promise<void> => {
      await act.untilSettled(client, stage, act.theEventId(stage), ["dropped"]);
      const { traits, event_count } = await act.requireProfile(client, stage);
      assert.deepEqual([traits, event_count], [{ city: "Oslo", score: 9, ops: 2, spent: 0.3 }, 2]);
    };
    await requireGone();
    await act.retryEvent(client, stage);
    await eventually(async () => assert.equal(await service.backends.queue.depth(), 0), stage.ground.settleMs, 5);
    await requireGone();
  },
  backfill: async (play, stage) => {
    const listed = request(stage, "GET", "/v1/backfills");
    const states = async (): Promise<readonly string[]> => {
      const { backfills } = await requireAnswer<{ readonly backfills: readonly { readonly state: string }[] }>(
        play.client,
        200,
        listed,
      );
      return backfills.map(({ state }) => state);
    };
    // What the dead process had reserved is left alone for some seconds.
    await eventually(async () => assert.deepEqual(await states(), ["done"]), RESERVED_MS + stage.ground.settleMs, 50);
    await act.requireFoldedOnce(play, stage);
  },
  look: (play, stage) => requireAudience(play, stage, "look"),
  build: (play, stage) => requireAudience(play, stage, "build"),
  delete: (play, stage) => requireAudience(play, stage, "delete"),
  erase: (play, stage) => requireAudience(play, stage, "erase"),
};

/** Kills a process at the row's point, and lets another one go on with what it left. Throws unless that comes to its end. */
export async function runKeeperRow(one: KeeperRow, openGround: () => Promise<Ground>): Promise<void> {
  const ground = await openGround();
  const run = async (): Promise<void> => {
    const stage = await act.prepare(ground);
    await PREPARE[one.does](stage);
    await crash(stage, one);
    await act.withService(ground, (play) => REQUIRE[one.does](play, stage));
  };
  await andThen(run, () => ground.drop());
}

async function crash(stage: Stage, { does, at: [step, moment, call = 1] }: KeeperRow): Promise<void> {
  const life = await beginLife({
    settings: { ...stage.ground.settings, MODE: "all" },
    kill: { kind: "step", step, moment, call },
  });
  if (!("url" in life)) throw new Error(`The service did not start: ${life.log}`);
  const client = openClient(life.url, 1);
  try {
    await DO[does](client, stage, life);
    const ending = await Promise.race([life.ended, sleep(DYING_MS, null, { ref: false })]);
    assert.equal(ending?.signal, "SIGKILL", "the process must have died at the point");
  } finally {
    life.kill();
    client.close();
    await life.ended;
  }
}
