import { setTimeout as sleep } from "node:timers/promises";
import { checkBatches } from "./check/batches.js";
import { checkAll } from "./check/checks.js";
import { describeKill, type Doom } from "./crash/dooms.js";
import { andThen } from "../shared/async.js";
import { createFindings } from "./check/findings.js";
import type { History } from "./check/history.js";
import { startLoad } from "./load/load.js";
import { createPlan } from "./load/operation.js";
import { checkFollowers } from "./follow/check.js";
import { createFollowers, startChanges } from "./follow/followers.js";
import { startReceiver, type Receiver } from "./follow/receiver.js";
import { createRandom } from "../shared/random.js";
import type { Scene } from "./crash/scene.js";
import { createSite, type Site } from "./process/site.js";
import { OPERATOR_KEY, type Target } from "./process/target.js";

interface RoundsOptions {
  readonly scene: Scene;
  readonly seed: number;
  readonly history: History;
  readonly progress: (line: string) => void;
}

type RoundsResult = Awaited<ReturnType<typeof runOn>>;
export type Counters = RoundsResult["counters"];
export type Felt = RoundsResult["felt"];

const SITES = ["one", "two", "three"] as const;

/** Kills under load so many times, and then checks that every promise was kept. Rejects if something does not come back. */
export async function runRounds(options: RoundsOptions): Promise<RoundsResult> {
  const target = await options.scene.open(options.scene.clients);
  const receiver = await startReceiver();
  const close = async (): Promise<void> => {
    options.history.keepLog(target.log());
    await target.close();
    await receiver.close();
  };
  return andThen(() => runOn(target, receiver, options), close);
}

async function runOn(target: Target, receiver: Receiver, { scene, seed, history, progress }: RoundsOptions) {
  const plan = createPlan(createRandom(seed + 1), SITES.length, scene.operationsPerPerson);
  const findings = createFindings();
  await target.start();
  const sites = await createSites(target);
  const followers = await createFollowers((await target.running()).client, sites, receiver);
  const changes = startChanges(target, sites, createRandom(seed + 2));
  const load = startLoad({ target, sites, plan, history, findings, pace: scene.pace }, scene.clients);
  const { recovered, victims, atPoint } = await strikeAll(target, scene, progress);
  await untilAcknowledged(history, scene);
  const { interrupted, refused } = await load.finish();
  const changed = await changes.finish();
  progress("every retry is answered");
  await target.idle();
  const entries = history.entries();
  progress(`the queue is empty; checking ${entries.length} operations`);
  const { client } = await target.running();
  const deps = { client, sites, findings, width: scene.checksAtATime };
  const ok = await checkAll(deps, history);
  const unanswered = await checkBatches(deps, history);
  const told = await checkFollowers({ client, findings, target, receiver }, followers);
  const again = followers.reduce((sum, { webhookId }) => sum + receiver.heard(webhookId).again, 0);
  progress(`${changed} changes of audiences; the feeds have ${told} entries, of which ${again} were told again`);
  const [attempted, acknowledged, kills] = [entries.length, acknowledgedIn(history), scene.rounds.flat().length];
  return {
    counters: { attempted, acknowledged, ok, ...findings.counts(), recovered, kills },
    /** What the kills did before anybody looked for damage. */
    felt: { interrupted, refused, victims, atPoint, unanswered },
    examples: findings.examples(),
  };
}

async function createSites(target: Target): Promise<readonly Site[]> {
  const { client } = await target.running();
  const sites: Site[] = [];
  for (const name of SITES) sites.push(await createSite(client, OPERATOR_KEY, name));
  return sites;
}

/** The kills of a round come at once; the next round waits until all is back. */
async function strikeAll(target: Target, { rounds, pace }: Scene, progress: (line: string) => void) {
  const kills = rounds.flat().length;
  /** Victim -> kills. */
  const victims = new Map<string, number>();
  /** Starts after a kill that came back, and kills between two steps, where they were planned. */
  let [recovered, atPoint] = [0, 0];
  const strike = async (doom: Doom): Promise<void> => {
    const { diedThere, downMs } = await target.strike(doom);
    recovered += 1;
    victims.set(doom.victim, (victims.get(doom.victim) ?? 0) + 1);
    if (doom.kill !== null && diedThere) atPoint += 1;
    const { victim, kill, withinMs } = doom;
    const when = kill === null || diedThere ? describeKill(kill) : `after ${withinMs} ms, not ${describeKill(kill)}`;
    progress(`kill ${recovered}/${kills} ${victim} ${when}: up after ${Math.round(downMs)} ms`);
  };
  for (const round of rounds) {
    pace.nextRound();
    await Promise.all(round.map(strike));
  }
  return { recovered, victims, atPoint };
}

const POLL_MS = 100;

const acknowledgedIn = (history: History): number =>
  history.entries().filter(({ result }) => result === "acknowledged").length;

async function untilAcknowledged(history: History, { acknowledgedMin, pace }: Scene): Promise<void> {
  while (acknowledgedIn(history) < acknowledgedMin) {
    pace.nextRound();
    await sleep(POLL_MS);
  }
}
