import { createHash } from "node:crypto";
import type { Collection } from "mongodb";
import { AppError } from "../../core/errors.js";
import { endsBy, type RateWindows } from "../../core/rate-windows.js";
import { isDuplicateKey } from "./failure.js";
import type { Mongo } from "./open.js";

interface WindowDocument {
  /** Hash of the key: that holds clients' addresses. */
  readonly _id: string;
  readonly hits: number;
  readonly resetAt: Date;
}

/** Each lost race means that another process started the window, so the next try counts in it. */
const RACES_MAX = 5;

/** Windows that all processes share. A process's clock decides when a window ends, so the clocks must agree to a second or so. */
export async function createMongoRateWindows({
  mongo,
  now = Date.now,
}: {
  readonly mongo: Mongo;
  readonly now?: () => number;
}): Promise<RateWindows> {
  // If the server loses a count, a few more requests pass. That is not worth an fsync each.
  const windows = mongo.db.collection<WindowDocument>("rateWindows", { writeConcern: { w: 1, journal: false } });
  // Removes windows that ended; no query uses it.
  await mongo.call(() => windows.createIndex({ resetAt: 1 }, { name: "expiry", expireAfterSeconds: 0 }));
  return {
    hit: async (key, windowMs, hits = 1) => {
      const id = createHash("sha256").update(key).digest("base64url");
      for (let race = 0; race < RACES_MAX; race += 1) {
        const wanted = { id, windowMs, hits, at: now() };
        const window = (await count(mongo, windows, wanted)) ?? (await begin(mongo, windows, wanted));
        if (window !== null) return { hits: window.hits, resetAt: window.resetAt.getTime() };
      }
      throw new AppError("unavailable", "A rate window is being changed by too many processes.");
    },
  };
}

type Windows = Collection<WindowDocument>;

interface Wanted {
  readonly id: string;
  readonly windowMs: number;
  readonly hits: number;
  readonly at: number;
}

/** Null when there is no window, or it has ended. */
const count = (mongo: Mongo, windows: Windows, { id, windowMs, hits, at }: Wanted): Promise<WindowDocument | null> =>
  mongo.call(() =>
    windows.findOneAndUpdate(
      { _id: id, resetAt: { $gt: new Date(at), $lte: new Date(endsBy(at, windowMs)) } },
      { $inc: { hits } },
      { returnDocument: "after" },
    ),
  );

/** Replaces the ended window or inserts the first. Null when another process was first: then it finds none that ended, and `_id` is taken. */
async function begin(
  mongo: Mongo,
  windows: Windows,
  { id, windowMs, hits, at }: Wanted,
): Promise<WindowDocument | null> {
  const isOver = [{ resetAt: { $lte: new Date(at) } }, { resetAt: { $gt: new Date(endsBy(at, windowMs)) } }];
  try {
    return await mongo.call(() =>
      windows.findOneAndUpdate(
        { _id: id, $or: isOver },
        { $set: { hits, resetAt: new Date(at + windowMs) } },
        { upsert: true, returnDocument: "after" },
      ),
    );
  } catch (error) {
    if (isDuplicateKey(error)) return null;
    throw error;
  }
}
