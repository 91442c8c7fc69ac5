import { requireAnswer, type Client, type Request } from "../../shared/client.js";
import type { Random } from "../../shared/random.js";

/** So many people, whatever the run's length: only their events grow, as they do in real life. */
const PEOPLE = 2_000;
const SCHEMA = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "largest_order", merge: "max" } },
  },
};

export async function prepare(client: Client, key: string): Promise<void> {
  const post = (path: string, body: object) => requireAnswer(client, 201, { method: "POST", path, key, body });
  await post("/v1/schemas", { schema_id: "soak", schema: SCHEMA });
  await post("/v1/datasets", { name: "soak", schema_id: "soak", unified_profile: true });
}

/** One operation after the other, by chance. Resolves with its status. */
export function createTraffic(client: Client, key: string, random: Random) {
  /** Ids that were answered, to read timelines by. */
  const profileIds: string[] = [];
  const email = (): string => `p${random.below(PEOPLE)}@example.com`;
  const cookieOf = (address: string): string => `cookie-${address}-${random.below(3)}`;
  const identifiers = (address: string) => [
    { namespace: "email", value: address },
    { namespace: "cookie_id", value: cookieOf(address) },
  ];
  const post = (path: string, body: object): Request => ({ method: "POST", path, key, body });

  const collect = (): Request => {
    const address = email();
    const payload = {
      email: address,
      cookie: cookieOf(address),
      city: `city ${random.below(50)}`,
      total: random.below(500),
    };
    return post("/v1/collect", { schema_id: "soak", timestamp: new Date().toISOString(), payload });
  };
  const lookUp = (): Request => post("/v1/profiles/lookup", { identifiers: identifiers(email()).slice(0, 1) });
  const timeline = (): Request => {
    const id = profileIds[random.below(Math.max(1, profileIds.length))];
    return id === undefined ? lookUp() : { method: "GET", path: `/v1/profiles/${id}/events?limit=20`, key };
  };
  const unlink = (): Request => {
    const [from, to] = identifiers(email());
    return post("/v1/identity/unlink", { from, to });
  };
  const draw = (): Request => {
    const kind = random.below(100);
    if (kind < 60) return collect();
    if (kind < 75) return post("/v1/identify", { identifiers: identifiers(email()) });
    if (kind < 90) return lookUp();
    return kind < 97 ? timeline() : unlink();
  };

  return async (): Promise<number> => {
    const { status, text } = await client.send(draw());
    const id = /"profile_id":"([^"]+)"/.exec(text)?.[1];
    if (id !== undefined) profileIds[random.below(PEOPLE)] = id;
    return status;
  };
}
