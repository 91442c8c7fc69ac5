import { createBatches, type BatchOptions } from "./batches.js";
import { createHttp, type Call, type HttpOptions } from "./http.js";
import type { Accepted, Checked, Identifier, Linked, LookedUp, NewEvent, Profile } from "./types.js";

export { ApiError, AwayError } from "./http.js";
export type * from "./types.js";

const CLOSE_MS = 10_000;

export type ClientOptions = HttpOptions & BatchOptions;

export interface Client {
  /** Resolves when the event is on the service's disk. Rejects with `ApiError` if the service refuses it. */
  collect(event: NewEvent): Promise<Accepted>;
  /** Asks what is wrong with an event, and stores nothing. */
  check(event: NewEvent): Promise<Checked>;
  identify(identifiers: readonly Identifier[], options?: { readonly dryRun?: boolean }): Promise<Linked>;
  alias(anonymous: Identifier, known: Identifier, options?: { readonly dryRun?: boolean }): Promise<Linked>;
  /** `wait`: seconds until what was sent before is in the profiles. */
  lookUp(identifiers: readonly Identifier[], options?: { readonly wait?: number }): Promise<LookedUp>;
  profile(id: string): Promise<Profile>;
  /** Any other route. It is sent again only if that cannot do something twice. */
  request<Answer>(method: Call["method"], path: string, body?: unknown): Promise<Answer>;
  /** Sends what waits, and resolves when the service has answered all that waits now. */
  flush(): Promise<void>;
  /** Takes nothing more, and flushes for at most so long (10 seconds). */
  close(withinMs?: number): Promise<void>;
}

export function createClient(options: ClientOptions): Client {
  const http = createHttp(options);
  const batches = createBatches(http, options);
  /** A repeat of these answers the same and changes nothing. */
  const post = <Answer>(path: string, body: unknown): Promise<Answer> =>
    http<Answer>({ method: "POST", path, body, repeatable: true });
  // It is not closed by that: a program that waits for one event may go on with the next.
  const stop = atExit(() => (batches.hasWaiting() ? batches.flushWithin(CLOSE_MS) : undefined));
  return {
    collect: batches.add,
    check: ({ schema_id, timestamp = new Date().toISOString(), payload }) =>
      post("/v1/collect?syncValidation=true", { schema_id, timestamp, payload }),
    identify: (identifiers, { dryRun = false } = {}) => post(`/v1/identify?dry_run=${dryRun}`, { identifiers }),
    alias: (anonymous, known, { dryRun = false } = {}) => post(`/v1/alias?dry_run=${dryRun}`, { anonymous, known }),
    lookUp: (identifiers, { wait = 0 } = {}) => post(`/v1/profiles/lookup?wait=${wait}`, { identifiers }),
    profile: (id) => http({ method: "GET", path: `/v1/profiles/${encodeURIComponent(id)}`, repeatable: true }),
    request: (method, path, body) => http({ method, path, body, repeatable: method === "GET" || method === "PUT" }),
    flush: batches.flush,
    close: (withinMs = CLOSE_MS) => {
      stop();
      return batches.close(withinMs);
    },
  };
}

/** In Node, when nothing else is left to do. Answers how to stop that. */
function atExit(flush: () => unknown): () => void {
  if (typeof process === "undefined" || typeof process.on !== "function") return () => {};
  process.on("beforeExit", flush);
  return () => void process.off("beforeExit", flush);
}
