import { AppError } from "../../core/errors.js";
import type { ChangeId, ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Plan } from "../../core/identity/model.js";
import type { RulesReadSet, Snapshot } from "../../core/identity/snapshot.js";
import { idsTaken } from "../../core/identity/taken.js";
import { atOnce, type Border, type Decide, type Turn } from "../../core/identity/step.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { EMPTY_SNAPSHOT } from "../rules/working-state.js";
import { seeBorder } from "./border.js";
import { createDeadline } from "../scheduling/deadline.js";
import { release, stage, type Staged, type StagedPart, type Tidying } from "./staging.js";
import { type Client, STEP_MS, type Step, inStep } from "./client.js";
import { isConstraint, isOutOfMemory, isTaken, withRetries } from "./failure.js";
import type { NewKeyGuess } from "./repeats.js";
import { seeWithRules, type Names } from "./snapshot.js";
import { newParameters, requireKnown } from "./parameters.js";
import { FIND_CHANGE, LOCK_AND_RULES, RULES, WRITE_NEW } from "./cypher/writes.js";
import { isPlain, layoutOf, PART_ROWS, writePlan } from "./write.js";

export interface UpdateOptions {
  /** False only in a test, which shows that nothing else keeps two processes apart. */
  readonly locks?: boolean;
  /** This many identifiers are moved in one step. */
  readonly movesMax?: number;
}

interface UpdateDeps extends Required<UpdateOptions> {
  readonly client: Client;
  readonly tidying: Tidying;
  readonly newKeys: NewKeyGuess;
  readonly names: Names;
  /** Workspaces that are known to have erasures: there one statement is not enough. */
  readonly erased: Set<WorkspaceId>;
}

/** Below the time that a caller of `Identity` waits. */
const UPDATE_MS = 7_500;
/** For steps that are known to take long: they are to be written even when nobody waits any more. */
const LONG_MS = 600_000;
const AWAY_TRIES_MAX = 4;

/** The writing side: one transaction for each try, and the workspace's lock first in it. */
export function createUpdate(deps: UpdateDeps): IdentityGraph["update"] {
  const within = createDeadline(UPDATE_MS, "The identity graph did not take the change in time.");
  return async <T>(workspace: WorkspaceId, want: RulesReadSet, decide: Decide<T>, turn: Turn = atOnce) => {
    const task: Task<T> = { ...deps, workspace, want, decide, turn, doubts: { last: null } };
    const isNew = deps.newKeys.takeAll(want.keys) && deps.locks && !deps.erased.has(workspace);
    const ending = await turn(() =>
      within((call) =>
        withRetries(createAttempt(task, isNew), { awayMax: AWAY_TRIES_MAX, isOver: () => call.expired }),
      ),
    );
    const last = ending.kind === "long" ? await writeLong(task, ending) : ending;
    if (last.kind === "threw") throw last.error;
    return last.result;
  };
}

interface Task<T> extends UpdateDeps {
  readonly workspace: WorkspaceId;
  readonly want: RulesReadSet;
  readonly decide: Decide<T>;
  readonly turn: Turn;
  readonly doubts: Doubts<T>;
}

/** How a try ended. An error of `decide` is not a failure of the graph, and no reason to try again. */
type Ending<T> = { readonly kind: "done"; readonly result: T } | { readonly kind: "threw"; readonly error: unknown };

/** Nothing was written: the plan needs more than a short step. */
interface Long {
  readonly kind: "long";
  readonly plan: Plan;
  readonly snapshot: Snapshot;
  readonly rows: number;
}

/** The last try that may have committed although its answer never came. */
interface Doubts<T> {
  last: { readonly changeId: ChangeId; readonly ending: Ending<T> } | null;
}

/** Each call is one try; it knows which earlier try is in doubt. */
function createAttempt<T>(task: Task<T>, isNew: boolean): () => Promise<Ending<T> | Long> {
  let mayBeNew = isNew;
  return async () => {
    const isFirst = mayBeNew;
    mayBeNew = false;
    const ending = isFirst ? await writeAsNew(task) : null;
    if (ending !== null) task.newKeys.confirm(task.workspace);
    else task.newKeys.deny(task.workspace);
    return ending ?? writeInStep(task, SHORT);
  };
}

/**
 * One round trip instead of four, when a read found none of the identifiers or an import is running. Null if that does not work out: then
 * take the lock.
 */
async function writeAsNew<T>(task: Task<T>): Promise<Ending<T> | null> {
  const { client, workspace, want, decide, doubts } = task;
  const decided = ask(decide, EMPTY_SNAPSHOT, null);
  if (decided.kind === "threw" || decided.plan === null) return null;
  // What it does not create could exist unseen.
  if (decided.plan.creates.length !== want.keys.length || !isPlain(decided.plan)) return null;
  requireKnown(decided.plan, EMPTY_SNAPSHOT);
  const parameters = newParameters(workspace, decided.plan);
  if (parameters === null) return null;
  note(doubts, decided.plan, decided);
  try {
    const isWritten = (await client.write(WRITE_NEW, parameters)).length > 0;
    if (!isWritten) {
      task.erased.add(workspace);
      doubts.last = null;
    }
    return isWritten ? decided : null;
  } catch (error) {
    if (!isConstraint(error)) throw error;
    // It was certainly rolled back; a stored change with this id is another's.
    doubts.last = null;
    return null;
  }
}

/** What a step may write, and what was prepared for it. */
interface Room {
  readonly rows: number;
  readonly staged: Staged;
}

const SHORT: Room = { rows: 2 * PART_ROWS, staged: new Map() };
/** Far more than what one takes on a busy machine. */
const MS_PER_ROW = 1;

async function writeInStep<T>(task: Task<T>, room: Room): Promise<Ending<T> | Long> {
  const rows = Math.max(room.rows, task.want.keys.length);
  const timeoutMs = rows <= SHORT.rows ? STEP_MS : STEP_MS + rows * MS_PER_ROW;
  const written = inStep(task.client, (step) => writeLocked(task, step, room), timeoutMs);
  const { ending, annexed } = await written.catch((error: unknown) => {
    throw isTaken(error) ? idsTaken() : error;
  });
  for (const profileId of annexed) task.tidying.tidy(task.workspace, profileId);
  return ending;
}

/**
 * Again with the time that it takes, once all is staged that one step cannot move. After a failure it is decided anew. Each transaction
 * has a turn of its own.
 */
async function writeLong<T>(task: Task<T>, first: Long): Promise<Ending<T>> {
  const due = performance.now() + LONG_MS;
  let known: Long | null = first;
  const attempt = async (): Promise<Ending<T>> => {
    for (;;) {
      const long: Ending<T> | Long = known ?? (await task.turn(() => writeInStep(task, SHORT)));
      known = null;
      if (long.kind !== "long") return long;
      const ending = await writeWithRoom(task, long).catch(endForMemory);
      if (ending.kind !== "long") return ending;
      known = ending;
    }
  };
  return withRetries(attempt, { awayMax: AWAY_TRIES_MAX, isOver: () => performance.now() > due });
}

/** The same would be too much again, so the error is passed on. */
function endForMemory(error: unknown): never {
  if (!isOutOfMemory(error)) throw error;
  throw new AppError("unavailable", "The change is too large for the memory of the identity graph's server.", {
    cause: error,
  });
}

async function writeWithRoom<T>(task: Task<T>, { plan, snapshot, rows }: Long): Promise<Ending<T> | Long> {
  const { client, workspace, movesMax, tidying, turn } = task;
  const staged: Map<ProfileId, StagedPart> = new Map();
  try {
    await stage(client, workspace, { plan, snapshot, max: movesMax, turn }, staged);
    return await turn(() => writeInStep(task, { rows: 2 * rows, staged }));
  } finally {
    // What did not become a profile goes back.
    await release(client, staged).catch(() => undefined);
    for (const { component } of plan.splits) tidying.tidy(workspace, component as ProfileId);
  }
}

interface Written<T> {
  readonly ending: Ending<T> | Long;
  /** Profiles that have annexes now. */
  readonly annexed: readonly ProfileId[];
}

async function writeLocked<T>(task: Task<T>, step: Step, { rows, staged }: Room): Promise<Written<T>> {
  const { workspace, want, decide, doubts, movesMax, locks, names } = task;
  const seen = await seeWithRules(step.run, locks ? LOCK_AND_RULES : RULES, workspace, want, names);
  const { snapshot } = seen;
  const unwritten = (ending: Ending<T> | Long): Written<T> => ({ ending, annexed: [] });
  // Under the lock, which the transaction in doubt held to its end.
  const { last } = doubts;
  if (last !== null && (await step.run(FIND_CHANGE, { ws: workspace, change: last.changeId })).length > 0)
    return unwritten(last.ending);
  let decided = ask(decide, snapshot, null);
  while (decided.kind === "done" && decided.border !== undefined)
    decided = ask(decide, snapshot, await seeBorder(step.run, workspace, decided.border));
  if (decided.kind === "threw" || decided.plan === null) return unwritten(decided);
  const { plan } = decided;
  requireKnown(plan, snapshot);
  const layout = layoutOf(plan, snapshot, staged, movesMax);
  if (layout.rows > rows || !layout.isComplete) return unwritten({ kind: "long", plan, snapshot, rows: layout.rows });
  const profiles = await writePlan(step, workspace, plan, { ...seen, keys: new Set(want.keys) }, layout, names);
  note(doubts, plan, decided);
  await step.commit();
  return { ending: decided, annexed: profiles };
}

function ask<T>(decide: Decide<T>, snapshot: Snapshot, border: Border | null) {
  try {
    return { kind: "done", ...decide(snapshot, border) } as const;
  } catch (error) {
    return { kind: "threw", error } as const;
  }
}

function note<T>(doubts: Doubts<T>, plan: Plan, ending: Ending<T>): void {
  const changeId = plan.changes[0]?.changeId;
  doubts.last = changeId === undefined ? null : { changeId, ending };
}
