import type { BackfillId, DatasetId, EventId, KeyId, SchemaId, WorkspaceId } from "../ids.js";

export const BACKFILL_STATES = ["running", "done", "stopped"] as const;

/** Folds events of a schema that were stored while no dataset of it was enabled. Times are milliseconds since 1970. */
export interface Backfill {
  readonly workspace: WorkspaceId;
  readonly backfillId: BackfillId;
  readonly datasetId: DatasetId;
  readonly schemaId: SchemaId;
  readonly keyId: KeyId;
  /** Received then or later; null: whenever. */
  readonly since: number | null;
  /** Received before; null: until it was created. */
  readonly until: number | null;
  /** Received before, and a little more: what a gateway still accepted that did not know of the dataset. */
  readonly coversUntil: number;
  readonly state: (typeof BACKFILL_STATES)[number];
  /** Events that were not folded when it began; null: too many to count. */
  readonly total: number | null;
  /** Events that it folded, and those that stay as they are. */
  readonly done: number;
  readonly skipped: number;
  /** Behind this event it goes on. */
  readonly position: { readonly receivedAt: number; readonly eventId: EventId } | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** The keeper that works at it, and how long the others leave it alone: it only saves work. */
  readonly reserved: { readonly by: string; readonly until: number } | null;
  /** 1 at first. */
  readonly rev: number;
}

/** Whether the backfill folds an event of its schema that was received then. */
export const covers = ({ state, since, coversUntil }: Backfill, receivedAt: number): boolean =>
  state !== "stopped" && (since === null || receivedAt >= since) && receivedAt < coversUntil;
