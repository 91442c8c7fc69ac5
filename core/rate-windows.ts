/** What a window has counted so far, these hits included. */
export interface RateWindow {
  readonly hits: number;
  /** Milliseconds since 1970: when the window ends and the next hit begins a new one. */
  readonly resetAt: number;
}

/** Fixed windows of a rate limit, one per key; the key begins with the limit's name, so that two limits never share a window. */
export interface RateWindows {
  /** Counts one hit, or so many at once; a negative number takes hits back. A window begins with its first hit and lasts `windowMs`. */
  hit(key: string, windowMs: number, hits?: number): Promise<RateWindow>;
}
