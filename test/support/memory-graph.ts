import type { Identifier } from "../../core/event.js";
import { AppError } from "../../core/errors.js";
import type { ChangeId, IdentifierKey, ProfileId, Uid } from "../../core/ids.js";
import { pairKey, type LinkPlan, type PairKey, type Picture, type Plan, type Want } from "../../core/identity.js";
import type { IdentityGraph } from "../../core/ports.js";
import type { Random } from "./random.js";

/** The graph in plain maps: what the rules decide is applied here without a database in between. */
export interface MemoryState {
  readonly identifiers: Map<IdentifierKey, { uid: Uid; component: number; identifier: Identifier }>;
  readonly components: Map<number, { profileId: ProfileId; size: number }>;
  readonly links: Map<PairKey, LinkPlan>;
  readonly changes: Set<ChangeId>;
  nextComponent: number;
}

export const createMemoryState = (): MemoryState => ({
  identifiers: new Map(),
  components: new Map(),
  links: new Map(),
  changes: new Set(),
  nextComponent: 1,
});

export function lookAt(state: MemoryState, { keys, pairs }: Want): Picture {
  const known = keys.filter((key) => state.identifiers.has(key));
  const identifiers = new Map(known.map((key) => [key, { ...state.identifiers.get(key)! }]));
  const components = new Map(
    [...identifiers.values()].map(({ component }) => [component, { ...state.components.get(component)! }]),
  );
  const wanted = pairs.map(([a, b]) => pairKey(a, b));
  return { identifiers, components, linked: new Set(wanted.filter((pair) => state.links.has(pair))) };
}

/** All or nothing, as a transaction with unique keys is; but a row that it names and that is gone is silently passed over. */
export function applyPlan(state: MemoryState, plan: Plan): void {
  if (plan.creates.some(({ key }) => state.identifiers.has(key))) throw new Error("the identifier exists");
  if (plan.changes.some(({ changeId }) => state.changes.has(changeId))) throw new Error("the change exists");
  const ids = plan.components.map(({ into, absorbed, size, profileId }) => {
    const id = into === null ? state.nextComponent++ : Number(into);
    if (into === null || state.components.has(id)) state.components.set(id, { profileId, size });
    for (const seat of state.identifiers.values()) if (absorbed.includes(seat.component)) seat.component = id;
    for (const component of absorbed) state.components.delete(Number(component));
    return id;
  });
  for (const { key, identifier, uid, component } of plan.creates)
    state.identifiers.set(key, { uid, identifier, component: ids[component]! });
  for (const link of plan.links) state.links.set(pairKey(link.from, link.to), link);
  for (const { changeId } of plan.changes) state.changes.add(changeId);
}

/** The whole state, read and changed at once: nothing comes in between. */
export function createMemoryGraph(state: MemoryState): IdentityGraph {
  const seatOf = (profileId: ProfileId) => [...state.identifiers.values()].find(({ uid }) => uid === profileId);
  return {
    ready: async () => undefined,
    close: async () => undefined,
    read: async (_, want) => lookAt(state, want),
    update: async (_, want, decide) => {
      const { plan, result } = decide(lookAt(state, want));
      if (plan !== null) applyPlan(state, plan);
      return result;
    },
    resolve: async (_, profileId) => {
      const seat = seatOf(profileId);
      return seat === undefined ? null : (state.components.get(seat.component) ?? null);
    },
    members: async (_, profileId, { after, limit }) => {
      const component = seatOf(profileId)?.component;
      return [...state.identifiers.values()]
        .filter((seat) => seat.component === component && seat.uid > (after ?? ""))
        .toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
        .slice(0, limit)
        .map(({ uid, identifier }) => ({ uid, identifier }));
    },
  };
}

export interface WeakGraphOptions {
  readonly state: MemoryState;
  readonly random: Random;
  /** Others go on meanwhile: resolves when the scheduler picks this step. */
  readonly pause: () => Promise<void>;
}

const TRIES_MAX = 20;

/**
 * A graph with the weaknesses of a real server and no lock of its own: every look-up is a step, so no read is a snapshot;
 * transactions fail now and then, before the commit or with its reply lost, and now and then for good.
 */
export function createWeakGraph({ state, random, pause }: WeakGraphOptions): IdentityGraph {
  const read = (want: Want): Promise<Picture> => readInSteps(state, want, pause);
  return {
    ...createMemoryGraph(state),
    read: (_, want) => read(want),
    update: async (_, want, decide) => {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const { plan, result } = decide(await read(want));
        await pause();
        if (plan === null) return result;
        const fate = random.below(8);
        if (fate > 0) tryToApply(state, plan);
        await pause();
        // The reply is lost or says "deadlock", and both look the same from here: the record of the change tells.
        if (fate === 1) throw new AppError("unavailable", "connection lost");
        if (state.changes.has(plan.changes[0]!.changeId)) return result;
      }
      throw new AppError("unavailable", "too many conflicts");
    },
  };
}

/** A key that came to exist meanwhile fails the transaction: it leaves nothing. */
function tryToApply(state: MemoryState, plan: Plan): void {
  try {
    applyPlan(state, plan);
  } catch {
    return;
  }
}

async function readInSteps(state: MemoryState, want: Want, pause: () => Promise<void>): Promise<Picture> {
  const identifiers = new Map<IdentifierKey, { uid: Uid; component: number }>();
  const components = new Map<number, { profileId: ProfileId; size: number }>();
  const linked = new Set<PairKey>();
  for (const key of want.keys) {
    await pause();
    const seat = state.identifiers.get(key);
    if (seat === undefined) continue;
    const { uid, component } = seat;
    await pause();
    const profile = state.components.get(component);
    // The profile was merged away between the two: the row is missing, as in a join.
    if (profile === undefined) continue;
    identifiers.set(key, { uid, component });
    components.set(component, { ...profile });
  }
  for (const [a, b] of want.pairs) {
    await pause();
    if (state.links.has(pairKey(a, b))) linked.add(pairKey(a, b));
  }
  return { identifiers, components, linked };
}

/** Runs tasks that pause, one step at a time, in an order that the seed alone decides. */
export function createScheduler(random: Random) {
  const paused: (() => void)[] = [];
  return {
    pause: (): Promise<void> => new Promise((resolve) => paused.push(resolve)),
    /** Resolves when all tasks have; rejects when one does, or when they wait for what never comes. */
    run: async <T>(tasks: readonly Promise<T>[]): Promise<readonly T[]> => {
      let done = false;
      const all = Promise.all(tasks).finally(() => (done = true));
      all.catch(() => undefined);
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve));
        if (done) return all;
        if (paused.length === 0) throw new Error("all tasks wait and none can go on");
        paused.splice(random.below(paused.length), 1)[0]!();
      }
    },
  };
}
