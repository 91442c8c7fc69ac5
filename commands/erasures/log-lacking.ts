import { setImmediate as nextTurn } from "node:timers/promises";
import { saidAt, type Buried, type Erasure } from "../../core/identity/erasure.js";
import type { ErasureId, Tomb, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";
import { BURIED_PER_PART, logLast, type LogServices } from "./log.js";

type LackingServices = LogServices & {
  readonly catalog: Pick<Services["catalog"], "workspaces">;
  readonly now: () => number;
};

export interface LackingOptions {
  /** A log that was restored lacks the newest ones: behind so many in a row that it has, none is looked for. */
  readonly loggedMax?: number;
  /** Ends it early. */
  readonly signal?: AbortSignal;
}

const LOGGED_MAX = 10_000;
const PER_READ = 500;

/**
 * Logs what the stores know of erasures and the log does not: it was copied before they were. A later restore, or an import elsewhere, would
 * bring these people back. Answers how many. It may end at any point and begin anew.
 */
export async function logLacking(services: LackingServices, options: LackingOptions = {}): Promise<number> {
  const { loggedMax = LOGGED_MAX, signal } = options;
  const isEnded = (): boolean => signal?.aborted === true;
  // Whoever erases from here on logs it.
  const begun = services.now();
  const logged = await loggedIn(services, isEnded);
  let count = 0;
  for (let after: WorkspaceId | null = null; ;) {
    const page: readonly { readonly workspaceId: WorkspaceId }[] = await services.catalog.workspaces({
      limit: PER_READ,
      after,
    });
    for (const { workspaceId } of page) {
      // The embedded store answers at once, and all of them in one turn of the event loop would hold up everybody.
      await nextTurn();
      if (isEnded()) return count;
      const lacking = await lackingOf(services, workspaceId, { logged, begun, loggedMax });
      // Oldest first: the next start finds those that are not done in front of those that are.
      for (const erasureId of lacking.toReversed()) {
        if (isEnded()) return count;
        const erasure = await services.erasures.findErasure(workspaceId, erasureId);
        if (erasure !== null) await logWhole(services, erasure);
        count += 1;
      }
    }
    if (page.length < PER_READ) return count;
    after = page.at(-1)!.workspaceId;
  }
}

interface Logged {
  /** When each was said last. */
  readonly said: ReadonlyMap<ErasureId, number>;
  /** Those of which the log has only the record, and nobody whom it buried. */
  readonly bare: ReadonlySet<ErasureId>;
}

async function loggedIn({ erasureLog }: LackingServices, isEnded: () => boolean): Promise<Logged> {
  const said = new Map<ErasureId, number>();
  const bare = new Set<ErasureId>();
  for await (const { erasure, buried } of erasureLog.entries()) {
    if (isEnded()) break;
    const { erasureId } = erasure;
    if (buried.length > 0) bare.delete(erasureId);
    else if (!said.has(erasureId)) bare.add(erasureId);
    said.set(erasureId, Math.max(saidAt(erasure), said.get(erasureId) ?? 0));
  }
  return { said, bare };
}

/** Newest first. */
async function lackingOf(
  { erasures }: LackingServices,
  workspace: WorkspaceId,
  { logged, begun, loggedMax }: { readonly logged: Logged; readonly begun: number; readonly loggedMax: number },
): Promise<readonly ErasureId[]> {
  const lacking: ErasureId[] = [];
  if (!(await erasures.hasErasures(workspace))) return lacking;
  let loggedInARow = 0;
  for (let before: ErasureId | null = null; ;) {
    const page: readonly Erasure[] = await erasures.erasures(workspace, { limit: PER_READ, before });
    for (const erasure of page) {
      const { erasureId } = erasure;
      const isLogged = !logged.bare.has(erasureId) && (logged.said.get(erasureId) ?? 0) >= saidAt(erasure);
      if (!isLogged && saidAt(erasure) < begun && !isYetToBeLogged(erasure)) lacking.push(erasureId);
      loggedInARow = isLogged ? loggedInARow + 1 : 0;
      if (loggedInARow === loggedMax) return lacking;
    }
    if (page.length < PER_READ) return lacking;
    before = page.at(-1)!.erasureId;
  }
}

/** By whoever continues it: that comes first, once it is gone from the graph. */
const isYetToBeLogged = ({ isGone, cursor, completedAt }: Erasure): boolean =>
  !isGone || (cursor === null && completedAt === null);

/** All parts but the last with a record of a millisecond before: until that one is written, the next start takes it for lacking. */
async function logWhole(services: LogServices, erasure: Erasure): Promise<void> {
  const { workspace, erasureId, erasedAt, readmittedAt } = erasure;
  const read = (after: Tomb | null): Promise<readonly Buried[]> =>
    services.erasures.buried(workspace, erasureId, { limit: BURIED_PER_PART, after });
  const earlier = { erasedAt: erasedAt - 1, readmittedAt: readmittedAt === null ? null : readmittedAt - 1 };
  for (let buried = await read(null); ;) {
    const next = buried.length < BURIED_PER_PART ? [] : await read(buried.at(-1)!.tomb);
    const isLast = next.length === 0;
    await services.erasureLog.append({ erasure: isLast ? erasure : { ...erasure, ...earlier }, buried });
    if (isLast) break;
    buried = next;
  }
  await logLast(services, erasure);
}
