export interface Identifier {
  readonly namespace: string;
  readonly value: string;
}

/** What of an event's payload the checks compute with. */
export interface Payload {
  readonly op: number;
  readonly city?: string;
  readonly source?: string;
  readonly score?: number;
  readonly floor?: number;
  /** At most six digits behind the point. */
  readonly amount?: number;
}

export interface Sendable {
  /** Unique in the run; an event carries it in its payload. */
  readonly id: number;
  readonly site: number;
  readonly path: "/v1/collect" | "/v1/identify" | "/v1/alias";
  readonly body: string;
  /** What it links if it is applied. */
  readonly identifiers: readonly Identifier[];
}

export interface EventOperation extends Sendable {
  readonly kind: "event";
  readonly idempotencyKey: string | null;
  /** A client that lost the answer although it came: sends again what was acknowledged. */
  readonly isSentTwice: boolean;
  readonly schemaId: string;
  readonly timestamp: string;
  readonly payload: Payload;
  readonly folds: boolean;
}
