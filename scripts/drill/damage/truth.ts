import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, requireAnswer, type Answer, type Client, type Request } from "../../shared/client.js";

const PEOPLE = 12;
const EVENTS = 40;
const AT_ONCE = 4;

/** What was answered when all was whole. */
export interface Truth {
  readonly answers: readonly { readonly request: Request; readonly status: number; readonly text: string }[];
}

export interface Found {
  readonly right: number;
  /** 500 `damaged`. */
  readonly damaged: number;
  /** Other refusals: a service that cannot find its keys, for one. Their text is in the log. */
  readonly failed: readonly string[];
  /** Another answer than before, as if it were right. */
  readonly wrong: readonly string[];
}

/** Makes a workspace with some of everything, and asks for all of it. */
export async function fill(client: Client, key: string): Promise<Truth> {
  const patient: Client = { ...client, send: (request) => sendUntilReady(client, request) };
  const post = <T>(path: string, body: object, status = 200): Promise<T> =>
    requireAnswer<T>(patient, status, { method: "POST", path, key, body });
  const version = (more: object): object => ({
    schema_id: "drill",
    schema: { ...SCHEMA, properties: { ...SCHEMA.properties, ...more } },
  });
  await post("/v1/schemas", version({}), 201);
  await post(
    "/v1/schemas/drill/versions",
    { schema: (version({ note: { type: "string" } }) as { schema: object }).schema },
    201,
  );
  await post("/v1/datasets", { name: "drill", schema_id: "drill", unified_profile: true }, 201);
  const blocked = Array.from({ length: 200 }, (_, n) => `blocked-${n}`);
  await requireAnswer(client, 200, { method: "PUT", path: "/v1/namespaces/user_id", key, body: { blocked } });
  await post("/v1/keys", { role: "viewer", name: "drill" }, 201);
  const events: string[] = [];
  for (let n = 0; n < EVENTS; n += 1) {
    const payload = {
      cookie: `cookie-${n % PEOPLE}`,
      email: `${n % PEOPLE}@example.com`,
      city: `city ${n}`,
      total: n,
      text: "x".repeat(n % 8 === 0 ? 12_000 : 40),
    };
    const body = { schema_id: "drill", timestamp: new Date(1_700_000_000_000 + n * 1_000).toISOString(), payload };
    events.push((await post<{ readonly event_id: string }>("/v1/collect", body, 202)).event_id);
  }
  for (let n = 1; n < PEOPLE; n += 2)
    await post("/v1/identify", { identifiers: [person("email", n), person("user_id", n)] });
  await post("/v1/identify", { identifiers: [person("email", 0), person("email", 1)] });
  await post("/v1/identity/unlink", { from: person("email", 0), to: person("email", 1), forbid: true });
  await post("/v1/profiles/lookup?wait=10", { identifiers: [person("cookie_id", EVENTS % PEOPLE)] });
  const answers = [];
  for (const request of await requestsFor(client, key, events)) {
    const { status, text } = await client.send(request);
    answers.push({ request, status, text });
  }
  return { answers };
}

/** A busy machine refuses a schema for a moment. */
async function sendUntilReady(client: Client, request: Request): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await client.send(request);
    if (answer.status !== 503 || tries === TRIES_MAX) return answer;
    await sleep(500);
  }
}
const TRIES_MAX = 20;

const SCHEMA = {
  type: "object",
  properties: {
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    email: { type: "string", "x-identity": { namespace: "email" } },
    city: { type: "string", "x-trait": { name: "city", merge: "latest" } },
    total: { type: "number", "x-trait": { name: "largest", merge: "max" } },
    text: { type: "string" },
  },
};

const person = (namespace: "cookie_id" | "email" | "user_id", n: number) => ({
  namespace,
  value: namespace === "email" ? `${n}@example.com` : `${namespace === "cookie_id" ? "cookie" : "user"}-${n}`,
});

/** Each row by its key, each list, and what is not there. */
async function requestsFor(client: Client, key: string, events: readonly string[]): Promise<readonly Request[]> {
  const get = (path: string): Request => ({ method: "GET", path, key });
  const find = (namespace: "cookie_id" | "email" | "user_id", n: number): Request => ({
    method: "POST",
    path: "/v1/profiles/lookup",
    key,
    body: { identifiers: [person(namespace, n)] },
  });
  const people = Array.from({ length: PEOPLE }, (_, n) => n);
  const profiles = new Set<string>();
  for (const n of people) {
    const answer = await client.send(find("email", n));
    for (const { profile_id } of bodyOf<{ readonly profiles: readonly { readonly profile_id: string }[] }>(answer)
      .profiles)
      profiles.add(profile_id);
  }
  const changes = await requireAnswer<{ readonly changes: readonly { readonly change_id: string }[] }>(
    client,
    200,
    get("/v1/changes?limit=100"),
  );
  const parts = ["", "/events", "/identifiers", "/graph", "/history"];
  const lists = [
    "/v1/schemas",
    "/v1/schemas/drill/versions",
    "/v1/datasets",
    "/v1/namespaces",
    "/v1/namespaces/user_id",
    "/v1/keys",
    "/v1/changes?limit=100",
    "/v1/identity/forbidden-pairs",
    "/v1/identity/shared-identifiers",
    "/v1/dead-letters",
    "/v1/events/0190a5b0-0000-7000-8000-000000000000",
  ];
  return [
    ...lists.map(get),
    ...events.map((id) => get(`/v1/events/${id}`)),
    ...people.flatMap((n) => [find("cookie_id", n), find("email", n), find("user_id", n), find("user_id", n + 1_000)]),
    ...[...profiles].flatMap((id) => parts.map((part) => get(`/v1/profiles/${id}${part}`))),
    ...changes.changes.map(({ change_id }) => get(`/v1/changes/${change_id}`)),
  ];
}

/** Asks for all of it again. */
export async function look(client: Client, { answers }: Truth): Promise<Found> {
  let [right, damaged] = [0, 0];
  const [failed, wrong]: [string[], string[]] = [[], []];
  const waiting = [...answers];
  const ask = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { request, status, text } = next;
      const answer = await client.send(request);
      const name = `${request.method} ${request.path} ${JSON.stringify(request.body ?? null)}: ${answer.status}`;
      if (answer.status === status && withoutId(answer.text) === withoutId(text)) right += 1;
      else if (answer.status === 500 && bodyOf<{ readonly code: string }>(answer).code === "damaged") damaged += 1;
      else if (answer.status >= 500) failed.push(`${name} ${answer.text.slice(0, 300)}`);
      else wrong.push(`${name} ${answer.text.slice(0, 300)} instead of ${status} ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return { right, damaged, failed, wrong };
}

/** A problem has an id of its own request. */
const withoutId = (text: string): string => text.replace(/"request_id":"[^"]*"/, "");
