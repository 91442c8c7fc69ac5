import { randomBytes } from "node:crypto";
import { openMongo, type Mongo } from "../../../store/mongo/open.js";
import type { Backend } from "../contract.js";
import { databaseUrl } from "./servers.js";

/** The address of a database that nobody else uses. */
export const aDatabaseUrl = (url: string): string => databaseUrl(url, `onym_test_${randomBytes(8).toString("hex")}`);

export const openTestMongo = (url: string): Promise<Mongo> => openMongo({ url, onError: () => {} });

export async function dropMongo(url: string): Promise<void> {
  const mongo = await openTestMongo(url);
  await mongo.db.dropDatabase();
  await mongo.close();
}

/** Gives a database of its own to as many processes as the test opens, and removes it all afterwards. */
export async function withDatabase(url: string, use: (open: () => Promise<Mongo>) => Promise<void>): Promise<void> {
  const own = aDatabaseUrl(url);
  const opened: Mongo[] = [];
  try {
    await use(async () => {
      const mongo = await openTestMongo(own);
      opened.push(mongo);
      return mongo;
    });
  } finally {
    await Promise.all(opened.map((mongo) => mongo.close()));
    await dropMongo(own);
  }
}

/** Ports on a database of their own; closing the port closes the connection too. */
export const mongoBackend = <P extends { close(): Promise<void> }>(
  url: string,
  create: (deps: { readonly mongo: Mongo }) => Promise<P>,
): Backend<P> => ({
  name: "MongoDB",
  place: async () => {
    const own = aDatabaseUrl(url);
    return {
      open: async () => {
        const mongo = await openTestMongo(own);
        const port = await create({ mongo });
        const close = async (): Promise<void> => {
          await port.close();
          await mongo.close();
        };
        return { ...port, close };
      },
      drop: () => dropMongo(own),
    };
  },
});
