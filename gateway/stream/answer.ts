import type { Request, RequestHandler, Response } from "express";
import { describeError, type Log } from "../../core/log.js";
import type { Metrics } from "../../core/metrics.js";
import { contextOf } from "../access/context.js";
import type { StillRightDeps } from "../access/still-right.js";
import type { BytesInFlight } from "../http/bytes-in-flight.js";
import type { Traced } from "../http/meter.js";
import type { Stopping } from "../http/stopping.js";
import type { EnterTurn } from "../http/turns/workspace.js";
import type { Context, Lines, Route } from "../route.js";
import { sendLines, type Sent } from "./send.js";
import type { TakeSlot } from "./slots.js";
import { watchCaller } from "./watch-caller.js";

export interface LineDeps extends StillRightDeps {
  readonly bytesInFlight: BytesInFlight;
  readonly takeSlot: TakeSlot;
  readonly enterTurn: EnterTurn;
  readonly stopping: Stopping;
  /** Null: nobody traces. */
  readonly traced: Traced | null;
  readonly metrics: Pick<Metrics, "exported">;
  readonly log: Log;
}

/** What a stream takes of the memory as long as it lasts: a part that is made, one that is sent, and what compresses them. */
const STREAM_BYTES = 2 * 1_048_576;

/** The last stage of a route that answers lines. */
export function answerLines(deps: LineDeps, route: Route): RequestHandler {
  const { bytesInFlight, takeSlot, traced } = deps;
  const handle = (request: Request, context: Context): ReturnType<Route["handle"]> =>
    traced === null ? route.handle(context) : traced(route, request.headers, () => route.handle(context));
  return async (request, response) => {
    const context = contextOf(response);
    const share = bytesInFlight.open(context.workspace);
    const leaveSlot = takeSlot(context.workspace);
    response.once("close", share.leave);
    try {
      await share.take(STREAM_BYTES);
      share.linger();
      await stream(deps, route, { request, response, context, lines: (await handle(request, context)) as Lines });
    } finally {
      share.release();
      leaveSlot();
    }
  };
}

interface Answering {
  readonly request: Request;
  readonly response: Response;
  readonly context: Context;
  readonly lines: Lines;
}

async function stream(deps: LineDeps, route: Route, { request, response, context, lines }: Answering): Promise<void> {
  const { enterTurn, now, stopping } = deps;
  const { workspace } = context;
  const begunAt = performance.now();
  const caller = watchCaller(deps, context, response);
  const sent = await sendLines({
    request,
    response,
    lines,
    isStopping: () => stopping.begun.aborted,
    // In a later turn of the loop in any case: on the embedded store a long walk would hold up everybody.
    turn: (bytes) =>
      new Promise((resolve) => setImmediate(() => enterTurn({ workspace, now: now(workspace), bytes }, resolve))),
  }).finally(caller.stop);
  const outcome = sent.outcome === "cut" && caller.isOver() ? "unauthenticated" : sent.outcome;
  tell(deps, route, context, { ...sent, outcome }, Math.round(performance.now() - begunAt));
}

/** One line for each export: who took how much of what. It is an audit, so it is written whatever became of it. */
function tell({ log, metrics }: LineDeps, route: Route, context: Context, sent: Sent, ms: number): void {
  const { outcome, lines, bytes, cause } = sent;
  const { workspace, keyId } = context;
  metrics.exported(outcome, lines);
  const fields = { workspace_id: workspace, key_id: keyId, route: route.path, outcome, lines, bytes, ms };
  if (outcome === "failed") log.error({ ...fields, cause: describeError(cause) }, "export failed");
  else log.info(fields, "export ended");
}
