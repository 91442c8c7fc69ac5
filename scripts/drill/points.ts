import type { Backends } from "../../app/backends.js";
import type { EventId } from "../../core/ids.js";
import { decodeMessage } from "../../core/message.js";
import type { Delivery } from "../../core/ports.js";

/** The steps of a message and of an identify, each a call of a port. `take`: the worker has it; `settle`: it says what became of it. */
export const STEPS = ["publish", "take", "insert", "link", "fold", "mark", "bury", "settle"] as const;
export type Step = (typeof STEPS)[number];

/** Before the step; all written and no COMMIT yet; COMMIT returned and nobody told; after the step. */
export const MOMENTS = ["before", "uncommitted", "committed", "after"] as const;
export type Moment = (typeof MOMENTS)[number];

/** Where a process is to kill itself: at the `call`-th time (from 1) of a step, or whenever its worker is handed one event. */
export type KillPoint =
  | { readonly kind: "step"; readonly step: Step; readonly moment: Moment; readonly call: number }
  | { readonly kind: "event"; readonly eventId: EventId };

export interface Killer {
  readonly wrap: (backends: Backends) => Backends;
  readonly commit: (commit: () => void) => void;
}

/** Puts the point between the product's parts, so that the product itself knows nothing of it. `die` does not return. */
export function createKiller(point: KillPoint | null, die: () => void): Killer {
  let calls = 0;
  let atCommit: "uncommitted" | "committed" | null = null;

  /** Answers what to do when the step is over. */
  const enter = (step: Step): (() => void) => {
    if (point?.kind !== "step" || point.step !== step) return GO_ON;
    calls += 1;
    if (calls !== point.call) return GO_ON;
    const { moment } = point;
    if (moment === "before") die();
    // The step's write is in the next group that is committed: whoever waits is in it.
    if (moment === "uncommitted" || moment === "committed") atCommit = moment;
    return moment === "after" ? die : GO_ON;
  };
  const around =
    <Args extends readonly unknown[], T>(step: Step, call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const leave = enter(step);
      const answer = await call(...args);
      leave();
      return answer;
    };
  const isFatal = (batch: readonly Delivery[]): boolean =>
    point?.kind === "event" && batch.some(({ message }) => eventIdOf(message) === point.eventId);

  return {
    commit: (commit) => {
      if (atCommit === "uncommitted") die();
      commit();
      if (atCommit === "committed") die();
    },
    wrap: ({ queue, events, profiles, graph, catalog }) => ({
      catalog,
      queue: {
        ...queue,
        publish: around("publish", queue.publish),
        consume: (batchMax, handler) =>
          queue.consume(batchMax, async (batch) => {
            enter("take")();
            if (isFatal(batch)) die();
            const outcomes = await handler(batch);
            enter("settle")();
            return outcomes;
          }),
      },
      events: {
        ...events,
        insert: around("insert", events.insert),
        markFolded: around("mark", events.markFolded),
        bury: around("bury", events.bury),
      },
      profiles: { ...profiles, save: around("fold", profiles.save) },
      // Not `around`: `update` has a type parameter of its own.
      graph: {
        ...graph,
        update: async (workspace, want, decide) => {
          const leave = enter("link");
          const result = await graph.update(workspace, want, decide);
          leave();
          return result;
        },
      },
    }),
  };
}

const GO_ON = (): void => {};

const eventIdOf = (message: Buffer): EventId | null => {
  const decoded = decodeMessage(message);
  return decoded.kind === "event" ? decoded.event.eventId : null;
};
