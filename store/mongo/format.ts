import { ConfigError } from "../../core/config.js";
import { isDuplicateKey } from "./failure.js";
import type { Mongo } from "./open.js";

/** What documents hold: each change that another build could not read raises it. */
export const FORMAT = 1;

interface FormatDocument {
  readonly _id: "format";
  readonly format: number;
}

/** Notes the format in a database that has none. Rejects with `ConfigError` where another one is noted, before anything is written there. */
export async function requireFormat({ db, call }: Pick<Mongo, "db" | "call">, format = FORMAT): Promise<void> {
  const settings = db.collection<FormatDocument>("settings");
  try {
    await call(() => settings.insertOne({ _id: "format", format }));
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    const noted = (await call(() => settings.findOne({ _id: "format" })))!;
    if (noted.format !== format)
      throw new ConfigError(
        `MONGODB_URL: the data there has format ${noted.format}, and this build knows format ${format} alone`,
      );
  }
}
