import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { latencyOf, limitOf } from "../../drill/neighbours/latency.js";
import type { Life } from "../../drill/process/life.js";
import { andThen } from "../../shared/async.js";
import type { Client } from "../../shared/client.js";
import type { Settings } from "../../shared/grounds.js";
import { openScratch } from "../../shared/scratch.js";
import { make, withLife } from "../million/bench.js";
import { keptIn, noteOf, settingsOf, userAmong, type Kept } from "../million/crowd.js";
import { userOf } from "../million/people.js";
import { verdict, whole } from "../report.js";
import { apiOf, create, eventOf, untilLive, type Api, type Audience } from "./api.js";
import { headOf, mostPerSecond, probe, readFeed, sendSteadily, type Delays } from "./latency.js";
import { PING, RULES, schemaOf, VISIT, VISIT_MS, VISITORS } from "./rules.js";

export interface AudiencesOptions {
  readonly people: number;
  /** A folder that keeps the profiles, or has them from an earlier run; null: one that goes afterwards. */
  readonly folder: string | null;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const FEED_GOAL_MS = 1_000;
const TIMER_GOAL_MS = 2_000;
const LOAD = 0.6;
const SENDERS = 64;
/** The senders, two readers of the feed, and those who wait for an event: nobody waits for a connection. */
const CONNECTIONS = 128;
const STEADY_PER_SECOND = 50;
const MOST_SECONDS = 15;
/** At most, of the people who are known and are measured. */
const PROBED_KNOWN = 500;

/** Builds, windows that end at once, and the feed under load, over very many profiles on the embedded store. True where the goals are met. */
export async function benchAudiences(options: AudiencesOptions, tell: (line: string) => void): Promise<boolean> {
  if (options.folder !== null) return inFolder(options.folder, options.people, tell);
  const { folder, remove } = openScratch("bench");
  return andThen(() => inFolder(folder, options.people, tell), remove);
}

interface Crowd extends Kept {
  /** When the first of the visits was, milliseconds since 1970. */
  readonly visitedAt: number;
}

async function inFolder(folder: string, people: number, tell: (line: string) => void): Promise<boolean> {
  const note = noteOf(folder);
  mkdirSync(folder, { recursive: true });
  const settings = settingsOf(folder);
  const dataDir = settings.DATA_DIR;
  if (!existsSync(note)) writeFileSync(note, JSON.stringify(await makeCrowd(settings, people, tell)));
  const crowd = keptIn<Crowd>(folder);
  const measureAll = async (life: Life, client: Client): Promise<boolean> => {
    const api = apiOf(client, crowd.key);
    await removeAll(api, life);
    const { ids, seconds } = await build({ api, life, dataDir, people, tell });
    const isFeedMet = await underLoad({ api, life, people, ids, tell });
    const isCalm = await windowEnds({ api, life, crowd, people, buildSeconds: seconds, tell });
    return isFeedMet && isCalm;
  };
  return withLife(settings, measureAll, CONNECTIONS);
}

async function makeCrowd(settings: Settings, people: number, tell: (line: string) => void): Promise<Crowd> {
  const visitedAt = Date.now() - DAY_MS;
  const visits = async (life: Life, client: Client, key: string): Promise<void> => {
    const api = apiOf(client, key);
    for (const schemaId of [VISIT, PING]) {
      await api.post(201, "/v1/schemas", schemaOf(schemaId));
      await api.post(201, "/v1/datasets", { name: schemaId, schema_id: schemaId, unified_profile: true });
    }
    const events = Array.from({ length: VISITORS }, (_, n) =>
      eventOf(VISIT, { user: userOf(n) }, visitedAt + (n * VISIT_MS) / VISITORS),
    );
    await api.post(202, "/v1/collect/batch", { events });
    await folded(life);
  };
  return { ...(await make(settings, { people, busyEvents: 0 }, tell, visits)), visitedAt };
}

async function folded(life: Life): Promise<void> {
  while ((await life.ask("depth")) > 0) await sleep(100);
}

/** Of an earlier run on the same folder. */
async function removeAll(api: Api, life: Life): Promise<void> {
  const { audiences } = await api.get<{ readonly audiences: readonly Audience[] }>("/v1/audiences?limit=100");
  for (const { audience_id: id } of audiences) await api.remove(`/v1/audiences/${id}`);
  if (audiences.length > 0) await life.ask("rest");
}

const bytesIn = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
const megabytes = (bytes: number): string => `${whole(bytes / 1e6)} MB`;

interface Building {
  readonly api: Api;
  readonly life: Life;
  readonly dataDir: string;
  readonly people: number;
  readonly tell: (line: string) => void;
}

async function build({ api, life, dataDir, people, tell }: Building) {
  const bytes = bytesIn(dataDir);
  const cpu = (await life.ask("usage")).cpuMs;
  const began = performance.now();
  const ids: string[] = [];
  for (const [n, rule] of RULES.entries()) ids.push((await create(api, `audience ${n}`, rule)).audience_id);
  const live = await untilLive(api, ids);
  const seconds = (performance.now() - began) / 1_000;
  const usage = await life.ask("usage");
  const members = live.reduce((sum, { size }) => sum + size, 0);
  tell(
    `${ids.length} audiences of ${whole(people)} profiles: live after ${whole(seconds)} s, ${whole((usage.cpuMs - cpu) / 1_000)} s of CPU, ` +
      `${whole(((usage.cpuMs - cpu) * 1_000) / people)} µs a profile; ${whole(members)} memberships`,
  );
  tell(
    `on disk ${megabytes(bytes)} before, ${megabytes(bytesIn(dataDir))} after; memory at its highest ${whole(usage.megabytes)} MB`,
  );
  return { ids, seconds };
}

const shown = (millis: readonly number[]): string => {
  const { p50, p99 } = latencyOf(millis);
  return `p50 ${whole(p50)} ms, p99 ${whole(p99)} ms (${millis.length})`;
};

const order = (more: object): object => eventOf("order", { total: 1.5, ...more });

interface WithIds {
  readonly ids: readonly string[];
}

const SECONDS = 60;
/** So far apart are people who order one after the other: the copies of one are not next to each other. */
const STRIDE = 7_919;

/** The feed while events come at a part of the rate that this machine can keep up. */
async function underLoad({ api, life, people, ids, tell }: Omit<Ending, "crowd" | "buildSeconds"> & WithIds) {
  // Each event is of somebody else, who is known: no look covers two of them, as it would if few people sent very many.
  const collect = (n: number): Promise<unknown> =>
    api.post(202, "/v1/collect", order({ user: userAmong((n * STRIDE) % people), items: 2 }));
  const rest = async (): Promise<void> => {
    await folded(life);
    await life.ask("rest");
  };
  // What the build left is no part of it.
  await rest();
  // Answers come faster than the looks that they lead to: that rate could not last.
  const { perSecond: most, sent } = await mostPerSecond(MOST_SECONDS, SENDERS, collect, rest);
  const head = await headOf(api);
  const [probed, pinged] = [readFeed(api, ids.at(-2)!, head), readFeed(api, ids.at(-1)!, head)];
  const state = { isOver: false };
  const load = sendSteadily(
    most * LOAD,
    () => state.isOver,
    (n) => collect(sent + n),
  );
  const begun = Date.now();
  // Others in each run on a kept folder: those of an earlier one are in the audience already.
  const first = Math.floor(Math.random() * Math.max(1, people - PROBED_KNOWN));
  const users = { known: (n: number) => userAmong(first + n), new: (n: number) => `probe-${begun}-${n}` };
  const delays = await probe(api, SECONDS, users, { probed, pinged });
  state.isOver = true;
  const millis = await load;
  await Promise.all([probed.end(), pinged.end()]);
  tell(`load: ${whole(most * LOAD)} events/s of ${whole(most)}; collect ${shown(millis)}`);
  return Object.entries(delays)
    .map(([kind, one]) => isInTime(kind, one, tell))
    .every(Boolean);
}

function isInTime(kind: string, { entered, left, missing }: Delays, tell: (line: string) => void): boolean {
  const feed = latencyOf(entered).p99;
  const timer = latencyOf(left).p99;
  // Of none there is no p99.
  const isFeedLate = !(feed <= FEED_GOAL_MS);
  const isTimerLate = !(timer <= TIMER_GOAL_MS);
  tell(`${kind} people, from the event to the feed: ${shown(entered)}, ${verdict(isFeedLate, "<=", FEED_GOAL_MS)}`);
  tell(`${kind} people, from the end of a window to it: ${shown(left)}, ${verdict(isTimerLate, "<=", TIMER_GOAL_MS)}`);
  if (missing > 0) tell(`${missing} entries of ${kind} people did not come`);
  return missing === 0 && !isFeedLate && !isTimerLate;
}

interface Ending {
  readonly api: Api;
  readonly life: Life;
  readonly crowd: Crowd;
  readonly people: number;
  /** What all audiences took. */
  readonly buildSeconds: number;
  readonly tell: (line: string) => void;
}

/** A tenth of all profiles leave an audience within a minute: what that does to the answers of collect. */
async function windowEnds({ api, life, crowd, people, buildSeconds, tell }: Ending): Promise<boolean> {
  // The first window ends when all were judged by this one rule, and a minute of rest has passed: much sooner than by all twenty.
  const leadMs = buildSeconds * 1_000 + 2 * MINUTE_MS;
  const minutes = Math.ceil((Date.now() + leadMs - crowd.visitedAt) / MINUTE_MS);
  const firstEnd = crowd.visitedAt + minutes * MINUTE_MS;
  const rule = { $events: { schema_id: VISIT, within: `${minutes}m` } };
  const { audience_id: id } = await create(api, "visitors", rule);
  const size = (await untilLive(api, [id]))[0]!.size;
  if (Date.now() > firstEnd - MINUTE_MS) throw new Error("The first window ended before all were judged: try again.");
  await sleep(firstEnd - MINUTE_MS - Date.now());
  const collect = (n: number): Promise<unknown> =>
    api.post(202, "/v1/collect", order({ user: `steady-${n % 5_000}`, city: "Lyon" }));
  const before = await sendSteadily(STEADY_PER_SECOND, () => Date.now() >= firstEnd - 1_000, collect);
  await sleep(firstEnd - Date.now());
  const cpu = (await life.ask("usage")).cpuMs;
  const state = { size, isOver: false };
  const during = sendSteadily(STEADY_PER_SECOND, () => state.isOver, collect);
  while (state.size > 0) {
    await sleep(100);
    state.size = (await api.get<{ readonly size: number }>(`/v1/audiences/${id}`)).size;
  }
  const tookMs = Date.now() - firstEnd;
  state.isOver = true;
  const millis = await during;
  const cpuMs = (await life.ask("usage")).cpuMs - cpu;
  const limit = limitOf(latencyOf(before));
  const { p99 } = latencyOf(millis);
  tell(
    `${whole(size)} of ${whole(people)} profiles left within a minute: the last ${whole(Math.max(0, tookMs - VISIT_MS))} ms after its time; ` +
      `${whole((cpuMs * 1_000) / size)} µs of CPU each, with ${STEADY_PER_SECOND} events a second`,
  );
  tell(`collect before: ${shown(before)}; meanwhile: ${shown(millis)}, ${verdict(p99 > limit, "<=", limit)}`);
  return p99 <= limit;
}
