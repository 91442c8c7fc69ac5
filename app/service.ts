import { aheadOf, type Clock } from "../core/clock.js";
import { ConfigError, type Config } from "../core/config.js";
import type { Identity } from "../core/identity/api.js";
import type { Rules } from "../core/identity/model.js";
import { rulesOf } from "../core/identity/rules.js";
import type { WorkspaceId } from "../core/ids.js";
import { describeError, type Log } from "../core/log.js";
import type { Metrics } from "../core/metrics.js";
import type { CatalogStore } from "../core/ports/catalog-store.js";
import type { StatsStore } from "../core/stats.js";
import { openValidator } from "../core/schema/validation/validator.js";
import { createPurge } from "../commands/erasures/purge.js";
import { logLacking } from "../commands/erasures/log-lacking.js";
import { restoreErasures } from "../commands/erasures/restore.js";
import { createWaiting } from "../commands/waiting.js";
import { readConsole } from "../gateway/console/files.js";
import { consoleRouter, type ConsoleDeps } from "../gateway/console/router.js";
import { createApp } from "../gateway/http/app.js";
import { withDocument } from "../gateway/openapi/route.js";
import { healthRoutes } from "../gateway/routes/watch/health.js";
import { createServer } from "../gateway/http/server.js";
import { createShutdown } from "../gateway/http/stopping.js";
import { createIdentity } from "../graph/identity.js";
import type { Keeper } from "../keeper/keeper.js";
import type { Worker } from "../worker/worker.js";
import { openBackends, requireOwnCatalog, type Backends } from "./backends.js";
import { startClock } from "./clock.js";
import { requireSettled } from "./move/marks.js";
import { nameServer } from "./start/fail.js";
import { firstStart } from "./start/first-start.js";
import { apiRoutes, authenticatorOf, consoleKeysOf, openLive, metricsPageOf, stagesOf } from "./gateway.js";
import { createLifecycle } from "./lifecycle.js";
import { drain, listen } from "./listen.js";
import type { AroundFold } from "../store/fold-by-pending.js";
import { startKeeper } from "./keeper.js";
import { createProgressLog } from "./logger.js";
import type { Parts } from "./parts.js";
import { startProbes } from "./readiness.js";
import { measureBackends, measureIdentity, timedCommit } from "./telemetry/measured.js";
import { createRecorder, withStats } from "./telemetry/recorder.js";
import { createTelemetry } from "./telemetry/registry.js";
import { openTracing } from "./telemetry/tracing.js";
import { VERSION } from "./telemetry/version.js";
import { startWorker } from "./worker.js";

export interface ServiceOptions {
  readonly config: Config;
  readonly log: Log;
  /** Decorates the ports; the drill uses it to kill the process at a chosen point. */
  readonly wrap?: (backends: Backends) => Backends;
  /** Replaces COMMIT of the embedded store in fault tests. */
  readonly commit?: (commit: () => void) => void;
  /** Comes between the steps of a fold on servers. */
  readonly aroundFold?: AroundFold;
  readonly now?: () => number;
  /** Milliseconds since whenever; never jumps. */
  readonly steady?: () => number;
  /** How far the time of a workspace is ahead of `now`, milliseconds; tests let days go by in one. */
  readonly ahead?: (workspace: WorkspaceId) => number;
}

export interface Service {
  readonly url: string;
  /** Where its console is; null where it serves none. */
  readonly consoleUrl: string | null;
  /** The owner key of the workspace that the first start on an embedded catalog creates; null at every later start. */
  readonly ownerKey: string | null;
  readonly backends: Backends;
  readonly identity: Identity;
  /** Null in a gateway. */
  readonly keeper: Keeper | null;
  /** Drains: running requests are answered, and accepted events stay queued. */
  close(): Promise<void>;
}

/** Opens, wires, listens. What was opened is closed again when a later step fails. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, log, now = Date.now, steady = () => performance.now() } = options;
  const lifecycle = createLifecycle(log);
  try {
    const telemetry = createTelemetry(VERSION);
    const { metrics: measured } = telemetry;
    await requireOwnCatalog(config);
    const opened = await openBackends(config, log, lifecycle, {
      commit: timedCommit(measured, options.commit),
      aroundFold: options.aroundFold,
    });
    const tracing = openTracing(VERSION);
    const backends = tracing.backends(measureBackends(options.wrap?.(opened) ?? opened, config, measured));
    const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
    lifecycle.opened("validator", () => validator.close());
    const installation = await startClock({
      catalog: backends.catalog,
      machine: now,
      steady,
      isShared: config.MONGODB_URL !== "",
      lifecycle,
      log,
    });
    // From here on a move sees this process.
    await requireSettled(backends.places);
    const clock = options.ahead === undefined ? installation : aheadOf(installation, options.ahead);
    const identity = tracing.identity(measureIdentity(identityOf(options, backends, clock, measured), measured));
    const { metrics, stats } = recordStats({ log, now: clock.now, backends, lifecycle }, measured);
    const parts: Parts = {
      config,
      log,
      now: clock.now,
      machine: now,
      steady,
      isClockSure: installation.isSure,
      clockBehindMs: installation.behindMs,
      backends,
      identity,
      validator,
      purge: createPurge(backends.purge),
      lifecycle,
      telemetry,
      tracing,
      metrics,
      stats,
    };
    if (config.MODE !== "gateway") await bringErasuresBack(parts);
    const worker = config.MODE === "gateway" ? null : startWorker(parts);
    const keeper = config.MODE === "gateway" ? null : startKeeper(parts);
    await requireWayIn(parts);
    const { url, consoleUrl } = await startServer(parts, worker, keeper);
    if (config.MODE !== "gateway") logErasuresBehind(parts);
    // The last part of the start: if the start failed afterwards, nobody would see the key. On a shared catalog two processes would each
    // create a workspace, so there the operator key creates the first one.
    const ownerKey = config.MONGODB_URL === "" ? await firstStart(backends.catalog, clock.now()) : null;
    return { url, consoleUrl, ownerKey, backends, identity, keeper, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw nameServer(error, config);
  }
}

/** What is asked of the statistics is never older than what this process counted. */
function recordStats(
  { log, now, backends: { stats }, lifecycle }: Pick<Parts, "log" | "now" | "backends" | "lifecycle">,
  measured: Metrics,
): Pick<Parts, "metrics" | "stats"> {
  const onError = (error: unknown): void =>
    log.warn({ cause: describeError(error) }, "statistics wait until they can be stored");
  const recorder = createRecorder({ store: stats, now, onError });
  lifecycle.opened("statistics", () => recorder.close());
  const read: StatsStore["read"] = async (workspace, fromMinute) => {
    await recorder.flush();
    return stats.read(workspace, fromMinute);
  };
  return { metrics: withStats(measured, recorder), stats: { read } };
}

/** The rules of each workspace as they stand now. */
export const rulesIn =
  (catalog: Pick<CatalogStore, "namespaces" | "identitySettings">) =>
  async (workspace: WorkspaceId): Promise<Rules> => {
    const [namespaces, settings] = await Promise.all([
      catalog.namespaces(workspace),
      catalog.identitySettings(workspace),
    ]);
    return rulesOf(namespaces, settings);
  };

function identityOf(
  { config, log }: ServiceOptions,
  { graph, catalog }: Backends,
  clock: Clock,
  metrics: Metrics,
): Identity {
  const { IDENTITY_TIMEOUT_MS: timeoutMs, PROFILE_TIMEOUT_MS: longTimeoutMs } = config;
  return createIdentity({
    graph,
    timeoutMs,
    longTimeoutMs,
    rulesOf: rulesIn(catalog),
    onProgress: createProgressLog(log),
    onLateFault: (error) => log.error(describeError(error), "a shared identifier could not be unlinked"),
    metrics,
    now: clock.tick,
  });
}

/** Ids are of their time, so the first is the oldest. */
async function openErasures({ graph }: Pick<Backends, "graph">) {
  const open = await graph.openErasures({ limit: OPEN_COUNTED_MAX, after: null });
  return { open: open.length, oldestAt: open[0]?.erasedAt ?? null };
}
const OPEN_COUNTED_MAX = 1_000;

/** Before anything of a restored store is shown or linked. */
async function bringErasuresBack({ backends, identity, now, log }: Parts): Promise<void> {
  const { graph: erasures, erasureLog, catalog } = backends;
  const count = await restoreErasures({ erasures, erasureLog, catalog, identity, now });
  if (count > 0) log.warn({ erasures: count }, "the store was restored: erasures that it did not know are run again");
}

/** It protects only the next restore, so nothing waits for it. */
function logErasuresBehind({ backends, now, log, lifecycle }: Parts): void {
  const { graph: erasures, erasureLog, catalog } = backends;
  const ending = new AbortController();
  const run = async (): Promise<void> => {
    try {
      const count = await logLacking({ erasures, erasureLog, catalog, now }, { signal: ending.signal });
      if (count > 0) log.warn({ erasures: count }, "the log of erasures was older than the store: it has them now");
    } catch (error) {
      log.error(describeError(error), "the log of erasures may lack some: the next start looks again");
    }
  };
  const ended = run();
  lifecycle.opened("log of erasures", () => {
    ending.abort();
    return ended;
  });
}

/**
 * On a shared catalog only the operator key creates the first workspace. Without a workspace and without an operator key nobody could
 * ever use the service.
 */
async function requireWayIn({ config, backends }: Parts): Promise<void> {
  if (config.MONGODB_URL === "" || config.MODE === "worker" || config.OPERATOR_KEY !== "") return;
  const [existing] = await backends.catalog.workspaces({ limit: 1, after: null });
  if (existing === undefined)
    throw new ConfigError("OPERATOR_KEY: must be set while there is no workspace: it makes the first one");
}

/** Every process answers the health routes; only a gateway answers the others. */
async function startServer(
  parts: Parts,
  worker: Worker | null,
  keeper: Keeper | null,
): Promise<Pick<Service, "url" | "consoleUrl">> {
  const { config, log, backends, lifecycle, telemetry } = parts;
  const asked = {
    queue: () => backends.queue.ready(),
    store: () => backends.events.ready(),
    graph: () => backends.graph.ready(),
    ...(worker && { worker: () => worker.ready() }),
  };
  // A gateway can accept events while documents and graph are away, so it must stay in the load balancer.
  const probes = startProbes(asked, config.MODE === "gateway" ? ["queue"] : ["queue", "store", "graph"]);
  lifecycle.opened("probes", () => probes.close());
  telemetry.watch({
    depth: () => backends.queue.depth(),
    ...(worker && { oldest: () => backends.queue.oldest() }),
    parts: () => probes.state().checks,
    ...(keeper && { lags: () => keeper.lags(), erasures: () => openErasures(backends) }),
    clockBehindMs: parts.clockBehindMs,
    now: parts.now,
  });
  const shutdown = createShutdown();
  const console = await openConsole(parts);
  const authenticator = authenticatorOf(parts, console?.keys);
  const waiting = createWaiting();
  const live = await openLive(parts);
  const health = healthRoutes({ readiness: probes.state });
  let url = "";
  const app = createApp({
    routes:
      config.MODE === "worker"
        ? health
        : withDocument([...apiRoutes(parts, { waiting, live, address: () => url }), ...health]),
    stages: await stagesOf(parts, authenticator, shutdown),
    metrics: parts.metrics,
    live,
    metricsPage: metricsPageOf(parts, authenticator),
    console: console === null ? null : consoleRouter({ ...console, authenticator }),
    log,
    trustProxy: config.TRUST_PROXY,
  });
  const server = createServer({
    app,
    headerBytesMax: config.HEADER_BYTES_MAX,
    headersTimeoutMs: config.HEADERS_TIMEOUT_MS,
    requestTimeoutMs: config.BODY_TIMEOUT_MS,
    stopping: shutdown,
    meter: telemetry.meterOf("other", "other"),
    log,
  });
  const port = await listen(server, config.HOST, config.PORT);
  lifecycle.opened("server", () => {
    shutdown.begin();
    waiting.drain();
    probes.drain();
    return drain(server, config.DRAIN_MS, shutdown);
  });
  url = urlOf(config.HOST, port);
  return { url, consoleUrl: console === null ? null : `${url}/console/` };
}

/** Null: this process serves none, because it is no gateway, it is told not to, or nobody built it. */
async function openConsole(parts: Parts): Promise<Omit<ConsoleDeps, "authenticator"> | null> {
  const files = parts.config.MODE === "worker" || parts.config.CONSOLE === "off" ? null : readConsole();
  return files === null ? null : { files, keys: await consoleKeysOf(parts) };
}

/** The address that a client on this machine can use. */
function urlOf(host: string, port: number): string {
  const reachable =
    host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host;
  return `http://${reachable}:${port}`;
}
