import { publishAll } from "../../commands/audiences/publish.js";
import { isUnavailable } from "../../core/errors.js";
import { describeError } from "../../core/log.js";
import type { AudienceSet } from "../../core/audience/audience.js";
import type { WorkspaceId } from "../../core/ids.js";
import { createRounds, restMs } from "../rounds.js";
import type { Task } from "../task.js";
import { buildPage, createYields } from "./build.js";
import { endDeleted } from "./deleted.js";
import type { AudienceDeps } from "./deps.js";
import { createDueLooks } from "./due.js";
import { createAheadLooks } from "./judged-ahead.js";
import { createMarkLooks, type Turn } from "./marks.js";
import { createMovedLooks } from "./moved.js";
import { createParking } from "./parking.js";
import { createDamageWaits } from "./past-damage.js";
import { createPauses } from "./pauses.js";

/**
 * `isTended`: something of one workspace went through. `isLate`: something had waited for long, or is not done yet. `isYielding`: builds are
 * left to another process for a moment.
 */
const NEW_ROUND = { isBusy: false, isTended: false, isLate: false, isYielding: false, tookMs: 0, workspaces: 0 };
/** Marks that cannot be read are asked for again after so long. */
const FAILED_MS = 60_000;
const UNTIMED = "no profiles of a workspace are looked at for a minute when their time comes: something is damaged";
const UNBUILT = "no audiences of a workspace are built for a minute: something is damaged";

/** Keeps the stored members of audiences true: looks at profiles that changed, whose time came, or that a new rule has not judged. */
export function createAudienceTask(deps: AudienceDeps): Task {
  const pauses = createPauses();
  /** Apart: where a build fails, its members still follow what changes. */
  const [marking, tending] = [createParking(deps.log), createParking(deps.log)];
  const lookAtMoved = createMovedLooks(deps, pauses);
  const marked = createMarkLooks(deps, pauses, marking, lookAtMoved);
  const dueLooks = createDueLooks(deps);
  const aheadLooks = createAheadLooks(deps);
  const [dueOrWaits, builtOrWaits] = [createDamageWaits(deps.log, UNTIMED), createDamageWaits(deps.log, UNBUILT)];
  /** Some profiles may not be looked at yet. */
  let isPaused = false;
  let round = { ...NEW_ROUND };
  /** The last piece did what needs no hurry, which may have been most of it. */
  let isBuilding = false;
  /** Of the last whole round. */
  let [isLate, isYielding] = [false, false];

  let marksFailedUntil = -Infinity;
  const lookAtMarked = async (): Promise<Turn> => {
    try {
      if (performance.now() >= marksFailedUntil) return await marked.look();
    } catch (error) {
      if (isUnavailable(error)) throw error;
      marksFailedUntil = performance.now() + FAILED_MS;
      deps.log.error(describeError(error), "the audiences follow no changes for a minute");
    }
    round.isLate = true;
    return "nothing";
  };

  /** Those whose time has come. */
  const lookAtDue = async (workspace: WorkspaceId): Promise<boolean> => {
    const { isAny, hasMore } = await dueLooks(workspace);
    if (hasMore) round.isLate = true;
    return isAny;
  };

  const yields = createYields();
  const build = async (workspace: WorkspaceId, set: AudienceSet): Promise<boolean> => {
    if (yields.isFree(workspace)) return buildPage(deps, workspace, set, yields);
    round.isYielding = true;
    round.isLate = true;
    return false;
  };

  const tend = async (workspace: WorkspaceId): Promise<boolean> => {
    const { hasMoved, hasMore } = await lookAtMoved(workspace);
    if (hasMore) round.isLate = true;
    const set = await deps.audiences.audiences(workspace);
    // Of deleted audiences seats may be left that wait for a time: they go when it comes.
    if (set.audiences.length + set.deleted.length === 0) return (await lookAtDue(workspace)) || hasMoved;
    // As long as records come in, whoever looks sees half of a profile.
    if (await deps.catalog.isImporting(workspace)) return hasMoved;
    await publishAll(deps, workspace);
    const isDue = await dueOrWaits(workspace, () => lookAtDue(workspace));
    const isBegun = await aheadLooks(workspace, set);
    const isBuilt = (await builtOrWaits(workspace, () => build(workspace, set))) === true;
    const isEnding = await endDeleted(deps, workspace, set);
    if (isBuilt || isEnding) round.isLate = true;
    isBuilding ||= isBegun || isBuilt || isEnding;
    return hasMoved || isDue === true || isBegun || isBuilt || isEnding;
  };

  const away = (): unknown => marking.away() ?? tending.away();

  const goRound = createRounds(deps.audiences, async (workspace) => {
    const isBusy = await tending.attempt(workspace, () => tend(workspace));
    round.workspaces += 1;
    if (isBusy !== null) round.isTended = true;
    if (isBusy === true) round.isBusy = true;
  });

  return {
    name: "audiences",
    isLast: true,
    isWaiting: () => isPaused || isYielding || away() !== null,
    isBehind: () => isLate || away() !== null,
    hurries: () => !isBuilding && marked.hurries(),
    step: async () => {
      const begunAt = performance.now();
      isBuilding = false;
      const turn = await lookAtMarked();
      isPaused = turn === "waits";
      if (turn === "more" || turn === "busy") round.isBusy = true;
      if (turn === "busy") round.isTended = true;
      if (marked.isLate()) round.isLate = true;
      const reached = await goRound();
      round.tookMs += performance.now() - begunAt;
      const ended = round;
      if (reached !== "more") {
        ({ isLate, isYielding } = round);
        round = { ...NEW_ROUND };
      }
      // What is away is not away for one workspace alone: the keeper waits, too.
      if (!ended.isTended && away() !== null) throw away();
      if (reached === "more" || ended.isBusy) return 0;
      return restMs(reached, ended);
    },
  };
}
