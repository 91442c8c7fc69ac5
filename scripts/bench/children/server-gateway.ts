/** The gateway as it ships, on real servers, with a queue and a database of its own; nothing consumes, as beside the publish loop. */
import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { Connection } from "rabbitmq-client";
import { servicesOf } from "../../../app/gateway.js";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { createAcceptEvents } from "../../../commands/accept-events.js";
import { readConfig } from "../../../core/config.js";
import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import { openValidator } from "../../../core/schema/validation/validator.js";
import { collectBodies } from "../bodies.js";
import type { Input, LoopResult } from "../protocol.js";
import { keepInFlight } from "./in-flight.js";
import { serveParent } from "./serve-parent.js";

const place = `onym-bench-${randomUUID().slice(0, 8)}`;
const documents = new URL(process.env["MONGODB_URL"] ?? "");
documents.pathname = `/${place}`;
const config = readConfig({
  ...process.env,
  MODE: "gateway",
  MONGODB_URL: documents.toString(),
  RABBITMQ_QUEUE: place,
  OPERATOR_KEY: randomUUID(),
  PORT: "0",
  LOG_LEVEL: "error",
  QUEUE_LENGTH_MAX: "100000000",
});
const service = await startService({ config, log: createLog(config.LOG_LEVEL) });

const answer = await fetch(new URL("/v1/workspaces", service.url), {
  method: "POST",
  headers: { Authorization: `Bearer ${config.OPERATOR_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ name: "bench" }),
});
const { key, workspace_id: workspace } = (await answer.json()) as {
  readonly key: string;
  readonly workspace_id: WorkspaceId;
};

const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
const acceptEvents = createAcceptEvents(
  servicesOf({ config, backends: service.backends, identity: service.identity, validator }),
);
const broker = new Connection({ url: config.RABBITMQ_URL });
const caller = "benchkey00" as KeyId;

/** What collect does behind its HTTP: everything from the body's bytes to the confirm. */
async function loop({ rowBytes, ...window }: Input<"loop">): Promise<LoopResult> {
  const bodyOf = collectBodies(rowBytes, new Date().toISOString());
  const bodies = Array.from({ length: 1_000 }, (_, person) => Buffer.from(bodyOf(person)));
  let sent = 0;
  const once = () =>
    acceptEvents({ workspace, keyId: caller, sender: caller, now: Date.now() }, [
      { bytes: bodies[sent++ % bodies.length]!, idempotencyKey: null },
    ]);
  const result = await keepInFlight(window, once);
  // A long queue is slower, and nobody consumes here.
  await broker.queuePurge({ queue: place });
  return result;
}

/** Takes away what only this run used. */
async function clean(): Promise<void> {
  for (const queue of [place, `${place}.retry`, `${place}.suspects`, `${place}.dead`, `${place}.owner`])
    await broker.queueDelete({ queue });
  await broker.close();
  const client = new MongoClient(config.MONGODB_URL);
  await client.db().dropDatabase();
  await client.close();
}

serveParent({ port: Number(new URL(service.url).port), key }, { loop }, async () => {
  await validator.close();
  await service.close();
  await clean();
});
