import type { LoggedErasure } from "../identity/logged-erasure.js";

/** What must outlive every backup of the stores: who is to stay erased. It holds no personal value. */
export interface ErasureLog {
  /** Keeps it, durably. */
  append(logged: LoggedErasure): Promise<void>;
  /** All that was kept, in that order; of one erasure perhaps several parts, and its record as it was each time. */
  entries(): AsyncIterable<LoggedErasure>;
}
