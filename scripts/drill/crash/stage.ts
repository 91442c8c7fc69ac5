import assert from "node:assert/strict";
import { silentLog } from "../../../app/logger.js";
import { startService, type Service, type ServiceOptions } from "../../../app/service.js";
import { readConfig } from "../../../core/config.js";
import { keyIdOf } from "../../../core/catalog/api-key.js";
import { eventIdFor, type EventId } from "../../../core/ids.js";
import { andThen, eventually } from "../../shared/async.js";
import { bodyOf, openClient, requireAnswer, type Client, type Request } from "../../shared/client.js";
import type { Ground, Settings } from "../../shared/grounds.js";
import { createSite, FOLDING, type Site } from "../process/site.js";
import { OPERATOR_KEY } from "../process/target.js";

/** A workspace in which one event of the person was folded long ago. */
export interface Stage {
  readonly ground: Ground;
  readonly site: Site;
  readonly earlier: string;
}

export const IDENTIFIERS = [
  { namespace: "email", value: "ada@example.com" },
  { namespace: "cookie_id", value: "c-1815" },
] as const;
const [{ value: email }, { value: cookie }] = IDENTIFIERS;
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
  { settings = {}, ...hooks }: { readonly settings?: Settings } & Pick<ServiceOptions, "wrap" | "aroundFold"> = {},
): Promise<T> {
  const config = readConfig({ PORT: "0", OPERATOR_KEY, ...ground.settings, ...settings });
  const service = await startService({ config, log: silentLog, ...hooks });
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
    const request = collect(site, "earlier", "2026-01-01T00:00:00Z", {
      op: 1,
      email,
      city: "Bern",
      score: 7,
      amount: 0.1,
    });
    const { event_id: earlier } = await requireAnswer<{ readonly event_id: string }>(client, 202, request);
    const stage = { ground, site, earlier };
    await untilFolded(client, stage, earlier);
    return stage;
  });

export const theEventId = ({ site }: Stage): EventId => eventIdFor(site.workspace, keyIdOf(site.key)!, IDEMPOTENCY_KEY);

/** Brings a second identifier and newer traits. */
export const theEvent = ({ site }: Stage): Request =>
  collect(site, IDEMPOTENCY_KEY, "2026-01-02T00:00:00Z", {
    op: 2,
    email,
    cookies: [cookie],
    city: "Oslo",
    score: 9,
    amount: 0.2,
  });

const others = [3, 4].map((op) => ({ schema_id: FOLDING, timestamp: "2026-01-03T00:00:00Z", payload: { op } }));

/** The event and two of nobody. */
export const theBatch = (stage: Stage): Request => ({
  method: "POST",
  path: "/v1/collect/batch?atomic=true",
  key: stage.site.key,
  body: {
    events: [
      { ...(theEvent(stage).body as object), idempotency_key: IDEMPOTENCY_KEY },
      ...others.map((other) => ({ ...other, idempotency_key: `other ${other.payload.op}` })),
    ],
  },
});

export const theIdentify = ({ site: { key } }: Stage): Request => ({
  method: "POST",
  path: "/v1/identify",
  key,
  body: { identifiers: IDENTIFIERS },
});

export const theErasure = ({ site: { key } }: Stage): Request => ({
  method: "POST",
  path: "/v1/erasures",
  key,
  body: { identifiers: [IDENTIFIERS[0]] },
});

const collect = ({ key }: Site, idempotencyKey: string, timestamp: string, payload: object): Request => ({
  method: "POST",
  path: "/v1/collect",
  key,
  body: { schema_id: FOLDING, timestamp, payload },
  headers: { "Idempotency-Key": idempotencyKey },
});

/** The client tries the event again until it is accepted. */
export async function retryEvent(client: Client, stage: Stage): Promise<void> {
  const { event_id } = await untilAnswer<{ readonly event_id: string }>(client, stage, 202, theEvent(stage));
  assert.equal(event_id, theEventId(stage));
}

/** The client tries the batch again until it is accepted. */
export async function retryBatch(client: Client, stage: Stage): Promise<void> {
  const { results } = await untilAnswer<{ readonly results: readonly { readonly event_id: string }[] }>(
    client,
    stage,
    202,
    theBatch(stage),
  );
  assert.equal(results[0]!.event_id, theEventId(stage));
  for (const { event_id: eventId } of results) await untilSettled(client, stage, eventId, ["stored", "folded"]);
}

/** The client tries the identify again: it must name the one profile that holds both identifiers. */
export async function retryIdentify(client: Client, stage: Stage): Promise<void> {
  const answered = await untilAnswer<{ readonly profile_id: string }>(client, stage, 200, theIdentify(stage));
  assert.equal(answered.profile_id, (await requireProfile(client, stage)).profile_id);
}

/** The first answer that is not "try again later" must be the wanted one. */
export async function untilAnswer<T>(client: Client, { ground }: Stage, status: number, request: Request): Promise<T> {
  const again = async () => {
    const answer = await client.send(request);
    assert.notEqual(answer.status, 503, answer.text);
    return answer;
  };
  const answer = await eventually(again, ground.settleMs, POLL_MS);
  assert.equal(answer.status, status, answer.text);
  return bodyOf<T>(answer);
}

/** The event must come to be there, once, with nothing left to do. */
export async function requireFoldedOnce({ client, service }: Play, stage: Stage): Promise<void> {
  await untilFolded(client, stage, theEventId(stage));
  const untilEmpty = async () => assert.equal(await service.backends.queue.depth(), 0, "messages in the queue");
  await eventually(untilEmpty, stage.ground.settleMs, POLL_MS);
  const { profile_id, traits, event_count, first_seen, last_seen } = await requireProfile(client, stage);
  assert.equal(event_count, 2);
  assert.deepEqual(traits, { city: "Oslo", score: 9, ops: 2, spent: 0.3 });
  assert.deepEqual([first_seen, last_seen], ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"]);
  const request = { method: "GET", path: `/v1/profiles/${profile_id}/events`, key: stage.site.key } as const;
  const { events } = await requireAnswer<{ readonly events: readonly Shown[] }>(client, 200, request);
  assert.deepEqual(
    events.map(({ event_id }) => event_id),
    [theEventId(stage), stage.earlier],
  );
}

interface Shown {
  readonly event_id: string;
  readonly status: string;
}

interface Profile {
  readonly profile_id: string;
  readonly traits: unknown;
  readonly event_count: number;
  readonly first_seen: string;
  readonly last_seen: string;
}

/** Both identifiers must name it: one person, one profile. */
export async function requireProfile(client: Client, stage: Stage): Promise<Profile> {
  const found = await requireAnswer<{ readonly profiles: readonly Profile[]; readonly unknown: readonly unknown[] }>(
    client,
    200,
    { ...theIdentify(stage), path: "/v1/profiles/lookup" },
  );
  assert.deepEqual([found.profiles.length, found.unknown.length], [1, 0], "one profile must hold both identifiers");
  return found.profiles[0]!;
}

const untilFolded = (client: Client, stage: Stage, eventId: string): Promise<void> =>
  untilSettled(client, stage, eventId, ["folded"]);

export const untilSettled = (
  client: Client,
  { ground, site: { key } }: Stage,
  eventId: string,
  wanted: readonly string[],
): Promise<void> =>
  eventually(
    async () => {
      const request = { method: "GET", path: `/v1/events/${eventId}`, key } as const;
      const { status } = await requireAnswer<Shown>(client, 200, request);
      assert.ok(wanted.includes(status), status);
    },
    ground.settleMs,
    POLL_MS,
  );

/** Asked again, it must be the same erasure, and come to its end; the event is gone, and its profile. */
export async function requireErased(client: Client, stage: Stage): Promise<void> {
  const { erasure_id: erasureId } = await untilAnswer<{ readonly erasure_id: string }>(
    client,
    stage,
    202,
    theErasure(stage),
  );
  const { ground, site } = stage;
  const receiptOf = { method: "GET", path: `/v1/erasures/${erasureId}`, key: site.key } as const;
  const completed = async () => {
    const receipt = await requireAnswer<Receipt>(client, 200, receiptOf);
    assert.equal(receipt.status, "completed");
    return receipt;
  };
  const { removed } = await eventually(completed, ground.settleMs, POLL_MS);
  assert.deepEqual([removed.events, removed.facets], [1, 1], "each is counted once");
  const list = { method: "GET", path: "/v1/erasures", key: site.key } as const;
  const { erasures } = await requireAnswer<{ readonly erasures: readonly unknown[] }>(client, 200, list);
  assert.equal(erasures.length, 1);
  await untilSettled(client, stage, stage.earlier, ["dropped"]);
  const { profiles } = await requireAnswer<{ readonly profiles: readonly unknown[] }>(client, 200, {
    ...theIdentify(stage),
    path: "/v1/profiles/lookup",
  });
  assert.deepEqual(profiles, []);
}

interface Receipt {
  readonly status: string;
  readonly removed: { readonly events: number; readonly facets: number };
}
