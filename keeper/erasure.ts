import {
  completeErasure,
  continueErasure,
  isDeleted,
  isRemoving,
  type ContinueServices,
} from "../commands/erasures/continue.js";
import type { Purge } from "../commands/erasures/purge.js";
import { isUnavailable } from "../core/errors.js";
import { describeError } from "../core/log.js";
import type { Erasure } from "../core/identity/erasure.js";
import type { ErasureId } from "../core/ids.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { Task } from "./task.js";

export interface ErasureDeps extends ContinueServices {
  readonly catalog: Pick<CatalogStore, "findWorkspace">;
  readonly purge: Purge;
}

/** Somebody who asks waits for a second at most until it begins. */
const IDLE_MS = 1_000;
const RETRY_MS = 1_000;
const FAILED_MS = 60_000;
/** Whether one of another installation is ours by now is asked again after so long: there may be many, and each costs a question. */
const FOREIGN_MS = 10_000;
const AWAY_MS_MIN = 1_000;
const OPEN_PER_PAGE = 100;
/** The pieces of several erasures go together, up to so long. */
const PIECES_MS = 20;

/** Continues erasures, in turns, until nothing but the tombstones is left of anybody. One that fails waits and holds up no other. */
export function createErasureTask(deps: ErasureDeps): Task {
  let after: ErasureId | null = null;
  /** Since `after` was null: a round in which all of them waited is followed by a pause. */
  let isRoundBusy = false;
  const waiting = new Map<ErasureId, number>();
  /** Those for which a store was away, or too slow: until when, and how often in a row. */
  const away = new Map<ErasureId, { readonly until: number; readonly times: number }>();

  const waitForStore = (erasureId: ErasureId): void => {
    const times = away.get(erasureId)?.times ?? 0;
    const delayMs = Math.min(AWAY_MS_MIN * 2 ** times, FAILED_MS);
    away.set(erasureId, { until: performance.now() + delayMs, times: times + 1 });
  };

  /** `waits`: nothing is to be done of it now, or not here: several installations may use one graph. Throws where a store is away. */
  const goOn = async (begun: Erasure, end: number): Promise<Erasure | "more" | "waits"> => {
    const { erasureId, workspace } = begun;
    if (Math.max(waiting.get(erasureId) ?? 0, away.get(erasureId)?.until ?? 0) > performance.now()) return "waits";
    if ((await deps.catalog.findWorkspace(workspace)) === null) {
      waiting.set(erasureId, performance.now() + FOREIGN_MS);
      return "waits";
    }
    waiting.delete(erasureId);
    try {
      for (let erasure: Erasure | null = begun; erasure !== null; erasure = await continueErasure(deps, erasure)) {
        if (erasure !== begun) away.delete(erasureId);
        if (isDeleted(erasure)) return erasure;
        if (erasure !== begun && performance.now() >= end && !isRemoving(erasure)) break;
      }
      return "more";
    } catch (error) {
      if (isUnavailable(error)) {
        waitForStore(erasureId);
        throw error;
      }
      waiting.set(erasureId, performance.now() + FAILED_MS);
      deps.log.error({ workspace, erasureId, ...describeError(error) }, "an erasure failed, and waits for a minute");
      return "waits";
    }
  };

  /** What came too late for an erasure that is completed was deleted, too. */
  const purgeLate = async (): Promise<void> => {
    if (deps.purge.isDue()) await deps.purge.run();
  };

  const endRound = async (): Promise<number> => {
    const pause = isRoundBusy ? 0 : IDLE_MS;
    [after, isRoundBusy] = [null, false];
    for (const [erasureId, until] of waiting) if (until <= performance.now()) waiting.delete(erasureId);
    await purgeLate();
    return pause;
  };

  return {
    name: "erasure",
    isWaiting: () => [...away.values()].some(({ until }) => until > performance.now()),
    step: async () => {
      const open: readonly Erasure[] = await deps.erasures.openErasures({ limit: OPEN_PER_PAGE, after });
      if (open.length === 0) return endRound();
      const end = performance.now() + PIECES_MS;
      const deleted: Erasure[] = [];
      let isBusy = false;
      let failed: { readonly erasureId: ErasureId; readonly error: unknown } | null = null;
      for (const erasure of open) {
        after = erasure.erasureId;
        try {
          const gone = await goOn(erasure, end);
          isBusy ||= gone !== "waits";
          if (typeof gone === "object") deleted.push(gone);
        } catch (error) {
          failed = { erasureId: erasure.erasureId, error };
        }
        if (performance.now() >= end) break;
      }
      isRoundBusy ||= isBusy;
      if (deleted.length > 0) {
        // One pass over the files for all of them.
        if (!(await deps.purge.run())) return RETRY_MS;
        for (const erasure of deleted) await completeErasure(deps, erasure, deps.now(erasure.workspace));
      }
      if (failed !== null && !isRoundBusy) throw failed.error;
      if (failed !== null) {
        const { erasureId, error } = failed;
        deps.log.warn({ erasureId, ...describeError(error) }, "an erasure waits for a dependency, the others go on");
      }
      return after === open.at(-1)!.erasureId && open.length < OPEN_PER_PAGE ? endRound() : 0;
    },
  };
}
