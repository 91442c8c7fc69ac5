import type { Delivery } from "../../../core/ports/event-queue.js";
import type { Intake } from "./intake.js";

/** An unacknowledged message in memory. Times are on the monotonic clock, milliseconds. */
export interface Held extends Delivery {
  readonly intake: Intake;
  readonly tag: number;
  readonly heldSince: number;
  readonly dueAt: number;
}

export interface Schedule {
  /** Keeps it until it is due. */
  hold(held: Held): void;
  /** What is due: several without a crash, or one that a process crashed on. The latter only if `aloneToo`. */
  take(batchMax: number, aloneToo: boolean): readonly Held[];
  /** Hands out nothing for this long. */
  pause(ms: number): void;
  /** Until `take` may find something; null while there is nothing. */
  idleMs(aloneToo: boolean): number | null;
  /** Takes out all that are held since that time or longer; without a time, all. */
  remove(heldSinceMax?: number): readonly Held[];
}

export const now = (): number => performance.now();

/** What waits in this process, in memory: at most as many as the broker hands out at once. */
export function createSchedule(): Schedule {
  let ready: Held[] = [];
  let alone: Held[] = [];
  let later: Held[] = [];
  let nextDueAt = Infinity;
  let pausedUntil = 0;
  /** They take turns, so that neither starves the other. */
  let wasAlone = false;

  const keepLater = (held: Held): void => {
    later.push(held);
    nextDueAt = Math.min(nextDueAt, held.dueAt);
  };
  const line = ({ crashes }: Held): Held[] => (crashes > 0 ? alone : ready);
  const promote = (): void => {
    const time = now();
    if (nextDueAt > time) return;
    const all = later;
    later = [];
    nextDueAt = Infinity;
    for (const held of all)
      if (held.dueAt <= time) line(held).push(held);
      else keepLater(held);
  };

  return {
    hold: (held) => {
      if (held.dueAt > now()) keepLater(held);
      else line(held).push(held);
    },
    take: (batchMax, aloneToo) => {
      promote();
      if (now() < pausedUntil) return [];
      const takesAlone = aloneToo && alone.length > 0 && (ready.length === 0 || !wasAlone);
      wasAlone = takesAlone;
      return takesAlone ? alone.splice(0, 1) : ready.splice(0, batchMax);
    },
    pause: (ms) => {
      pausedUntil = now() + ms;
    },
    idleMs: (aloneToo) => {
      const isDue = ready.length > 0 || (aloneToo && alone.length > 0);
      const time = now();
      const dueAt = Math.max(isDue ? time : nextDueAt, pausedUntil);
      return dueAt === Infinity ? null : Math.max(0, dueAt - time);
    },
    remove: (heldSinceMax = Infinity) => {
      const all = [...ready, ...alone, ...later];
      const stays = all.filter(({ heldSince }) => heldSince > heldSinceMax);
      [ready, alone, later, nextDueAt] = [[], [], [], Infinity];
      for (const held of stays)
        if (held.dueAt > now()) keepLater(held);
        else line(held).push(held);
      return all.filter(({ heldSince }) => heldSince <= heldSinceMax);
    },
  };
}
