import type { Identifier } from "../../api/types.js";

export interface Receipt {
  readonly erasure_id: string;
  readonly status: "erasing" | "completed";
  readonly erased_at: string;
  readonly completed_at: string | null;
  readonly key_id: string;
  readonly profile_id: string | null;
  /** How many of each namespace. */
  readonly identifiers: Readonly<Record<string, number>>;
  readonly removed: Readonly<Record<string, number>>;
  readonly late: { readonly events: number; readonly last_at: string | null };
  readonly suppress: boolean;
  readonly readmitted_at: string | null;
  readonly remains: readonly string[];
}

export interface Checked {
  readonly identifier: Identifier;
  readonly erasure_id: string | null;
  readonly erased_at: string | null;
  readonly suppressed: boolean;
  readonly in_profile: boolean;
}

/** What an erasure would take. */
export interface Plan {
  readonly profile_id: string | null;
  readonly identifiers: Readonly<Record<string, number>>;
  readonly events: number;
  readonly partial?: true;
  readonly erased_by?: string;
}
