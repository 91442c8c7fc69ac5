import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { latencyOf } from "../../drill/neighbours/latency.js";
import { beginLife, type Life } from "../../drill/process/life.js";
import { andThen } from "../../shared/async.js";
import { createWorkspace, openClient, requireAnswer, type Client } from "../../shared/client.js";
import type { Settings } from "../../shared/grounds.js";
import { openScratch } from "../../shared/scratch.js";
import { tableOf, verdict, whole } from "../report.js";
import * as ask from "./ask.js";
import { keptIn, noteOf, OPERATOR_KEY, settingsOf, type Kept } from "./crowd.js";
import { feed } from "./feed.js";
import { multiply } from "./make.js";
import { FIRST } from "./people.js";

const MEGABYTES_GOAL = 600;
/** As `npm start` runs it. */
const FLAGS = ["--max-semi-space-size=32"];
const ANSWER_MS = 60_000;
const CONNECTIONS = 8;

export interface MillionOptions extends ask.Crowd {
  /** A folder that keeps the profiles, or has them from an earlier run; null: one that goes afterwards. */
  readonly folder: string | null;
}

const QUESTIONS = [
  ask.firstPage,
  ask.lookUpOne,
  ask.lookUpBusy,
  ask.busyTimeline,
  ask.count,
  ask.searchRare,
  ask.topTwenty,
  ask.exportAll,
  ask.exportSlowly,
];

/** How long lists, searches and exports take over very many profiles on the embedded store, and what memory. True when that stays below its goal. */
export async function benchMillion(options: MillionOptions, tell: (line: string) => void): Promise<boolean> {
  if (options.folder !== null) return inFolder(options.folder, options, tell);
  const { folder, remove } = openScratch("bench");
  return andThen(() => inFolder(folder, options, tell), remove);
}

async function inFolder(folder: string, crowd: ask.Crowd, tell: (line: string) => void): Promise<boolean> {
  const note = noteOf(folder);
  mkdirSync(folder, { recursive: true });
  const settings = settingsOf(folder);
  let highest = 0;
  if (!existsSync(note)) writeFileSync(note, JSON.stringify(await make(settings, crowd, tell)));
  const kept = keptIn<Kept>(folder);
  return withLife(settings, async (life, client) => {
    const rows: (readonly string[])[] = [];
    for (const question of QUESTIONS) {
      const [{ name, millis, came }, neighbour] = await besideNeighbour(client, () =>
        question({ client, url: life.url, ...kept }),
      );
      const { megabytes } = await life.ask("usage");
      highest = Math.max(highest, megabytes);
      const { p50, p99 } = latencyOf(millis);
      const all = millis.reduce((sum, one) => sum + one, 0) / 1_000;
      const row = [name, came, shown(p50), shown(p99), all.toFixed(1), shown(neighbour), whole(megabytes)];
      rows.push(row);
      tell(row.join("  "));
    }
    const head = ["", "came", "p50 ms", "p99 ms", "all s", "neighbour's collect p99 ms", "highest MB"];
    tell(`\n${tableOf(head, rows)}`);
    const isMissed = highest > MEGABYTES_GOAL;
    tell(`memory at its highest: ${whole(highest)} MB, ${verdict(isMissed, "<=", MEGABYTES_GOAL)}`);
    return !isMissed;
  });
}

const shown = (ms: number): string => (Number.isNaN(ms) ? "" : ms.toFixed(1));

export async function withLife<T>(
  settings: Settings,
  use: (life: Life, client: Client) => Promise<T>,
  connections = CONNECTIONS,
): Promise<T> {
  const life = await beginLife({ settings, kill: null }, FLAGS);
  if (!("url" in life)) throw new Error(`the service did not start: ${life.log}`);
  const client = openClient(life.url, connections, ANSWER_MS);
  return andThen(
    () => use(life, client),
    async () => {
      client.close();
      await life.close();
    },
  );
}

const nothing = (): Promise<void> => Promise.resolve();

/** `more`: what the first of them do beside their orders. */
export async function make(
  settings: Settings,
  crowd: ask.Crowd,
  tell: (line: string) => void,
  more: (life: Life, client: Client, key: string) => Promise<void> = nothing,
): Promise<Kept> {
  const began = performance.now();
  const { people, busyEvents } = crowd;
  const { workspace, key, events } = await withLife(settings, async (life, client) => {
    const { workspace_id: workspace, key } = await createWorkspace(client, OPERATOR_KEY, "shop");
    await feed(life, client, key, FIRST);
    await more(life, client, key);
    return { workspace, key, events: await ask.busyEvents(client, key) };
  });
  await multiply(settings, { workspace, copies: people / FIRST - 1, busyEvents }, tell);
  tell(`${whole(people)} profiles made in ${whole((performance.now() - began) / 1_000)} s`);
  return { key, crowd, events: events + busyEvents };
}

const NEIGHBOUR_MS = 50;

/** Does the work while a workspace of its own sends an event now and then; also answers the p99 of that. */
async function besideNeighbour<T>(client: Client, work: () => Promise<T>): Promise<readonly [T, number]> {
  const { key } = await createWorkspace(client, OPERATOR_KEY, `neighbour ${Date.now()}`);
  await requireAnswer(client, 201, {
    method: "POST",
    path: "/v1/schemas",
    key,
    body: { schema_id: "ping", schema: { type: "object" } },
  });
  const millis: number[] = [];
  const state = { isOver: false };
  const send = async (): Promise<void> => {
    while (!state.isOver) {
      const begin = performance.now();
      const body = { schema_id: "ping", timestamp: new Date().toISOString(), payload: {} };
      await requireAnswer(client, 202, { method: "POST", path: "/v1/collect", key, body });
      millis.push(performance.now() - begin);
      await sleep(NEIGHBOUR_MS);
    }
  };
  const sending = send();
  try {
    return [await work(), latencyOf(millis).p99];
  } finally {
    state.isOver = true;
    await sending;
  }
}
