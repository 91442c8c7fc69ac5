import type { ChangeId, IdentifierKey, Uid } from "../../core/ids.js";
import { holds, type Tombstone } from "../../core/identity/tombstone.js";
import type { Snapshot } from "../../core/identity/snapshot.js";

/** An id tells when it was made: its first 48 bits are milliseconds since 1970. */
const madeAt = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

/** A member stays out if its uid is dead here, or if it was first seen at a time from which nothing brings it back. */
export function isErasedMember(tombstone: Tombstone | undefined, uid: Uid): boolean {
  if (tombstone === undefined) return false;
  const at = madeAt(uid);
  return tombstone.uids.includes(uid) || holds(tombstone, { receivedAt: at, effectiveAt: at });
}

/** What a change says of an identifier is not of the one that stands, if that came after an erasure; or none stands. */
export const wasErased = ({ identifiers, tombstones }: Snapshot, key: IdentifierKey, changeId: ChangeId): boolean =>
  tombstones.has(key) && !((identifiers.get(key)?.uid ?? NO_UID) < changeId);

/** Greater than every id. */
const NO_UID = "~";
