import type { Buried, Erasure } from "../identity/erasure.js";

/** A record of an erasure, and a part of what it buried. */
export interface LoggedErasure {
  readonly erasure: Erasure;
  readonly buried: readonly Buried[];
}

/** What must outlive every backup of the stores: who is to stay erased. It holds no personal value. */
export interface ErasureLog {
  /** Keeps it, durably. */
  append(logged: LoggedErasure): Promise<void>;
  /** All that was kept, in that order; of one erasure perhaps several parts, and its record as it was each time. */
  entries(): AsyncIterable<LoggedErasure>;
}
