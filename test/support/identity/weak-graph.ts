import { AppError } from "../../../core/errors.js";
import type { IdentifierKey, WorkspaceId } from "../../../core/ids.js";
import type { Component, PairKey, Plan } from "../../../core/identity/model.js";
import type {
  RemovedLink,
  Snapshot,
  SeenComponent,
  SeenIdentifier,
  ReadSet,
  SnapshotOf,
} from "../../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { repeatIn } from "../../../graph/rules/repeats.js";
import { hasRules, readSetOf, readSetOfAll } from "../../../graph/rules/read-set.js";
import { createMemoryGraph } from "../memory/graph.js";
import { componentOf, lookAt, seenOf, UNLIMITED } from "../memory/look.js";
import { applyPlan, type MemoryState } from "../memory/state.js";
import type { Random } from "../random/random.js";

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
  const read = <Asked extends ReadSet>(want: Asked) => readInSteps(state, want, pause) as Promise<SnapshotOf<Asked>>;
  return {
    ...createMemoryGraph(state),
    // What it promises is more than these steps have: as a real server, it settles its doubts itself.
    read: async (_, want) => {
      const seen = await read(want);
      return want.keys.every((key) => seen.identifiers.has(key)) ? seen : lookAt(state, want);
    },
    repeats: async (_, sets) => {
      const snapshot = await read(readSetOfAll(sets.map(readSetOf)));
      return sets.map((keys) => repeatIn(snapshot, keys));
    },
    update: async (workspace, want, decide) => {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const { plan, result } = decide(await read(want), null);
        await pause();
        if (plan === null) return result;
        const fate = random.below(8);
        const isApplied = fate > 0 && tryToApply(state, plan, workspace);
        await pause();
        // The reply is lost or says "deadlock", and both look the same from here: the record of the change tells.
        if (fate === 1) throw new AppError("unavailable", "connection lost");
        const [change] = plan.changes;
        if (change === undefined ? isApplied : state.changes.has(change.changeId)) return result;
      }
      throw new AppError("unavailable", "too many conflicts");
    },
  };
}

/** A key that came to exist meanwhile fails the transaction: it leaves nothing. */
function tryToApply(state: MemoryState, plan: Plan, workspace: WorkspaceId): boolean {
  try {
    applyPlan(state, plan, workspace);
    return true;
  } catch {
    return false;
  }
}

async function readInSteps(state: MemoryState, want: ReadSet, pause: () => Promise<void>): Promise<Snapshot> {
  const rules = hasRules(want) ? want.rules : UNLIMITED;
  const identifiers = new Map<IdentifierKey, SeenIdentifier>();
  const components = new Map<Component, SeenComponent>();
  const linked = new Set<PairKey>();
  const removed = new Map<PairKey, RemovedLink>();
  for (const key of want.keys) {
    await pause();
    if (!state.identifiers.has(key)) continue;
    const seen = seenOf(state, key, rules, want.keys);
    await pause();
    // The profile was merged away between the two: the row is missing, as in a join.
    if (!state.components.has(Number(seen.component))) continue;
    identifiers.set(key, seen);
    components.set(seen.component, componentOf(state, seen.component));
  }
  for (const pair of want.pairs) {
    await pause();
    const seen = lookAt(state, { rules, keys: [], pairs: [pair] });
    for (const one of seen.linked) linked.add(one);
    for (const [one, at] of seen.removed) removed.set(one, at);
  }
  return { identifiers, components, linked, removed, tombstones: new Map() };
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
