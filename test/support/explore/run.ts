import type { Actor, Scene, Step } from "./explore.js";

/** The actor does its next step, or is killed. */
export interface Choice {
  readonly actor: number;
  readonly kind: "step" | "crash";
}

/** One order of the steps, as far as it has come. */
export interface Run<W> {
  readonly world: W;
  readonly choices: () => readonly Choice[];
  readonly take: (choice: Choice) => Promise<void>;
  /** The same for the same state. */
  readonly key: () => string;
  readonly isThrough: () => boolean;
  readonly trace: () => readonly string[];
}

interface Pending<W> {
  readonly name: string;
  readonly isReady: (world: W) => boolean;
  /** Tells what the actor sees of it. */
  readonly go: () => string;
}

interface Player<W> {
  readonly actor: Actor<W>;
  pending: Pending<W> | null;
  /** What its steps have answered since it began. */
  seen: string[];
  crashesLeft: number;
  isDone: boolean;
  failure: { readonly error: unknown } | null;
}

export async function createRun<W>(scene: Scene<W>): Promise<Run<W>> {
  const world = scene.world();
  const trace: string[] = [];
  const players = scene.actors.map((actor): Player<W> => ({
    actor,
    pending: null,
    seen: [],
    crashesLeft: actor.crashes ?? 0,
    isDone: false,
    failure: null,
  }));
  for (const player of players) await begin(world, player);

  return {
    world,
    choices: () =>
      players.flatMap((player, actor): readonly Choice[] => {
        if (player.pending === null) return [];
        const step = player.pending.isReady(world) ? [{ actor, kind: "step" } as const] : [];
        // Before its first step a crash changes nothing.
        const mayCrash = player.crashesLeft > 0 && player.seen.length > 0;
        return mayCrash ? [...step, { actor, kind: "crash" } as const] : step;
      }),
    take: async ({ actor, kind }) => {
      const player = players[actor]!;
      const { name } = player.actor;
      if (kind === "crash") {
        trace.push(`${name} is killed before: ${player.pending!.name}`);
        player.crashesLeft -= 1;
        await begin(world, player);
        return;
      }
      const { pending } = player;
      player.pending = null;
      trace.push(`${name}: ${pending!.name}`);
      player.seen.push(pending!.go());
      await settle(player);
    },
    key: () => textOf([world, players.map(({ seen, crashesLeft, isDone }) => [isDone ? "done" : seen, crashesLeft])]),
    isThrough: () => players.every(({ isDone }) => isDone),
    trace: () => trace,
  };
}

/** Also after a crash: of the run before nothing is heard again, because its step never answers. */
async function begin<W>(world: W, player: Player<W>): Promise<void> {
  const life: string[] = [];
  player.seen = life;
  player.pending = null;
  const step: Step<W> = (name, act, until = () => true) =>
    new Promise((resolve, reject) => {
      if (player.seen !== life) return;
      if (player.pending !== null) throw new Error(`${player.actor.name} does two steps at once; order them.`);
      player.pending = { name, isReady: until, go: () => answer(() => act(world), resolve, reject) };
    });
  player.actor.run(step).then(
    () => void (player.isDone ||= player.seen === life),
    (error: unknown) => void (player.failure = { error }),
  );
  await settle(player);
}

function answer<T>(act: () => T, resolve: (value: T) => void, reject: (error: unknown) => void): string {
  try {
    // A copy: the actor must not see what others do to the world later.
    const value = structuredClone(act());
    resolve(value);
    return textOf(value);
  } catch (error) {
    reject(error);
    return `! ${String(error)}`;
  }
}

const TURNS_MAX = 10_000;

/** Until the actor stands before its next step, or is through. */
async function settle<W>(player: Player<W>): Promise<void> {
  for (let turn = 0; player.pending === null && !player.isDone; turn += 1) {
    if (player.failure !== null) throw player.failure.error;
    if (turn === TURNS_MAX) throw new Error(`${player.actor.name} waits for something that is no step.`);
    // On a busy machine the code may find that it took long, and let others run.
    await (turn % TURNS_OF_LOOP === TURNS_OF_LOOP - 1
      ? new Promise((resolve) => setImmediate(resolve))
      : Promise.resolve());
  }
}
const TURNS_OF_LOOP = 1_000;

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, held: unknown) => {
    if (held instanceof Map) return { map: [...held] };
    if (held instanceof Set) return { set: [...held] };
    return typeof held === "bigint" ? `${held}n` : held;
  }) ?? "";
