import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import { controlServers } from "../../servers/control.js";
import type { ServerName } from "../../servers/server.js";
import { andThen, createSignal } from "../../shared/async.js";
import type { Ground } from "../../shared/grounds.js";
import { openCuttable } from "../process/cuttable.js";
import { createKiller, type Step } from "./points.js";
import * as act from "./stage.js";
import type { Play, Stage } from "./stage.js";

type Servers = Awaited<ReturnType<typeof controlServers>>;

/** A row of the crash table in which a server ends, or a connection to it, and the service goes on. */
interface ServersRow {
  readonly title: string;
  readonly run: (stage: Stage, servers: Servers) => Promise<void>;
}

/** Throws unless the event or the link is there exactly once at the end. The servers run again after it. */
export async function runServersRow(
  row: ServersRow,
  instance: string,
  openGround: () => Promise<Ground>,
): Promise<void> {
  const servers = await controlServers(instance);
  const ground = await openGround();
  const mend = async (): Promise<void> => {
    servers.rabbitmq.resume();
    for (const name of ["rabbitmq", "mongodb", "neo4j"] as const) await servers[name].start();
    await ground.drop();
  };
  await andThen(async () => row.run(await act.prepare(ground), servers), mend);
}

const CONFIRM_MS = 5_000;
/** On a machine that does other things as well. */
const LATE_MS = 1_500;

async function brokerAfterConfirm(stage: Stage, { rabbitmq }: Servers): Promise<void> {
  const accepted = async ({ client }: Play): Promise<void> => {
    assert.equal((await client.send(act.theEvent(stage))).status, 202);
    await rabbitmq.kill();
  };
  // Without a worker, which might have it done before the kill.
  await act.withService(stage.ground, accepted, { settings: { MODE: "gateway" } });
  await rabbitmq.start();
  await act.withService(stage.ground, (play) => act.requireFoldedOnce(play, stage));
}

async function brokerBeforeConfirm(stage: Stage, { rabbitmq }: Servers): Promise<void> {
  await act.withService(stage.ground, async (play) => {
    rabbitmq.pause();
    const since = performance.now();
    const { status, headers } = await play.client.send(act.theEvent(stage));
    const tookMs = performance.now() - since;
    rabbitmq.resume();
    assert.deepEqual([status, headers["retry-after"]], [503, "2"]);
    assert.ok(Math.abs(tookMs - CONFIRM_MS) < LATE_MS, `503 after ${Math.round(tookMs)} ms`);
    await act.retryEvent(play.client, stage);
    await act.requireFoldedOnce(play, stage);
  });
}

/** The server ends when it was asked for a step and has not answered; the worker goes on by itself once it is back. */
const duringStep =
  (step: Step, name: ServerName) =>
  async (stage: Stage, servers: Servers): Promise<void> => {
    const { wrap, aroundFold, struck } = strikerOf(step, name, servers);
    const settleIt = async (play: Play): Promise<void> => {
      assert.equal((await play.client.send(act.theEvent(stage))).status, 202);
      await struck;
      await servers[name].start();
      await act.requireFoldedOnce(play, stage);
    };
    await act.withService(stage.ground, settleIt, { wrap, aroundFold });
  };

async function graphDuringIdentify(stage: Stage, servers: Servers): Promise<void> {
  const { wrap, struck } = strikerOf("link", "neo4j", servers);
  const retried = async ({ client }: Play): Promise<void> => {
    const { status, text } = await client.send(act.theIdentify(stage));
    assert.equal(status, 503, text);
    await struck;
    await servers.neo4j.start();
    await act.retryIdentify(client, stage);
  };
  await act.withService(stage.ground, retried, { wrap });
}

function strikerOf(step: Step, name: ServerName, servers: Servers) {
  const { give, given } = createSignal<Promise<void>>();
  const { aim, wrap, aroundFold } = createKiller(() => give(servers[name].kill()));
  aim({ kind: "step", step, moment: "during", call: 1 });
  return { wrap, aroundFold, struck: given };
}

/** A worker that was cut off goes on with its message while another one has it. */
async function twoWorkers(stage: Stage): Promise<void> {
  const way = await openCuttable(stage.ground.settings["RABBITMQ_URL"]!);
  const meeting = createMeeting(stage);
  const settings = { RABBITMQ_URL: way.url };
  const cutOff = async ({ client }: Play): Promise<void> => {
    assert.equal((await client.send(act.theEvent(stage))).status, 202);
    await meeting.arrived("first");
    way.cut();
    await act.withService(stage.ground, finish, { wrap: meeting.wrap("second") });
  };
  const finish = async (second: Play): Promise<void> => {
    await Promise.all([meeting.finished("first"), meeting.finished("second")]);
    way.restore();
    await act.requireFoldedOnce(second, stage);
  };
  const run = (): Promise<void> => act.withService(stage.ground, cutOff, { settings, wrap: meeting.wrap("first") });
  await andThen(run, way.close);
}

/** Holds each of two workers once it stored the event, until both have. */
function createMeeting(stage: Stage) {
  const signals = new Map<string, ReturnType<typeof createSignal<void>>>();
  const signal = (name: string): ReturnType<typeof createSignal<void>> => {
    if (!signals.has(name)) signals.set(name, createSignal());
    return signals.get(name)!;
  };
  const wrap =
    (name: string) =>
    (backends: Backends): Backends => ({
      ...backends,
      events: {
        ...backends.events,
        insert: async (workspace, inserted) => {
          const stored = await backends.events.insert(workspace, inserted);
          if (!inserted.some(({ eventId }) => eventId === act.theEventId(stage))) return stored;
          signal(`${name} arrived`).give();
          await Promise.all([signal("first arrived").given, signal("second arrived").given]);
          return stored;
        },
        fold: async (workspace, folds) => {
          const facets = await backends.events.fold(workspace, folds);
          if (folds.some(({ eventId }) => eventId === act.theEventId(stage))) signal(`${name} finished`).give();
          return facets;
        },
      },
    });
  const within = async (what: string): Promise<void> => {
    const late = sleep(stage.ground.settleMs, "late", { ref: false });
    assert.notEqual(await Promise.race([signal(what).given, late]), "late", `the ${what} never was`);
  };
  return {
    wrap,
    arrived: (name: string) => within(`${name} arrived`),
    finished: (name: string) => within(`${name} finished`),
  };
}

const once = "the accepted event is stored once and folded once, with no retry";

export const SERVERS_ROWS: readonly ServersRow[] = [
  { title: `the broker is killed after its confirm: ${once}`, run: brokerAfterConfirm },
  {
    title:
      "the broker is silent before its confirm: 503 after 5 s, and a retry with the same key makes the event exactly one",
    run: brokerBeforeConfirm,
  },
  { title: `the database is killed in the insert: ${once}`, run: duringStep("insert", "mongodb") },
  { title: `the database is killed when an event gets its facet: ${once}`, run: duringStep("pin", "mongodb") },
  { title: `the database is killed when the marks are read: ${once}`, run: duringStep("marked", "mongodb") },
  { title: `the database is killed in the save of the facet: ${once}`, run: duringStep("save", "mongodb") },
  { title: `the database is killed in the mark: ${once}`, run: duringStep("mark", "mongodb") },
  { title: `the graph is killed in the linking: ${once}`, run: duringStep("link", "neo4j") },
  { title: "the graph is killed in an identify: 503, and a retry answers the one profile", run: graphDuringIdentify },
  { title: "two workers hold one message: it is stored once and folded once", run: twoWorkers },
];
