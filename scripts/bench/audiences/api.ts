import { setTimeout as sleep } from "node:timers/promises";
import { requireAnswer, type Client } from "../../shared/client.js";

export interface Api {
  readonly get: <T>(path: string) => Promise<T>;
  readonly remove: (path: string) => Promise<unknown>;
  readonly post: <T>(status: number, path: string, body: object) => Promise<T>;
}

export const apiOf = (client: Client, key: string): Api => ({
  get: (path) => requireAnswer(client, 200, { method: "GET", path, key }),
  remove: (path) => client.send({ method: "DELETE", path, key }),
  post: (status, path, body) => requireAnswer(client, status, { method: "POST", path, key, body }),
});

export interface Audience {
  readonly audience_id: string;
  readonly state: string;
  readonly size: number;
}

export const create = (api: Api, name: string, rule: object): Promise<Audience> =>
  api.post(201, "/v1/audiences", { name, rule });

const PAUSE_MS = 250;

/** When each of them is counted. */
export async function untilLive(api: Api, ids: readonly string[]): Promise<readonly Audience[]> {
  for (;;) {
    const { audiences } = await api.get<{ readonly audiences: readonly Audience[] }>("/v1/audiences?limit=100");
    const own = audiences.filter(({ audience_id: id }) => ids.includes(id));
    if (own.every(({ state }) => state === "live")) return own;
    await sleep(PAUSE_MS);
  }
}

export const eventOf = (schemaId: string, payload: object, at = Date.now()): object => ({
  schema_id: schemaId,
  timestamp: new Date(at).toISOString(),
  payload,
});
