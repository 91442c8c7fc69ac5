import { ConfigError } from "../../core/config.js";
import { isUnavailable } from "../../core/errors.js";
import { isDuplicateKey } from "./failure.js";
import { openMongo, type Mongo, type MongoOptions } from "./open.js";

/** What documents hold: each change that another build could not read raises it. */
export const FORMAT = 2;

interface Setting {
  readonly _id: "format" | "secret";
  readonly format?: number;
}

/** For people, what ended a start behind the first answer. */
export const openingProblem = (error: unknown): unknown =>
  isUnavailable(error) ? new ConfigError("MONGODB_URL: the server answered once and then no more") : error;

/** `openMongo`, for data that this build knows: what an installation keeps is opened only so. */
export async function openKnownMongo(options: MongoOptions): Promise<Mongo> {
  const mongo = await openMongo(options);
  try {
    await requireFormat(mongo);
  } catch (error) {
    await mongo.close();
    throw openingProblem(error);
  }
  return mongo;
}

/**
 * Notes the format in a database that holds nothing of ours. Rejects with `ConfigError` where another one is noted, or none beside what
 * stands there; then nothing has been written.
 */
export async function requireFormat({ db, call }: Pick<Mongo, "db" | "call">, format = FORMAT): Promise<void> {
  const settings = db.collection<Setting>("settings");
  const noted = async () => (await call(() => settings.findOne({ _id: "format" })))?.format ?? 0;
  const note = async (): Promise<number> => {
    // Made behind the format, so the format stands wherever it does.
    if ((await call(() => settings.findOne({ _id: "secret" }))) !== null) return noted();
    try {
      await call(() => settings.insertOne({ _id: "format", format }));
      return format;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return noted();
    }
  };
  const found = await note();
  if (found !== format)
    throw new ConfigError(
      `MONGODB_URL: the data there has format ${found}, and this build knows format ${format} alone`,
    );
}
