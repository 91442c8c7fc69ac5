import type { Identifier } from "../event/event.js";
import type { ErasureId, KeyId, ProfileId, Tomb, Uid, WorkspaceId } from "../ids.js";

/**
 * The profile that the uid of any of its identifiers names, or those of identifiers, each named once; these may be unknown, and are erased
 * for the future too.
 */
export type ErasureTarget = { readonly profileId: ProfileId } | { readonly identifiers: readonly Identifier[] };

export interface ErasureRequest {
  readonly target: ErasureTarget;
  readonly keyId: KeyId;
  /**
   * Milliseconds since 1970; asked in the step. An event that was received or happened at or before this time brings nothing back, and
   * everything that the step takes away was received before.
   */
  readonly now: () => number;
  /** What comes later brings nothing back either, until `readmit`. */
  readonly suppress: boolean;
  /** What a preview said; null: whatever it is by now. */
  readonly revision: string | null;
}

/** What would go. */
export interface ErasurePreview {
  /** Null when no identifier is in a profile. */
  readonly profileId: ProfileId | null;
  /** Identifiers by namespace, those that are in no profile included. */
  readonly identifiers: ReadonlyMap<string, number>;
  /** Another text whenever the profile may have changed. */
  readonly revision: string;
  /** It is erased already. */
  readonly erasure: Erasure | null;
}

/** What became of a request. */
export type ErasureResult =
  | { readonly kind: "erased"; readonly erasure: Erasure }
  /** It was erased before and is in no profile: the newest record of then, and those records that this request changed. */
  | { readonly kind: "repeated"; readonly erasure: Erasure; readonly changed: readonly Erasure[] }
  | { readonly kind: "unknown" }
  /** The revision is not the one that was given. */
  | { readonly kind: "changed" }
  /** The identifiers are in several profiles: whoever asks must say which. By id. */
  | { readonly kind: "several"; readonly profileIds: readonly ProfileId[] };

/** The record of an erasure. It holds no personal value. */
export interface Erasure {
  readonly workspace: WorkspaceId;
  readonly erasureId: ErasureId;
  readonly erasedAt: number;
  readonly keyId: KeyId;
  /** As it was then; null when the identifiers were in no profile. */
  readonly profileId: ProfileId | null;
  /** By namespace. */
  readonly identifiers: ReadonlyMap<string, number>;
  readonly suppress: boolean;
  /** When the suppression ended. */
  readonly readmittedAt: number | null;
  /** Links and changes that the graph has removed or redacted up to now. */
  readonly links: number;
  readonly changes: number;
  /** Nothing of it is left in the graph but tombstones. */
  readonly isGone: boolean;
  /** Higher after each `advanceErasure`, and whenever it is renewed. */
  readonly rev: number;
  /** What others removed, by their own names for it. */
  readonly removed: Readonly<Record<string, number>>;
  /** How far others are; theirs alone to read. */
  readonly cursor: string | null;
  /** Events that came too late and were refused. */
  readonly late: { readonly events: number; readonly lastAt: number | null };
  readonly completedAt: number | null;
}

/** Of a record whose erasure has removed nothing yet in these stores. */
export const NOTHING_REMOVED = {
  completedAt: null,
  links: 0,
  changes: 0,
  isGone: false,
  rev: 0,
  removed: {},
  cursor: null,
  late: { events: 0, lastAt: null },
} as const satisfies Partial<Erasure>;

/** What whoever erases in other stores writes into the record. */
export interface ErasureAdvance {
  readonly removed: Erasure["removed"];
  readonly cursor: string | null;
  readonly completedAt: number | null;
}

/** What a later request may change of an erasure. */
export type Renewal = Pick<Erasure, "erasedAt" | "suppress" | "readmittedAt">;

export const isSuppressing = ({ suppress, readmittedAt }: Pick<Erasure, "suppress" | "readmittedAt">): boolean =>
  suppress && readmittedAt === null;

/** When the record was last told whom it covers: of two records of one erasure the later one holds. */
export const saidAt = ({ erasedAt, readmittedAt }: Pick<Erasure, "erasedAt" | "readmittedAt">): number =>
  Math.max(erasedAt, readmittedAt ?? 0);

/** The record with it; null if it is so already. It is open again if it covers more than before, because that is to be deleted too. */
export function renewed(erasure: Erasure, asked: Renewal): Erasure | null {
  const erasedAt = Math.max(erasure.erasedAt, asked.erasedAt);
  const { suppress, readmittedAt } = asked.suppress ? asked : erasure;
  const isWider = erasedAt > erasure.erasedAt || (isSuppressing({ suppress, readmittedAt }) && !isSuppressing(erasure));
  if (!isWider && suppress === erasure.suppress && readmittedAt === erasure.readmittedAt) return null;
  const completedAt = isWider ? null : erasure.completedAt;
  return { ...erasure, erasedAt, suppress, readmittedAt, completedAt, rev: erasure.rev + 1 };
}

/** The record with what a log says of it; null if that says no more, or was said before: somebody may have changed the record since. */
export const broughtInLine = (standing: Erasure, logged: Renewal): Erasure | null =>
  saidAt(logged) < saidAt(standing) ? null : renewed(standing, logged);

/** One that a restored store lacks. */
export interface Buried {
  readonly tomb: Tomb;
  /** Null when it was in no profile. */
  readonly uid: Uid | null;
}
