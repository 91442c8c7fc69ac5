import type { MovedId, ProfileId } from "../../../core/ids.js";
import type { Moved, MovedCause, Movements } from "../../../core/ports/movements.js";
import { type Client, inWrite, whole } from "../client.js";
import { CLEAR_MOVED, MOVED_OF, WATCH } from "../cypher/movements.js";
import { withOneRetry, withOneRetryLocked } from "../failure.js";

export function createMovements(client: Client): Movements {
  const write = (statement: string, q: object): Promise<void> =>
    withOneRetryLocked(() => inWrite(client, null, async (step) => void (await step.run(statement, { ...q }))));
  return {
    watch: (ws) => write(WATCH, { ws }),
    moved: async (ws, limit) => {
      const rows = await withOneRetry(() => client.read(MOVED_OF, { ws, limit: whole(limit) }));
      return rows.map((row) => {
        const [movedId, cause, profileIds] = row as unknown as readonly [MovedId, MovedCause, readonly ProfileId[]];
        return { movedId, cause, profileIds };
      });
    },
    clearMoved: (ws, ids) => write(CLEAR_MOVED, { ws, ids }),
  };
}

/** As the parameter of a step. */
export const movedParameters = (moved: readonly Moved[]) =>
  moved.map(({ movedId, cause, profileIds }) => ({ id: movedId, cause, profiles: profileIds }));
