import type { NextFunction, Request, RequestHandler, Response } from "express";
import { ipKeyGenerator, rateLimit, type ClientRateLimitInfo, type Store } from "express-rate-limit";
import { LRUCache } from "lru-cache";
import { AppError } from "../core/errors.js";

const MINUTE_MS = 60_000;
const KEYS_MAX = 10_000;

/** Fixed windows in a bounded table: an attacker with many addresses takes no memory. */
function boundedStore(): Store {
  const windows = new LRUCache<string, { hits: number; readonly resetTime: Date }>({ max: KEYS_MAX, ttl: MINUTE_MS });
  return {
    increment: (key): ClientRateLimitInfo => {
      const window = windows.get(key) ?? { hits: 0, resetTime: new Date(Date.now() + MINUTE_MS) };
      if (window.hits++ === 0) windows.set(key, window);
      return { totalHits: window.hits, resetTime: window.resetTime };
    },
    decrement: (key) => {
      const window = windows.get(key);
      if (window !== undefined) window.hits--;
    },
    resetKey: (key) => void windows.delete(key),
  };
}

export interface Limiter {
  /** Counts one request under the key; throws `rate_limited` beyond the limit. Sets the RateLimit headers of the answer. */
  hit(request: Request, response: Response, key: string): Promise<void>;
}

/** `perMinute` requests per key, with the RateLimit headers of draft 8. */
export function createLimiter(name: string, perMinute: number, detail: string): Limiter {
  const keys = new WeakMap<Request, string>();
  const handler: RequestHandler = rateLimit({
    windowMs: MINUTE_MS,
    limit: perMinute,
    identifier: name,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    store: boundedStore(),
    keyGenerator: (request) => keys.get(request) ?? "",
    handler: (_request, _response, next) => next(new AppError("rate_limited", detail)),
    // A store of ours never fails; the library's own start-up checks would only write to the console.
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
