import { randomUUID } from "node:crypto";
import type { Backfill } from "../core/catalog/backfill.js";
import { createDeadlines } from "../core/deadlines.js";
import { isDamaged, isUnavailable } from "../core/errors.js";
import type { EventRecord, StoredEvent } from "../core/event/event.js";
import { encodeMessage } from "../core/event/message.js";
import type { BackfillId, EventId, WorkspaceId } from "../core/ids.js";
import { describeError, type Log } from "../core/log.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { EventQueue } from "../core/ports/event-queue.js";
import type { Arrival, EventStore } from "../core/ports/event-store.js";
import { createBackfillWaits } from "./backfill-waits.js";
import type { Task } from "./task.js";

export interface BackfillDeps {
  readonly catalog: Pick<CatalogStore, "runningBackfills" | "saveBackfill" | "findDataset">;
  readonly events: Pick<EventStore, "ofSchema" | "find">;
  readonly queue: Pick<EventQueue, "publish">;
  /** The worker's step: whatever a backfill covers when it comes there is folded. */
  readonly complete: (workspace: WorkspaceId, events: readonly EventRecord[]) => Promise<void>;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: (workspace: WorkspaceId) => number;
  /** Milliseconds that no clock sets back. */
  readonly steady?: () => number;
}

/** So soon a backfill begins that another process was told of. */
const LOOK_MS = 1_000;
const EVENTS_PER_PIECE = 500;
const RUNNING_PER_PAGE = 50;
/** Each may be as large as a payload may be. */
const READ_AT_ONCE = 16;
const RESERVED_MS = 5_000;
/** Before every event id. */
const FIRST = "" as EventId;

/**
 * Folds what a backfill covers, in the order of `received_at`. It may be killed at any point, and several may work at one: a fold is
 * done once, and what was not noted is walked through again. One that fails waits, and holds up no other.
 */
export function createBackfillTask(deps: BackfillDeps): Task {
  const { catalog, events, log, now } = deps;
  const self = randomUUID();
  let last: BackfillId | null = null;

  const deadlines = createDeadlines(deps.steady);
  const waits = createBackfillWaits(log, deps.steady ?? (() => performance.now()));
  /** Since the last look: it is not at rest then. */
  let isAnyWaiting = false;
  /** Whoever works at it raises `rev`. */
  const isFree = ({ workspace, backfillId, rev, reserved }: Backfill): boolean =>
    reserved === null ||
    reserved.by === self ||
    deadlines.isOver(`${backfillId} ${rev}`, reserved.until, now(workspace));

  const isToGoOn = (backfill: Backfill): boolean => {
    if (!isFree(backfill)) return false;
    const isOver = waits.isOver(backfill);
    isAnyWaiting ||= !isOver;
    return isOver;
  };

  /** However many of those before it wait. */
  const firstBehind = async (after: BackfillId | null): Promise<Backfill | null> => {
    const running = await catalog.runningBackfills({ limit: RUNNING_PER_PAGE, after });
    const found = running.find(isToGoOn);
    if (found !== undefined) return found;
    return running.length < RUNNING_PER_PAGE ? null : firstBehind(running.at(-1)!.backfillId);
  };

  /** The backfills take turns. */
  const next = async (): Promise<Backfill | null> => {
    isAnyWaiting = false;
    return (last !== null ? await firstBehind(last) : null) ?? firstBehind(null);
  };

  const save = (backfill: Backfill, changes: Partial<Backfill>): Promise<boolean> =>
    catalog.saveBackfill({ ...backfill, ...changes, rev: backfill.rev + 1 });

  /** Null: another process has it. Two that did the same piece would both fold it, and only one of them could count it. */
  const reserve = async (backfill: Backfill): Promise<Backfill | null> => {
    if (backfill.reserved?.by === self && backfill.reserved.until > now(backfill.workspace)) return backfill;
    const reserved = { by: self, until: now(backfill.workspace) + RESERVED_MS };
    return (await save(backfill, { reserved })) ? { ...backfill, reserved, rev: backfill.rev + 1 } : null;
  };

  const doPiece = async (backfill: Backfill): Promise<void> => {
    const { workspace, datasetId, schemaId, position, since, coversUntil } = backfill;
    const dataset = await catalog.findDataset(workspace, datasetId);
    if (dataset?.unifiedProfile !== true)
      return void (await save(backfill, { state: "stopped", reserved: null, endedAt: now(workspace) }));
    const begin: Arrival | null = since === null ? null : { receivedAt: since, eventId: FIRST };
    const page = { after: position ?? begin, until: coversUntil, limit: EVENTS_PER_PIECE };
    const found = await events.ofSchema(workspace, schemaId, page);
    if (found.length === 0)
      return void (await save(backfill, { state: "done", reserved: null, endedAt: now(workspace) }));
    const open = found.filter(({ facet }) => facet === null).map(({ eventId }) => eventId);
    let done = 0;
    for (let at = 0; at < open.length; at += READ_AT_ONCE) {
      const some = await Promise.all(open.slice(at, at + READ_AT_ONCE).map((id) => find(workspace, id)));
      done += await complete(workspace, some.filter(isWaiting));
    }
    await save(backfill, {
      position: positionOf(found.at(-1)!),
      done: backfill.done + done,
      skipped: backfill.skipped + open.length - done,
      reserved: { by: self, until: now(workspace) + RESERVED_MS },
    });
  };

  /** Null also for a damaged one: the others go on without it, and it counts as skipped. */
  const find = async (workspace: WorkspaceId, eventId: EventId): Promise<StoredEvent | null> => {
    try {
      return await events.find(workspace, eventId);
    } catch (error) {
      if (!isDamaged(error)) throw error;
      log.error({ workspace, eventId, ...describeError(error) }, "a backfill passes over a damaged event");
      return null;
    }
  };

  /** How many are folded now. */
  const complete = async (workspace: WorkspaceId, some: readonly StoredEvent[]): Promise<number> => {
    if (some.length === 0) return 0;
    try {
      await deps.complete(workspace, some);
      return some.length;
    } catch (error) {
      if (isUnavailable(error)) throw error;
      const [one, ...more] = some;
      if (more.length > 0) {
        let done = 0;
        for (const event of some) done += await complete(workspace, [event]);
        return done;
      }
      // The queue has tries, alarms and dead letters for one that cannot be folded.
      const { eventId } = one!;
      log.warn({ workspace, eventId, ...describeError(error) }, "a backfill leaves an event to the queue");
      await deps.queue.publish(encodeMessage(one!));
      return 0;
    }
  };

  return {
    name: "backfill",
    isWaiting: () => isAnyWaiting,
    step: async () => {
      const backfill = await next();
      if (backfill === null) return LOOK_MS;
      last = backfill.backfillId;
      try {
        const reserved = await reserve(backfill);
        if (reserved === null) return 0;
        await doPiece(reserved);
        waits.wentOn(backfill);
      } catch (error) {
        waits.failed(backfill, error);
      }
      return 0;
    },
  };
}

/** One that folds by itself, or never can, is none of the backfill's. */
const isWaiting = (event: StoredEvent | null): event is StoredEvent =>
  event !== null && event.status === "stored" && !event.folds && event.identifiers.length > 0;

const positionOf = ({ receivedAt, eventId }: Arrival): Arrival => ({ receivedAt, eventId });
