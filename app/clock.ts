import { believableUntil, createClock, createSureness, type Clock } from "../core/clock.js";
import { newIdsFrom } from "../core/ids.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { Lifecycle } from "./lifecycle.js";

const KEEP_MS = 1_000;

/**
 * The time of the whole installation: not before what any of its processes said until a second ago, this one before a restart among
 * them, unless that was days ahead. Otherwise, after a clock was set back, events would seem older than an undo that they follow, and new ids older than old ones.
 */
export async function startClock(deps: {
  readonly catalog: Pick<CatalogStore, "advanceTime" | "timeKept">;
  readonly machine: () => number;
  /** Never jumps. */
  readonly steady: () => number;
  /** Other processes use the same catalog. */
  readonly isShared: boolean;
  readonly lifecycle: Lifecycle;
}): Promise<Clock & { readonly isSure: () => boolean }> {
  const { catalog, machine, steady, isShared, lifecycle } = deps;
  const clock = createClock(machine);
  const lookSure = createSureness({ machine, steady, now: clock.now, before: await catalog.timeKept() });
  const isSure = (): boolean => lookSure().isSure;
  let isAsked = true;
  const keep = async (): Promise<void> => {
    // A service that nobody uses writes nothing.
    if (!isAsked && !isShared) return;
    isAsked = false;
    const at = machine();
    const { isSure: isNow, waitedMs } = lookSure();
    // Apart from the latest: a process that is not sure keeps that, too, and the next start would believe it.
    const sure = isNow ? { sureMs: at, waitedMs: 0 } : waitedMs === null ? {} : { waitedMs };
    clock.follow(await catalog.advanceTime(clock.now(), believableUntil(at), sure));
    newIdsFrom(clock.now());
  };
  // While the store is away this process goes on with the time that it knows.
  const tryToKeep = (): Promise<void> => keep().catch(() => undefined);
  await keep();
  const timer = setInterval(() => void tryToKeep(), KEEP_MS);
  timer.unref();
  lifecycle.opened("clock", () => {
    clearInterval(timer);
    return tryToKeep();
  });
  return {
    ...clock,
    isSure,
    now: () => {
      isAsked = true;
      return clock.now();
    },
    tick: () => {
      isAsked = true;
      const ticked = clock.tick();
      void tryToKeep();
      return ticked;
    },
  };
}
