import type { WorkspaceId } from "../core/ids.js";
import type { Client, Row, Step } from "./neo4j-client.js";
import { LOCK } from "./neo4j-statements.js";
import { inLockedTries } from "./neo4j-tries.js";

/** One transaction. Whatever the work did not commit is undone. */
export async function inStep<T>(client: Client, work: (step: Step) => Promise<T>): Promise<T> {
  const begun = await client.begin();
  let isCommitted = false;
  const commit = async (): Promise<void> => {
    await begun.commit();
    isCommitted = true;
  };
  try {
    return await work({ ...begun, commit });
  } finally {
    // Nothing is left to undo when the connection is gone.
    if (!isCommitted) await begun.rollback().catch(() => undefined);
  }
}

/** What stands there while nobody writes in the workspace: the answer to a doubt, which changes nothing. */
export const readLocked = (client: Client, ws: WorkspaceId, statement: string, q: object): Promise<readonly Row[]> =>
  inLockedTries(() =>
    inStep(client, async (step) => {
      await step.run(LOCK, { ws });
      return step.run(statement, { ...q, ws });
    }),
  );
