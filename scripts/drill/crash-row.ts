import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openBackends } from "../../app/backends.js";
import { createLifecycle } from "../../app/lifecycle.js";
import { silentLog } from "../../app/logger.js";
import { startService, type Service } from "../../app/service.js";
import { readConfig, type Config } from "../../core/config.js";
import { eventIdFor, type EventId, type WorkspaceId } from "../../core/ids.js";
import { bodyOf, openClient, requireAnswer, type Answer, type Client, type Request } from "./client.js";
import type { CrashRow, Remains } from "./crash-table.js";
import { beginLife } from "./life.js";
import { FOLDING, prepareSite } from "./site.js";

const PERSON = { email: "ada@example.com", cookie: "c-1815" };
const IDEMPOTENCY_KEY = "the-event";
const SETTLE_MS = 5_000;

/** A folder with a workspace and one event of the person that was folded long ago. */
interface Stage {
  readonly config: Config;
  readonly key: string;
  readonly workspace: WorkspaceId;
  readonly earlier: string;
}

/**
 * Kills a process of the service at the row's point and goes on with its folder: the client retries what it got no answer for.
 * Throws unless the event or the link is there exactly once at the end. The lives before and after are in this process: faster.
 */
export async function runCrashRow(row: CrashRow): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "onym-crash-"));
  const config = readConfig({ PORT: "0", DATA_DIR: folder });
  try {
    const stage = await prepare(config);
    const answer = await crash(stage, row);
    if (row.clientSaw === "answer") assert.equal(answer?.status, 202);
    else assert.equal(answer, null, "the client must not get an answer");
    if (row.remains) assert.deepEqual(await remainsOf(stage), row.remains);
    await recover(stage, row);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withService<T>(config: Config, use: (client: Client, service: Service) => Promise<T>): Promise<T> {
  const service = await startService({ config, log: silentLog });
  const client = openClient(service.url, 4);
  try {
    return await use(client, service);
  } finally {
    client.close();
    await service.close();
  }
}

async function prepare(config: Config): Promise<Stage> {
  return withService(config, async (client, { ownerKey: key, backends }) => {
    assert.ok(key !== null);
    await prepareSite(client, { name: "default", key });
    const [workspace] = await backends.catalog.workspaces({ limit: 1, after: null });
    assert.ok(workspace);
    const body = eventBody({ op: 1, email: PERSON.email, city: "Bern", score: 7 }, "2026-01-01T00:00:00Z");
    const { event_id } = await requireAnswer<{ readonly event_id: string }>(client, 202, collect(key, body, "earlier"));
    const stage = { config, key, workspace: workspace.workspaceId, earlier: event_id };
    await untilFolded(client, stage, event_id);
    return stage;
  });
}

/** The life that ends at the point. Null when the client got no answer. */
async function crash({ config, key }: Stage, { at, sends }: CrashRow): Promise<Answer | null> {
  const kill = at && ({ kind: "step", step: at[0], moment: at[1], call: 1 } as const);
  const life = await beginLife({ settings: { DATA_DIR: config.DATA_DIR }, kill });
  if (!("url" in life)) throw new Error(`The service did not start: ${life.log}`);
  const client = openClient(life.url, 1);
  try {
    const answer = await client.send(sends === "event" ? theEvent(key) : theIdentify(key)).catch(() => null);
    if (kill === null) life.kill();
    const ending = await Promise.race([life.ended, sleep(SETTLE_MS, null, { ref: false })]);
    assert.equal(ending?.signal, "SIGKILL", "the process must have died at the point");
    return answer;
  } finally {
    life.kill();
    client.close();
  }
}

async function remainsOf({ config, workspace }: Stage): Promise<Remains> {
  const lifecycle = createLifecycle(silentLog);
  try {
    const { queue, events } = await openBackends(config, silentLog, lifecycle);
    const event = await events.find(workspace, eventIdFor(workspace, IDEMPOTENCY_KEY));
    const status = event?.status ?? "none";
    assert.notEqual(status, "dead");
    return { queued: (await queue.depth()) as 0 | 1, event: status as Remains["event"] };
  } finally {
    await lifecycle.close();
  }
}

async function recover(stage: Stage, row: CrashRow): Promise<void> {
  const { key } = stage;
  await withService(stage.config, async (client, service) => {
    if (row.sends === "identify") {
      const { profile_id } = await requireAnswer<{ readonly profile_id: string }>(client, 200, theIdentify(key));
      assert.equal((await requireProfile(client, key)).profile_id, profile_id);
      return;
    }
    const eventId = eventIdFor(stage.workspace, IDEMPOTENCY_KEY);
    if (row.clientSaw === "reset") {
      const retried = await requireAnswer<{ readonly event_id: string }>(client, 202, theEvent(key));
      assert.equal(retried.event_id, eventId);
    }
    await untilFolded(client, stage, eventId);
    await untilEmpty(service);
    await checkFoldedOnce(client, stage, eventId);
  });
}

interface Profile {
  readonly profile_id: string;
  readonly traits: unknown;
  readonly event_count: number;
  readonly first_seen: string;
  readonly last_seen: string;
}

/** Both identifiers must name it: one person, one profile. */
async function requireProfile(client: Client, key: string): Promise<Profile> {
  const identifiers = [
    { namespace: "email", value: PERSON.email },
    { namespace: "cookie_id", value: PERSON.cookie },
  ];
  const found = await requireAnswer<{ readonly profiles: readonly Profile[]; readonly unknown: readonly unknown[] }>(
    client,
    200,
    { method: "POST", path: "/v1/profiles/lookup", key, body: JSON.stringify({ identifiers }) },
  );
  assert.deepEqual([found.profiles.length, found.unknown.length], [1, 0], "one profile must hold both identifiers");
  return found.profiles[0]!;
}

async function checkFoldedOnce(client: Client, { key, earlier }: Stage, eventId: EventId): Promise<void> {
  const { profile_id, traits, event_count, first_seen, last_seen } = await requireProfile(client, key);
  assert.equal(event_count, 2);
  assert.deepEqual(traits, { city: "Oslo", score: 9 });
  assert.deepEqual([first_seen, last_seen], ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"]);
  const { events } = await requireAnswer<{ readonly events: readonly { readonly event_id: string }[] }>(client, 200, {
    method: "GET",
    path: `/v1/profiles/${profile_id}/events`,
    key,
  });
  assert.deepEqual(
    events.map(({ event_id }) => event_id),
    [eventId, earlier],
  );
}

const eventBody = (payload: unknown, timestamp: string): string =>
  JSON.stringify({ schema_id: FOLDING, timestamp, payload });

const collect = (key: string, body: string, idempotencyKey: string): Request => ({
  method: "POST",
  path: "/v1/collect",
  key,
  body,
  headers: { "Idempotency-Key": idempotencyKey },
});

/** Brings a second identifier and newer traits. */
const theEvent = (key: string): Request => {
  const payload = { op: 2, email: PERSON.email, cookies: [PERSON.cookie], city: "Oslo", score: 9 };
  return collect(key, eventBody(payload, "2026-01-02T00:00:00Z"), IDEMPOTENCY_KEY);
};

const theIdentify = (key: string): Request => ({
  method: "POST",
  path: "/v1/identify",
  key,
  body: JSON.stringify({
    identifiers: [
      { namespace: "email", value: PERSON.email },
      { namespace: "cookie_id", value: PERSON.cookie },
    ],
  }),
});

async function untilFolded(client: Client, { key }: Pick<Stage, "key">, eventId: string): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const answer = await client.send({ method: "GET", path: `/v1/events/${eventId}`, key });
    if (answer.status === 200 && (bodyOf(answer) as { readonly status: string }).status === "folded") return;
    assert.ok(Date.now() < deadline, `the event is not folded: ${answer.text}`);
    await sleep(5);
  }
}

async function untilEmpty({ backends }: Service): Promise<void> {
  const deadline = Date.now() + SETTLE_MS;
  while ((await backends.queue.depth()) > 0) {
    assert.ok(Date.now() < deadline, "the queue does not become empty");
    await sleep(5);
  }
}
