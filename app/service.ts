import type { Config } from "../core/config.js";
import type { Identity } from "../core/identity.js";
import type { WorkspaceId } from "../core/ids.js";
import type { Log } from "../core/log.js";
import { incompatibilities } from "../core/schema/compatibility.js";
import { extract } from "../core/schema/plan.js";
import { examineSchema } from "../core/schema/register.js";
import { openValidator, type Validator } from "../core/schema/validator.js";
import { createApp } from "../gateway/app.js";
import { createAuthenticator } from "../gateway/authenticate.js";
import type { CollectDeps } from "../gateway/collect.js";
import { createCursors } from "../gateway/cursor.js";
import { healthRoutes } from "../gateway/health.js";
import { createPipeline } from "../gateway/pipeline.js";
import { createLimiter } from "../gateway/rate-limit.js";
import { createRoutes, type RoutesDeps } from "../gateway/routes.js";
import { createServer } from "../gateway/server.js";
import { createIdentity } from "../graph/identity.js";
import { createWorker } from "../worker/worker.js";
import { openBackends, type Backends } from "./backends.js";
import { firstStart } from "./first-start.js";
import { createLifecycle } from "./lifecycle.js";
import { drain, listen } from "./listen.js";
import { startProbes } from "./readiness.js";

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  /** Puts decorators around the ports: how the drill kills the process between two steps. */
  readonly wrap?: (backends: Backends) => Backends;
  /** Replaces COMMIT of the embedded store in fault tests. */
  readonly commit?: (commit: () => void) => void;
  readonly now?: () => number;
}

export interface Service {
  readonly url: string;
  /** Of the workspace made at the first start; null at every later one. */
  readonly ownerKey: string | null;
  readonly backends: Backends;
  readonly identity: Identity;
  /** Drains: requests under way are answered, what was accepted stays queued. */
  close(): Promise<void>;
}

/** Collect bodies may be a little larger than their payload. */
const ENVELOPE_BYTES = 4_096;

/** Opens, wires, listens. What was opened is closed again when a later step fails. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, log, now = Date.now } = options;
  const lifecycle = createLifecycle(log);
  try {
    const opened = await openBackends(config, log, lifecycle, options.commit);
    const backends = options.wrap?.(opened) ?? opened;
    const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
    lifecycle.opened("validator", () => validator.close());
    const identity = createIdentity({ graph: backends.graph, timeoutMs: config.IDENTITY_TIMEOUT_MS });
    startWorker(options, backends, identity, validator, lifecycle);
    const url = await startGateway(options, backends, identity, validator, lifecycle);
    // Last of all: a start that failed after it would have made a key that nobody was shown.
    const ownerKey = await firstStart(backends.catalog, now());
    return { url, ownerKey, backends, identity, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

function startWorker(
  { config, log, now = Date.now }: ServiceOptions,
  backends: Backends,
  identity: Identity,
  validator: Validator,
  lifecycle: ReturnType<typeof createLifecycle>,
): void {
  const worker = createWorker({
    ...backends,
    identity,
    contribute: (schema, payload) => extract(validator.plan(schema), payload).traits,
    log,
    batchMax: config.WORKER_BATCH_MAX,
    triesMax: config.WORKER_TRIES_MAX,
    crashesMax: config.WORKER_CRASHES_MAX,
    now,
  });
  lifecycle.opened("worker", () => worker.close());
  worker.start();
}

async function startGateway(
  { config, log, now = Date.now }: ServiceOptions,
  backends: Backends,
  identity: Identity,
  validator: Validator,
  lifecycle: ReturnType<typeof createLifecycle>,
): Promise<string> {
  const probes = startProbes({
    queue: () => backends.queue.ready(),
    store: () => backends.events.ready(),
    graph: () => backends.graph.ready(),
  });
  lifecycle.opened("probes", () => probes.close());
  let isDraining = false;
  const pipeline = createPipeline({
    authenticator: createAuthenticator({ catalog: backends.catalog, operatorKey: config.OPERATOR_KEY, now }),
    authFailures: createLimiter("authentication", config.AUTH_FAILURES_PER_MINUTE, "Too many failed authentications."),
    inlineLimit: createLimiter(
      "inline-validation",
      config.INLINE_PER_MINUTE,
      "Too many inline validations. Wait, or use the asynchronous mode.",
    ),
    eventLimit: {
      bytesMax: config.PAYLOAD_BYTES_MAX + ENVELOPE_BYTES,
      toldMax: config.PAYLOAD_BYTES_MAX,
      path: "payload",
    },
    bodyLimit: { bytesMax: config.BODY_BYTES_MAX, toldMax: config.BODY_BYTES_MAX, path: "" },
    isDraining: () => isDraining,
    log,
    now,
  });
  const routes = createRoutes(await routesDeps(config, backends, identity, validator));
  const app = createApp({
    routes: [...routes, ...healthRoutes({ readiness: probes.state })],
    pipeline,
    log,
    trustProxy: config.TRUST_PROXY,
  });
  const server = createServer({
    app,
    headerBytesMax: config.HEADER_BYTES_MAX,
    headersTimeoutMs: config.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: config.BODY_TIMEOUT_MS,
    log,
  });
  const port = await listen(server, config.HOST, config.PORT);
  lifecycle.opened("server", () => {
    isDraining = true;
    probes.drain();
    return drain(server, config.DRAIN_MS);
  });
  return urlOf(config.HOST, port);
}

async function routesDeps(
  config: Config,
  { catalog, queue, events, profiles }: Backends,
  identity: Identity,
  validator: Validator,
): Promise<RoutesDeps> {
  const cursors = createCursors(await catalog.secret());
  const limits = { identifiersMax: config.IDENTIFIERS_MAX, namespacesMax: config.NAMESPACES_MAX };
  const collect: CollectDeps = {
    ...limits,
    catalog,
    queue,
    events,
    validator: {
      check: (schema, payload, bytes) => validator.check(schema, payload, bytes),
      checkAll: (schema, bytes) => validator.checkAll(schema, bytes),
      extract: (schema, payload) => extract(validator.plan(schema), payload),
    },
    payloadBytesMax: config.PAYLOAD_BYTES_MAX,
    depthMax: config.DEPTH_MAX,
  };
  const examiner = {
    examine: (workspace: WorkspaceId, schema: unknown, bytes: number) =>
      examineSchema(schema, bytes, validator.thread, workspace),
    incompatibilities,
  };
  return {
    collect,
    identify: { ...limits, catalog, identity },
    profiles: { catalog, identity, profiles, events, cursors, identifiersMax: config.PROFILE_IDENTIFIERS_MAX },
    events: { events, identity },
    schemas: { catalog, examiner, cursors },
    datasets: { catalog, cursors },
    namespaces: { catalog, cursors },
    deadLetters: { events, cursors },
    keys: { catalog, cursors, rotationGraceS: config.KEY_ROTATION_GRACE_S },
    workspaces: config.OPERATOR_KEY === "" ? null : { catalog, cursors },
  };
}

/** An address that a client on this machine can use. */
function urlOf(host: string, port: number): string {
  const reachable =
    host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host;
  return `http://${reachable}:${port}`;
}
