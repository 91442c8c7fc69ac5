import { requireAnswer, type Client, type Request } from "../../shared/client.js";
import type { Random } from "../../shared/random.js";

/** Who is spoken of: whatever the run's length, only their events grow, as they do in real life. */
export interface People {
  readonly count: number;
  readonly emailOf: (person: number) => string;
}

export const FEW: People = { count: 2_000, emailOf: (person) => `p${person}@example.com` };
/** Profiles whose timelines are read. */
const KNOWN = 2_000;
const SCHEMA = {
  type: "object",
  properties: {
    email: { type: "string", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
    total: { type: "number", "x-trait": { name: "largest_order", merge: "max" } },
  },
};

/** Answers the schema that the events are to name: a new one, because the profiles may have had such a load before. */
export async function prepare(client: Client, key: string): Promise<string> {
  const schemaId = `soak-${Date.now()}`;
  const post = (path: string, body: object) => requireAnswer(client, 201, { method: "POST", path, key, body });
  await post("/v1/schemas", { schema_id: schemaId, schema: SCHEMA });
  await post("/v1/datasets", { name: schemaId, schema_id: schemaId, unified_profile: true });
  return schemaId;
}

export type Kind = "collect" | "identify" | "look-up" | "timeline" | "unlink";

export interface Done {
  readonly kind: Kind;
  readonly status: number;
  /** Of an event that was taken. */
  readonly eventId: string | null;
}

interface Asking {
  readonly key: string;
  readonly schemaId: string;
  readonly random: Random;
  readonly people: People;
}

/** One operation after the other, by chance. */
export function createTraffic(client: Client, { key, schemaId, random, people }: Asking) {
  const { count, emailOf } = people;
  /** Ids that were answered, to read timelines by. */
  const profileIds: string[] = [];
  const email = (): string => emailOf(random.below(count));
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
    return post("/v1/collect", { schema_id: schemaId, timestamp: new Date().toISOString(), payload });
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
  const draw = (): readonly [kind: Kind, request: Request] => {
    const kind = random.below(100);
    if (kind < 60) return ["collect", collect()];
    if (kind < 75) return ["identify", post("/v1/identify", { identifiers: identifiers(email()) })];
    if (kind < 90) return ["look-up", lookUp()];
    return kind < 97 ? ["timeline", timeline()] : ["unlink", unlink()];
  };

  return async (): Promise<Done> => {
    const [kind, request] = draw();
    const { status, text } = await client.send(request);
    const id = /"profile_id":"([^"]+)"/.exec(text)?.[1];
    if (id !== undefined) profileIds[random.below(KNOWN)] = id;
    return { kind, status, eventId: /"event_id":"([^"]+)"/.exec(text)?.[1] ?? null };
  };
}
