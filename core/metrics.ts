import type { ErrorCode } from "./errors.js";
import type { KeyId, WorkspaceId } from "./ids.js";

/** The door that an event came through. */
export type Door = "collect" | "batch" | "sdk";

/** Who sent an event: for the statistics of the workspace, never a label of a metric. */
export interface Sender {
  readonly workspace: WorkspaceId;
  readonly keyId: KeyId;
}

export type TimedStore = "sqlite" | "rabbitmq" | "mongodb" | "neo4j";

/**
 * Where the parts of the service tell what happened. Each call is a few additions in memory and never throws. A `reason`, `outcome` or
 * code becomes a label, so it is a name of ours, never what a client sent. `schemaId` is of a schema that exists, or null.
 */
export interface Metrics {
  /** An event was answered as accepted. */
  accepted(door: Door, sender: Sender, schemaId: string): void;
  /** An event, or a request as a whole, was answered as refused; `sender` is null while nobody knows who sent it. */
  rejected(code: ErrorCode, sender: Sender | null, schemaId: string | null): void;
  /** A call of identify or alias was answered as refused. */
  linkRefused(code: ErrorCode, sender: Sender): void;
  /** An event was accepted into quarantine, or only counted there. */
  quarantined(reason: string, sender: Sender, schemaId: string | null): void;
  /** Repeats within one request of an SDK. */
  sdkDuplicates(events: number): void;
  /** Calls of SDKs with the id of another call, of which only the first stands. */
  sdkMismatches(events: number): void;
  /** An event stands in its profile, so long after it was received. */
  folded(delayMs: number): void;
  deadLetter(reason: string): void;
  /** Stored events lost what they said. */
  dropped(reason: string, events: number): void;
  /** An assertion or an undo had this outcome. */
  identityChanged(outcome: string): void;
  /** An assertion or an undo waited so long for its step. */
  identityWaited(ms: number): void;
  /** An export ended like this, after so many lines. */
  exported(outcome: string, lines: number): void;
  /** A write took so long until it was durable. */
  committed(store: TimedStore, ms: number): void;
  /** A try of a webhook ended like this. */
  webhookSent(outcome: "delivered" | "failed" | "stopped"): void;
  /** The keeper did a piece of a task, or failed at it. */
  keeperRan(task: string, isFailed: boolean): void;
}

/** For whoever has nobody to tell. */
export const NO_METRICS: Metrics = {
  accepted: () => {},
  rejected: () => {},
  linkRefused: () => {},
  quarantined: () => {},
  sdkDuplicates: () => {},
  sdkMismatches: () => {},
  folded: () => {},
  deadLetter: () => {},
  dropped: () => {},
  identityChanged: () => {},
  identityWaited: () => {},
  exported: () => {},
  committed: () => {},
  webhookSent: () => {},
  keeperRan: () => {},
};
