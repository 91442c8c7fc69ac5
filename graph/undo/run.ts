import { AppError } from "../../core/errors.js";
import type { UndoResult, UnlinkRequest } from "../../core/identity/api.js";
import type { ChangeId, ForbiddenPairId, IdentifierKey, WorkspaceId } from "../../core/ids.js";
import { atOnce, hasOnlyGrown, type Turn } from "../../core/identity/step.js";
import type { Line } from "../scheduling/line.js";
import { createPace } from "../scheduling/pace.js";
import { prepareAllow } from "./allow.js";
import type { LinksAtStart, UndoDecision, Work } from "./decision.js";
import { lookInTurns, type Prepared, type ReadDeps, type Reading } from "./read.js";
import { prepareRevert } from "./revert.js";
import { prepareUnlinkIdentifier, prepareUnlinkPair, prepareUnlinkUids } from "./unlink.js";
import { answerOf, writeDecision, type UndoCall, type WriteDeps, type Written } from "./write-steps.js";

export interface UndoDeps extends ReadDeps, WriteDeps {
  /** Of the undos of each workspace. */
  readonly line: Line;
  /** Links that one step removes or restores at most. */
  readonly linksPerStep: number;
}

export type UndoRequest =
  | { readonly kind: "unlink"; readonly request: UnlinkRequest }
  | { readonly kind: "revert"; readonly changeId: ChangeId }
  | { readonly kind: "allow"; readonly forbiddenPairId: ForbiddenPairId };

/** After so many attempts in vain no other undo of this process writes in the workspace during one. */
const ATTEMPTS_BESIDE = 3;
/** A profile that only grows takes one attempt; only others that remove links from it too cause so many. */
const ATTEMPTS_MAX = 20;
/** A step takes no fewer links, however slow the server is. */
const LINKS_MIN = 100;
/** As measured: 790 for a link that is removed, with the part that leaves by it and the steps. */
const REMOVED_LINK_BYTES = 800;

/** What an undo wrote and knew when it began. It outlives a run that begins again for want of memory. */
export interface UndoProgress {
  readonly written: Written;
  atStart: LinksAtStart | null;
}
export const createUndoProgress = (): UndoProgress => ({ written: { begun: null, links: 0 }, atStart: null });

/**
 * Reads, decides, and writes step by step. Only a step waits in the workspace queue. When others removed links from a profile since it
 * was read, all is read again, and the rest is decided anew. What was written stays, also when a later step fails; the same call then
 * does the rest.
 */
export async function runUndo(
  deps: UndoDeps,
  workspace: WorkspaceId,
  request: UndoRequest,
  call: UndoCall,
  progress: UndoProgress,
): Promise<UndoResult> {
  const { memory } = call;
  const inLine: Turn = (work) => deps.line(workspace, work);
  const reading = { ...deps, workspace, memory };
  const pace = createPace({ max: deps.linksPerStep, min: LINKS_MIN });
  const { written } = progress;

  const attempt = async (turn: Turn): Promise<UndoResult | "changed"> => {
    memory.restart();
    const prepared = await prepare(reading, request, progress.atStart);
    if (prepared === "changed") return prepared;
    const decision = await decided(reading, prepared);
    if (decision === "changed") return decision;
    const { work, result, keys, linksAtStart } = decision;
    memory.take(linksRemovedBy(work) * REMOVED_LINK_BYTES);
    if (work !== null && !call.dryRun) {
      const wasBegun = written.begun !== null;
      const ending = await writeDecision(
        deps,
        workspace,
        { decision, work, record: prepared.record, call, pace, turn },
        written,
      );
      if (!wasBegun && written.begun !== null) progress.atStart = linksAtStart?.() ?? null;
      return ending;
    }
    if (!(await isStill(reading, prepared, keys))) return "changed";
    // What a rule keeps out since it began is told too.
    return written.begun === null ? result : answerOf(decision, written, result);
  };

  for (let inVain = 0; inVain < ATTEMPTS_MAX && !call.call.expired;) {
    const { links } = written;
    const ending = inVain < ATTEMPTS_BESIDE ? await attempt(inLine) : await inLine(() => attempt(atOnce));
    if (ending !== "changed") return ending;
    inVain = written.links > links ? 0 : inVain + 1;
  }
  throw new AppError("unavailable", "The profile kept changing while the undo was running.");
}

function prepare(reading: Reading, asked: UndoRequest, atStart: LinksAtStart | null): Promise<Prepared | "changed"> {
  if (asked.kind === "revert") return prepareRevert(reading, asked.changeId);
  if (asked.kind === "allow") return prepareAllow(reading, asked.forbiddenPairId);
  const { request } = asked;
  if ("within" in request) return prepareUnlinkUids(reading, request);
  return "identifier" in request
    ? prepareUnlinkIdentifier(reading, request.identifier, atStart)
    : prepareUnlinkPair(reading, request);
}

const linksRemovedBy = (work: Work | null): number =>
  work?.kind === "remove" ? work.affected.reduce((sum, { split }) => sum + split.removed.size, 0) : 0;

async function decided(reading: Reading, prepared: Prepared): Promise<UndoDecision | "changed"> {
  try {
    return await prepared.decide();
  } catch (error) {
    // It was read at several moments: a refusal counts only if no link was removed from the first to the last.
    if (await isStill(reading, prepared, [...prepared.snapshot.identifiers.keys()])) throw error;
    return "changed";
  }
}

/** Whether the profiles lost nothing since the snapshot: then all links that were read still stand. */
async function isStill(reading: Reading, { snapshot }: Prepared, keys: readonly IdentifierKey[]): Promise<boolean> {
  const now = await lookInTurns(reading, keys);
  if (now === null) return false;
  return keys.every((key) => {
    const [then, since] = [snapshot, now].map(({ identifiers, components }) => {
      const seen = identifiers.get(key);
      return seen === undefined ? undefined : { uid: seen.uid, rev: components.get(seen.component)!.rev };
    });
    // One that was erased and came back is another one, and its `rev` begins anew.
    return then !== undefined && since?.uid === then.uid && hasOnlyGrown(then.rev, since.rev);
  });
}
