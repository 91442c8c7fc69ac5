import { AppError } from "../../core/errors.js";

export interface BatcherOptions<Ask, Answer> {
  /** Answers all questions, in order, in one round trip. */
  readonly ask: (asks: readonly Ask[]) => Promise<readonly Answer[]>;
  readonly weightOf: (ask: Ask) => number;
  /** The most that one round trip carries; at least one question. */
  readonly weightMax: number;
  /** Questions up to this size go into one round trip, not two. */
  readonly weightWorth: number;
  /** Parallel round trips. */
  readonly atOnceMax: number;
  /** Questions that may wait; more are refused with `unavailable`. */
  readonly waitingMax: number;
}

/** For the reads of the whole process. Two at once keep the server busy; what is no more than 384 look-ups goes in one. */
export const READS = { atOnceMax: 2, weightMax: 4_096, weightWorth: 384, waitingMax: 10_000 } as const;

interface Waiting<Ask, Answer> {
  readonly ask: Ask;
  readonly settle: (answer: Answer) => void;
  readonly fail: (error: unknown) => void;
}

/** A question that comes while others are under way shares the next round trip with all that wait; a lone one goes at once. */
export function createBatcher<Ask, Answer>(options: BatcherOptions<Ask, Answer>): (ask: Ask) => Promise<Answer> {
  const { ask, weightOf, weightMax, weightWorth, atOnceMax, waitingMax } = options;
  const waiting: Waiting<Ask, Answer>[] = [];
  let total = 0;
  let underWay = 0;
  let isDue = false;

  const take = (): readonly Waiting<Ask, Answer>[] => {
    const most = shareOf(total);
    let weight = 0;
    let end = 0;
    while (end < waiting.length) {
      const next = weightOf(waiting[end]!.ask);
      if (end > 0 && weight + next > most) break;
      weight += next;
      end += 1;
    }
    total -= weight;
    return waiting.splice(0, end);
  };
  /** Free round trips share the questions equally, unless there are too few to be worth it. */
  const shareOf = (total: number): number =>
    Math.min(weightMax, Math.max(weightWorth, Math.ceil(total / (atOnceMax - underWay))));
  const run = async (taken: readonly Waiting<Ask, Answer>[]): Promise<void> => {
    underWay += 1;
    try {
      const answers = await ask(taken.map(({ ask }) => ask));
      for (const [i, { settle }] of taken.entries()) settle(answers[i]!);
    } catch (error) {
      for (const { fail } of taken) fail(error);
    }
    underWay -= 1;
    soon();
  };
  const start = (): void => {
    isDue = false;
    for (let free = atOnceMax - underWay; free > 0 && waiting.length > 0; free--) void run(take());
  };
  /** At the end of this turn of the loop, so that all questions of the turn share the round trip. */
  const soon = (): void => {
    if (isDue || waiting.length === 0 || underWay === atOnceMax) return;
    isDue = true;
    setImmediate(start);
  };

  return (one) =>
    new Promise((settle, fail) => {
      if (waiting.length >= waitingMax)
        return fail(new AppError("unavailable", "Too many reads of the identity graph are waiting."));
      waiting.push({ ask: one, settle, fail });
      total += weightOf(one);
      soon();
    });
}
