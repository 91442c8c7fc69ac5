import { checkAll } from "./checks.js";
import { createFindings } from "./findings.js";
import type { History } from "./history.js";
import { startLoad } from "./load.js";
import { createPlan } from "./operation.js";
import { MOMENTS, STEPS, type KillPoint } from "./points.js";
import { createRandom, type Random } from "./random.js";
import { createSite, type Site } from "./site.js";
import { createEmbeddedTarget, OPERATOR_KEY, type Target } from "./target.js";

export interface Counters {
  readonly attempted: number;
  readonly acknowledged: number;
  readonly ok: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly unexpected: number;
  /** Starts after a kill that came back. */
  readonly recovered: number;
  readonly kills: number;
}

export interface RoundsResult {
  readonly counters: Counters;
  /** Requests that a kill took the answer from. */
  readonly interrupted: number;
  readonly examples: readonly string[];
}

export interface RoundsOptions {
  readonly kills: number;
  readonly seed: number;
  readonly history: History;
  readonly progress: (line: string) => void;
}

const CLIENTS = 300;
const CHECKS_AT_A_TIME = 32;
const SITES = ["one", "two", "three"] as const;
/** A round is at least long enough for work at every step, and ends even if its point is never reached. */
const ROUND_MS_MIN = 150;
const ROUND_MS_MAX = 900;
const CALLS_MAX = 120;

/** When and where one life ends. */
interface Doom {
  readonly kill: KillPoint | null;
  readonly withinMs: number;
}

/** In half of the rounds at any moment, in the other half between two steps, where it hurts. */
function planDoom(random: Random): Doom {
  if (random.once(2)) return { kill: null, withinMs: ROUND_MS_MIN + random.below(ROUND_MS_MAX - ROUND_MS_MIN) };
  const kill = {
    kind: "step",
    step: random.pick(STEPS),
    moment: random.pick(MOMENTS),
    call: 1 + random.below(CALLS_MAX),
  } as const;
  return { kill, withinMs: ROUND_MS_MAX };
}

/** Kills a service under load so many times, and then checks that every promise was kept. Rejects if it does not come back. */
export async function runRounds({ kills, seed, history, progress }: RoundsOptions): Promise<RoundsResult> {
  const random = createRandom(seed);
  const dooms = Array.from({ length: kills }, () => planDoom(random));
  const plan = createPlan(createRandom(seed + 1), SITES.length);
  const findings = createFindings();
  const target = await createEmbeddedTarget(CLIENTS);
  try {
    await target.start(dooms[0]?.kill ?? null);
    const sites = await createSites(target);
    const load = startLoad({ target, sites, plan, history, findings }, CLIENTS);
    const recovered = await killAll(target, dooms, progress);
    await load.finish();
    progress("every retry is answered");
    await target.idle();
    const entries = history.entries();
    progress(`the queue is empty; checking ${entries.length} operations`);
    const { client } = await target.running();
    const ok = await checkAll({ client, sites, findings, width: CHECKS_AT_A_TIME }, history);
    const acknowledged = entries.filter(({ result }) => result === "acknowledged").length;
    const counters = { attempted: entries.length, acknowledged, ok, ...findings.counts(), recovered, kills };
    return { counters, interrupted: load.interrupted(), examples: findings.examples() };
  } finally {
    await target.close();
  }
}

async function createSites(target: Target): Promise<readonly Site[]> {
  const { client } = await target.running();
  const sites: Site[] = [];
  for (const name of SITES) sites.push(await createSite(client, OPERATOR_KEY, name));
  return sites;
}

/** Answers how many lives began after a kill. */
async function killAll(target: Target, dooms: readonly Doom[], progress: (line: string) => void): Promise<number> {
  let recovered = 0;
  for (const [index, { kill, withinMs }] of dooms.entries()) {
    await target.killWithin(withinMs);
    const since = performance.now();
    await target.start(dooms[index + 1]?.kill ?? null);
    recovered += 1;
    const returnMs = Math.round(performance.now() - since);
    progress(`kill ${index + 1}/${dooms.length} ${describe(kill)}: back after ${returnMs} ms`);
  }
  return recovered;
}

const describe = (kill: KillPoint | null): string =>
  kill?.kind === "step" ? `at ${kill.step} ${kill.moment}, call ${kill.call}` : "at any moment";
