import type { ErasureId, Uid } from "../../core/ids.js";
import type { Tombstone } from "../../core/identity/tombstone.js";

/** What one erasure left of an identifier. */
export interface Trace {
  readonly erasureId: ErasureId;
  readonly erasedAt: number;
  readonly isSuppressed: boolean;
  readonly uid: Uid | null;
}

/** Of all its erasures together; null when there was none. */
export function tombstoneOf(traces: readonly Trace[]): Tombstone | null {
  if (traces.length === 0) return null;
  return {
    erasureId: traces.reduce(
      (latest, { erasureId }) => (erasureId > latest ? erasureId : latest),
      traces[0]!.erasureId,
    ),
    erasedAt: Math.max(...traces.map(({ erasedAt }) => erasedAt)),
    isSuppressed: traces.some(({ isSuppressed }) => isSuppressed),
    uids: [...new Set(traces.flatMap(({ uid }) => uid ?? []))].toSorted(),
  };
}
