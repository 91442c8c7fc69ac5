import type { Erasure } from "../../core/identity/erasure.js";
import type { ErasureId, Tomb, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export type LogServices = Pick<Services, "erasures" | "erasureLog">;

const BURIED_PER_PART = 1_000;

/** Writes the erasure where no backup of the stores takes it back. To be called once it is gone from the graph; doing it twice is safe. */
export async function logErasure({ erasures, erasureLog }: LogServices, erasure: Erasure): Promise<void> {
  let after: Tomb | null = null;
  for (;;) {
    const { workspace, erasureId } = erasure;
    const buried = await erasures.buried(workspace, erasureId, { limit: BURIED_PER_PART, after });
    if (buried.length > 0 || after === null) await erasureLog.append({ erasure, buried });
    if (buried.length < BURIED_PER_PART) return;
    after = buried.at(-1)!.tomb;
  }
}

/** Ends the suppression, in the log too. Null where there is no such erasure. */
export async function readmit(
  { erasures, erasureLog }: LogServices,
  workspace: WorkspaceId,
  erasureId: ErasureId,
  at: number,
): Promise<Erasure | null> {
  const erasure = await erasures.readmit(workspace, erasureId, at);
  if (erasure !== null) await erasureLog.append({ erasure, buried: [] });
  return erasure;
}
