import { createHmac } from "node:crypto";
import type { ErasureId, IdentifierKey, Tomb, Uid } from "../ids.js";

/** Names an identifier without telling it: the HMAC of its key under the installation's secret. */
export type TombOf = (key: IdentifierKey) => Tomb;

/** The installation's secret also signs other things, so tombs have a secret of their own: who carries it away carries no more. */
export const tombSecretOf = (secret: Buffer): Buffer =>
  createHmac("sha256", secret).update("tombs of erased identifiers").digest();

export const tombsUnder =
  (tombSecret: Buffer): TombOf =>
  (key) =>
    createHmac("sha256", tombSecret).update(key).digest("base64url") as Tomb;

/** Of an installation with this secret. */
export const createTombOf = (secret: Buffer): TombOf => tombsUnder(tombSecretOf(secret));

/** What is left of an erased identifier, by all its erasures. */
export interface Tombstone {
  /** Of the latest erasure. */
  readonly erasureId: ErasureId;
  readonly erasedAt: number;
  /** An erasure that covers it suppresses it, and nobody readmitted that. */
  readonly isSuppressed: boolean;
  /** That it had; dead. Sorted. */
  readonly uids: readonly Uid[];
}

/** The times of an event, milliseconds since 1970; null for a request, which is always new. */
export type EventTimes = { readonly receivedAt: number; readonly effectiveAt: number } | null;

/** Whether what is erased stays erased, whatever names it at these times. */
export const holds = (
  { erasedAt, isSuppressed }: Pick<Tombstone, "erasedAt" | "isSuppressed">,
  times: EventTimes,
): boolean => isSuppressed || (times !== null && Math.min(times.receivedAt, times.effectiveAt) <= erasedAt);

/** One of the identifiers of an event, in the order that acceptance gave them. */
export interface Named extends Known {
  readonly tombstone: Tombstone | null;
}

/** What graph and rules say of it. */
export interface Known {
  /** It is in a profile. */
  readonly isKnown: boolean;
  readonly isPerson: boolean;
  /** It belongs to nobody, so it has no facet unless it is alone. */
  readonly isShared: boolean;
}

/** Of an event: who refuses it, or the positions that it loses. */
export type ErasedVerdict =
  | { readonly refusedBy: Tombstone; readonly erased: null }
  | { readonly refusedBy: null; readonly erased: readonly number[] };

const NOTHING_ERASED: ErasedVerdict = { refusedBy: null, erased: [] };

/**
 * An event is refused if its facet's identifier is erased, or if that one is unknown and another one, a person's, is: then it is the
 * person's own. Otherwise an erased identifier is only left out: erasing somebody takes no event from anybody else.
 */
export function judgeErased(all: readonly Named[], times: EventTimes): ErasedVerdict {
  const erased = [...all.keys()].filter((n) => all[n]!.tombstone !== null && holds(all[n]!.tombstone, times));
  if (erased.length === 0) return NOTHING_ERASED;
  const facet = Math.max(
    all.findIndex(({ isShared }) => !isShared),
    0,
  );
  const refusing = erased.includes(facet)
    ? facet
    : all[facet]!.isKnown
      ? undefined
      : erased.find((n) => all[n]!.isPerson);
  return refusing === undefined ? { refusedBy: null, erased } : { refusedBy: all[refusing]!.tombstone!, erased: null };
}
