import { setTimeout as sleep } from "node:timers/promises";
import type { Collection } from "mongodb";
import { AppError, isUnavailable } from "../../../core/errors.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import { EMPTY, requireRoom, type CatalogDocument, type Sections } from "./document.js";
import { isDuplicateKey } from "../failure.js";
import type { Session } from "../session.js";

export interface Decision<K extends keyof Sections, T> {
  /** The new sections; null changes nothing. */
  readonly change: Partial<Pick<Sections, K>> | null;
  readonly result: T;
}

export interface CatalogCall<K extends keyof Sections, T> {
  /** The sections that are read; only these may change. */
  readonly sections: readonly K[];
  /** Pure, and called again whenever another change came first. If it throws, the caller gets the error and nothing changes. */
  readonly decide: (standing: Pick<Sections, K>) => Decision<K, T>;
  /** Stores what the change names, before it is written; may be called again. */
  readonly prepare?: () => Promise<void>;
}

/** Changes the document of a workspace in one write, or not at all. Rejects with `conflict` when a new key's id is taken. */
export type ChangeCatalog = <K extends keyof Sections, T>(
  workspace: WorkspaceId,
  call: CatalogCall<K, T>,
) => Promise<T>;

/** No try begins later than this after the call. */
const TRIES_MS = 3_000;
const TRIES_MAX = 200;
const PAUSE_MS_MAX = 20;
/** Other changes that may come between a lost answer and the next look. */
const OPS_KEPT = 32;
/** Bounds the time for which one write's decisions block the loop. */
const SHARED_MAX = 128;

/** What each part of the catalog is made of. */
export interface CatalogDeps {
  readonly catalog: Collection<CatalogDocument>;
  readonly session: Session;
  readonly change: ChangeCatalog;
}
type Deps = Pick<CatalogDeps, "catalog" | "session">;

interface Waiting {
  readonly call: CatalogCall<keyof Sections, unknown>;
  readonly endMs: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Compare and swap on `rev`. Calls that wait while a change of the workspace runs share the next one, in their order: one read and one
 * write, so only processes compete.
 */
export function createChangeCatalog(deps: Deps): ChangeCatalog {
  /** A workspace is in here only while it has work. */
  const queues = new Map<WorkspaceId, Waiting[]>();
  const run = async (workspace: WorkspaceId, queue: Waiting[]): Promise<void> => {
    // All that arrive in this turn share the first change, without a timer.
    await Promise.resolve();
    while (queue.length > 0) await changeTogether(deps, workspace, queue.splice(0, SHARED_MAX));
    queues.delete(workspace);
  };
  const enter = (workspace: WorkspaceId, waiting: Waiting): void => {
    const queue = queues.get(workspace);
    if (queue !== undefined) return void queue.push(waiting);
    const started = [waiting];
    queues.set(workspace, started);
    void run(workspace, started);
  };
  return <K extends keyof Sections, T>(workspace: WorkspaceId, given: CatalogCall<K, T>): Promise<T> => {
    const call = given as unknown as Waiting["call"];
    const endMs = performance.now() + TRIES_MS;
    return deps.session.call(
      () =>
        new Promise((resolve, reject) =>
          enter(workspace, { call, endMs, resolve: resolve as Waiting["resolve"], reject }),
        ),
    );
  };
}

/** Never rejects. If a shared change is refused, one call is the cause: then each is tried alone. */
async function changeTogether(deps: Deps, workspace: WorkspaceId, waiting: readonly Waiting[]): Promise<void> {
  try {
    const calls = waiting.map(({ call }) => call);
    const answers = await tryUntil(deps, workspace, calls, Math.max(...waiting.map(({ endMs }) => endMs)));
    waiting.forEach(({ resolve, reject }, n) => {
      const answer = answers[n]!;
      if (answer.kind === "result") resolve(answer.result);
      else reject(answer.error);
    });
  } catch (error) {
    if (waiting.length > 1 && !isUnavailable(error))
      for (const one of waiting) await changeTogether(deps, workspace, [one]);
    else for (const { reject } of waiting) reject(error);
  }
}

type Answer =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: unknown };
type Answers = readonly Answer[];
type CatalogCalls = readonly Waiting["call"][];

async function tryUntil(deps: Deps, workspace: WorkspaceId, calls: CatalogCalls, endMs: number): Promise<Answers> {
  const sent = new Map<string, Answers>();
  let cause: unknown;
  for (let tries = 0; tries < TRIES_MAX && performance.now() < endMs; tries += 1) {
    // A random delay, so that two processes that collided do not collide again.
    if (tries > 0) await sleep(Math.random() * Math.min(tries, PAUSE_MS_MAX));
    try {
      const answers = await tryOnce(deps, workspace, calls, sent);
      if (answers !== null) return answers;
    } catch (error) {
      deps.session.requireOpen();
      if (!isUnavailable(error)) throw error;
      cause = error;
    }
  }
  throw new AppError("unavailable", "The change did not come through in time.", { cause });
}

/**
 * Null when another change came first. `sent` holds what was written without an answer: if the document carries one of its names,
 * that try was the one. One that is not there by now never comes, because the next write changes `rev`.
 */
async function tryOnce(
  deps: Deps,
  workspace: WorkspaceId,
  calls: CatalogCalls,
  sent: Map<string, Answers>,
): Promise<Answers | null> {
  const standing = await read(deps, workspace, new Set(calls.flatMap(({ sections }) => sections)));
  const done = standing.ops.find((op) => sent.has(op));
  if (done !== undefined) {
    await confirm(deps, workspace);
    return sent.get(done)!;
  }
  const { change, changing, answers } = decideAll(standing, calls);
  if (changing.length === 0) return answers;
  requireRoom(change);
  await Promise.all(changing.flatMap(({ prepare }) => prepare?.() ?? []));
  const op = newId<string>();
  sent.set(op, answers);
  if (await write(deps, workspace, standing, { change, op })) return answers;
  sent.delete(op);
  return null;
}

/** Each call sees what those before it changed. */
function decideAll(standing: Sections, calls: CatalogCalls) {
  let change: Partial<Sections> = {};
  const changing: Waiting["call"][] = [];
  const answers = calls.map((call): Answer => {
    try {
      const decision = call.decide({ ...standing, ...change });
      if (decision.change !== null) {
        change = { ...change, ...decision.change };
        changing.push(call);
      }
      return { kind: "result", result: decision.result };
    } catch (error) {
      return { kind: "error", error };
    }
  });
  return { change, changing, answers };
}

type Standing = Sections & Pick<CatalogDocument, "rev" | "ops">;

async function read(
  { catalog, session }: Deps,
  workspace: WorkspaceId,
  sections: ReadonlySet<keyof Sections>,
): Promise<Standing> {
  const projection = Object.fromEntries(["rev", "ops", ...sections].map((name) => [name, 1]));
  const found = await session.call(() => catalog.findOne<Partial<Standing>>({ _id: workspace }, { projection }));
  return { ...EMPTY, rev: 0, ops: [], ...found };
}

/** A write that we can read may still be lost in a crash. A later write that is acknowledged makes it durable too. */
const confirm = ({ catalog, session }: Deps, workspace: WorkspaceId): Promise<unknown> =>
  session.call(() => catalog.updateOne({ _id: workspace }, { $inc: { rev: 1 } }));

async function write(
  deps: Deps,
  workspace: WorkspaceId,
  { rev, ops }: Pick<CatalogDocument, "rev" | "ops">,
  { change, op }: { readonly change: Partial<Sections>; readonly op: string },
): Promise<boolean> {
  const { catalog, session } = deps;
  const { keys } = change;
  const changed = {
    ...change,
    ...(keys !== undefined && { key_ids: [workspace, ...keys.map(({ key_id }) => key_id)] }),
    ops: [...ops, op].slice(-OPS_KEPT),
    rev: rev + 1,
  };
  try {
    if (rev > 0)
      return (await session.call(() => catalog.updateOne({ _id: workspace, rev }, { $set: changed }))).matchedCount > 0;
    const first: CatalogDocument = { ...EMPTY, key_ids: [workspace], ...changed, _id: workspace };
    await session.call(() => catalog.insertOne(first));
    return true;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    await requireFree(deps, workspace, keys ?? []);
    return false;
  }
}

/** Tells a key's id that another workspace has from a document that another process made first. */
async function requireFree({ catalog, session }: Deps, workspace: WorkspaceId, keys: Sections["keys"]): Promise<void> {
  const elsewhere = { _id: { $ne: workspace }, key_ids: { $in: keys.map(({ key_id }) => key_id) } };
  const found = await session.call(() => catalog.findOne(elsewhere, { projection: { _id: 1 } }));
  if (found !== null) throw new AppError("conflict", "This key id is taken.");
}
