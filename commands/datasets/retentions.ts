import { setTimeout as sleep } from "node:timers/promises";
import type { Dataset } from "../../core/catalog/catalog.js";
import { retentionsOf } from "../../core/catalog/retention.js";
import { AppError } from "../../core/errors.js";
import type { DatasetId, SchemaId, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

/** MongoDB reads all of them for each page; the embedded store reads a page in one turn of the event loop. */
const PAGE = 2_000;

/** Schema -> days after which its events go. */
export async function readRetentions(
  { catalog }: { readonly catalog: Pick<Services["catalog"], "datasets"> },
  workspace: WorkspaceId,
): Promise<ReadonlyMap<SchemaId, number>> {
  const all: Dataset[] = [];
  for (let after: DatasetId | null = null; ;) {
    const page: readonly Dataset[] = await catalog.datasets(workspace, { limit: PAGE, after });
    all.push(...page);
    if (page.length < PAGE) return retentionsOf(all);
    after = page.at(-1)!.datasetId;
  }
}

const TRIES_MAX = 50;
const PAUSE_MS_MAX = 20;

/**
 * Audiences and retentions bound each other, and stand in two stores, so whoever changes one fences both, and measures again where somebody
 * else fenced one meanwhile: `attempt` answers null then, and has changed nothing. That keeps out both at once in four steps: a change of a
 * retention (1) fences the datasets, (2) finds no audience that forbids it and fences the audiences, (3) is written if its fence of the
 * datasets stands. A change of a rule (1) reads the fence of the audiences, (2) fences the datasets and measures, (3) is written if the
 * fence that it read stands. Were both written, each without the other: the rule's (2) would come before the retention's (3), so before
 * its (1), so the rule's (1) before the retention's (2), which then keeps the rule from being written, or sees it. In one process, one at a
 * time: each disturbs all others.
 */
export const untilUndisturbed = <T>(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  attempt: () => Promise<T | null>,
): Promise<T> => oneAtATime(lineOf(catalog), workspace, () => tryOn(attempt));

/** The last one of each workspace. */
type Line = Map<WorkspaceId, Promise<unknown>>;
const lines = new WeakMap<Services["catalog"], Line>();
function lineOf(catalog: Services["catalog"]): Line {
  const line = lines.get(catalog) ?? new Map<WorkspaceId, Promise<unknown>>();
  lines.set(catalog, line);
  return line;
}

const PATIENCE_MS = 3_000;

/** Runs it once the one that came before for the workspace has ended, or takes too long: a store that is away answers each in its time. */
async function oneAtATime<T>(line: Line, workspace: WorkspaceId, work: () => Promise<T>): Promise<T> {
  const before = line.get(workspace);
  const running = (before === undefined ? Promise.resolve() : within(before)).then(work);
  line.set(workspace, running);
  try {
    return await running;
  } finally {
    if (line.get(workspace) === running) line.delete(workspace);
  }
}

async function within(work: Promise<unknown>): Promise<void> {
  const patience = new AbortController();
  const late = sleep(PATIENCE_MS, undefined, { signal: patience.signal });
  await Promise.allSettled([Promise.race([work, late])]);
  patience.abort();
}

async function tryOn<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    // A random delay, so that two that collided do not collide again.
    if (tries > 0) await sleep(Math.random() * Math.min(tries, PAUSE_MS_MAX));
    const done = await attempt();
    if (done !== null) return done;
  }
  throw new AppError("unavailable", "Others keep changing the audiences and retentions of this workspace.");
}
