import type { ErrorItem, Role } from "./types.js";

/** A key, without its secret. */
export interface Key {
  readonly key_id: string;
  readonly role: Role;
  readonly send: "collect" | "all" | null;
  readonly origins: readonly string[] | null;
  readonly per_minute: number | null;
  readonly name: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly rotated_to: string | null;
}
export interface NewKey extends Key {
  /** The secret: shown once. */
  readonly key: string;
}

export interface Namespace {
  readonly name: string;
  readonly kind: "person" | "device";
  readonly normalization: "none" | "email" | "phone";
  readonly limit: number | null;
  readonly priority: number;
  readonly blocked: readonly string[];
}

export interface IdentitySettings {
  readonly shared_identifier_limit: number | null;
  readonly sending_keys_add_namespaces: boolean;
}

export interface SdkSettings {
  readonly unplanned: "accept" | "mark" | "quarantine";
  readonly violations: "mark" | "omit" | "quarantine";
  readonly keep_rejects: boolean;
  readonly collect_only_adds_traits: boolean;
  readonly phone: boolean;
  readonly device_id: boolean;
  readonly advertising_id: boolean;
}

export interface Schema {
  readonly schema_id: string;
  readonly version: number;
  readonly compatibility: "backward" | "none";
  readonly created_at: string;
  readonly schema: unknown;
}

export interface Dataset {
  readonly dataset_id: string;
  readonly name: string;
  readonly schema_id: string;
  readonly unified_profile: boolean;
  readonly retention_days: number | null;
  readonly created_at: string;
}

export interface Backfill {
  readonly backfill_id: string;
  readonly dataset_id: string;
  readonly schema_id: string;
  readonly state: string;
  readonly total: number | null;
  readonly done: number;
  readonly skipped: number;
  readonly created_at: string;
  readonly ended_at: string | null;
}

export interface DeadLetter {
  readonly dead_letter_id: string;
  readonly event_id: string | null;
  readonly reason: string;
  readonly at: string;
  readonly state: "open" | "replayed";
  readonly times: number;
  readonly replayed: number;
  readonly replayed_at: string | null;
  readonly outcome: "queued" | "died_again" | null;
  readonly schema_id: string | null;
  readonly key_id: string | null;
  /** The first of its errors. */
  readonly error: ErrorItem | null;
}
export interface WholeLetter extends Omit<DeadLetter, "error"> {
  readonly timestamp: string | null;
  readonly received_at: string | null;
  readonly errors: readonly ErrorItem[];
  /** As the text that was sent. */
  readonly payload: string;
}
