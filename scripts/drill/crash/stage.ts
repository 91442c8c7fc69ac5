import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../../app/backends.js";
import { silentLog } from "../../../app/logger.js";
import { startService, type Service } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { keyIdOf } from "../../../core/catalog/api-key.js";
import { eventIdFor, type EventId } from "../../../core/ids.js";
import { bodyOf, openClient, requireAnswer, type Client, type Request } from "../load/client.js";
import { andThen } from "../load/finally.js";
import { createSite, FOLDING, type Site } from "../process/site.js";
import { OPERATOR_KEY } from "../process/target.js";

type Settings = Readonly<Record<string, string>>;

/** Where the lives of a row take place. */
export interface Ground {
  /** Of every process in it. */
  readonly settings: Settings;
  /** For what takes a moment, such as a restart that a process waits for. */
  readonly settleMs: number;
  drop(): Promise<void>;
}

/** A workspace in which one event of the person was folded long ago. */
export interface Stage {
  readonly ground: Ground;
  readonly site: Site;
  readonly earlier: string;
}

const PERSON = { email: "ada@example.com", cookie: "c-1815" };
const IDEMPOTENCY_KEY = "the-event";
const POLL_MS = 5;

export interface Play {
  readonly client: Client;
  readonly service: Service;
}

/** A life in this process: faster than one of its own. */
export async function withService<T>(
  ground: Ground,
  use: (play: Play) => Promise<T>,
  { settings = {}, wrap }: { readonly settings?: Settings; readonly wrap?: (backends: Backends) => Backends } = {},
): Promise<T> {
  const config = readConfig({ PORT: "0", OPERATOR_KEY, ...ground.settings, ...settings });
  const service = await startService({ config, log: silentLog, ...(wrap && { wrap }) });
  const client = openClient(service.url, 4);
  const close = async (): Promise<void> => {
    client.close();
    await service.close();
  };
  return andThen(() => use({ client, service }), close);
}

export const prepare = (ground: Ground): Promise<Stage> =>
  withService(ground, async ({ client }) => {
    const site = await createSite(client, OPERATOR_KEY, "crash");
    const body = eventBody({ op: 1, email: PERSON.email, city: "Bern", score: 7 }, "2026-01-01T00:00:00Z");
    const request = collect(site.key, body, "earlier");
    const { event_id } = await requireAnswer<{ readonly event_id: string }>(client, 202, request);
    const stage = { ground, site, earlier: event_id };
    await untilFolded(client, stage, event_id);
    return stage;
  });

export const theEventId = ({ site }: Stage): EventId => eventIdFor(site.workspace, keyIdOf(site.key)!, IDEMPOTENCY_KEY);

/** Brings a second identifier and newer traits. */
export const theEvent = ({ site }: Stage): Request => {
  const payload = { op: 2, email: PERSON.email, cookies: [PERSON.cookie], city: "Oslo", score: 9 };
  return collect(site.key, eventBody(payload, "2026-01-02T00:00:00Z"), IDEMPOTENCY_KEY);
};

const IDENTIFIERS = [
  { namespace: "email", value: PERSON.email },
  { namespace: "cookie_id", value: PERSON.cookie },
];

export const theIdentify = ({ site }: Stage): Request => ({
  method: "POST",
  path: "/v1/identify",
  key: site.key,
  body: JSON.stringify({ identifiers: IDENTIFIERS }),
});

const eventBody = (payload: unknown, timestamp: string): string =>
  JSON.stringify({ schema_id: FOLDING, timestamp, payload });

const collect = (key: string, body: string, idempotencyKey: string): Request => ({
  method: "POST",
  path: "/v1/collect",
  key,
  body,
  headers: { "Idempotency-Key": idempotencyKey },
});

/** The client tries the event again until it is accepted. */
export async function retryEvent(client: Client, stage: Stage): Promise<void> {
  const { status, text } = await untilAnswer(client, stage, theEvent(stage));
  assert.equal(status, 202, text);
  assert.equal((JSON.parse(text) as { readonly event_id: string }).event_id, theEventId(stage));
}

/** The client tries the identify again: it must name the one profile that holds both identifiers. */
export async function retryIdentify(client: Client, stage: Stage): Promise<void> {
  const { status, text } = await untilAnswer(client, stage, theIdentify(stage));
  assert.equal(status, 200, text);
  const { profile_id } = await requireProfile(client, stage);
  assert.equal((JSON.parse(text) as { readonly profile_id: string }).profile_id, profile_id);
}

/** The first answer that is not "try again later". */
async function untilAnswer(client: Client, { ground }: Stage, request: Request) {
  const deadline = performance.now() + ground.settleMs;
  for (;;) {
    const answer = await client.send(request);
    if (answer.status !== 503 || performance.now() > deadline) return answer;
    await sleep(POLL_MS);
  }
}

/** The event must come to be there, once, with nothing left to do. */
export async function requireFoldedOnce({ client, service }: Play, stage: Stage): Promise<void> {
  await untilFolded(client, stage, theEventId(stage));
  await untilEmpty(service.backends, stage);
  const { profile_id, traits, event_count, first_seen, last_seen } = await requireProfile(client, stage);
  assert.equal(event_count, 2);
  assert.deepEqual(traits, { city: "Oslo", score: 9 });
  assert.deepEqual([first_seen, last_seen], ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"]);
  const path = `/v1/profiles/${profile_id}/events`;
  const request: Request = { method: "GET", path, key: stage.site.key };
  const { events } = await requireAnswer<{ readonly events: readonly { readonly event_id: string }[] }>(
    client,
    200,
    request,
  );
  assert.deepEqual(
    events.map(({ event_id }) => event_id),
    [theEventId(stage), stage.earlier],
  );
}

interface Profile {
  readonly profile_id: string;
  readonly traits: unknown;
  readonly event_count: number;
  readonly first_seen: string;
  readonly last_seen: string;
}

/** Both identifiers must name it: one person, one profile. */
async function requireProfile(client: Client, { site }: Stage): Promise<Profile> {
  const body = JSON.stringify({ identifiers: IDENTIFIERS });
  const request: Request = { method: "POST", path: "/v1/profiles/lookup", key: site.key, body };
  const found = await requireAnswer<{ readonly profiles: readonly Profile[]; readonly unknown: readonly unknown[] }>(
    client,
    200,
    request,
  );
  assert.deepEqual([found.profiles.length, found.unknown.length], [1, 0], "one profile must hold both identifiers");
  return found.profiles[0]!;
}

async function untilFolded(client: Client, { ground, site }: Omit<Stage, "earlier">, eventId: string): Promise<void> {
  const deadline = performance.now() + ground.settleMs;
  for (;;) {
    const answer = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key: site.key });
    if (answer.status === 200 && (bodyOf(answer) as { readonly status: string }).status === "folded") return;
    assert.ok(performance.now() < deadline, `the event is not folded: ${answer.text}`);
    await sleep(POLL_MS);
  }
}

async function untilEmpty({ queue }: Backends, { ground }: Stage): Promise<void> {
  const deadline = performance.now() + ground.settleMs;
  while ((await queue.depth()) > 0) {
    assert.ok(performance.now() < deadline, "the queue does not become empty");
    await sleep(POLL_MS);
  }
}
