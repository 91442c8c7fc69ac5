import { createRun, type Choice, type Run } from "./run.js";

/**
 * One atomic act on the world; what it answers is a copy. `until`: it is not done before this holds. Everything that an actor awaits is a
 * step, and an actor depends on nothing but what its steps answer.
 */
export type Step<W> = <T>(name: string, act: (world: W) => T, until?: (world: W) => boolean) => Promise<T>;

export interface Actor<W> {
  readonly name: string;
  readonly run: (step: Step<W>) => Promise<void>;
  /** So often it may be killed between any two steps; then it begins anew. */
  readonly crashes?: number;
}

export interface Scene<W> {
  /** Plain data: JSON, with maps, sets and bigints. */
  readonly world: () => W;
  readonly actors: readonly Actor<W>[];
  /** After each step: what is wrong, or null. */
  readonly always?: (world: W) => string | null;
  /** When all actors are through: what is wrong, or null. */
  readonly atRest: (world: W) => string | null;
  readonly statesMax?: number;
}

export interface Violation {
  readonly what: string;
  /** The steps that led there. */
  readonly trace: readonly string[];
}

export interface Explored {
  readonly states: number;
  readonly violation: Violation | null;
}

const STATES_MAX = 500_000;

/**
 * Runs the actors in every order of their steps, with every crash that they may have, until something is wrong. Two ways into one state
 * are followed once: the state of an actor is what its steps have answered since it began.
 */
export async function explore<W>(scene: Scene<W>): Promise<Explored> {
  const seen = new Set<string>();
  const left: (readonly Choice[])[] = [[]];
  for (let way = left.pop(); way !== undefined; way = left.pop()) {
    const run = await createRun(scene);
    for (const choice of way) await run.take(choice);
    const violation = await follow(scene, run, way, seen, left);
    if (violation !== null) return { states: seen.size, violation };
  }
  return { states: seen.size, violation: null };
}

/** Goes on along the first choice, and leaves the others for later. */
async function follow<W>(
  scene: Scene<W>,
  run: Run<W>,
  from: readonly Choice[],
  seen: Set<string>,
  left: (readonly Choice[])[],
): Promise<Violation | null> {
  for (let way = from; ;) {
    const what = scene.always?.(run.world) ?? null;
    if (what !== null) return { what, trace: run.trace() };
    const key = run.key();
    if (seen.has(key)) return null;
    seen.add(key);
    if (seen.size > (scene.statesMax ?? STATES_MAX)) throw new Error("There are too many states to explore.");
    const [first, ...others] = run.choices();
    if (first === undefined) {
      const wrong = run.isThrough() ? scene.atRest(run.world) : "an actor waits for what never comes";
      return wrong === null ? null : { what: wrong, trace: run.trace() };
    }
    for (const other of others) left.push([...way, other]);
    way = [...way, first];
    await run.take(first);
  }
}
