import { andThen } from "../../shared/async.js";
import { startChild, type ChildProcess } from "../../shared/child.js";
import { openFolder, openServers, type Ground } from "../../shared/grounds.js";
import { openArena, type Arena } from "./arena.js";
import type { FlooderAsks } from "./flooder.js";
import { FLOODS } from "./floods/floods.js";
import type { Measured } from "./latency.js";
import { measure } from "./neighbour.js";
import { complaintsOf, HEAD, lineOf, type FloodResult } from "./report.js";

export interface NeighboursOptions {
  /** Of each flood. */
  readonly seconds: number;
  /** Names; empty: all. */
  readonly floods: readonly string[];
  /** Of the servers; null: the embedded default. */
  readonly instance: string | null;
  readonly print: (line: string) => void;
}

/** Of a flood's time: how long the neighbour is measured before it. */
const BEFORE_SHARE = 0.25;
const WARM_SHARE = 0.1;
/** Control floods are run for these steps of CPU, each once. */
const CORES_STEP = 0.25;

type Flooder = ChildProcess<FlooderAsks>;

/** One flood after the other, each on a service of its own. True when all of them hold. */
export async function drillNeighbours(options: NeighboursOptions): Promise<boolean> {
  const unknown = options.floods.filter((name) => !FLOODS.some((flood) => flood.name === name));
  if (unknown.length > 0)
    throw new Error(`there is no flood ${unknown.join(", ")}; there are: ${FLOODS.map(({ name }) => name).join(", ")}`);
  const names = FLOODS.map(({ name }) => name).filter(
    (name) => options.floods.length === 0 || options.floods.includes(name),
  );
  const controls = new Map<number, Measured>();
  const controlOf = async (cores: number): Promise<Measured> => {
    const step = Math.max(1, Math.ceil(cores / CORES_STEP));
    const known =
      controls.get(step) ??
      (await inArena(options, (arena, flooder) => runControl(arena, flooder, options, step * CORES_STEP)));
    controls.set(step, known);
    return known;
  };
  options.print(HEAD);
  let broken = 0;
  let megabytes = 0;
  for (const name of names) {
    try {
      const flooded = await inArena(options, (arena, flooder) => runFlood(arena, flooder, options, name));
      const result = { ...flooded, control: await controlOf(flooded.cores) };
      options.print(lineOf(result));
      megabytes = Math.max(megabytes, result.megabytes);
      if (complaintsOf(result).length > 0) broken += 1;
    } catch (error) {
      broken += 1;
      options.print(`| ${name} | BROKEN: ${error instanceof Error ? error.message : String(error)} |`);
    }
  }
  options.print(`floods=${names.length} holding=${names.length - broken} memory=${Math.round(megabytes)}MB`);
  return broken === 0;
}

/** A new service with its flooding client; both are gone afterwards. */
async function inArena<T>(
  { instance }: NeighboursOptions,
  use: (arena: Arena, flooder: Flooder) => Promise<T>,
): Promise<T> {
  const ground: Ground = await (instance === null ? openFolder() : openServers(instance));
  const inside = async (): Promise<T> => {
    const arena = await openArena(ground);
    return andThen(async () => {
      const flooder = await startChild<FlooderAsks, object>(new URL("flooder.js", import.meta.url), []);
      if (!("ask" in flooder)) throw new Error(`The flooding client did not start:\n${flooder.log}`);
      return andThen(
        () => use(arena, flooder),
        async () => {
          flooder.kill();
          await flooder.ended;
        },
      );
    }, arena.close);
  };
  return andThen(inside, ground.drop);
}

async function runFlood(
  arena: Arena,
  flooder: Flooder,
  { seconds }: NeighboursOptions,
  name: string,
): Promise<Omit<FloodResult, "control">> {
  await flooder.ask("prepare", { name, site: arena.flooding });
  await measure(arena.client, arena.neighbour, WARM_SHARE * seconds);
  const before = await measure(arena.client, arena.neighbour, BEFORE_SHARE * seconds);
  const begin = await arena.usage();
  const since = performance.now();
  await flooder.ask("begin");
  const during = await measure(arena.client, arena.neighbour, seconds);
  const end = await arena.usage();
  const cores = (end.cpuMs - begin.cpuMs) / (performance.now() - since);
  return { name, cores, megabytes: end.megabytes, before, during, statuses: await flooder.ask("end") };
}

async function runControl(
  arena: Arena,
  flooder: Flooder,
  { seconds }: NeighboursOptions,
  cores: number,
): Promise<Measured> {
  await measure(arena.client, arena.neighbour, WARM_SHARE * seconds);
  await flooder.ask("beginControl", { site: arena.flooding, pid: arena.pid, cores });
  return measure(arena.client, arena.neighbour, seconds);
}
