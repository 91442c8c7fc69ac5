import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.js";
import type { UndoResult } from "../../core/identity/api.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Change, Evidence, Snapshot, Plan, ReadSet } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { EMPTY_PLAN } from "../rules/working-state.js";
import type { Call, WorkspaceQueue } from "../workspace-queue.js";
import { lookInTurns } from "./read-in-chunks.js";
import type { Progress } from "./read-component.js";
import { createRevs, type Revs } from "./revisions.js";
import { NO_RULES } from "../rules/assert.js";
import type { Ruling, Step, Work } from "./result.js";
import { readSetWith } from "../rules/read-set.js";

export interface SettleDeps {
  readonly graph: IdentityGraph;
  readonly workspaceQueue: Pick<WorkspaceQueue, "alone">;
  readonly onProgress: (progress: Progress) => void;
}

export interface UndoCall {
  readonly evidence: Evidence;
  readonly dryRun: boolean;
  readonly call: Call;
}

/** Others may write between the look and a step: then all is read again. */
const TRIES_MAX = 10;
/** From then on nothing else of this process writes in the workspace meanwhile. */
const TRIES_BESIDE = 3;

/** Between two steps: what waits has more than one turn of the event loop to go through. */
const REST_MS = 5;

/** What is to be done, in parts that take turns with others. */
export interface Task {
  readonly workspace: WorkspaceId;
  readonly want: () => Promise<ReadSet>;
  /** Reads what the decision needs. Once links went, it is asked about what is left to do. */
  readonly prepare: (seen: Snapshot, hasBegun: boolean) => Promise<(() => Ruling | Promise<Ruling>) | "changed">;
}

type Run = <T>(work: () => Promise<T>) => Promise<T>;
const atOnce: Run = (work) => work();

/** The record stands, and with it the answer. */
interface Begun {
  readonly change: Change;
  readonly undone: UndoResult;
}

interface State {
  begun: Begun | null;
  /** Links that were taken or restored. */
  links: number;
}

/**
 * Looks, lets `prepare` read what it needs, and writes step by step as long as no profile is another than it left; else it goes on
 * from what stands there. What it wrote stays when a later step fails, and the same call does the rest.
 */
export async function settle(deps: SettleDeps, call: UndoCall, task: Task): Promise<UndoResult> {
  const state: State = { begun: null, links: 0 };
  const inQueue: Run = (work) => deps.workspaceQueue.alone(task.workspace, work, call.call);
  for (let tries = 0, inVain = 0; inVain < TRIES_MAX; tries++) {
    const { links } = state;
    const result =
      tries < TRIES_BESIDE
        ? await attempt(deps, call, task, state, call.dryRun ? atOnce : inQueue)
        : await inQueue(() => attempt(deps, call, task, state, atOnce));
    if (result !== "changed") return result;
    inVain = state.links > links ? 0 : inVain + 1;
  }
  throw new AppError("unavailable", "The profile changed all the time while it was being taken apart.");
}

async function attempt(
  deps: SettleDeps,
  { dryRun, call }: UndoCall,
  task: Task,
  state: State,
  run: Run,
): Promise<UndoResult | "changed"> {
  const want = await task.want();
  const seen = await lookInTurns(deps.graph, task.workspace, want);
  if (seen === null) return "changed";
  const revs = createRevs(seen);
  const decide = await task.prepare(seen, state.begun !== null);
  if (decide === "changed") return decide;
  const ruling = await decided(deps, task.workspace, decide, want, revs);
  if (ruling === "changed") return ruling;
  const { work, undone } = ruling;
  if (work === null && state.begun !== null) return answerOf(state.begun, undone);
  if (work !== null && !dryRun) return writeAll(deps, call, task, state, { run, revs, ruling, work });
  const isStill = await run(() => check(deps, task.workspace, keysOf(ruling), revs));
  return isStill ? undone : "changed";
}

/** As it was decided when it began; but what a rule kept out since then is told. */
const answerOf = ({ undone, change: { changeId } }: Begun, { dropped }: UndoResult): UndoResult => ({
  ...undone,
  changeId,
  dropped,
});

/** What was read is of several moments. A decision that fails is one only if nothing changed from the first to the last. */
async function decided(
  { graph }: SettleDeps,
  workspace: WorkspaceId,
  decide: () => Ruling | Promise<Ruling>,
  { keys }: ReadSet,
  revs: Revs,
): Promise<Ruling | "changed"> {
  try {
    return await decide();
  } catch (error) {
    const now = await lookInTurns(graph, workspace, { keys, pairs: [] });
    if (now !== null && revs.hold(keys, now)) throw error;
    return "changed";
  }
}

interface Writing {
  readonly run: Run;
  readonly revs: Revs;
  readonly ruling: Ruling;
  readonly work: Work;
}

async function writeAll(
  { graph, onProgress }: SettleDeps,
  call: Call,
  { workspace }: Task,
  state: State,
  { run, revs, ruling, work }: Writing,
): Promise<UndoResult | "changed"> {
  const { undone } = ruling;
  const { profileId } = undone.before[0]!;
  let checked = ruling.keys;
  for (const step of work.steps) {
    if (state.begun !== null) await sleep(REST_MS);
    if (call.expired)
      throw new AppError("unavailable", "There was no time left for all of it: the same call does the rest.");
    const keys = [...new Set([...checked, ...step.keys])];
    const written = await run(() =>
      graph.update(workspace, wantProfilesOf(keys), (now) => {
        if (!revs.hold(keys, now)) return { plan: null, result: null };
        const change = state.begun?.change ?? work.change();
        const plan = planOf(step, work, now, change, state.begun === null);
        return { plan, result: { now, plan, change } };
      }),
    );
    if (written === null) return "changed";
    revs.wrote(written.plan, written.now);
    state.begun ??= { change: written.change, undone };
    state.links += step.links;
    checked = [];
    if (step.links > 0) onProgress({ workspace, profileId, what: work.what, done: state.links });
  }
  return answerOf(state.begun!, undone);
}

const planOf = (step: Step, { marks }: Work, now: Snapshot, change: Change, isFirst: boolean): Plan => ({
  ...EMPTY_PLAN,
  ...step.plan(now, change),
  ...(isFirst && { changes: [change], ...marks(change) }),
});

/** Of a dry run, and of what writes nothing. */
function keysOf({ keys, work }: Ruling): readonly IdentifierKey[] {
  if (work === null) return keys;
  const { value: first } = work.steps[Symbol.iterator]().next() as IteratorYieldResult<Step>;
  return [...new Set([...keys, ...first.keys])];
}

/** All of the profiles, and nothing of what only an assertion asks for. */
const wantProfilesOf = (keys: readonly IdentifierKey[]): ReadSet => readSetWith({ keys, pairs: [] }, NO_RULES);

const check = ({ graph }: SettleDeps, workspace: WorkspaceId, keys: readonly IdentifierKey[], revs: Revs) =>
  graph.update(workspace, wantProfilesOf(keys), (now) => ({ plan: null, result: revs.hold(keys, now) }));
