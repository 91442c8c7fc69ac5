import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Backends } from "../../app/backends.js";
import type { ServiceOptions } from "../../app/service.js";
import { placesOf, SERVERS } from "./servers/servers.js";
import { startApp, type App, type Settings, type TestWorkspace } from "./service/app.js";

/** Starts a service for one test and closes it whatever happens. */
export async function withApp(
  settings: Settings,
  options: Partial<ServiceOptions>,
  use: (app: App) => Promise<void>,
): Promise<void> {
  const app = await startApp(settings, options);
  try {
    await use(app);
  } finally {
    await app.close();
  }
}

/** A folder that outlives a service: for tests that start another one on it. */
export async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "onym-fault-"));
  try {
    await use(folder);
  } finally {
    if (SERVERS !== null) await (await import("./house/places.js")).dropPlaces(placesOf(folder));
    await rm(folder, { recursive: true, force: true });
  }
}

/** As `withApp`, with a worker that waits with the first batch until it is released. */
export async function withHeldApp(
  settings: Settings,
  use: (app: App, release: () => void) => Promise<void>,
): Promise<void> {
  const { wrap, release } = createHeldWorker();
  await withApp(settings, { wrap }, async (app) => {
    try {
      await use(app, release);
    } finally {
      // The service cannot close before.
      release();
    }
  });
}

/** Whoever uses it must release it before the service closes. */
export function createHeldWorker() {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const wrap = (backends: Backends): Backends =>
    withHandler(backends, (handler) => async (batch) => {
      await released;
      return handler(batch);
    });
  return { wrap, release: () => release() };
}

type Handler = Parameters<Backends["queue"]["consume"]>[1];

/** Puts something between the queue and the worker. */
export const withHandler = (backends: Backends, change: (handler: Handler) => Handler): Backends => ({
  ...backends,
  queue: {
    ...backends.queue,
    consume: (batchMax, handler) => backends.queue.consume(batchMax, change(handler)),
  },
});

/** A service without a worker: what it accepts stays queued. */
export const withoutWorker = (backends: Backends): Backends => ({
  ...backends,
  queue: { ...backends.queue, consume: () => ({ close: async () => {} }) },
});

/** An error as the driver throws it. */
export const sqliteError = (code: string): Error => Object.assign(new Error(code), { code });

/** The same body at each call, as a client that retries sends it. */
export const eventBody = (schemaId: string, payload: unknown, timestamp = "2026-01-01T00:00:00Z") => ({
  schema_id: schemaId,
  timestamp,
  payload,
});

/** Accepts the event and answers its id. */
export async function collected(
  workspace: TestWorkspace,
  body: ReturnType<typeof eventBody>,
  idempotencyKey?: string,
): Promise<string> {
  const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  const answer = await workspace.send("POST", "/v1/collect", body, headers);
  assert.equal(answer.status, 202, answer.text);
  return String(answer.body["event_id"]);
}

export interface ShownProfile {
  readonly profile_id: string;
  readonly identifiers: readonly { readonly namespace: string; readonly value: string }[];
  readonly traits: Readonly<Record<string, unknown>>;
  readonly event_count: number;
  readonly first_seen: string | null;
  readonly last_seen: string | null;
}

/** The profile of an email address, null when there is none. */
export async function profileOf(workspace: TestWorkspace, email: string): Promise<ShownProfile | null> {
  const identifiers = [{ namespace: "email", value: email }];
  const { body } = await workspace.send("POST", "/v1/profiles/lookup", { identifiers });
  return (body["profiles"] as readonly ShownProfile[])[0] ?? null;
}
