export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** `status` null: none came, and `error` says why. */
export interface Posted {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfter: string | null;
}

/** What sends to addresses that clients name. */
export interface Outbound {
  /** Why nothing may be sent there; null: by what the address itself says, it may. */
  check(url: string): string | null;
  /** Posts JSON. Never rejects. */
  post(message: Message, signal: AbortSignal): Promise<Posted>;
}
