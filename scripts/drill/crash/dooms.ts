import type { ServerName } from "../../servers/server.js";
import { EMBEDDED_MOMENTS, SERVERS_MOMENTS, type KillPoint, type Step } from "./points.js";
import { shuffled, type Random } from "../../shared/random.js";
import type { Blow } from "../process/slot.js";

export const GATEWAYS = ["gateway 1", "gateway 2"] as const;
export const WORKERS = ["worker 1", "worker 2"] as const;
export type ProcessName = (typeof GATEWAYS | typeof WORKERS)[number];
type Victim = "service" | ServerName | ProcessName;

/** Whom one kill hits, when and where. */
export interface Doom extends Blow {
  readonly victim: Victim;
}

/** Kills that come at the same time. */
export type Round = readonly Doom[];

export type ServersKills = Readonly<Record<Exclude<ServerName, "neo4j-second"> | "processes", number>>;

/** A round is at least long enough for work at every step, and ends even if its point is never reached. */
const ROUND_MS_MIN = 150;
const ROUND_MS_MAX = 900;
const CALLS_MAX = 120;
/** The worker takes many messages in one call. */
const WORKER_CALLS_MAX = 15;
const GATEWAY_STEPS: readonly Step[] = ["publish", "publishAll", "link"];
const WORKER_STEPS = ["take", "insert", "link", "fold", "settle"] as const;
/** Half of these kills come between the steps of a fold. */
const SERVERS_WORKER_STEPS = ["take", "insert", "link", "settle", "marked", "save", "mark", "mark"] as const;

const anyMoment = (random: Random): Blow => ({
  kill: null,
  withinMs: ROUND_MS_MIN + random.below(ROUND_MS_MAX - ROUND_MS_MIN),
});

/** In half of the rounds at any moment, in the other half between two steps, where it hurts. */
export function planEmbedded(random: Random, kills: number): readonly Round[] {
  const plan = (): Doom => {
    if (random.once(2)) return { victim: "service", ...anyMoment(random) };
    const step = random.pick(["publish", "publishAll", ...WORKER_STEPS] as const);
    const call = 1 + random.below(step === "publish" ? CALLS_MAX : WORKER_CALLS_MAX);
    const kill = { kind: "step", step, moment: random.pick(EMBEDDED_MOMENTS), call } as const;
    return { victim: "service", kill, withinMs: ROUND_MS_MAX };
  };
  return Array.from({ length: kills }, () => [plan()]);
}

/** Each process does a part of the work, and may have to wait for what was killed before it. */
const GATEWAY_CALLS_MAX = 15;
const SERVERS_WORKER_CALLS_MAX = 4;
const PROCESS_MS_MAX = 4_000;
/** So many kills of a process come while a server is down. */
const ONE_BESIDE = 3;

/** All kills in random order; half of the processes' are between two steps, and some come beside a server's. */
export function planServers(random: Random, { processes, ...servers }: ServersKills): readonly Round[] {
  const ofServers = Object.entries(servers).flatMap(([name, kills]) =>
    Array.from({ length: kills }, (): Doom => ({ victim: name as ServerName, ...anyMoment(random) })),
  );
  const ofProcesses = Array.from({ length: processes }, (_, index) => planProcess(random, index % 2 === 0));
  const rounds: Doom[][] = [];
  for (const doom of shuffled([...ofServers, ...ofProcesses], random)) {
    const before = rounds.at(-1);
    const isBeside = before?.length === 1 && isServer(before[0]!) && !isServer(doom) && random.once(ONE_BESIDE);
    if (isBeside) before.push(doom);
    else rounds.push([doom]);
  }
  return rounds;
}

function planProcess(random: Random, hasPoint: boolean): Doom {
  const isGateway = random.once(2);
  const victim = isGateway ? random.pick(GATEWAYS) : random.pick(WORKERS);
  if (!hasPoint) return { victim, ...anyMoment(random) };
  const [step, moment] = [
    random.pick<Step>(isGateway ? GATEWAY_STEPS : SERVERS_WORKER_STEPS),
    random.pick(SERVERS_MOMENTS),
  ];
  const call = 1 + random.below(isGateway ? GATEWAY_CALLS_MAX : SERVERS_WORKER_CALLS_MAX);
  return { victim, kill: { kind: "step", step, moment, call }, withinMs: PROCESS_MS_MAX };
}

const SERVERS: ReadonlySet<Victim> = new Set(["rabbitmq", "mongodb", "neo4j"]);
const isServer = ({ victim }: Doom): boolean => SERVERS.has(victim);

export const describeKill = (kill: KillPoint | null): string =>
  kill?.kind === "step" ? `at ${kill.step} ${kill.moment}, call ${kill.call}` : "at any moment";
