import type { ChangeId, WorkspaceId } from "../core/ids.js";
import type { Picture, Plan, Want } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { createDeadline } from "./deadline.js";
import type { Client, Row, Step } from "./neo4j-client.js";
import { lookParameters, lookupsOfWant, pictureOf, sightOf } from "./neo4j-look.js";
import { isConstraint } from "./neo4j-failure.js";
import { requireKnown, writeParameters } from "./neo4j-plan.js";
import { FIND_CHANGE, LOCK, LOCK_AND_LOOK, LOOK, WRITE, WRITE_NEW } from "./neo4j-statements.js";
import { inTries } from "./neo4j-tries.js";
import type { Unseen } from "./neo4j-unseen.js";

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
  const look = locks ? LOCK_AND_LOOK : LOOK;
  return (workspace, want, decide) =>
    within(async (call) => {
      const isNew = locks && unseen.takeAll(want.keys);
      const attempt = createAttempt({ client, look, workspace, want, decide, isNew });
      const ending = await inTries(attempt, { awayMax: AWAY_TRIES_MAX, isOver: () => call.expired });
      if (ending.kind === "threw") throw ending.error;
      return ending.result;
    });
}

/** How a try ended; what `decide` threw is no failure of the graph, and no reason to try again. */
type Ending<T> = { readonly kind: "done"; readonly result: T } | { readonly kind: "threw"; readonly error: unknown };

/** A commit whose answer never came. */
interface Doubt<T> {
  readonly changeId: ChangeId;
  readonly ending: Ending<T>;
}

interface AttemptDeps<T> {
  readonly client: Client;
  readonly look: string;
  readonly workspace: WorkspaceId;
  readonly want: Want;
  readonly decide: (picture: Picture) => { readonly plan: Plan | null; readonly result: T };
  /** Whether a read saw none of the identifiers a moment ago. */
  readonly isNew: boolean;
}

const NOTHING: Picture = { identifiers: new Map(), components: new Map(), linked: new Set() };

function createAttempt<T>({ client, look, workspace, want, decide, isNew }: AttemptDeps<T>): () => Promise<Ending<T>> {
  const lookups = lookupsOfWant(workspace, want);
  const parameters = { ws: workspace, ...lookParameters(lookups) };
  let mayBeNew = isNew;
  let doubt: Doubt<T> | null = null;

  const remember = (plan: Plan, ending: Ending<T>): void => {
    const changeId = plan.changes[0]?.changeId;
    doubt = changeId === undefined ? null : { changeId, ending };
  };
  /** In one round trip instead of four; null when it is not so, or nothing was to be written: then the lock has the word. */
  const asNew = async (): Promise<Ending<T> | null> => {
    mayBeNew = false;
    const decided = ask(decide, NOTHING);
    if (decided.kind === "threw" || decided.plan === null) return null;
    requireKnown(decided.plan, NOTHING);
    remember(decided.plan, decided);
    try {
      await client.write(WRITE_NEW, writeParameters(workspace, decided.plan));
      return decided;
    } catch (error) {
      if (isConstraint(error)) return null;
      throw error;
    }
  };
  const locked = async (step: Step): Promise<Ending<T>> => {
    const picture = pictureOf(lookups, sightOf(await step.run(look, parameters)));
    // Behind the lock: the transaction in doubt held it to its end.
    if (doubt !== null && (await stands(step, workspace, doubt.changeId))) return doubt.ending;
    const decided = ask(decide, picture);
    if (decided.kind === "threw" || decided.plan === null) return decided;
    requireKnown(decided.plan, picture);
    await step.run(WRITE, writeParameters(workspace, decided.plan));
    remember(decided.plan, decided);
    await step.commit();
    return decided;
  };
  return async () => (mayBeNew ? await asNew() : null) ?? inStep(client, locked);
}

const stands = async (step: Step, ws: WorkspaceId, change: ChangeId): Promise<boolean> =>
  (await step.run(FIND_CHANGE, { ws, change })).length > 0;

function ask<T>(decide: AttemptDeps<T>["decide"], picture: Picture) {
  try {
    return { kind: "done", ...decide(picture) } as const;
  } catch (error) {
    return { kind: "threw", error } as const;
  }
}

/** Whatever the work did not commit is undone. */
async function inStep<T>(client: Client, work: (step: Step) => Promise<T>): Promise<T> {
  const begun = await client.begin();
  let isCommitted = false;
  const commit = async (): Promise<void> => {
    await begun.commit();
    isCommitted = true;
  };
  try {
    return await work({ ...begun, commit });
  } finally {
    // Nothing is left to undo when the connection is gone.
    if (!isCommitted) await begun.rollback().catch(() => undefined);
  }
}

/** What stands there while nobody writes in the workspace: the answer to a doubt, which changes nothing. */
export const readLocked = (client: Client, ws: WorkspaceId, statement: string, q: object): Promise<readonly Row[]> => {
  const due = performance.now() + UPDATE_MS;
  const attempt = () =>
    inStep(client, async (step) => {
      await step.run(LOCK, { ws });
      return step.run(statement, { ...q, ws });
    });
  return inTries(attempt, { awayMax: AWAY_TRIES_MAX, isOver: () => performance.now() > due });
};
