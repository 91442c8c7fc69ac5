import { workspaceOf } from "../../../../core/event/message.js";
import type { Backends } from "../../../../app/backends.js";

/** What the processes have in hand of each workspace, which no store tells. */
export interface Underway {
  /** Batches of messages: what they mark is marked once they are done. */
  readonly batches: Map<string, number>;
  /** Saves of seats that nobody has brought into the feed since; how many there were. */
  readonly saves: Map<string, number>;
}

export const createUnderway = (): Underway => ({ batches: new Map(), saves: new Map() });

/** The same stores, which note that. */
export function noting({ batches, saves }: Underway, { queue, seats }: Backends): Pick<Backends, "queue" | "seats"> {
  const add = (map: Map<string, number>, key: string, n: number): void => void map.set(key, (map.get(key) ?? 0) + n);
  return {
    queue: {
      ...queue,
      consume: (batchMax, handler) =>
        queue.consume(batchMax, async (batch) => {
          const workspace = workspaceOf(batch[0]!.message);
          add(batches, workspace, 1);
          try {
            return await handler(batch);
          } finally {
            add(batches, workspace, -1);
          }
        }),
    },
    seats: {
      ...seats,
      save: (workspace, ...rest) => {
        add(saves, workspace, 1);
        return seats.save(workspace, ...rest).finally(() => add(saves, workspace, 1));
      },
      publish: async (workspace, limit) => {
        const before = saves.get(workspace);
        const hasMore = await seats.publish(workspace, limit);
        if (!hasMore && saves.get(workspace) === before) saves.delete(workspace);
        return hasMore;
      },
    },
  };
}
