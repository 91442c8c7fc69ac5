export type AudienceState = "counting" | "building" | "live";

export interface Audience {
  readonly audience_id: string;
  readonly name: string;
  readonly rule: unknown;
  readonly version: number;
  readonly state: AudienceState;
  readonly size: number;
  readonly as_of_seq: number;
  readonly progress?: { readonly profiles: number };
  readonly created_at: string;
}

export interface Member {
  readonly profile_id: string;
  readonly since: string;
}

/** Of a profile, as much as a list shows. */
export interface SampleProfile {
  readonly profile_id: string;
  readonly identifiers: readonly { readonly namespace: string; readonly value: string }[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly last_seen: string | null;
  readonly event_count: number;
}

export interface Preview {
  readonly count: number;
  /** Else `count` is an estimate, and the true number is very likely from `low` to `high`. */
  readonly exact: boolean;
  readonly low: number;
  readonly high: number;
  readonly profiles: number;
  readonly looked_at: number;
  readonly sample: readonly SampleProfile[];
}

export type EntryType = "entered" | "left" | "audience_deleted" | "profile_erased";

export interface FeedEntry {
  readonly seq: number;
  readonly at: string;
  readonly type: EntryType;
  readonly audience_id?: string;
  readonly profile_id?: string;
  readonly cause?: string;
  readonly into?: string;
}

export interface FeedPage {
  readonly entries: readonly FeedEntry[];
  readonly next: number;
  readonly head: number;
  readonly oldest: number;
}

export interface Webhook {
  readonly webhook_id: string;
  readonly url: string;
  readonly audience_ids: readonly string[] | null;
  readonly types: readonly EntryType[] | null;
  readonly state: "active" | "failing" | "stopped";
  readonly delivered: number;
  readonly head: number;
  readonly last_error: string | null;
  readonly last_error_at: string | null;
  readonly failing_since: string | null;
  readonly next_try_at: string | null;
  readonly created_at: string;
}
export interface NewWebhook extends Webhook {
  /** Shown once. */
  readonly secret: string;
}
