import { saidAt, type Erasure } from "../../core/identity/erasure.js";
import type { ErasureId, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";
import { logErasure, type LogServices } from "./log.js";

type LackingServices = LogServices & { readonly catalog: Pick<Services["catalog"], "workspaces"> };

/** A log that was restored lacks the newest ones: behind so many in a row that it has, none is looked for. */
const LOGGED_MAX = 10_000;
const PER_READ = 500;

/**
 * Logs what the stores know of erasures and the log does not: it was copied before they were. A later restore, or an import elsewhere, would
 * bring these people back. Answers how many. It may end at any point and begin anew.
 */
export async function logLacking(services: LackingServices, loggedMax = LOGGED_MAX): Promise<number> {
  const said = new Map<ErasureId, number>();
  for await (const { erasure } of services.erasureLog.entries())
    said.set(erasure.erasureId, Math.max(saidAt(erasure), said.get(erasure.erasureId) ?? 0));
  let count = 0;
  for (let after: WorkspaceId | null = null; ;) {
    const page: readonly { readonly workspaceId: WorkspaceId }[] = await services.catalog.workspaces({
      limit: PER_READ,
      after,
    });
    for (const { workspaceId } of page) {
      const lacking = await lackingOf(services, workspaceId, said, loggedMax);
      // Oldest first: the next start finds those that are not done in front of those that are.
      for (const erasureId of lacking.toReversed()) {
        const erasure = await services.erasures.findErasure(workspaceId, erasureId);
        if (erasure !== null) await logErasure(services, erasure);
      }
      count += lacking.length;
    }
    if (page.length < PER_READ) return count;
    after = page.at(-1)!.workspaceId;
  }
}

/** Newest first. */
async function lackingOf(
  { erasures }: LackingServices,
  workspace: WorkspaceId,
  said: ReadonlyMap<ErasureId, number>,
  loggedMax: number,
): Promise<readonly ErasureId[]> {
  const lacking: ErasureId[] = [];
  if (!(await erasures.hasErasures(workspace))) return lacking;
  let loggedInARow = 0;
  for (let before: ErasureId | null = null; ;) {
    const page: readonly Erasure[] = await erasures.erasures(workspace, { limit: PER_READ, before });
    for (const erasure of page) {
      const isLogged = (said.get(erasure.erasureId) ?? 0) >= saidAt(erasure);
      // One that is still in the graph is logged as soon as it is gone from there.
      if (!isLogged && erasure.isGone) lacking.push(erasure.erasureId);
      loggedInARow = isLogged ? loggedInARow + 1 : 0;
      if (loggedInARow === loggedMax) return lacking;
    }
    if (page.length < PER_READ) return lacking;
    before = page.at(-1)!.erasureId;
  }
}
