import type { KeyId } from "../ids.js";
import type { KeyRecord, Merge, SchemaVersion } from "./catalog.js";

/**
 * Which of the keys go before another is added: none while they are fewer than `max`, else those that expired by `now`. `full`: even
 * without these there would be too many.
 */
export function roomForKey(keys: readonly KeyRecord[], now: number, max: number): ReadonlySet<KeyId> | "full" {
  if (keys.length < max) return new Set();
  const expired = keys.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= now);
  return keys.length - expired.length < max ? new Set(expired.map(({ keyId }) => keyId)) : "full";
}

/** `keys` holds the key, if the workspace has it, and all owner keys: one of these that does not expire always stays. */
export function deleteKey(keys: readonly KeyRecord[], keyId: KeyId): "deleted" | "not_found" | "last_owner" {
  const found = keys.find((key) => key.keyId === keyId);
  if (found === undefined) return "not_found";
  const isLasting = (key: KeyRecord) => key !== found && key.role === "owner" && key.expiresAt === null;
  return found.role !== "owner" || keys.some(isLasting) ? "deleted" : "last_owner";
}

/** The old key as it stands after its rotation. A key is rotated once, and no rotation prolongs its life. */
export function rotateKey(
  old: KeyRecord | undefined,
  successor: KeyId,
  expiresAt: number,
): KeyRecord | "not_found" | "already_rotated" {
  if (old === undefined) return "not_found";
  if (old.successor !== null) return "already_rotated";
  return { ...old, expiresAt: Math.min(old.expiresAt ?? expiresAt, expiresAt), successor };
}

export type PutSchemaResult =
  | { readonly kind: "created" }
  | { readonly kind: "version_taken" }
  | { readonly kind: "trait_conflict"; readonly trait: string; readonly merge: Merge }
  | { readonly kind: "too_many_traits" };

/** Names that the schemas of a workspace may declare: an identifier may have a value of each, and is read and written as a whole. */
export const DECLARED_TRAITS_MAX = 1_000;

export interface StandingTraits {
  readonly mergeOf: (trait: string) => Merge | undefined;
  /** How many were not added by an event that used them. */
  readonly declared: () => number;
}

/** `latest` is 0 when the schema's id is free; `standing` knows the traits of the workspace. */
export function putSchema(
  { version, traits }: SchemaVersion,
  latest: number,
  standing: StandingTraits,
): PutSchemaResult {
  if (version !== latest + 1) return { kind: "version_taken" };
  let added = 0;
  for (const [trait, given] of Object.entries(traits)) {
    const merge = standing.mergeOf(trait);
    if (merge === undefined) added += 1;
    else if (merge !== given) return { kind: "trait_conflict", trait, merge };
  }
  if (added > 0 && standing.declared() + added > DECLARED_TRAITS_MAX) return { kind: "too_many_traits" };
  return { kind: "created" };
}

/** The merge of a trait's name, and whether an event added it by using it. */
export interface TraitName {
  readonly merge: Merge;
  readonly registeredItself: boolean;
}

/** Those of `names` that are to be added: the new ones, in order, until `max` have registered themselves. */
export function registerTraits(
  standing: ReadonlyMap<string, TraitName>,
  names: readonly string[],
  max: number,
): readonly string[] {
  const count = [...standing.values()].filter(({ registeredItself }) => registeredItself).length;
  const added = [...new Set(names)].filter((name) => !standing.has(name));
  return added.slice(0, Math.max(max - count, 0));
}
