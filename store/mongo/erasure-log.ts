import type { ErasureLog } from "../../core/ports/erasure-log.js";
import { newId } from "../../core/ids.js";
import { fromLogText, toLogText } from "../../core/identity/logged-erasure.js";
import type { Mongo } from "./open.js";
import { createSession } from "./session.js";

interface LogDocument {
  /** In the order of their age. */
  readonly _id: string;
  readonly entry: string;
}

const ENTRIES_PER_READ = 200;

/** A collection of its own, so that it can be kept apart from the backups of the others. */
export function createMongoErasureLog({ mongo }: { readonly mongo: Mongo }): ErasureLog {
  const session = createSession(mongo);
  const log = mongo.db.collection<LogDocument>("erasures");
  return {
    append: async (logged) =>
      void (await session.call(() => log.insertOne({ _id: newId(), entry: toLogText(logged) }))),
    entries: async function* () {
      for (let after = ""; ;) {
        const options = { sort: { _id: 1 }, limit: ENTRIES_PER_READ } as const;
        const page = await session.call(() => log.find({ _id: { $gt: after } }, options).toArray());
        for (const { entry } of page) yield fromLogText(entry);
        const last = page.at(-1);
        if (last === undefined || page.length < ENTRIES_PER_READ) return;
        ({ _id: after } = last);
      }
    },
  };
}
