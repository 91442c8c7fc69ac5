import { ApiError, type Http } from "./http.js";
import type { Accepted, ErrorItem, NewEvent } from "./types.js";

export interface BatchOptions {
  /** Events of one request; 500, and at most 1,000. */
  readonly batchMax?: number;
  /** How long an event waits for others; a second. */
  readonly lingerMs?: number;
  /** Events that wait or are being sent; 10,000. A further one is refused. */
  readonly queueMax?: number;
  /** Told of each event that was not accepted, for who does not await `collect`. */
  readonly onError?: (error: unknown, event: NewEvent) => void;
}

interface Waiting {
  readonly event: NewEvent;
  readonly json: string;
  readonly bytes: number;
  readonly resolve: (accepted: Accepted) => void;
  readonly reject: (error: unknown) => void;
}

type Result =
  | { readonly status: "accepted"; readonly event_id: string }
  | { readonly status: "rejected"; readonly code: string; readonly errors?: readonly ErrorItem[] };

const CLOSED = "the client is closed";
/** The service takes 4 MiB. */
const BATCH_BYTES_MAX = 3_500_000;

/** Sends events in batches, one after the other, so that they arrive in order. */
export function createBatches(
  http: Http,
  { batchMax = 500, lingerMs = 1_000, queueMax = 10_000, onError }: BatchOptions,
) {
  const queue: Waiting[] = [];
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isSending = false;
  let isClosed = false;
  /** Events that have their answer. */
  let answered = 0;
  /** Who waits until so many have it, first the fewest. */
  const flushes: { readonly count: number; readonly resolve: () => void }[] = [];

  const next = (): readonly Waiting[] => {
    let sum = 0;
    const end = queue.findIndex(({ bytes }, at) => (sum += bytes) > BATCH_BYTES_MAX && at > 0);
    return queue.slice(0, Math.min(end < 0 ? queue.length : end, batchMax));
  };
  const sendBatch = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      if (stopped.signal.aborted) throw new Error(CLOSED);
      const body = `{"events":[${batch.map(({ json }) => json).join(",")}]}`;
      const call = {
        method: "POST",
        path: "/v1/collect/batch",
        body,
        repeatable: true,
        signal: stopped.signal,
      } as const;
      const { results } = await http<{ readonly results: readonly Result[] }>(call);
      for (const [at, { resolve, reject }] of batch.entries()) {
        const result = results[at]!;
        if (result.status === "accepted") resolve({ event_id: result.event_id });
        else reject(refusal(result));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };
  const sendAll = async (): Promise<void> => {
    while (queue.length > 0) {
      const batch = next();
      await sendBatch(batch);
      // Only now: what is being sent counts among what waits.
      queue.splice(0, batch.length);
      answered += batch.length;
      while (flushes[0] !== undefined && flushes[0].count <= answered) flushes.shift()!.resolve();
    }
    // In the same turn as the last look at the queue, so that no event comes between.
    isSending = false;
  };
  /** Sends all that waits. Resolves when each event that waits now has its answer, whatever comes after it, and never rejects. */
  const flush = async (): Promise<void> => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (queue.length === 0) return;
    const count = answered + queue.length;
    const flushed = new Promise<void>((resolve) => flushes.push({ count, resolve }));
    if (!isSending) {
      isSending = true;
      void sendAll();
    }
    await flushed;
  };
  const flushWithin = async (ms: number): Promise<void> => {
    const patience = setTimeout(() => stopped.abort(), ms);
    await flush();
    clearTimeout(patience);
  };

  return {
    add: (event: NewEvent): Promise<Accepted> => {
      const added = new Promise<Accepted>((resolve, reject) => {
        if (isClosed || stopped.signal.aborted) throw new Error(CLOSED);
        if (queue.length >= queueMax) throw new Error(`${queueMax} events wait to be sent`);
        // Made once, so that an event that is sent again is still the same event.
        const {
          schema_id,
          timestamp = new Date().toISOString(),
          idempotency_key = crypto.randomUUID(),
          payload,
        } = event;
        const json = JSON.stringify({ schema_id, timestamp, idempotency_key, payload });
        queue.push({ event, json, bytes: new TextEncoder().encode(json).length, resolve, reject });
      });
      // Who does not await it is told by `onError`, and must not end the process.
      added.catch((error: unknown) => onError?.(error, event));
      if (!isSending && queue.length >= batchMax) void flush();
      else if (!isSending && queue.length > 0) timer ??= later(flush, lingerMs);
      return added;
    },
    flush,
    /** Flushes, for so long; what the service has not answered by then is refused, and so is all that comes later. */
    flushWithin,
    /** The same, and takes nothing more. */
    close: async (withinMs: number): Promise<void> => {
      isClosed = true;
      await flushWithin(withinMs);
      stopped.abort();
    },
    hasWaiting: (): boolean => queue.length > 0,
  };
}

const refusal = ({ code, errors = [] }: Extract<Result, { readonly status: "rejected" }>): ApiError => {
  const [first] = errors;
  const detail = first === undefined ? code : `${first.path}: ${first.message}`;
  return new ApiError({ status: 422, code, title: "The event was rejected", detail, errors });
};

/** A timer that keeps no process alive: what waits is sent when the process is about to end. */
function later(run: () => Promise<void>, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(() => void run(), ms);
  if (typeof timer === "object") timer.unref();
  return timer;
}
