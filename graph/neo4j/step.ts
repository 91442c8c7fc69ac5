import type { WorkspaceId } from "../../core/ids.js";
import type { Client, Row, Step } from "./client.js";
import { LOCK } from "./cypher/writes.js";
import { inLockedTries } from "./retry.js";

/** One transaction. Whatever the work did not commit is undone. */
export async function inStep<T>(client: Client, work: (step: Step) => Promise<T>, timeoutMs?: number): Promise<T> {
  const begun = await client.begin(timeoutMs);
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

/** What is read while nobody writes in the workspace: the answer to a doubt, which changes nothing. */
export const inLock = <T>(client: Client, ws: WorkspaceId, work: (step: Step) => Promise<T>): Promise<T> =>
  inLockedTries(() =>
    inStep(client, async (step) => {
      await step.run(LOCK, { ws });
      return work(step);
    }),
  );

export const readLocked = (client: Client, ws: WorkspaceId, statement: string, q: object): Promise<readonly Row[]> =>
  inLock(client, ws, (step) => step.run(statement, { ...q, ws }));
