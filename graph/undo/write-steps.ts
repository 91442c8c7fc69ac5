import { setTimeout as sleep } from "node:timers/promises";
import type { TimeOf } from "../../core/clock.js";
import { AppError } from "../../core/errors.js";
import type { UndoResult } from "../../core/identity/api.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import type { Change, Evidence, Plan, Rules } from "../../core/identity/model.js";
import type { Turn } from "../../core/identity/step.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { readSetWith } from "../rules/read-set.js";
import { EMPTY_PLAN } from "../rules/working-state.js";
import type { MemoryShare } from "../scheduling/memory.js";
import type { Pace } from "../scheduling/pace.js";
import type { Call, WorkspaceQueue } from "../workspace-queue.js";
import { pairStep } from "./allow.js";
import {
  firstDropped,
  recordOf,
  type PairToForbid,
  type StepPlan,
  type UndoDecision,
  type UndoRecord,
  type UndoStep,
  type Work,
} from "./decision.js";
import type { Progress } from "./read.js";
import { removalSteps } from "./removal.js";
import { restoreSteps } from "./revert.js";
import { lastTimeOf } from "./split.js";

export interface WriteDeps {
  readonly graph: IdentityGraph;
  readonly workspaceQueue: Pick<WorkspaceQueue, "exclusive">;
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly onProgress: (progress: Progress) => void;
  readonly newChangeId: () => ChangeId;
  /** Milliseconds since 1970. */
  readonly now: TimeOf;
}

export interface UndoCall {
  readonly evidence: Evidence;
  readonly dryRun: boolean;
  readonly call: Call;
  readonly memory: MemoryShare;
}

/** What is written up to now, also by earlier attempts. */
export interface Written {
  /** The record is written, and the answer with it. */
  begun: { readonly change: Change; readonly result: UndoResult } | null;
  links: number;
}

export interface Writing {
  readonly decision: UndoDecision;
  readonly work: Work;
  readonly record: UndoRecord;
  readonly call: UndoCall;
  /** Links that a step removes or restores at most. */
  readonly pace: Pace;
  /** Keeps other undos of the workspace out while a transaction runs, if nobody does so anyway. */
  readonly turn: Turn;
}

/** Step by step; after each of them the graph is right. The first step also writes the record of the whole undo. */
export async function writeDecision(
  deps: WriteDeps,
  workspace: WorkspaceId,
  writing: Writing,
  written: Written,
): Promise<UndoResult | "changed"> {
  const { work, decision, pace } = writing;
  const dropped: UndoResult["dropped"][number][] = [];
  let isHeld = false;
  for (const step of stepsOf(workspace, work, pace.size)) {
    const ending = await writeStep(deps, workspace, writing, written, step);
    if (ending === "changed") return ending;
    dropped.push(...(ending.dropped ?? []));
    isHeld ||= ending.isHeld ?? false;
  }
  if (isHeld) return "changed";
  return answerOf(decision, written, firstDropped(dropped));
}

function stepsOf(workspace: WorkspaceId, work: Work, sizeOf: () => number): Iterable<UndoStep> {
  if (work.kind === "remove") return removalSteps(workspace, work, sizeOf);
  return work.kind === "restore" ? restoreSteps(work, sizeOf) : [pairStep(work)];
}

/** As it was decided when it began. */
export function answerOf(
  { result }: UndoDecision,
  { begun }: Written,
  { dropped, isPartial }: Pick<UndoResult, "dropped" | "isPartial">,
): UndoResult {
  const known =
    begun === null
      ? { ...result, outcome: "unchanged" as const }
      : { ...begun.result, changeId: begun.change.changeId };
  // Only what restores links drops some, and then there is no path.
  const goesOn = dropped.length > 0 ? isPartial : known.stillJoinedBy !== null && known.isPartial;
  return { ...known, dropped, isPartial: goesOn };
}

/** Between two steps: others have more than one turn of the event loop to go first. */
const REST_MS = 5;
/** A transaction that was begun is ended, even if nobody waits for it any more. */
const BEGUN: Call = { expired: false };

async function writeStep(
  { graph, workspaceQueue, rulesOf, onProgress, newChangeId, now }: WriteDeps,
  workspace: WorkspaceId,
  { decision, work, record, call, pace, turn }: Writing,
  written: Written,
  { keys, pairs = [], mark, links, plan: planOf }: UndoStep,
): Promise<Exclude<StepPlan, "changed" | { border: unknown }> | "changed"> {
  if (written.begun !== null) await sleep(REST_MS);
  if (call.call.expired)
    throw new AppError("unavailable", "There was not enough time for the whole undo. Repeat the call to do the rest.");
  const rules = await rulesOf(workspace);
  const want = readSetWith({ keys, pairs }, NO_RULES);
  let waiting = call.call;
  const inQueue: Turn = (transaction) => {
    const begin = () => {
      waiting = BEGUN;
      return pace.timed(transaction);
    };
    return turn(() => workspaceQueue.exclusive(workspace, begin, waiting));
  };
  // Id and time are those of the step, not of the call: everything asserted before it is older, and stands before it in every list.
  const stamp = (): Change => ({
    ...recordOf(decision, record),
    evidence: call.evidence,
    changeId: newChangeId(),
    at: Math.max(call.evidence.at, now(workspace)),
  });
  const { ending, change } = await graph.update<{ readonly ending: StepPlan; readonly change: Change }>(
    workspace,
    mark === undefined ? want : { ...want, rules: { ...want.rules, mark } },
    (seen, border) => {
      const change = written.begun?.change ?? stamp();
      const ending = planOf({ now: seen, border, change, isFirst: written.begun === null, rules });
      const result = { ending, change };
      if (ending === "changed") return { plan: null, result };
      if ("border" in ending) return { plan: null, border: ending.border, result };
      const first = written.begun === null ? { changes: [change], ...marksOf(work, change) } : {};
      return { plan: ending.plan && { ...EMPTY_PLAN, ...ending.plan, ...first }, result };
    },
    inQueue,
  );
  if (ending === "changed" || "border" in ending) return "changed";
  if (ending.plan === null) return ending;
  const { result } = decision;
  written.begun ??= { change, result };
  written.links += links;
  ending.onWritten?.();
  const what = work.kind === "remove" ? "removed links" : "restored links";
  if (links > 0) onProgress({ workspace, profileId: result.before[0]!.profileId, what, done: written.links });
  return ending;
}

/** What is written with the record. */
function marksOf(work: Work, change: Change): Partial<Pick<Plan, "unlinked" | "forbids" | "allows">> {
  const { changeId, at, evidence } = change;
  const forbids = ({ isListed, ...pair }: PairToForbid) =>
    isListed ? [] : [{ ...pair, changeId, keyId: evidence.keyId, at }];
  if (work.kind === "restore")
    return work.relinked === null ? {} : { unlinked: [{ key: work.relinked.key, at: null, changeId: work.removedBy }] };
  if (work.kind !== "remove")
    return work.kind === "forbid" ? { forbids: forbids(work.pair) } : { allows: [work.pair.forbiddenPairId] };
  const last = work.affected.reduce((most, { split }) => Math.max(most, lastTimeOf(split)), at);
  return {
    ...(work.forbid !== null && { forbids: forbids(work.forbid) }),
    ...(work.unlinked !== null && { unlinked: [{ key: work.unlinked, at: last, changeId }] }),
  };
}
