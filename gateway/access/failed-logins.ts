import { createHash, randomBytes } from "node:crypto";
import type { Request, Response } from "express";
import type { RateWindow, RateWindows } from "../../core/rate-windows.js";
import { createLimiter } from "./rate-limit.js";

const NAME = "authentication";
const ROWS = 4;
const CELLS = 131_072;

/**
 * Counts of one window in 2 MB, whatever is counted: a count-min sketch. There is no entry that others could push out, so no count is
 * ever too small. One is too large only if other logins fill its cell in every row: under an attack of 3,000 wrong secrets a second
 * that is one login in 30,000. All windows end together.
 */
export function createSketch(now: () => number) {
  const cells = new Uint32Array(ROWS * CELLS);
  /** Nobody can choose names that share cells with another's. */
  const seed = randomBytes(16);
  let endsAt = -Infinity;
  let lengthMs = 0;
  /** Also once the clock was set back to before its beginning. */
  const isOver = (): boolean => now() >= endsAt || now() < endsAt - lengthMs;
  const cellsOf = (name: string): readonly number[] => {
    const digest = createHash("sha256").update(seed).update(name).digest();
    return Array.from({ length: ROWS }, (_, row) => row * CELLS + (digest.readUInt32BE(row * 4) % CELLS));
  };
  const leastOf = (places: readonly number[]): number =>
    isOver() ? 0 : Math.min(...places.map((place) => cells[place]!));
  const raise = (places: readonly number[], hits: number): void => {
    for (const place of places) cells[place] = Math.max(cells[place]!, hits);
  };
  return {
    count: (name: string): number => leastOf(cellsOf(name)),
    add: (name: string, windowMs: number): RateWindow => {
      if (isOver()) {
        cells.fill(0);
        lengthMs = windowMs;
        endsAt = now() + windowMs;
      }
      const places = cellsOf(name);
      const hits = leastOf(places) + 1;
      raise(places, hits);
      return { hits, resetAt: endsAt };
    },
    /** At least so many, as another process knows. */
    raise: (name: string, hits: number): void => raise(cellsOf(name), hits),
  };
}

/** Wrong secrets, counted for each name of a login: an address and what the secret was tried for. */
export interface FailedLogins {
  /** Throws `rate_limited` if the login failed too often in this window. */
  requireFew(request: Request, response: Response, login: string): Promise<void>;
  /** Throws `rate_limited` beyond the limit. */
  count(request: Request, response: Response, login: string): Promise<void>;
}

export interface FailedLoginsDeps {
  /** Of all processes. */
  readonly windows: RateWindows;
  readonly perMinute: number;
  /** The machine's clock, which may go back: while the service's time stands still no window would end. */
  readonly now: () => number;
}

/** A process that knows that a login is spent asks nobody. Another process learns it with its own next wrong secret. */
export function createFailedLogins({ windows, perMinute, now }: FailedLoginsDeps): FailedLogins {
  const sketch = createSketch(now);
  const hit = async (name: string, windowMs: number): Promise<RateWindow> => {
    const own = sketch.add(name, windowMs);
    if (own.hits > perMinute) return own;
    const all = await windows.hit(name, windowMs);
    if (all.hits <= own.hits) return own;
    sketch.raise(name, all.hits);
    return all;
  };
  const detail = "Too many failed authentications with this key from this address in this minute.";
  const limiter = createLimiter({ hit }, { name: NAME, perMinute, detail });
  return {
    requireFew: async (request, response, login) => {
      if (sketch.count(`${NAME}:${login}`) >= perMinute) await limiter.hit(request, response, login);
    },
    count: (request, response, login) => limiter.hit(request, response, login),
  };
}
