import { ConfigError } from "../../../core/config.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { createNeo4jGraph, type Neo4jGraph } from "../graph.js";
import type { Client, ClientOptions } from "../client.js";
import { openClient } from "../open.js";
import { createSpreadCopying, createSpreadPlace } from "./copying.js";
import { createDirectory, HOME, requireAddresses } from "./directory.js";
import { createSpreadGraph } from "./spread.js";

export interface SpreadOptions extends ClientOptions {
  readonly tombOf: TombOf;
  /** The graphs beside the one at `url`, by name. */
  readonly others: ReadonlyMap<string, string>;
}

/** Several servers as one graph; the one at `url` holds the directory. Rejects with a `ConfigError` that names the variable. */
export async function openSpreadGraph({ others, tombOf, ...access }: SpreadOptions): Promise<Neo4jGraph> {
  const urls = new Map([[HOME, access.url], ...others]);
  const clients = await openAll(urls, access);
  try {
    const directory = createDirectory(clients.get(HOME)!, [...urls.keys()]);
    await requireAddresses(clients.get(HOME)!, [...urls.keys()]);
    const graphs = new Map(
      [...clients].map(([name, client]) => [name, createNeo4jGraph(client, { name: urls.get(name)!, tombOf })]),
    );
    const copyings = new Map([...graphs].map(([name, { copying }]) => [name, copying]));
    return {
      ...createSpreadGraph(graphs, directory),
      copying: createSpreadCopying(copyings, directory),
      place: createSpreadPlace([...graphs.values()].map(({ place }) => place)),
    };
  } catch (error) {
    await closeAll(clients.values());
    throw error;
  }
}

async function openAll(urls: ReadonlyMap<string, string>, access: ClientOptions): Promise<ReadonlyMap<string, Client>> {
  const opens = [...urls].map(async ([name, url]) => [name, await openOne(name, { ...access, url })] as const);
  const results = await Promise.allSettled(opens);
  const opened = new Map(results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
  const failed = results.find((result) => result.status === "rejected");
  if (failed === undefined) return opened;
  await closeAll(opened.values());
  throw failed.reason;
}

async function openOne(name: string, options: ClientOptions): Promise<Client> {
  const onError: ClientOptions["onError"] = (message, error) =>
    options.onError(name === HOME ? message : `${message} (${name})`, error);
  try {
    return await openClient({ ...options, onError });
  } catch (error) {
    if (name === HOME || !(error instanceof ConfigError)) throw error;
    throw new ConfigError(error.message.replace(/^NEO4J_URL:/, `NEO4J_URLS: ${name}:`));
  }
}

const closeAll = async (clients: Iterable<Client>): Promise<void> =>
  void (await Promise.allSettled([...clients].map((client) => client.close())));
