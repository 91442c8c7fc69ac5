import { AppError } from "../../core/errors.js";
import type { UndoResult } from "../../core/identity/api.js";
import type { WorkspaceId } from "../../core/ids.js";
import { atOnce, hasOnlyGrown, type Turn } from "../../core/identity/step.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import type { Line } from "../scheduling/line.js";
import { createPace } from "../scheduling/pace.js";
import { decideAllow } from "./allow.js";
import { prepare, type PrepareDeps, type UndoFacts, type UndoRequest } from "./prepare.js";
import { lookInTurns } from "./read-in-chunks.js";
import type { UndoDecision, Work } from "./result.js";
import { decideRevert } from "./revert.js";
import { decideUnlinkIdentifier, decideUnlinkPair, linksAtStart, type LinksAtStart } from "./unlink.js";
import { writeDecision, type UndoCall, type WriteDeps, type Written } from "./write-steps.js";

export interface UndoDeps extends PrepareDeps, WriteDeps {
  /** Of the undos of each workspace. */
  readonly line: Line;
  /** Links that one step removes or restores at most. */
  readonly linksPerStep: number;
}

/** After so many attempts in vain no other undo of this process writes in the workspace during one. */
const ATTEMPTS_BESIDE = 3;
/** A step takes no fewer links, however slow the server is. */
const LINKS_MIN = 50;
/** A profile that only grows takes one attempt; so many only others who take it apart too can bring about. */
const ATTEMPTS_MAX = 20;

/** As measured: 790 for a link that is removed, with the part that leaves by it and the steps. */
const REMOVED_LINK_BYTES = 800;

/** What an undo wrote and knew when it began: it outlives a run that begins again for want of memory. */
export interface UndoProgress {
  readonly written: Written;
  atStart: LinksAtStart | null;
}
export const createUndoProgress = (): UndoProgress => ({ written: { begun: null, links: 0 }, atStart: null });

/**
 * Reads, decides, and writes step by step. Only a step waits in the workspace queue. When links went from a profile since it was read,
 * all is read again, and what is left is decided anew; what was written stays, also when a later step fails, and the same call then
 * does the rest.
 */
export async function runUndo(
  deps: UndoDeps,
  workspace: WorkspaceId,
  request: UndoRequest,
  call: UndoCall,
  progress: UndoProgress,
): Promise<UndoResult> {
  const inLine: Turn = (work) => deps.line(workspace, work);
  const pace = createPace({ max: deps.linksPerStep, min: LINKS_MIN });
  const { written } = progress;

  const attempt = async (turn: Turn): Promise<UndoResult | "changed"> => {
    call.memory.restart();
    const prepared = await prepare(deps, workspace, { request, memory: call.memory, atStart: progress.atStart });
    if (prepared === "changed") return prepared;
    const { facts, record } = prepared;
    const decision = await decided(deps.graph, workspace, facts);
    if (decision === "changed") return decision;
    const { work, result } = decision;
    call.memory.take(removedBy(work) * REMOVED_LINK_BYTES);
    if (work !== null && !call.dryRun) {
      const wasBegun = written.begun !== null;
      const ending = await writeDecision(deps, workspace, { decision, work, record, call, pace, turn }, written);
      if (!wasBegun && facts.kind === "unlink identifier") progress.atStart = linksAtStart(facts);
      return ending;
    }
    if (!(await isStill(deps.graph, workspace, facts, decision))) return "changed";
    const { begun } = written;
    // As it was decided when it began; but what a rule kept out since then is told.
    return begun === null ? result : { ...begun.result, changeId: begun.change.changeId, dropped: result.dropped };
  };

  for (let inVain = 0; inVain < ATTEMPTS_MAX && !call.call.expired;) {
    const { links } = written;
    const ending = inVain < ATTEMPTS_BESIDE ? await attempt(inLine) : await inLine(() => attempt(atOnce));
    if (ending !== "changed") return ending;
    inVain = written.links > links ? 0 : inVain + 1;
  }
  throw new AppError("unavailable", "The profile kept changing while the undo was running.");
}

const removedBy = (work: Work | null): number =>
  work?.kind === "remove" ? work.affected.reduce((sum, { split }) => sum + split.removed.size, 0) : 0;

async function decided(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  facts: UndoFacts,
): Promise<UndoDecision | "changed"> {
  try {
    return await decide(facts);
  } catch (error) {
    // What was read is of several moments: a refusal is one only if no link went from the first to the last.
    const keys = [...facts.snapshot.identifiers.keys()];
    if (await isStill(graph, workspace, facts, { keys })) throw error;
    return "changed";
  }
}

async function decide(facts: UndoFacts): Promise<UndoDecision | "changed"> {
  if (facts.kind === "unlink pair") return decideUnlinkPair(facts);
  if (facts.kind === "unlink identifier") return decideUnlinkIdentifier(facts);
  return facts.kind === "revert" ? decideRevert(facts) : decideAllow(facts);
}

/** Whether the profiles lost nothing since the snapshot: then all links that were read still stand. */
async function isStill(
  graph: IdentityGraph,
  workspace: WorkspaceId,
  { snapshot }: UndoFacts,
  { keys }: Pick<UndoDecision, "keys">,
): Promise<boolean> {
  const now = await lookInTurns(graph, workspace, { keys, pairs: [] });
  if (now === null) return false;
  return keys.every((key) => {
    const [then, since] = [snapshot, now].map(({ identifiers, components }) => {
      const seen = identifiers.get(key);
      return seen === undefined ? undefined : components.get(seen.component)!.rev;
    });
    return then !== undefined && since !== undefined && hasOnlyGrown(then, since);
  });
}
