import type { AudienceName, Identifier, Rule } from "../../../../client/types.js";

export type { Identifier, Rule };

export type Scalar = string | number | boolean | null;
export type TraitValue = Scalar | readonly Scalar[];

export interface Profile {
  readonly profile_id: string;
  readonly identifiers: readonly Identifier[];
  readonly traits: Readonly<Record<string, TraitValue>>;
  readonly audiences: readonly AudienceName[];
  readonly first_seen: string | null;
  readonly last_seen: string | null;
  readonly event_count: number;
  readonly shared_identifiers?: readonly Identifier[];
  readonly partial?: true;
  /** The id that was asked for, where the profile retired it. */
  readonly resolved_from?: string;
}

export interface LookedUp {
  readonly profiles: readonly (Profile & { readonly matched: readonly Identifier[] })[];
  readonly unknown: readonly Identifier[];
}

export type SourceName = "identify" | "alias" | "unlink" | "revert" | "allow" | "shared_identifier" | "event";

/** Who said it: the call, or the event and its id. */
export interface Asserted {
  readonly source: SourceName;
  readonly event_id: string | null;
  readonly change_id: string;
  readonly key_id: string;
  readonly at: string;
}

export interface Link extends Asserted {
  readonly from: Identifier;
  readonly to: Identifier;
}

export interface Explained {
  readonly connected: boolean;
  readonly profile_id: string | null;
  readonly path: readonly Link[] | null;
  readonly bridges: readonly Link[] | null;
  readonly partial?: true;
}

/** In a record of a change: of one that was erased only the namespace is left. */
export type ChangedIdentifier = Identifier | { readonly namespace: string; readonly erased: true };

export type Dropped =
  | { readonly identifier: ChangedIdentifier; readonly rule: Rule }
  | { readonly from: ChangedIdentifier; readonly to: ChangedIdentifier; readonly rule: Rule };

export type Outcome =
  | "created"
  | "linked"
  | "merged"
  | "unchanged"
  | "partial"
  | "refused"
  | "unlinked"
  | "forbidden"
  | "reverted"
  | "allowed";

export interface Change extends Asserted {
  readonly outcome: Outcome;
  readonly identifiers: readonly ChangedIdentifier[];
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly dropped: readonly Dropped[];
  readonly rule?: Rule;
  readonly reverts?: string;
  readonly forbid?: true;
}

export interface ForbiddenPair {
  readonly forbidden_pair_id: string;
  readonly from: Identifier;
  readonly to: Identifier;
  readonly change_id: string;
  readonly key_id: string;
  readonly at: string;
}

export interface Event {
  readonly event_id: string;
  readonly status: "stored" | "folded" | "dead" | "dropped";
  readonly schema_id: string;
  readonly schema_version: number;
  readonly timestamp: string | null;
  readonly received_at: string;
  readonly profile_id: string | null;
  readonly profile_id_then: string | null;
  readonly dropped: readonly { readonly identifier: Identifier; readonly rule: Rule }[];
  readonly violations: readonly { readonly path: string; readonly message: string }[];
  readonly reason: string | null;
  /** Where a page shows it: the text that was sent. */
  readonly payload: string;
}

/** As a list names it: no two identifiers have the same. */
export const keyOf = ({ namespace, value }: Identifier): string => JSON.stringify([namespace, value]);
export const isSame = (one: Identifier, other: Identifier): boolean =>
  one.namespace === other.namespace && one.value === other.value;

const NUMBER = /^(?:tel:)?\+?[\d\s().\-/]+$/i;
/** E-mail addresses without capitals, numbers without what stands between their digits. */
function plain(value: string): string {
  const text = value.trim();
  if (text.includes("@")) return text.toLowerCase();
  return NUMBER.test(text) ? text.replaceAll(/\D/g, "").replace(/^0+/, "") : text;
}

/** Which of these the service takes for it: it stores one spelling of each, and understands all. Only where no other could be meant. */
export function findStored<One extends Identifier>(all: readonly One[], sought: Identifier): One | undefined {
  const same = all.find((one) => isSame(one, sought));
  if (same !== undefined) return same;
  const text = plain(sought.value);
  const alike = all.filter(({ namespace, value }) => namespace === sought.namespace && plain(value) === text);
  return alike.length === 1 ? alike[0] : undefined;
}

export const isSameLink = (one: Pick<Link, "from" | "to">, other: Pick<Link, "from" | "to">): boolean =>
  (isSame(one.from, other.from) && isSame(one.to, other.to)) ||
  (isSame(one.from, other.to) && isSame(one.to, other.from));

export interface SourcedTrait {
  readonly name: string;
  readonly value: TraitValue;
  readonly merge: "latest" | "first" | "min" | "max" | "union" | "sum" | "count";
  readonly event_id: string | null;
  readonly at: string | null;
}
