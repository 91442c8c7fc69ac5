import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createSlot, type Slot } from "../drill/process/slot.js";
import { createWorkspace, openClient, requireAnswer, type Client, type Request } from "../shared/client.js";
import { openFolder } from "../shared/grounds.js";

const OPERATOR_KEY = "operator-key-of-the-clients";
const CONNECTIONS = 8;

/** A workspace of one run: its owner's key, and one for SDKs. */
export interface Workspace {
  readonly owner: string;
  readonly writeKey: string;
}

export interface Service {
  readonly url: string;
  /** Where it is killed and started again. */
  readonly slot: Slot;
  readonly client: Client;
  readonly openWorkspace: (name: string) => Promise<Workspace>;
  readonly close: () => Promise<void>;
}

/** An SDK keeps to the address that it was given, so the lives of the service share one. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** The embedded service as it ships, in a process and on a folder of its own. */
export async function startService(): Promise<Service> {
  const ground = await openFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = { ...ground.settings, OPERATOR_KEY, PORT: String(port), PUBLIC_URL: url };
  const slot = createSlot({ settings: () => settings, connections: CONNECTIONS, startMs: 0 });
  await slot.start();
  const client = openClient(url, CONNECTIONS);
  return {
    url,
    slot,
    client,
    openWorkspace: async (name) => {
      const { key: owner } = await createWorkspace(client, OPERATOR_KEY, name);
      const { key: writeKey } = await requireAnswer<{ readonly key: string }>(client, 201, collectKey(owner));
      // Without it a collect-only key fills no trait that the workspace does not have yet.
      const body = { collect_only_adds_traits: true };
      await requireAnswer(client, 200, { method: "PUT", path: "/v1/sdk/settings", key: owner, body });
      return { owner, writeKey };
    },
    close: async () => {
      client.close();
      await slot.close();
      await ground.drop();
    },
  };
}

/** Asks for a key that a web page may carry. */
export const collectKey = (owner: string, limits: object = {}): Request => ({
  method: "POST",
  path: "/v1/keys",
  key: owner,
  body: { role: "editor", name: "sdk", send: "collect", ...limits },
});
