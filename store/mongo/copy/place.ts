import { isSameMark, type CatalogPlace, type MoveMark } from "../../../core/ports/copying.js";
import type { Mongo } from "../open.js";

type Setting = { readonly _id: "move"; readonly mark: MoveMark } | { readonly _id: "secret"; readonly secret: Buffer };

/** What stands in every database that was opened once, or says nothing of an installation. */
const ALWAYS = new Set(["settings", "rateWindows", "stats", "probe"]);
const GUARD = "guard";

/** The database. */
export function createMongoPlace({ mongo, name }: { readonly mongo: Mongo; readonly name: string }): CatalogPlace {
  const settings = mongo.db.collection<Setting>("settings");
  const readMark = async (): Promise<MoveMark | null> => {
    const found = await mongo.call(() => settings.findOne({ _id: "move" }));
    return found !== null && "mark" in found ? found.mark : null;
  };
  return {
    name,
    mark: readMark,
    setMark: async (mark) => {
      await mongo.call<unknown>(() =>
        mark === null
          ? settings.deleteOne({ _id: "move" })
          : settings.replaceOne({ _id: "move" }, { mark: { ...mark } }, { upsert: true }),
      );
    },
    replaceMark: async ({ moveId, state }, mark) => {
      const standing = { _id: "move", "mark.moveId": moveId, "mark.state": state } as const;
      await mongo.call<unknown>(() =>
        mark === null ? settings.deleteOne(standing) : settings.updateOne(standing, { $set: { mark: { ...mark } } }),
      );
      return isSameMark(await readMark(), mark);
    },
    stands: async () => {
      const collections = await mongo.call(() => mongo.db.listCollections({}, { nameOnly: true }).toArray());
      const counts = new Map<string, number>();
      for (const { name } of collections.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        if (ALWAYS.has(name)) continue;
        const all = mongo.db.collection<{ _id: string }>(name);
        const first = await mongo.call(() =>
          all.find({ _id: { $ne: GUARD } }, { projection: { _id: 1 }, limit: 1 }).toArray(),
        );
        if (first.length > 0) counts.set(name, await mongo.call(() => all.estimatedDocumentCount()));
      }
      return counts;
    },
    secret: async () => {
      const found = await mongo.call(() => settings.findOne({ _id: "secret" }));
      return found !== null && "secret" in found ? found.secret : null;
    },
    adopt: async (secret) =>
      void (await mongo.call(() => settings.replaceOne({ _id: "secret" }, { secret }, { upsert: true }))),
  };
}
