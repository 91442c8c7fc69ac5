import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backends } from "../../app/backends.js";
import type { EventId } from "../../core/ids.js";
import type { Delivery } from "../../core/ports/event-queue.js";
import { beginLife } from "../../scripts/drill/process/life.js";
import { send, until, type App, type TestWorkspace } from "../support/service/app.js";
import { aNamespace, putNamespace } from "../support/builders.js";
import {
  collected,
  eventBody,
  withApp,
  withFolder,
  withHandler,
  withoutWorker,
  type ShownProfile,
} from "../support/faults.js";
import { placesOf } from "../support/servers/servers.js";
import { createRandom, SEED, shuffled } from "../support/random/random.js";

const ADA = "ada@example.com";

/** Each batch comes three times, shuffled and in pieces, between messages that were done long ago. */
function deliverOften(backends: Backends): Backends {
  const random = createRandom(SEED);
  const earlier: Delivery[] = [];
  return withHandler(backends, (handler) => async (batch) => {
    earlier.push(...batch);
    const again = shuffled([...batch, ...batch, ...shuffled(earlier, random).slice(0, 10)], random);
    while (again.length > 0) await handler(again.splice(0, 1 + random.below(5)));
    return handler(batch);
  });
}

const PEOPLE = 5;
const EVENTS = 60;

/** The same events every time: people with shared cookies, and traits that depend on what is latest. */
async function sendEvents(app: App): Promise<readonly unknown[]> {
  const random = createRandom(SEED);
  const workspace = await app.workspace();
  const schemaId = await workspace.schema();
  const eventIds: string[] = [];
  for (let n = 0; n < EVENTS; n += 1) {
    const payload = {
      email: `p${random.below(PEOPLE)}@example.com`,
      ...(random.below(2) === 0 && { cookie: `c${random.below(100)}` }),
      city: `city ${random.below(100)}`,
    };
    const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, random.below(3_600), n)).toISOString();
    eventIds.push(await collected(workspace, eventBody(schemaId, payload, timestamp)));
  }
  for (const eventId of eventIds) assert.equal((await workspace.settled(eventId)).body["status"], "folded");
  return profilesOf(workspace);
}

/** Ids differ from run to run, so they are left out. */
async function profilesOf(workspace: TestWorkspace): Promise<readonly unknown[]> {
  const identifiers = Array.from({ length: PEOPLE }, (_, n) => ({ namespace: "email", value: `p${n}@example.com` }));
  const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
  const shown = (body["profiles"] as readonly ShownProfile[]).map((profile) => [
    profile.identifiers.map(({ namespace, value }) => `${namespace} ${value}`).toSorted(),
    profile.traits,
    profile.event_count,
    profile.first_seen,
    profile.last_seen,
  ]);
  return shown.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

describe("An event that is delivered again", () => {
  it(`three times, shuffled, leaves the same profiles as once (seed ${SEED})`, async () => {
    let once: readonly unknown[] = [];
    await withApp({}, {}, async (app) => {
      once = await sendEvents(app);
    });
    assert.ok(once.length > 1);
    await withApp({}, { wrap: deliverOften }, async (app) => {
      assert.deepEqual(await sendEvents(app), once);
    });
  });

  for (const batchMax of ["128", "1"])
    it(`by a retry with its key after the schema and a priority changed folds once and the same, in batches of ${batchMax}`, async () => {
      await withFolder(async (folder) => {
        const settings = { DATA_DIR: folder, WORKER_BATCH_MAX: batchMax };
        const retry = await acceptTwice(settings);
        await withApp(settings, {}, async (app) => {
          await checkAsFirst(app, retry);
        });
      });
    });

  it("because processes die on it again and again ends in the dead letters, and its neighbours are folded", async () => {
    await withFolder(async (folder) => {
      const { key, poison, neighbours } = await queueNeighbours(folder);
      const kill = { kind: "event", eventId: poison } as const;
      const settings = { ...placesOf(folder), DATA_DIR: folder, WORKER_CRASHES_MAX: "2" };
      for (const death of [1, 2, 3]) {
        const begun = await beginLife({ settings, kill });
        const ending = "url" in begun ? await begun.ended : begun;
        assert.equal(ending.signal, "SIGKILL", `death ${death}`);
      }
      const last = await beginLife({ settings, kill });
      assert.ok("url" in last, "it must not be tried once more");
      try {
        const read = (eventId: string) => send(last.url, "GET", `/v1/events/${eventId}`, { key });
        const parked = await until(
          () => read(poison),
          ({ body }) => body["status"] === "dead",
        );
        assert.deepEqual([parked.body["status"], parked.body["reason"]], ["dead", "crashed"]);
        for (const eventId of neighbours) {
          const { body } = await until(
            () => read(eventId),
            (answer) => answer.body["status"] === "folded",
          );
          assert.equal(body["status"], "folded");
        }
      } finally {
        await last.close();
      }
    });
  });
});

/** A queue that cannot be searched, as RabbitMQ: it takes a second copy of what waits in it. */
const withoutEarlier = (backends: Backends): Backends => ({
  ...backends,
  queue: { ...backends.queue, findEarlier: async () => null },
});

interface Retried {
  readonly key: string;
  readonly eventId: string;
}

/** Accepts an event, restarts so that nothing is remembered, changes what the gateway pins, and accepts it again. */
async function acceptTwice(settings: Readonly<Record<string, string>>): Promise<Retried> {
  let key = "";
  let body = eventBody("", {});
  let eventId = "";
  await withApp(settings, { wrap: withoutWorker }, async (app) => {
    const workspace = await app.workspace();
    key = await workspace.key("owner");
    body = eventBody(await workspace.schema(), { email: ADA, cookie: "c1", city: "Bern" });
    eventId = await collected(workspace, body, "k");
  });
  await withApp(settings, { wrap: (backends) => withoutEarlier(withoutWorker(backends)) }, async (app) => {
    await changeWhatIsPinned(app, body.schema_id, key);
    const headers = { "Idempotency-Key": "k" };
    const retried = await app.send("POST", "/v1/collect", { key, body, headers });
    assert.deepEqual([retried.status, retried.body["event_id"]], [202, eventId]);
    assert.equal(await app.service.backends.queue.depth(), 2, "both copies must be queued, or this shows nothing");
  });
  return { key, eventId };
}

/** The cookie counts more than the email from now on, and the city has another name. */
async function changeWhatIsPinned(app: App, schemaId: string, key: string): Promise<void> {
  const schema = {
    type: "object",
    properties: {
      email: { type: "string", "x-identity": { namespace: "email" } },
      cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
      city: { type: "string", "x-trait": { name: "town" } },
    },
  };
  const changed = { schema, compatibility: "none" };
  assert.equal((await app.send("POST", `/v1/schemas/${schemaId}/versions`, { key, body: changed })).status, 201);
  const { catalog } = app.service.backends;
  const workspaces = await catalog.workspaces({ limit: 10, after: null });
  const cookies = aNamespace({ name: "cookie_id", kind: "device", priority: 1_000_000 });
  await putNamespace(catalog, workspaces.at(-1)!.workspaceId, cookies);
}

async function checkAsFirst({ url, service }: App, { key, eventId }: Retried): Promise<void> {
  const get = async (path: string) => (await send(url, "GET", path, { key })).body;
  const deadline = Date.now() + 15_000;
  while ((await service.backends.queue.depth()) > 0 && Date.now() < deadline) await sleep(5);
  assert.equal(await service.backends.queue.depth(), 0);
  const event = await get(`/v1/events/${eventId}`);
  assert.deepEqual([event["status"], event["schema_version"]], ["folded", 1]);
  const profile = await get(`/v1/profiles/${String(event["profile_id"])}`);
  assert.deepEqual([profile["event_count"], profile["traits"]], [1, { city: "Bern" }]);
  const { dead_letters } = await get("/v1/dead-letters");
  assert.deepEqual(dead_letters, []);
}

interface Neighbours {
  readonly key: string;
  readonly poison: EventId;
  readonly neighbours: readonly string[];
}

async function queueNeighbours(folder: string): Promise<Neighbours> {
  let found: Neighbours | null = null;
  await withApp({ DATA_DIR: folder }, { wrap: withoutWorker }, async (app) => {
    const workspace = await app.workspace();
    const schemaId = await workspace.schema();
    const collect = (name: string) => collected(workspace, eventBody(schemaId, { email: `${name}@example.com` }));
    const [before, poison, after] = [await collect("a"), await collect("poison"), await collect("b")];
    found = { key: await workspace.key("owner"), poison: poison as EventId, neighbours: [before, after] };
  });
  assert.ok(found !== null);
  return found;
}
