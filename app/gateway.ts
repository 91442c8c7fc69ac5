import { ENVELOPE_BYTES } from "../commands/acceptance/submission.js";
import { createQuarantine } from "../commands/quarantine.js";
import { remainsOf } from "../commands/erasures/remains.js";
import type { Services } from "../commands/services.js";
import { AppError } from "../core/errors.js";
import { describeError } from "../core/log.js";
import type { LiveChannel } from "../core/ports/live-channel.js";
import { createLive, NO_LIVE, watchedQueue, type Live } from "../commands/live/live.js";
import { createWaiting, type Waiting } from "../commands/waiting.js";
import { createAuthenticator, type Authenticator } from "../gateway/access/authenticate.js";
import { createFailedLogins } from "../gateway/access/failed-logins.js";
import { createItemLimit } from "../gateway/access/item-limit.js";
import { createConsoleKeys, type ConsoleKeys } from "../gateway/access/console-key.js";
import { createLimiter } from "../gateway/access/rate-limit.js";
import { createByteBudget } from "../gateway/body/budget.js";
import { createBytesInFlight } from "../gateway/http/bytes-in-flight.js";
import type { MetricsPage } from "../gateway/http/page-router.js";
import { createStages, type Stages } from "../gateway/http/stages.js";
import type { Stopping } from "../gateway/http/stopping.js";
import { createSlots } from "../gateway/stream/slots.js";
import { createWorkspaceTurns } from "../gateway/http/turns/workspace.js";
import type { Route } from "../gateway/route.js";
import { createRoutes } from "../gateway/routes.js";
import { createSdkDoor } from "../gateway/sdk/door.js";
import { createCursors } from "../gateway/shapes/cursors.js";
import { createMemoryLiveChannel } from "../store/memory-live.js";
import { createOutbound } from "../keeper/webhooks/outbound.js";
import type { Parts } from "./parts.js";

const MIB = 1_048_576;
/** Inflated. */
const BATCH_BYTES_MAX = 4 * MIB;

export const consoleKeysOf = async ({ config, now, backends }: Parts): Promise<ConsoleKeys> =>
  createConsoleKeys({
    catalog: backends.catalog,
    secret: await backends.catalog.secret(),
    publicUrl: config.PUBLIC_URL,
    now,
  });

export const authenticatorOf = ({ config, now, machine, backends }: Parts, consoleKeys?: ConsoleKeys): Authenticator =>
  createAuthenticator({
    catalog: backends.catalog,
    operatorKey: config.OPERATOR_KEY,
    metricsKey: config.METRICS_KEY,
    ...(consoleKeys && { consoleKeys }),
    failures: createFailedLogins({
      windows: backends.windows(),
      perMinute: config.AUTH_FAILURES_PER_MINUTE,
      now: machine,
    }),
    now,
  });

/** What every request of this process goes through. */
export async function stagesOf(
  { config, log, now, backends, metrics, telemetry, tracing }: Parts,
  authenticator: Authenticator,
  stopping: Stopping,
): Promise<Stages> {
  // A line of an export has the payload of an event, and what stands around it.
  const lineBytes = Math.max(BATCH_BYTES_MAX, config.PAYLOAD_BYTES_MAX + MIB);
  const bodyBytes = createByteBudget({
    bytesMax: 64 * MIB,
    ownerBytesMax: 48 * MIB,
    // More than the largest body that settings allow.
    comingBytesMax: 24 * MIB,
    refusal: (isOwn) =>
      new AppError(
        isOwn ? "rate_limited" : "unavailable",
        isOwn ? "Too many large bodies of this workspace are in flight." : "Too many large bodies are in flight.",
        { headers: { "Retry-After": "2" } },
      ),
  });
  return createStages({
    authenticator,
    catalog: backends.catalog,
    itemLimit: createItemLimit(backends.windows()),
    inlineLimit: createLimiter(backends.windows(), {
      name: "inline-validation",
      perMinute: config.INLINE_PER_MINUTE,
      detail: "Too many checks with syncValidation=true in this minute.",
    }),
    eventLimit: {
      bytesMax: config.PAYLOAD_BYTES_MAX + ENVELOPE_BYTES,
      toldMax: config.PAYLOAD_BYTES_MAX,
      path: "payload",
    },
    bodyLimit: { bytesMax: config.BODY_BYTES_MAX, toldMax: config.BODY_BYTES_MAX, path: "" },
    batchLimit: { bytesMax: BATCH_BYTES_MAX, toldMax: BATCH_BYTES_MAX, path: "" },
    linesLimit: { bytesMax: lineBytes, toldMax: lineBytes, path: "" },
    bodyBytes,
    bytesInFlight: createBytesInFlight(),
    takeSlot: createSlots(),
    enterTurn: createWorkspaceTurns(),
    cursors: createCursors(await backends.catalog.secret()),
    sdkDoor: createSdkDoor({
      authenticator,
      bodies: bodyBytes,
      bodyBytesMax: config.SDK_BODY_BYTES_MAX,
    }),
    stopping,
    meterOf: telemetry.meterOf,
    traced: tracing.traced,
    metrics,
    log,
    now,
  });
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i;

/** Open where only this machine can ask. A proxy asks for everybody, so behind one the key is needed too. */
export function metricsPageOf({ config, telemetry }: Parts, authenticator: Authenticator): MetricsPage | null {
  const { read } = telemetry;
  if (config.METRICS_KEY !== "")
    return { read, admit: (request, response) => authenticator.metrics(request, response) };
  const isOpen = LOOPBACK.test(config.HOST) && config.TRUST_PROXY === 0;
  return isOpen ? { read, admit: async () => {} } : null;
}

export type ServiceParts = Pick<
  Parts,
  "config" | "log" | "now" | "backends" | "identity" | "validator" | "purge" | "metrics" | "stats"
>;

/** What a process has once, for all its requests. */
export interface ServiceNeeds {
  readonly waiting: Waiting;
  readonly live: Live;
  /** Where it listens. */
  readonly address: () => string;
}

export const servicesOf = (
  { config, log, now, backends, identity, validator, purge, metrics, stats }: ServiceParts,
  { waiting, live, address }: ServiceNeeds = { waiting: createWaiting(), live: NO_LIVE, address: () => "" },
): Services => ({
  ...backends,
  queue: watchedQueue(backends.queue, live),
  live,
  identity,
  validator,
  waiting,
  log,
  metrics,
  stats,
  erasures: backends.graph,
  movements: backends.graph,
  purge,
  outbound: createOutbound({ allowsPrivate: config.WEBHOOK_PRIVATE === 1 }),
  now,
  remains: remainsOf(config),
  quarantine: createQuarantine({
    perMinute: config.QUARANTINE_PER_MINUTE,
    bytesPerDay: config.QUARANTINE_BYTES_PER_DAY,
  }),
  publicUrl: () => config.PUBLIC_URL || address(),
  limits: {
    payloadBytesMax: config.PAYLOAD_BYTES_MAX,
    depthMax: config.DEPTH_MAX,
    identifiersMax: config.IDENTIFIERS_MAX,
    namespacesMax: config.NAMESPACES_MAX,
    traitsMax: config.TRAITS_MAX,
    profileIdentifiersMax: config.PROFILE_IDENTIFIERS_MAX,
    rotationGraceMs: config.KEY_ROTATION_GRACE_S * 1_000,
    catalogLagMs: config.MONGODB_URL === "" ? 0 : config.KEY_CACHE_MS + config.CATALOG_STALE_MS,
  },
});

/** The routes under `/v1`; those of the operator only where there is one. */
export const apiRoutes = (parts: ServiceParts, needs: ServiceNeeds): readonly Route[] =>
  createRoutes(servicesOf(parts, needs)).filter(
    ({ access }) => access.kind !== "operator" || parts.config.OPERATOR_KEY !== "",
  );

/** What comes in at this process, and on servers at all others too, for those who watch. */
export async function openLive(parts: Parts): Promise<Live> {
  const channel = await openChannel(parts);
  parts.lifecycle.opened("live channel", () => channel.close());
  const { graph } = parts.backends;
  const live = createLive({ channel, lastErased: (workspace) => graph.lastErasedAt(workspace) });
  parts.lifecycle.opened("live", async () => live.close());
  return live;
}

async function openChannel({ config, log }: Parts): Promise<LiveChannel> {
  const { RABBITMQ_URL: url, RABBITMQ_QUEUE: name, MODE } = config;
  if (url === "" || MODE === "worker") return createMemoryLiveChannel();
  // Loaded only where it is used, like every driver.
  const { openRabbitLiveChannel } = await import("../store/rabbitmq/live.js");
  return openRabbitLiveChannel({
    url,
    name,
    onError: (message, error) => log.warn({ cause: describeError(error) }, message),
  });
}
