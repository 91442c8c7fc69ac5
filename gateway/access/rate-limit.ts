import type { NextFunction, Request, RequestHandler, Response } from "express";
import { ipKeyGenerator, rateLimit, type ClientRateLimitInfo, type Store } from "express-rate-limit";
import { AppError } from "../../core/errors.js";
import type { RateWindows } from "../../core/rate-windows.js";

export const MINUTE_MS = 60_000;

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
  /**
   * Counts one request under the key; throws `rate_limited` beyond the limit, which is `perMinute` where a key has its own. Sets the
   * RateLimit headers of the answer.
   */
  hit(request: Request, response: Response, key: string, perMinute?: number): Promise<void>;
  /**
   * Counts so many more of a request that was counted, or takes back what it did not use: then it is a negative number. The headers then
   * say what is left. Answers the refusal of what goes beyond the limit, for where that is refused; else null.
   */
  hitMore(response: Response, key: string, hits: number, perMinute?: number): Promise<AppError | null>;
}

export interface LimitOptions {
  readonly name: string;
  /** Of each key that has none of its own. */
  readonly perMinute?: number;
  /** The detail of the refusal. */
  readonly detail: string;
}

/** `perMinute` requests per key, with the RateLimit headers of draft 8. */
export function createLimiter(windows: RateWindows, { name, perMinute: usual = 0, detail }: LimitOptions): Limiter {
  const asked = new WeakMap<Request, { readonly key: string; readonly perMinute: number }>();
  const handler: RequestHandler = rateLimit({
    windowMs: MINUTE_MS,
    limit: (request) => asked.get(request)?.perMinute ?? usual,
    identifier: name,
    standardHeaders: "draft-8",
    legacyHeaders: false,
    store: storeOf(windows),
    keyGenerator: (request) => `${name}:${asked.get(request)?.key ?? ""}`,
    handler: (_request, response, next) => {
      // In the error too: whoever tells it in another form keeps it.
      const retryAfter = String(response.getHeader("Retry-After"));
      next(new AppError("rate_limited", detail, { headers: { "Retry-After": retryAfter } }));
    },
    // Our windows always answer; the library's own start-up checks would only write to the console.
    validate: false,
  });
  return {
    hitMore: async (response, key, more, perMinute = usual) => {
      if (more === 0) return null;
      const { hits, resetAt } = await windows.hit(`${name}:${key}`, MINUTE_MS, more);
      const seconds = Math.max(1, Math.ceil((resetAt - Date.now()) / 1_000));
      showLeft(response, name, { left: Math.min(perMinute, Math.max(0, perMinute - hits)), seconds });
      if (hits <= perMinute) return null;
      return new AppError("rate_limited", detail, { headers: { "Retry-After": String(seconds) } });
    },
    hit: (request, response, key, perMinute = usual) =>
      new Promise((resolve, reject) => {
        asked.set(request, { key, perMinute });
        const next: NextFunction = (error?: unknown) =>
          error === undefined ? resolve() : reject(error instanceof Error ? error : new Error("limiter failed"));
        void handler(request, response, next);
      }),
  };
}

/** In the place of what the header said of this limit; another one has its own part of it. */
function showLeft(
  response: Response,
  name: string,
  { left, seconds }: { readonly left: number; readonly seconds: number },
): void {
  const others = [response.getHeader("RateLimit") ?? []]
    .flat()
    .filter((part) => !String(part).startsWith(`"${name}";`));
  response.setHeader("RateLimit", [...others.map(String), `"${name}"; r=${left}; t=${seconds}`]);
}

/** Of connections whose requests name no proxy: asking anew at each request costs more than all else that its key needs. */
const addresses = new WeakMap<Request["socket"], string>();

/** An IPv6 client owns a whole /56, so it counts as one. */
export function addressOf(request: Request): string {
  if (request.headers["x-forwarded-for"] !== undefined) return ipKeyGenerator(request.ip ?? "unknown");
  const known = addresses.get(request.socket);
  if (known !== undefined) return known;
  const address = ipKeyGenerator(request.ip ?? "unknown");
  addresses.set(request.socket, address);
  return address;
}
