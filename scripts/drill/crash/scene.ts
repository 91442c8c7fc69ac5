import { planEmbedded, planServers, type Round, type ServersKills } from "./dooms.js";
import { createPace, unlimited, type Pace } from "../load/pace.js";
import { createRandom } from "../../shared/random.js";
import { createEmbeddedTarget, createServersTarget, type Target } from "../process/target.js";

/** What is killed how often, and the load under which it is. */
export interface Scene {
  readonly open: (connections: number) => Promise<Target>;
  readonly rounds: readonly Round[];
  readonly clients: number;
  readonly pace: Pace;
  /** The load goes on until so many operations are acknowledged. */
  readonly acknowledgedMin: number;
  readonly operationsPerPerson: number;
  readonly checksAtATime: number;
}

export const embeddedScene = (seed: number, kills: number): Scene => ({
  open: createEmbeddedTarget,
  rounds: planEmbedded(createRandom(seed), kills),
  clients: 300,
  pace: unlimited,
  acknowledgedMin: 0,
  operationsPerPerson: 6,
  checksAtATime: 32,
});

const ACKNOWLEDGED_PER_KILL = 200;
/** All of it is read again by the checks, and what a restart of seconds holds up must be worked off. */
const [PER_SECOND, BURST, PER_ROUND] = [50, 100, 300] as const;

export function serversScene(
  seed: number,
  kills: ServersKills,
  instance: string,
  partitions: readonly number[],
): Scene {
  const rounds = planServers(createRandom(seed), kills);
  return {
    open: (connections) => createServersTarget(instance, connections, { partitions, kills: rounds.flat().length }),
    rounds,
    clients: 120,
    pace: createPace(PER_SECOND, BURST, PER_ROUND),
    acknowledgedMin: ACKNOWLEDGED_PER_KILL * rounds.flat().length,
    // An imitation of a database does one thing at a time and reads all events for each profile of the checks.
    operationsPerPerson: 30,
    checksAtATime: 4,
  };
}
