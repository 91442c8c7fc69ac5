import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type SpanOptions,
  type Tracer,
} from "@opentelemetry/api";
import { AppError } from "../../core/errors.js";
import { traceparentIn, withTraceparent } from "../../core/event/message.js";
import type { Identity } from "../../core/identity/api.js";
import type { Delivery, EventQueue } from "../../core/ports/event-queue.js";
import type { Traced } from "../../gateway/http/meter.js";
import type { Backends } from "../backends.js";

/** The library is an interface alone: an SDK that the operator loads before the service makes the spans, or nobody does. */
export interface Tracing {
  /** Null: nobody traces. */
  readonly traced: Traced | null;
  readonly backends: (backends: Backends) => Backends;
  readonly identity: (identity: Identity) => Identity;
}

const NO_TRACING: Tracing = { traced: null, backends: (same) => same, identity: (same) => same };

/** Where no SDK is there, nothing is wrapped, and nothing costs. Asked once, for an SDK is loaded before the service. */
export function openTracing(version: string): Tracing {
  const tracer = trace.getTracer("onym", version);
  const span = tracer.startSpan("start");
  span.end();
  return isSpanContextValid(span.spanContext()) ? tracingWith(tracer) : NO_TRACING;
}

function tracingWith(tracer: Tracer): Tracing {
  return {
    traced: ({ operationId, path }, { traceparent }, work) => {
      // What instruments HTTP has read the header already.
      const parent = trace.getActiveSpan() === undefined ? contextOf(String(traceparent)) : context.active();
      return within(tracer, operationId, { attributes: { "http.route": path } }, parent, work);
    },
    backends: (backends) => ({
      ...backends,
      queue: tracedQueue(tracer, backends.queue),
      events: {
        ...backends.events,
        fold: (workspace, folds) =>
          within(tracer, "fold", { attributes: { "onym.events": folds.length } }, context.active(), () =>
            backends.events.fold(workspace, folds),
          ),
      },
    }),
    identity: (identity) => ({
      ...identity,
      assert: (workspace, assertion, options) =>
        within(tracer, "link", {}, context.active(), () => identity.assert(workspace, assertion, options)),
      assertAll: (workspace, assertions) =>
        within(tracer, "link", { attributes: { "onym.events": assertions.length } }, context.active(), () =>
          identity.assertAll(workspace, assertions),
        ),
    }),
  };
}

/** A span around the work. Of a failure it says the code: an error's text can quote personal data. */
const within = <T>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  parent: Context,
  work: () => Promise<T>,
): Promise<T> =>
  tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof AppError ? error.code : "internal" });
      throw error;
    } finally {
      span.end();
    }
  });

const marked = (message: Buffer, traceparent: string | null): Buffer =>
  traceparent === null ? message : withTraceparent(message, traceparent);

function tracedQueue(tracer: Tracer, queue: EventQueue): EventQueue {
  const publish = <T>(count: number, work: (traceparent: string | null) => Promise<T>): Promise<T> => {
    const options = { kind: SpanKind.PRODUCER, attributes: { "onym.events": count } };
    return within(tracer, "publish", options, context.active(), () => work(activeTraceparent()));
  };
  return {
    ...queue,
    publish: (message) => publish(1, (traceparent) => queue.publish(marked(message, traceparent))),
    publishAll: (messages) =>
      publish(messages.length, (traceparent) => queue.publishAll(messages.map((one) => marked(one, traceparent)))),
    consume: (batchMax, handler) => queue.consume(batchMax, (batch) => inBatch(tracer, batch, () => handler(batch))),
  };
}

/**
 * A batch of one trace continues it. A batch of several has a trace of its own that links to each, and in each of them a span `event`
 * that links to the batch.
 */
async function inBatch<T>(tracer: Tracer, batch: readonly Delivery[], work: () => Promise<T>): Promise<T> {
  const parents = [...new Set(batch.flatMap(({ message }) => traceparentIn(message) ?? []))].map(contextOf);
  const options = { kind: SpanKind.CONSUMER, attributes: { "onym.events": batch.length } };
  if (parents.length <= 1) return within(tracer, "batch", options, parents[0] ?? ROOT_CONTEXT, work);
  const links = parents.map((parent) => ({ context: trace.getSpanContext(parent)! }));
  return within(tracer, "batch", { ...options, links }, ROOT_CONTEXT, async () => {
    const link = { context: trace.getActiveSpan()!.spanContext() };
    const events = parents.map((parent) =>
      tracer.startSpan("event", { kind: SpanKind.CONSUMER, links: [link] }, parent),
    );
    try {
      return await work();
    } finally {
      for (const event of events) event.end();
    }
  });
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** W3C Trace Context; what is not valid begins a trace of its own. */
function contextOf(traceparent: string): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  });
}

function activeTraceparent(): string | null {
  const active = trace.getActiveSpan()?.spanContext();
  if (active === undefined || !isSpanContextValid(active)) return null;
  return `00-${active.traceId}-${active.spanId}-${active.traceFlags.toString(16).padStart(2, "0")}`;
}
