import { startChild } from "../../shared/child.js";
import { openClient, requireAnswer, type Client } from "../../shared/client.js";
import type { Ground } from "../../shared/grounds.js";
import type { Asks, Usage } from "../process/life.js";
import { createSite, type Site } from "../process/site.js";
import { OPERATOR_KEY } from "../process/target.js";
import type { FloodSite } from "./flood.js";

/** One process of the service as it ships, with a workspace that floods and its neighbour. */
export interface Arena {
  /** Of the neighbour. */
  readonly client: Client;
  readonly neighbour: Site;
  readonly flooding: FloodSite;
  readonly pid: number;
  readonly usage: () => Promise<Usage>;
  readonly close: () => Promise<void>;
}

const CONNECTIONS = 200;

export async function openArena(ground: Ground): Promise<Arena> {
  // So that a flood comes from many addresses.
  const settings = { ...ground.settings, OPERATOR_KEY, TRUST_PROXY: "1" };
  const life = await startChild<Asks, { readonly url: string }>(
    new URL("../process/child.js", import.meta.url),
    [JSON.stringify({ settings, kill: null })],
    {
      env: { PATH: process.env["PATH"] },
      execArgv: ["--max-semi-space-size=32"],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    },
  );
  if (!("ask" in life)) throw new Error(`The service did not start:\n${life.log}`);
  const client = openClient(life.url, CONNECTIONS);
  const [neighbour, flooding] = [
    await createSite(client, OPERATOR_KEY, "neighbour"),
    await createSite(client, OPERATOR_KEY, "flooding"),
  ];
  const keyOf = async (body: object): Promise<string> => {
    const request = { method: "POST", path: "/v1/keys", key: flooding.key, body } as const;
    return (await requireAnswer<{ readonly key: string }>(client, 201, request)).key;
  };
  const sender = await keyOf({ role: "editor", send: "all" });
  const viewer = await keyOf({ role: "viewer" });
  return {
    client,
    neighbour,
    flooding: { url: life.url, owner: flooding.key, viewer, sender },
    pid: await life.ask("pid"),
    usage: () => life.ask("usage"),
    close: async () => {
      client.close();
      life.kill();
      await life.ended;
    },
  };
}
