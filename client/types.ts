/** What the service takes and answers, as `GET /openapi.json` describes it. A test holds these against the rows of its routes. */

export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

export interface NewEvent {
  readonly schema_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** ISO 8601 in UTC with a trailing Z; now, if it is not given. */
  readonly timestamp?: string;
  /** One is made if it is not given. The same key with the same event is stored once. */
  readonly idempotency_key?: string;
}

export interface Accepted {
  readonly event_id: string;
}

export interface ErrorItem {
  /** Dotted, relative to the payload: `cart.items.0.price`. */
  readonly path: string;
  readonly message: string;
}

export interface Checked {
  readonly status: "pass" | "fail";
  readonly errors: readonly ErrorItem[];
}

export type Rule =
  | "blocked"
  | "invalid"
  | "limit"
  | "forbidden_pair"
  | "shared_identifier"
  | "unlinked"
  | "scope"
  | "erased"
  | "suppressed";

export interface Linked {
  /** Null when a dry run would make a new profile. */
  readonly profile_id: string | null;
  readonly outcome: "created" | "linked" | "merged" | "unchanged" | "partial";
  readonly merged_profile_ids: readonly string[];
  readonly dropped: readonly { readonly identifier: Identifier; readonly rule: Rule }[];
  readonly change_id: string | null;
  readonly dry_run?: true;
  readonly before?: readonly { readonly profile_id: string; readonly size: number }[];
  readonly after?: readonly { readonly profile_id: string | null; readonly size: number }[];
}

type Scalar = string | number | boolean | null;

/** An audience that a profile is in. */
export interface AudienceName {
  readonly audience_id: string;
  readonly name: string;
}

export interface Profile {
  readonly profile_id: string;
  readonly identifiers: readonly Identifier[];
  readonly traits: Readonly<Record<string, Scalar | readonly Scalar[]>>;
  readonly audiences: readonly AudienceName[];
  readonly first_seen: string | null;
  readonly last_seen: string | null;
  readonly event_count: number;
  readonly shared_identifiers?: readonly Identifier[];
  /** Only the first 10,000 identifiers were read. */
  readonly partial?: true;
}

export interface LookedUp {
  readonly profiles: readonly (Profile & { readonly matched: readonly Identifier[] })[];
  readonly unknown: readonly Identifier[];
}

/** A refusal, as `application/problem+json`. */
export interface Problem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly request_id?: string;
  readonly errors?: readonly ErrorItem[];
}
