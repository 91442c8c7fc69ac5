import type { Request, Response } from "express";
import type { CountItems } from "../../commands/services.js";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import type { RateWindows } from "../../core/rate-windows.js";
import { createLimiter } from "./rate-limit.js";

const NAME = "items";

export const COUNT_NOTHING: CountItems = async () => {};

/** The items that each key may send in a minute: `KeyRecord.perMinute`. */
export interface ItemLimit {
  /**
   * Admits a request while its key has anything left, and counts its first item; throws `rate_limited` after that. So a batch may go
   * beyond the limit once, and is never refused because it is large; one without items counts -1, so that it counts as none. Counts
   * nothing for a key without a limit.
   */
  admit(request: Request, response: Response, key: KeyRecord): Promise<CountItems>;
}

export function createItemLimit(windows: RateWindows): ItemLimit {
  const detail = "This key has reached its limit of events per minute (per_minute).";
  const limiter = createLimiter(windows, { name: NAME, detail });
  return {
    admit: async (request, response, { perMinute, sender }) => {
      if (perMinute === null) return COUNT_NOTHING;
      // By the sender, so that a rotation does not give twice as much.
      await limiter.hit(request, response, sender, perMinute);
      return async (items) => void (await limiter.hitMore(response, sender, items, perMinute));
    },
  };
}
