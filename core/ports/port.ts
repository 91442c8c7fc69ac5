/**
 * The ports. Each sentence of a comment is a law: a contract test of that title runs on every backend.
 * Laws of all: a method keeps workspaces apart; a backend that is away rejects with `AppError("unavailable")` within its
 * deadline; after `close` every method rejects so too; what resolved survives close and reopen.
 */
export interface Port {
  /** Resolves when the backend answers; rejects with `unavailable` when it does not. */
  ready(): Promise<void>;
  /** Ends all running work and frees all resources. Closing twice is allowed. */
  close(): Promise<void>;
}

export interface Page<Position> {
  readonly limit: number;
  readonly after: Position | null;
}
