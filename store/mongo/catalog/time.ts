import type { CatalogStore, Sure } from "../../../core/ports/catalog-store.js";
import { isDuplicateKey } from "../failure.js";
import type { Mongo } from "../open.js";
import type { Session } from "../session.js";

interface ClockDocument extends Partial<Sure> {
  readonly _id: "clock";
  readonly ms: number;
  readonly beats: number;
}

/** The time of the installation, in `settings`. */
export function createTime({ db }: Mongo, { call }: Session): Pick<CatalogStore, "advanceTime" | "timeKept"> {
  const settings = db.collection<ClockDocument>("settings");

  const advance = (ms: number, sure: Partial<Sure>): Promise<ClockDocument | null> =>
    call(() =>
      settings.findOneAndUpdate(
        { _id: "clock" },
        { $max: { ms }, $inc: { beats: 1 }, ...(Object.keys(sure).length > 0 && { $set: sure }) },
        { upsert: true, returnDocument: "after" },
      ),
    );

  /** Another process may have done so meanwhile: then nothing is left to replace. */
  const replace = (ms: number, believable: number) =>
    call(() => settings.updateOne({ _id: "clock", ms: { $gt: believable } }, { $set: { ms } }));

  return {
    advanceTime: async (ms, believable, sure) => {
      // Two processes may make it at once; for the second one it is there then.
      const kept = await advance(ms, sure).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
        return advance(ms, sure);
      });
      if (kept!.ms <= believable) return kept!.ms;
      await replace(ms, believable);
      return (await advance(ms, sure))!.ms;
    },
    timeKept: async () => {
      const kept = await call(() => settings.findOne({ _id: "clock" }));
      return {
        ms: kept?.ms ?? 0,
        sureMs: kept?.sureMs ?? 0,
        waitedMs: kept?.waitedMs ?? 0,
        beats: kept?.beats ?? 0,
      };
    },
  };
}
