/** What the bench asks its child processes over IPC, and what they answer. */
export interface LoopResult {
  readonly operations: number;
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

export interface Asks {
  /** CPU of the whole process so far, all threads, microseconds. */
  readonly cpu: { readonly input: null; readonly output: number };
  /** Messages that are not done. */
  readonly depth: { readonly input: null; readonly output: number };
  /** Writes rows of that size for that long, so many at once where the child can. */
  readonly loop: {
    readonly input: { readonly rowBytes: number; readonly inFlight: number; readonly seconds: number };
    readonly output: LoopResult;
  };
  readonly startProfile: { readonly input: null; readonly output: null };
  /** The V8 profile since `startProfile`, as JSON text. */
  readonly stopProfile: { readonly input: null; readonly output: string };
}

export type AskKind = keyof Asks;
export type Input<K extends AskKind> = Asks[K]["input"];
export type Output<K extends AskKind> = Asks[K]["output"];

export interface Question {
  readonly id: number;
  readonly kind: AskKind;
  readonly input: unknown;
}

/** Sent once by a child that can take load. `port` is 0 for a child that serves no HTTP. */
export interface Ready {
  readonly kind: "ready";
  readonly port: number;
  /** The API key that its requests need. */
  readonly key: string | null;
}

export type Answer =
  | { readonly kind: "answer"; readonly id: number; readonly output: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly message: string };

export type FromChild = Ready | Answer;
