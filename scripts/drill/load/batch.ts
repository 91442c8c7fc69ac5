import type { Random } from "../../shared/random.js";
import type { EventOperation } from "./event-operation.js";

/** Several events of one site in one request. */
export interface BatchOperation {
  readonly kind: "batch";
  readonly site: number;
  readonly path: string;
  readonly body: string;
  readonly events: readonly EventOperation[];
  /** Of the request: it covers all events. */
  readonly idempotencyKey: string;
  /** It is sent once: what a kill leaves of it must be all or nothing. */
  readonly isAtomic: boolean;
  readonly isSentTwice: boolean;
}

const EVENTS_MAX = 30;

/** `next` makes an event of the batch's site. */
export function batchOf(random: Random, site: number, next: () => EventOperation): BatchOperation {
  const events = Array.from({ length: 2 + random.below(EVENTS_MAX - 1) }, next);
  const isAtomic = random.once(2);
  const isLines = random.once(3);
  const bodies = events.map(({ body }) => body);
  return {
    kind: "batch",
    site,
    events,
    path: `/v1/collect/batch${isAtomic ? "?atomic=true" : ""}`,
    body: isLines ? bodies.join("\n") : `{"events":[${bodies.join(",")}]}`,
    idempotencyKey: `batch ${events[0]!.id}`,
    isAtomic,
    isSentTwice: !isAtomic && random.once(10),
  };
}

/** Of a batch's body. */
export const typeOf = ({ body }: BatchOperation): string =>
  body.startsWith('{"events":') ? "application/json" : "application/x-ndjson";
