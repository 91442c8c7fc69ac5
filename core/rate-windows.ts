/** What a window has counted so far, these hits included. */
export interface RateWindow {
  readonly hits: number;
  /** Milliseconds since 1970: when the window ends and the next hit begins a new one. */
  readonly resetAt: number;
}

/** The clocks of processes that share windows may differ by so much. */
const CLOCKS_MS = 5_000;

/** No window that began at that time or before ends later. */
export const endsBy = (at: number, windowMs: number): number => at + windowMs + CLOCKS_MS;

/** Fixed windows of a rate limit, one per key; the key begins with the limit's name, so that two limits never share a window. */
export interface RateWindows {
  /**
   * Counts one hit, or so many at once; a negative number takes hits back. A window begins with its first hit and lasts `windowMs`. One
   * that ends much later than that began before the clock was set back, and is over.
   */
  hit(key: string, windowMs: number, hits?: number): Promise<RateWindow>;
}
