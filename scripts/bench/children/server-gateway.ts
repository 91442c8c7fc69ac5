/** The gateway as it ships, on real servers, with a queue and a database of its own; nothing consumes, as beside the publish loop. */
import { Connection } from "rabbitmq-client";
import { servicesOf } from "../../../app/gateway.js";
import { createLog } from "../../../app/logger.js";
import { startService } from "../../../app/service.js";
import { createAcceptEvent } from "../../../commands/acceptance/accept.js";
import { createIdempotency } from "../../../commands/acceptance/idempotency.js";
import { createPurge } from "../../../commands/erasures/purge.js";
import { readConfig } from "../../../core/config.js";
import type { KeyId } from "../../../core/ids.js";
import { NO_METRICS } from "../../../core/metrics.js";
import { openValidator } from "../../../core/schema/validation/validator.js";
import { createWorkspace, openClient } from "../../shared/client.js";
import { openServers, type Settings } from "../../shared/grounds.js";
import { collectBodies } from "../bodies.js";
import type { Asks } from "../targets.js";
import { keepInFlight, serve } from "./serve.js";

const OPERATOR_KEY = "operator-key-of-the-bench";
const ground = await openServers(process.env as Settings);
const own = { MODE: "gateway", OPERATOR_KEY, PORT: "0", LOG_LEVEL: "error", QUEUE_LENGTH_MAX: "100000000" };
const config = readConfig({ ...ground.settings, ...own });
const service = await startService({ config, log: createLog(config.LOG_LEVEL) });
const client = openClient(service.url, 1);
const { key, workspace_id: workspace } = await createWorkspace(client, OPERATOR_KEY, "bench");
client.close();

const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
const services = servicesOf({
  config,
  log: createLog(config.LOG_LEVEL),
  now: Date.now,
  backends: service.backends,
  identity: service.identity,
  validator,
  purge: createPurge(service.backends.purge),
  metrics: NO_METRICS,
  stats: service.backends.stats,
});
const acceptEvent = createAcceptEvent(services, createIdempotency(services));
const broker = new Connection({ url: config.RABBITMQ_URL });
const caller = "benchkey00" as KeyId;

/** What collect does behind its HTTP: everything from the body's bytes to the confirm. */
const loop: Asks["loop"] = async ({ rowBytes, ...window }) => {
  const bodyOf = collectBodies(rowBytes, new Date().toISOString());
  const bodies = Array.from({ length: 1_000 }, (_, person) => Buffer.from(bodyOf(person)));
  let sent = 0;
  const once = () =>
    acceptEvent(
      { workspace, keyId: caller, sender: caller, send: null, now: Date.now() },
      { bytes: bodies[sent++ % bodies.length]!, idempotencyKey: null },
    );
  const result = await keepInFlight(window, once);
  // A long queue is slower, and nobody consumes here.
  await broker.queuePurge({ queue: config.RABBITMQ_QUEUE });
  return result;
};

serve({ port: Number(new URL(service.url).port), key }, { loop }, async () => {
  await validator.close();
  await service.close();
  await broker.close();
  await ground.drop();
});
