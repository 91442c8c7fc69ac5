import type { ChangeId, WorkspaceId } from "../core/ids.js";
import type { Picture, Plan, Want } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { createDeadline } from "./deadline.js";
import { STEP_MS, type Client, type Step } from "./neo4j-client.js";
import { isConstraint } from "./neo4j-failure.js";
import { lookParameters, lookupsOfWant, pictureOf, sightOf } from "./neo4j-look.js";
import { requireKnown, writeParameters } from "./neo4j-plan.js";
import { hasRules, seeWithRules } from "./neo4j-rules-look.js";
import { FIND_CHANGE, LOCK_AND_LOOK, LOCK_AND_RULES, LOOK, RULES, WRITE_NEW } from "./neo4j-statements.js";
import { inStep } from "./neo4j-step.js";
import { inTries } from "./neo4j-tries.js";
import type { Unseen } from "./neo4j-unseen.js";
import { isPlain, PART_ROWS, weightOf, writePlan } from "./neo4j-write.js";

export interface UpdateOptions {
  /** False only to show that nothing else keeps two processes apart. */
  readonly locks?: boolean;
}

/** Below the time that a caller of `Identity` waits. */
const UPDATE_MS = 7_500;
const AWAY_TRIES_MAX = 4;

/** The writing side: one transaction for each try, and the workspace's lock first in it. */
export function createUpdate(
  client: Client,
  unseen: Unseen,
  { locks = true }: UpdateOptions = {},
): IdentityGraph["update"] {
  const within = createDeadline(UPDATE_MS, "The identity graph did not take the change in time.");
  return (workspace, want, decide) =>
    within(async (call) => {
      const isNew = unseen.takeAll(want.keys) && locks;
      const attempt = createAttempt({ client, workspace, want, locks, decide }, isNew);
      const ending = await inTries(attempt, { awayMax: AWAY_TRIES_MAX, isOver: () => call.expired });
      if (ending.kind === "threw") throw ending.error;
      return ending.result;
    });
}

interface Task<T> {
  readonly client: Client;
  readonly workspace: WorkspaceId;
  readonly want: Want;
  readonly locks: boolean;
  readonly decide: (picture: Picture) => { readonly plan: Plan | null; readonly result: T };
}

/** How a try ended; what `decide` threw is no failure of the graph, and no reason to try again. */
type Ending<T> = { readonly kind: "done"; readonly result: T } | { readonly kind: "threw"; readonly error: unknown };

/** The last try whose commit may stand although its answer never came. */
interface Doubts<T> {
  last: { readonly changeId: ChangeId; readonly ending: Ending<T> } | null;
}

/** Each call is one try, which knows what the tries before it left open. */
function createAttempt<T>(task: Task<T>, isNew: boolean): () => Promise<Ending<T>> {
  const doubts: Doubts<T> = { last: null };
  let mayBeNew = isNew;
  return async () => {
    const isFirst = mayBeNew;
    mayBeNew = false;
    const ending = isFirst ? await writeAsNew(task, doubts) : null;
    return ending ?? writeInTime(task, doubts);
  };
}

/** Far more than what one takes on a busy machine. */
const MS_PER_ROW = 1;

/** Most steps are short. One that turns out to move very much is begun anew with the time for that; by then nobody may wait for it. */
async function writeInTime<T>(task: Task<T>, doubts: Doubts<T>): Promise<Ending<T>> {
  let room = Math.max(PART_ROWS, task.want.keys.length);
  for (;;) {
    const timeoutMs = room === PART_ROWS ? STEP_MS : STEP_MS + room * MS_PER_ROW;
    const ending = await inStep(task.client, (step) => writeLocked(task, doubts, step, room), timeoutMs);
    if (ending.kind !== "long") return ending;
    room = 2 * ending.rows;
  }
}

const NOTHING: Picture = { identifiers: new Map(), components: new Map(), linked: new Set(), removed: new Map() };

/** In one round trip instead of four, when a read saw none of it. Null when there is more to it: then the lock has the word. */
async function writeAsNew<T>(task: Task<T>, doubts: Doubts<T>): Promise<Ending<T> | null> {
  const { client, workspace, want, decide } = task;
  const decided = ask(decide, NOTHING);
  if (decided.kind === "threw" || decided.plan === null) return null;
  // What it would not create could stand there unseen.
  if (decided.plan.creates.length !== want.keys.length || !isPlain(decided.plan)) return null;
  requireKnown(decided.plan, NOTHING);
  note(doubts, decided.plan, decided);
  try {
    await client.write(WRITE_NEW, writeParameters(workspace, decided.plan, NOTHING));
    return decided;
  } catch (error) {
    if (!isConstraint(error)) throw error;
    // It was undone for sure, and a change of this id that stands there is another's.
    doubts.last = null;
    return null;
  }
}

async function writeLocked<T>(
  task: Task<T>,
  doubts: Doubts<T>,
  step: Step,
  room: number,
): Promise<Ending<T> | { readonly kind: "long"; readonly rows: number }> {
  const { workspace, want, decide } = task;
  const picture = await see(task, step);
  // Behind the lock: the transaction in doubt held it to its end.
  const { last } = doubts;
  if (last !== null && (await step.run(FIND_CHANGE, { ws: workspace, change: last.changeId })).length > 0)
    return last.ending;
  const decided = ask(decide, picture);
  if (decided.kind === "threw" || decided.plan === null) return decided;
  requireKnown(decided.plan, picture);
  const rows = weightOf(decided.plan, picture);
  if (rows > room) return { kind: "long", rows };
  await writePlan(step, workspace, decided.plan, { keys: new Set(want.keys), picture });
  note(doubts, decided.plan, decided);
  await step.commit();
  return decided;
}

async function see<T>({ workspace, want, locks }: Task<T>, step: Step): Promise<Picture> {
  if (hasRules(want)) return seeWithRules(step.run, locks ? LOCK_AND_RULES : RULES, workspace, want);
  const lookups = lookupsOfWant(workspace, want);
  const q = { ws: workspace, ...lookParameters(lookups) };
  return pictureOf(lookups, sightOf(await step.run(locks ? LOCK_AND_LOOK : LOOK, q)));
}

function ask<T>(decide: Task<T>["decide"], picture: Picture) {
  try {
    return { kind: "done", ...decide(picture) } as const;
  } catch (error) {
    return { kind: "threw", error } as const;
  }
}

function note<T>(doubts: Doubts<T>, plan: Plan, ending: Ending<T>): void {
  const changeId = plan.changes[0]?.changeId;
  doubts.last = changeId === undefined ? null : { changeId, ending };
}
