import { isUnavailable } from "../core/errors.js";
import { describeError } from "../core/log.js";
import type { WorkspaceId } from "../core/ids.js";
import type { EventRecord } from "../core/event/event.js";
import type { Verdict } from "../core/event/notes.js";
import { decodeMessage } from "../core/event/message.js";
import type { Delivery, DeliveryOutcome } from "../core/ports/event-queue.js";
import type { DeadLetter } from "../core/ports/event-store.js";
import { completeEvents } from "./complete-events.js";
import {
  eventLetter,
  inPortions,
  mismatchLetter,
  reasonOf,
  strangeLetter,
  verdictLetter,
  type Item,
} from "./dead-letter.js";
import type { WorkerDeps } from "./deps.js";
import { createFaultAlarm, type FaultAlarm } from "./fault-alarm.js";
import { afterMistake, isFaultOfOurs, nextTry } from "./retries.js";
import { createSchemaReader } from "./schemas.js";

/** `away`: a dependency did not answer, so the message is not to blame. */
export type Result =
  | { readonly kind: "done" }
  | Exclude<DeliveryOutcome, { readonly kind: "postpone" }>
  | { readonly kind: "away" };

/** Answers one result for each message, in order, once all that it says is durable. Never throws. */
export type ProcessBatch = (batch: readonly Delivery[]) => Promise<readonly Result[]>;

const DONE: Result = { kind: "done" };
const AWAY: Result = { kind: "away" };

export function createProcessBatch(
  deps: Omit<WorkerDeps, "queue" | "batchMax">,
  alarm: FaultAlarm = createFaultAlarm(deps.log, deps.now),
): ProcessBatch {
  const requireSchema = createSchemaReader(deps.catalog);

  /** Workspaces do not affect each other: a failure in one does not touch the others. */
  const processBatch: ProcessBatch = async (batch) => {
    const results: Result[] = [];
    const workspaces = new Map<WorkspaceId, Item[]>();
    const strangers: Promise<void>[] = [];
    const settleStranger = async (index: number, delivery: Delivery, reason: string): Promise<void> => {
      results[index] = await park(delivery, strangeLetter(delivery.message, reason, deps.now()));
    };
    for (const [index, delivery] of batch.entries()) {
      const decoded = decodeMessage(delivery.message);
      if (decoded.kind === "foreign") strangers.push(settleStranger(index, delivery, decoded.reason));
      else addTo(workspaces, { index, delivery, event: decoded.event });
    }
    const groups = [...workspaces].map(([workspace, items]) => settle(workspace, items, results));
    await Promise.all([...strangers, ...groups]);
    return results;
  };

  /** Puts the result of each item at its place. */
  const settle = async (workspace: WorkspaceId, items: readonly Item[], results: Result[]): Promise<void> => {
    try {
      await attempt(workspace, items, results);
    } catch (error) {
      if (isUnavailable(error)) setAll(results, items, away(error));
      else if (items.length > 1) await settleEach(workspace, items, results);
      else for (const item of items) results[item.index] = await fail(item, error);
    }
  };

  /** One by one, so that only the failing message is blamed. If a dependency goes away meanwhile, the rest do not ask it. */
  const settleEach = async (workspace: WorkspaceId, items: readonly Item[], results: Result[]): Promise<void> => {
    let isAway = false;
    for (const item of items) {
      if (isAway) results[item.index] = AWAY;
      else await settle(workspace, [item], results);
      isAway ||= results[item.index] === AWAY;
    }
  };

  const attempt = async (workspace: WorkspaceId, items: readonly Item[], results: Result[]): Promise<void> => {
    if ((await deps.catalog.findWorkspace(workspace)) === null)
      return settleBy(results, items, ({ delivery }) =>
        park(delivery, strangeLetter(delivery.message, "unknown_workspace", deps.now())),
      );
    const [judged, events] = partition(items, ({ event }) => verdictOf(event) !== null);
    const [sound, fatal] = partition(events, ({ delivery }) => delivery.crashes <= deps.crashesMax);
    if (sound.length > 0) await completeEvents(deps, requireSchema, workspace, sound);
    setAll(results, sound, DONE);
    const letters = [
      ...(await Promise.all(fatal.map(async (item) => ({ item, letter: await letterOf(item, "crashed") })))),
      ...judged.map((item) => ({ item, letter: verdictLetter(item, verdictOf(item.event)!, deps.now(workspace)) })),
    ];
    for (const some of inPortions(letters)) {
      const parked = await Promise.all(some.map(({ item, letter }) => park(item.delivery, letter)));
      // Of one that failed a later try looks again.
      await deps.late.lookAfter(workspace, {
        folded: [],
        kept: some.map(({ letter }) => ({ kind: "letter", letter })),
      });
      for (const [n, { item }] of some.entries()) results[item.index] = parked[n]!;
    }
  };

  const fail = async (item: Item, error: unknown): Promise<Result> => {
    const fields = { ...nameOf(item), attempts: item.delivery.attempts + 1 };
    if (isFaultOfOurs(error)) alarm.report(fields, error);
    else deps.log.warn({ ...fields, ...describeError(error) }, "an event failed");
    const failedAt = deps.now();
    const delayMs = nextTry(error, item.delivery, failedAt, deps.triesMax);
    return delayMs === null ? parkEvent(item, reasonOf(error)) : { kind: "retry", delayMs, failedAt };
  };

  /** Of an item that cannot be finished. A copy of another event must not stand for the one that is stored under its id. */
  const letterOf = async (item: Item, reason: string): Promise<DeadLetter> => {
    const { workspace, eventId, fingerprint } = item.event;
    const at = deps.now(workspace);
    try {
      const stored = await deps.events.find(workspace, eventId);
      if (stored !== null && stored.fingerprint !== fingerprint) return mismatchLetter(item, at);
    } catch (error) {
      // What cannot be read is no reason to keep no letter.
      if (isUnavailable(error)) throw error;
    }
    return eventLetter(item, reason, at);
  };

  const parkEvent = async (item: Item, reason: string): Promise<Result> => {
    const { workspace } = item.event;
    const letter = await letterOf(item, reason).catch(away);
    if ("kind" in letter) return letter;
    const result = await park(item.delivery, letter);
    try {
      await deps.late.lookAfter(workspace, { folded: [], kept: [{ kind: "letter", letter }] });
    } catch (error) {
      if (isUnavailable(error)) return away(error);
      // The letter is kept, and may name a person who was erased since: only a look that succeeds ends it.
      alarm.report(nameOf(item), error);
      return { kind: "retry", delayMs: afterMistake(item.delivery.attempts), failedAt: deps.now() };
    }
    return result;
  };

  /** Done only once the letter is kept: a message is never dropped. */
  const park = async (delivery: Delivery, letter: DeadLetter): Promise<Result> => {
    const { workspace, eventId, reason } = letter;
    try {
      await deps.events.bury(letter);
    } catch (error) {
      if (isUnavailable(error)) return away(error);
      deps.log.error({ workspace, eventId, reason, ...describeError(error) }, "a dead letter could not be kept");
      return { kind: "retry", delayMs: afterMistake(delivery.attempts), failedAt: deps.now() };
    }
    // No client can see a dead letter without a workspace, so the operator must.
    const fields = { workspace, eventId, reason };
    if (workspace === null) deps.log.error(fields, "a message became a dead letter");
    // What a sender sent wrong is its workspace's business, and there may be much of it.
    else deps.log[isJudged(reason) ? "info" : "warn"](fields, "a message became a dead letter");
    return DONE;
  };

  const away = (error: unknown): Result => {
    deps.log.info(describeError(error), "a dependency is away");
    return AWAY;
  };

  return processBatch;
}

const isJudged = (reason: string): boolean => reason === "quarantined" || reason === "rejected";

const verdictOf = ({ notes }: EventRecord): Verdict | null => notes?.verdict ?? null;

const nameOf = ({ event: { workspace, eventId } }: Item): Readonly<Record<string, unknown>> => ({ workspace, eventId });

function setAll(results: Result[], items: readonly Item[], result: Result): void {
  for (const { index } of items) results[index] = result;
}

async function settleBy(
  results: Result[],
  items: readonly Item[],
  settleOne: (item: Item) => Promise<Result>,
): Promise<void> {
  const settled = await Promise.all(items.map(settleOne));
  for (const [at, { index }] of items.entries()) results[index] = settled[at]!;
}

function partition<T>(list: readonly T[], holds: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  return [list.filter(holds), list.filter((item) => !holds(item))];
}

function addTo(workspaces: Map<WorkspaceId, Item[]>, item: Item): void {
  const items = workspaces.get(item.event.workspace);
  if (items === undefined) workspaces.set(item.event.workspace, [item]);
  else items.push(item);
}
