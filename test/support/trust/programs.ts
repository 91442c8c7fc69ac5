import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createRandom, SEED } from "../random/random.js";
import { shrink } from "../random/shrink.js";
import { drawProgram, showProgram, type Program } from "./program.js";
import { runProgram } from "./run.js";
import { simplerOf } from "./simpler.js";

/** Programs that run beside each other, each in its own workspace: they share transactions and round trips, which makes them fast. */
const AT_ONCE = 16;

interface Failure {
  readonly seed: number;
  readonly error: unknown;
}

/** How many links an undo takes in one step: one of these, as the seed says. */
const ALL_AT_ONCE: readonly number[] = [Infinity];

/** Runs programs on the graph and on the model. The first that differs is shrunk and shown. */
export async function checkPrograms(graph: IdentityGraph, count: number, linksPerStep = ALL_AT_ONCE): Promise<void> {
  const seeds = Array.from({ length: count }, (_, n) => SEED + n).values();
  const failures: Failure[] = [];
  const client = async (): Promise<void> => {
    for (const seed of seeds) {
      if (failures.length > 0) return;
      const error = await errorOf(graph, seed, drawProgram(createRandom(seed)), linksPerStep);
      if (error !== null) failures.push({ seed, error });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  if (failures.length > 0) throw await explained(graph, failures[0]!, linksPerStep);
}

/** Null when it agrees. The seed also decides what is not in the program: uids, and how steps are cut. */
async function errorOf(
  graph: IdentityGraph,
  seed: number,
  program: Program,
  linksPerStep: readonly number[],
): Promise<unknown> {
  try {
    await runProgram(graph, program, createRandom(seed), linksPerStep);
    return null;
  } catch (error) {
    return error;
  }
}

async function explained(
  graph: IdentityGraph,
  { seed, error }: Failure,
  linksPerStep: readonly number[],
): Promise<Error> {
  const drawn = drawProgram(createRandom(seed));
  const fails = async (program: Program): Promise<boolean> =>
    (await errorOf(graph, seed, program, linksPerStep)) !== null;
  if (!(await fails(drawn)))
    return new Error(`seed ${seed}, but not when it runs alone: ${String(error)}`, { cause: error });
  const smallest = await shrink(drawn, fails, simplerOf);
  const cause = await errorOf(graph, seed, smallest, linksPerStep);
  return new Error(`seed ${seed}: the smallest program is\n${showProgram(smallest)}\n${String(cause)}`, { cause });
}
