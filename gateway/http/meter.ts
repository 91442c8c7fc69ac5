import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Door } from "../../core/metrics.js";
import type { Route } from "../route.js";

/** Counts the answers of one route. */
export interface RouteMeter {
  /** Its head was sent, so long after that of the request was read. */
  answered(status: number, ms: number): void;
}

/** What is known of the route once it is found. */
export interface Served {
  readonly meter: RouteMeter;
  /** A refusal here is one of an event, or of several; of `link` one of a call. */
  readonly door: Door | "link" | null;
  /** A request that only checks stores nothing, and its refusal is none of an event. */
  readonly isCheck?: (query: unknown) => boolean;
}

/** A response that tells how long its answer took. */
export interface MeteredResponse extends ServerResponse {
  served: Served;
}

type ResponseClass = typeof ServerResponse;

/** Every answer passes its head through here, whoever makes it: routes, refusals, pages. */
export function metered(Base: ResponseClass, nowhere: Served): ResponseClass {
  return class extends Base<never> implements MeteredResponse {
    served = nowhere;
    private readonly begunAt = performance.now();

    override writeHead(...head: [status: number, ...rest: never[]]): this {
      this.served.meter.answered(head[0], performance.now() - this.begunAt);
      return super.writeHead(...head);
    }
  };
}

export const isDryRun = (query: unknown): boolean => (query as { readonly dry_run?: boolean }).dry_run === true;

export const NO_METER: RouteMeter = { answered: () => {} };
export const UNCOUNTED: Served = { meter: NO_METER, door: null };

/** Runs the work of a route as a span of the trace that the request's headers name. */
export type Traced = <T>(
  route: Pick<Route, "operationId" | "path">,
  headers: IncomingHttpHeaders,
  work: () => Promise<T>,
) => Promise<T>;
