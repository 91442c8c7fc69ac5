import type { NextFunction, Request, RequestHandler, Response } from "express";
import { ipKeyGenerator, rateLimit, type ClientRateLimitInfo, type Store } from "express-rate-limit";
import { AppError } from "../../core/errors.js";
import type { RateWindows } from "../../core/rate-windows.js";

const MINUTE_MS = 60_000;

/** The store that the library needs, on our windows. It never takes a hit back or resets a key. */
const storeOf = (windows: RateWindows): Store => ({
  increment: async (key): Promise<ClientRateLimitInfo> => {
    const { hits, resetAt } = await windows.hit(key, MINUTE_MS);
    return { totalHits: hits, resetTime: new Date(resetAt) };
  },
  decrement: () => {},
  resetKey: () => {},
});

export interface Limiter {
  /** Counts one request under the key; throws `rate_limited` beyond the limit. Sets the RateLimit headers of the answer. */
  hit(request: Request, response: Response, key: string): Promise<void>;
}

export interface LimitOptions {
  readonly name: string;
  readonly perMinute: number;
  /** The detail of the refusal. */
  readonly detail: string;
}

/** `perMinute` requests per key, with the RateLimit headers of draft 8. */
export function createLimiter(windows: RateWindows, { name, perMinute, detail }: LimitOptions): Limiter {
  const keys = new WeakMap<Request, string>();
  const handler: RequestHandler = rateLimit({
    windowMs: MINUTE_MS,
    limit: perMinute,
    identifier: name,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    store: storeOf(windows),
    keyGenerator: (request) => `${name}:${keys.get(request) ?? ""}`,
    handler: (_request, _response, next) => next(new AppError("rate_limited", detail)),
    // Our windows always answer; the library's own start-up checks would only write to the console.
    validate: false,
  });
  return {
    hit: (request, response, key) =>
      new Promise((resolve, reject) => {
        keys.set(request, key);
        const next: NextFunction = (error?: unknown) =>
          error === undefined ? resolve() : reject(error instanceof Error ? error : new Error("limiter failed"));
        void handler(request, response, next);
      }),
  };
}

/** An IPv6 client owns a whole /56, so it counts as one. */
export const addressOf = (request: Request): string => ipKeyGenerator(request.ip ?? "unknown");
