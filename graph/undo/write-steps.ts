import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.js";
import type { UndoResult } from "../../core/identity/api.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import type { Change, Evidence, Plan, ReadSet, Rules, Snapshot } from "../../core/identity/model.js";
import type { Border, StepDecision, Turn } from "../../core/identity/step.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { NO_RULES } from "../rules/assert.js";
import { readSetWith } from "../rules/read-set.js";
import { EMPTY_PLAN } from "../rules/working-state.js";
import type { MemoryShare } from "../scheduling/memory.js";
import type { Pace } from "../scheduling/pace.js";
import type { Call, WorkspaceQueue } from "../workspace-queue.js";
import { planPair, sidesOf } from "./allow.js";
import type { Progress } from "./read-component.js";
import {
  keysOfStep,
  leavingSets,
  noteRemoval,
  planRemoval,
  progressOf,
  removalSteps,
  type JoinedMember,
  type RemovalPlan,
  type RemovalStep,
} from "./removal.js";
import {
  DROPPED_MAX,
  recordOf,
  type ChangingPair,
  type Removing,
  type Restoring,
  type UndoDecision,
  type UndoRecord,
  type Work,
} from "./result.js";
import { planRestore } from "./revert.js";
import { lastTimeOf, type ForbiddenPairSides } from "./split.js";

export interface WriteDeps {
  readonly graph: IdentityGraph;
  readonly workspaceQueue: Pick<WorkspaceQueue, "alone">;
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly onProgress: (progress: Progress) => void;
  readonly newChangeId: () => ChangeId;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface UndoCall {
  readonly evidence: Evidence;
  readonly dryRun: boolean;
  readonly call: Call;
  readonly memory: MemoryShare;
}

/** What is written up to now, also by earlier attempts. */
export interface Written {
  /** The record is written, and with it the answer. */
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

/** Between two steps: what waits has more than one turn of the event loop to go through. */
const REST_MS = 5;

/** Step by step; after each of them the graph is right. The first one leaves the record of all. */
export async function writeDecision(
  deps: WriteDeps,
  workspace: WorkspaceId,
  writing: Writing,
  written: Written,
): Promise<UndoResult | "changed"> {
  const { work, pace } = writing;
  const steps = createSteps(deps, workspace, writing, written);
  if (work.kind === "remove") return writeRemovals(steps, workspace, work, pace);
  if (work.kind === "restore") return writeRestored(steps, work, pace, writing.decision.result.dropped.length);
  return writePair(steps, workspace, work);
}

/** What a step writes. With none nothing is written; `outcome` tells why, or what came of it. */
interface StepPlan<Outcome> {
  readonly plan: Partial<Plan> | null;
  readonly outcome: Outcome;
  readonly border?: StepDecision<Outcome>["border"];
}

interface Seeing {
  readonly now: Snapshot;
  readonly border: Border | null;
  readonly change: Change;
  readonly rules: Rules;
}
type PlanOf<Outcome> = (seeing: Seeing) => StepPlan<Outcome>;

interface Steps {
  /** Runs one step. The plan is made from what stands there then. */
  write<Outcome>(want: ReadSet, links: number, planOf: PlanOf<Outcome>): Promise<Outcome>;
  /** As it was decided when it began. */
  answer(dropped?: UndoResult["dropped"]): UndoResult;
}

/** What was begun is ended, whoever still waits for it. */
const BEGUN: Call = { expired: false };

function createSteps(
  { graph, workspaceQueue, rulesOf, onProgress, newChangeId, now }: WriteDeps,
  workspace: WorkspaceId,
  { decision, work, record, call, pace, turn }: Writing,
  written: Written,
): Steps {
  const { result } = decision;
  /**
   * Time and id are those of the step, not of the call: what was asserted up to here is older, also when it is delivered again, and
   * stands before it in every list.
   */
  const stamp = (): Change => ({
    ...recordOf(decision, record),
    evidence: call.evidence,
    changeId: newChangeId(),
    at: Math.max(call.evidence.at, now()),
  });
  const what = work.kind === "remove" ? "removed links" : "restored links";

  return {
    write: async <Outcome>(want: ReadSet, links: number, planOf: PlanOf<Outcome>): Promise<Outcome> => {
      if (written.begun !== null) await sleep(REST_MS);
      if (call.call.expired)
        throw new AppError(
          "unavailable",
          "There was not enough time for the whole undo. Repeat the call to do the rest.",
        );
      const rules = await rulesOf(workspace);
      let waiting = call.call;
      const inQueue: Turn = (transaction) => {
        const begin = () => {
          waiting = BEGUN;
          return pace.timed(transaction);
        };
        return turn(() => workspaceQueue.alone(workspace, begin, waiting));
      };
      const { outcome, change } = await graph.update<{ readonly outcome: Outcome; readonly change: Change | null }>(
        workspace,
        readSetWith(want, NO_RULES),
        (seen, known) => {
          const made = written.begun?.change ?? stamp();
          const { plan, outcome, border } = planOf({ now: seen, border: known, change: made, rules });
          if (border !== undefined) return { plan: null, border, result: { outcome, change: null } };
          if (plan === null) return { plan, result: { outcome, change: null } };
          const first = written.begun === null ? { changes: [made], ...marksOf(work, made) } : {};
          return { plan: { ...EMPTY_PLAN, ...plan, ...first }, result: { outcome, change: made } };
        },
        inQueue,
      );
      if (change === null) return outcome;
      written.begun ??= { change, result };
      written.links += links;
      const { profileId } = result.before[0]!;
      if (links > 0) onProgress({ workspace, profileId, what, done: written.links });
      return outcome;
    },
    answer: (dropped = result.dropped) => {
      const { begun } = written;
      return begun === null
        ? { ...result, outcome: "unchanged", dropped }
        : { ...begun.result, changeId: begun.change.changeId, dropped };
    },
  };
}

/** What goes with the record. */
function marksOf(work: Work, change: Change): Partial<Pick<Plan, "unlinked" | "forbids" | "allows">> {
  const { changeId, at } = change;
  const forbids = (pair: ForbiddenPairSides) => [{ ...pair, changeId, keyId: change.evidence.keyId, at }];
  if (work.kind === "restore")
    return work.relinked === null ? {} : { unlinked: [{ key: work.relinked, at: null, changeId }] };
  if (work.kind !== "remove")
    return work.kind === "forbid" ? { forbids: forbids(work.pair) } : { allows: [work.pair.forbiddenPairId] };
  const last = work.affected.reduce((most, { split }) => Math.max(most, lastTimeOf(split)), at);
  return {
    ...(work.forbid !== null && { forbids: forbids(work.forbid) }),
    ...(work.unlinked !== null && { unlinked: [{ key: work.unlinked, at: last, changeId }] }),
  };
}

async function writeRemovals(
  steps: Steps,
  workspace: WorkspaceId,
  work: Removing,
  { size }: Pace,
): Promise<UndoResult | "changed"> {
  let isHeld = false;
  const progress = work.affected.map((one) => progressOf(workspace, one));
  for (const step of removalSteps(progress, size)) {
    const ending = await writeRemoval(steps, workspace, work, step);
    if (ending === "changed") return ending;
    isHeld ||= ending === "held";
  }
  return isHeld ? "changed" : steps.answer();
}

/** So far a step follows who joined the parts that leave. */
const HOPS_MAX = 20;

async function writeRemoval(
  steps: Steps,
  workspace: WorkspaceId,
  { forbid }: Removing,
  step: readonly RemovalStep[],
): Promise<"changed" | "held" | "done"> {
  const links = step.reduce((sum, { removals }) => removals.reduce((all, one) => all + one.links.length, sum), 0);
  let joined: readonly JoinedMember[] = [];
  let hops = 0;
  const planned = await steps.write<RemovalPlan>(
    { keys: keysOfStep(step), pairs: [] },
    links,
    ({ now, border, change }) => {
      if (border === null) [joined, hops] = [[], 0];
      const outcome = planRemoval(workspace, step, now, { change, forbid, joined, border });
      if (outcome.kind === "plan" || outcome.kind === "changed" || (hops += 1) > HOPS_MAX)
        return { plan: outcome.kind === "plan" ? outcome.plan : null, outcome };
      if (outcome.kind === "joined") joined = [...joined, ...outcome.members];
      return { plan: null, outcome, border: leavingSets(workspace, step, joined) };
    },
  );
  if (planned.kind !== "plan") return "changed";
  noteRemoval(planned.done);
  return planned.done.some(({ isHeld }) => isHeld) ? "held" : "done";
}

async function writeRestored(
  steps: Steps,
  work: Restoring,
  { size }: Pace,
  droppedAsDecided: number,
): Promise<UndoResult | "changed"> {
  const dropped: UndoResult["dropped"][number][] = [];
  const isWhole = work.pairs.length <= size();
  let done = 0;
  do {
    const pairs = work.pairs.slice(done, done + size());
    done += pairs.length;
    const keys = pairs.length === 0 ? [work.relinked!] : [...new Set(pairs.flat())];
    const kept = await steps.write<UndoResult["dropped"] | "changed">(
      { keys, pairs },
      pairs.length,
      ({ now, change: { changeId }, rules }) => {
        const { plan, dropped } = planRestore(work, pairs, now, { rules, changeId });
        // As long as nothing is written, the record can still say what the rules of now keep out.
        const isOther = isWhole && dropped.length !== droppedAsDecided;
        if (isOther) return { plan: null, outcome: "changed" };
        const isNothing = pairs.length > 0 && plan.restores.length === 0;
        return { plan: isNothing ? null : plan, outcome: dropped };
      },
    );
    if (kept === "changed") return kept;
    dropped.push(...kept);
  } while (done < work.pairs.length);
  return steps.answer(dropped.slice(0, DROPPED_MAX));
}

async function writePair(
  steps: Steps,
  workspace: WorkspaceId,
  { kind, pair }: ChangingPair,
): Promise<UndoResult | "changed"> {
  const want = { keys: sidesOf(workspace, pair), pairs: [] };
  const isWritten = await steps.write(want, 0, ({ now }) => {
    const plan = planPair(workspace, now, pair, kind);
    return { plan, outcome: plan !== null };
  });
  return isWritten ? steps.answer() : "changed";
}
