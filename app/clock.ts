import { believableUntil, createClock, createSureness, type Clock } from "../core/clock.js";
import { newIdsFrom } from "../core/ids.js";
import type { Log } from "../core/log.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { Lifecycle } from "./lifecycle.js";

const KEEP_MS = 1_000;
/** Clocks that are kept right differ by less, and an answer of the store takes less. */
const FAR_MS = 10_000;
const TELL_EVERY_MS = 3_600_000;

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
  readonly log: Log;
}): Promise<Clock & { readonly isSure: () => boolean; readonly behindMs: () => number }> {
  const { catalog, machine, steady, isShared, lifecycle, log } = deps;
  const clock = createClock(machine);
  const before = await catalog.timeKept();
  const tell = createTelling(log, steady);
  tell(before.ms - machine());
  // Which of the two it is, this process cannot know.
  const aheadMs = before.ms === 0 ? 0 : machine() - before.ms;
  if (isShared && aheadMs > FAR_MS) log.info(inSeconds(aheadMs), AHEAD_OR_STOPPED);
  const behindMs = (): number => Math.max(0, clock.now() - machine());
  const lookSure = createSureness({ machine, steady, now: clock.now, before });
  const isSure = (): boolean => lookSure().isSure;
  let isAsked = true;
  const keep = async (): Promise<void> => {
    const { isSure: isNow, waitedMs } = lookSure();
    // A service that nobody uses writes nothing, but for what it has waited: else, stopped within the hour, it would never be sure.
    if (!isAsked && !isShared && waitedMs === null) return;
    isAsked = false;
    const at = machine();
    // Apart from the latest: a process that is not sure keeps that, too, and the next start would believe it.
    const sure = isNow ? { sureMs: at, waitedMs: 0 } : waitedMs === null ? {} : { waitedMs };
    clock.follow(await catalog.advanceTime(clock.now(), believableUntil(at), sure));
    newIdsFrom(clock.now());
    tell(behindMs());
  };
  // While the store is away this process goes on with the time that it knows.
  const tryToKeep = (): Promise<void> => keep().catch(() => undefined);
  await keep();
  const timer = setInterval(() => void tryToKeep(), KEEP_MS);
  timer.unref();
  lifecycle.opened("clock", () => {
    clearInterval(timer);
    // Else one that nobody used for an hour would seem to have been stopped for as long.
    isAsked = true;
    return tryToKeep();
  });
  return {
    ...clock,
    isSure,
    behindMs,
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

const BEHIND =
  "the installation's time is ahead of this machine's clock: this clock is wrong, or that of another process' machine is or was: " +
  "compare the clocks of all machines, and keep them right with NTP";
const AHEAD_OR_STOPPED =
  "the installation's time goes ahead to this machine's clock: all processes were stopped for as long, or this clock is wrong";

const inSeconds = (ms: number) => ({ seconds: Math.round(ms / 1_000) });

/** Once an hour for as long as it is so. */
function createTelling(log: Log, steady: () => number): (behindMs: number) => void {
  let nextAt = -Infinity;
  return (behindMs) => {
    if (behindMs <= FAR_MS || steady() < nextAt) return;
    nextAt = steady() + TELL_EVERY_MS;
    log.warn(inSeconds(behindMs), BEHIND);
  };
}
