import { createRandom, SEED, tell } from "../random/random.js";
import { shrink, without } from "../random/shrink.js";
import { createCounts, type Counts, type Place } from "./bench.js";
import { drawProgram } from "./draw.js";
import type { OpenPlace } from "./place.js";
import { showProgram, type Program, type SentEvent, type Step } from "./program.js";
import { runProgram } from "./run.js";

interface Failure {
  readonly seed: number;
  readonly error: unknown;
}

/** Each keeper looks at all workspaces of its store, so now and then a new one is begun. */
const PER_PLACE = 100;

/** Runs programs beside each other. The first that differs is made as small as it goes, and shown. */
export async function checkPrograms(open: () => Promise<OpenPlace>, count: number, atOnce: number): Promise<void> {
  const counts = createCounts();
  const began = performance.now();
  for (let first = 0; first < count; first += PER_PLACE) {
    const seeds = Array.from({ length: Math.min(PER_PLACE, count - first) }, (_, n) => SEED + first + n);
    const place = await open();
    try {
      await checkSeeds(place, seeds, atOnce, counts);
    } finally {
      await place.close();
    }
  }
  const seconds = (performance.now() - began) / 1_000;
  tell(`${count} programs from seed ${SEED}, ${(count / seconds).toFixed(1)} a second`);
  for (const line of counts.show()) tell(line);
}

async function checkSeeds(place: Place, seeds: readonly number[], atOnce: number, counts: Counts): Promise<void> {
  const failures: Failure[] = [];
  const waiting = seeds.values();
  const client = async (): Promise<void> => {
    for (const seed of waiting) {
      if (failures.length > 0) return;
      const error = await errorOf(place, seed, drawProgram(createRandom(seed)), counts);
      if (error !== null) failures.push({ seed, error });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  for (const { seed, error } of failures) tell(`seed ${seed} differs: ${String(error)}`);
  if (failures.length > 0) throw await explained(place, failures[0]!);
}

/** Null when it agrees. The seed also decides what is not in the program: what comes beside what, and what is looked for. */
async function errorOf(place: Place, seed: number, program: Program, counts: Counts): Promise<unknown> {
  try {
    await runProgram(place, program, createRandom(seed), counts);
    return null;
  } catch (error) {
    return error;
  }
}

/** What runs beside others may fail only now and then. */
const TRIES = 3;
/** On a busy machine each try takes its time; what was found by then is told before the test's own limit. */
const SHRINK_MS = 120_000;

async function explained(place: Place, { seed, error }: Failure): Promise<Error> {
  const drawn = drawProgram(createRandom(seed));
  const failureOf = async (program: Program): Promise<unknown> => {
    for (let n = 0; n < (program.mode === "in_turn" ? 1 : TRIES); n += 1) {
      const found = await errorOf(place, seed, program, createCounts());
      if (found !== null) return found;
    }
    return null;
  };
  const of = (steps: readonly Step[]): Program => ({ mode: drawn.mode, steps });
  const end = performance.now() + SHRINK_MS;
  const stillFails = async (steps: readonly Step[]): Promise<boolean> =>
    performance.now() < end && (await failureOf(of(steps))) !== null;
  if ((await failureOf(drawn)) === null)
    return new Error(`seed ${seed}, but not when it runs alone: ${String(error)}\n${showProgram(drawn)}`, {
      cause: error,
    });
  const smallest = of(await shrink(drawn.steps, stillFails, simplerOf));
  const cause = (await failureOf(smallest)) ?? error;
  return new Error(`SEED=${seed}: the smallest program found is\n${showProgram(smallest)}\n${String(cause)}`, {
    cause,
  });
}

function simplerOf(step: Step): readonly Step[] {
  if (step.kind === "send")
    return [
      ...(step.door === "collect" ? [] : [{ ...step, door: "collect" as const }]),
      ...(step.events.length > 1 ? without(step.events) : []).map((events) => ({ ...step, events })),
      ...step.events.flatMap((event, i) =>
        simplerEvents(event).map((less) => ({ ...step, events: step.events.with(i, less) })),
      ),
    ];
  if (step.kind === "identify" && step.who.length > 1) return without(step.who).map((who) => ({ ...step, who }));
  return [];
}

const simplerEvents = (event: SentEvent): readonly SentEvent[] => [
  ...without(event.who).map((who) => ({ ...event, who })),
  ...Object.keys(event.values).map((name) => ({
    ...event,
    values: Object.fromEntries(Object.entries(event.values).filter(([other]) => other !== name)),
  })),
  ...(event.isKeyed ? [{ ...event, isKeyed: false }] : []),
  ...(event.age > 30 || event.age < 0 ? [{ ...event, age: 30 }] : []),
];
