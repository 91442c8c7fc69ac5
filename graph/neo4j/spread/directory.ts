import { hash } from "node:crypto";
import { ConfigError } from "../../../core/config.js";
import { AppError } from "../../../core/errors.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { Client } from "../client.js";
import { FIND_GRAPH, GRAPHS_IN_USE, TAKE_GRAPH } from "../cypher/directory.js";
import { withOneRetry, withOneRetryLocked } from "../failure.js";

/** The name of the graph that holds the directory, and every workspace that is not in it. */
export const HOME = "";

const KNOWN_MAX = 100_000;

export interface Directory {
  /** The name of the workspace's graph, once and for all: the first who asks for a new one decides. */
  graphOf(workspace: WorkspaceId): Promise<string>;
}

/**
 * It stands on the node that locks a workspace, in one graph that all processes share, so two of them never choose differently; a
 * workspace that was there before there was a directory stays where it is.
 */
export function createDirectory(home: Client, names: readonly string[]): Directory {
  const known = new Map<WorkspaceId, string>();
  const ask = async (ws: WorkspaceId): Promise<string> => {
    const [found] = await withOneRetry(() => home.read(FIND_GRAPH, { ws }));
    if (found !== undefined) return nameIn(found[0]);
    const graph = chosenFor(ws, names);
    const [taken] = await withOneRetryLocked(() =>
      home.write(TAKE_GRAPH, { ws, graph: graph === HOME ? null : graph }),
    );
    return nameIn(taken![0]);
  };
  return {
    graphOf: async (workspace) => {
      const cached = known.get(workspace);
      if (cached !== undefined) return cached;
      const graph = await ask(workspace);
      if (!names.includes(graph))
        throw new AppError("unavailable", "The identity graph of this workspace is not known.");
      if (known.size >= KNOWN_MAX) known.clear();
      known.set(workspace, graph);
      return graph;
    },
  };
}

/** Throws, and closes the client, when the directory names another graph: its workspaces would look empty. */
export async function requireAddresses(home: Client, names: readonly string[]): Promise<void> {
  try {
    const rows = await withOneRetry(() => home.read(GRAPHS_IN_USE, {}));
    const missing = rows.map(([name]) => String(name)).find((name) => !names.includes(name));
    if (missing === undefined) return;
    throw new ConfigError(`NEO4J_URLS: there is no address for ${missing}, which holds workspaces`);
  } catch (error) {
    await home.close();
    throw error;
  }
}

const nameIn = (graph: unknown): string => (typeof graph === "string" ? graph : HOME);

/**
 * Evenly, and a further graph changes the choice of its own share alone. By a hash that mixes: checksums of two names differ by the same
 * bits for every workspace, so one name would mostly win.
 */
export function chosenFor(workspace: WorkspaceId, names: readonly string[]): string {
  const weighed = names.map((name) => ({ name, weight: hash("sha256", `${name}:${workspace}`) }));
  return weighed.reduce((best, one) => (one.weight > best.weight ? one : best)).name;
}
