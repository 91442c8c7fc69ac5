import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { DropReason } from "../../core/event/event.js";
import type { Door, Metrics, TimedStore } from "../../core/metrics.js";
import type { RouteMeter } from "../../gateway/http/meter.js";
import { createCounter, createHistogram, createNamedCounter } from "./cells.js";

/** What is asked only when somebody reads the metrics. */
export interface Watched {
  /** Messages that are not done. */
  readonly depth: () => Promise<number>;
  /** When the oldest of them was accepted, milliseconds since 1970; null if there is none. Absent where no worker looks. */
  readonly oldest?: () => Promise<number | null>;
  /** Part -> whether it answers. */
  readonly parts: () => Readonly<Record<string, boolean>>;
  /** Task of the keeper -> for how long it has been behind, milliseconds. Absent where no keeper runs. */
  readonly lags?: () => ReadonlyMap<string, number>;
  /** Erasures that are not completed, and since when the oldest of them. Absent where no keeper runs. */
  readonly erasures?: () => Promise<{ readonly open: number; readonly oldestAt: number | null }>;
  /** How far the machine's clock is behind the installation's time. */
  readonly clockBehindMs: () => number;
  readonly now: () => number;
}

export interface Telemetry {
  readonly metrics: Metrics;
  /** How a route is measured; asked once for each. `path` is the row's, with its `:parameters`, and never what a client asked for. */
  readonly meterOf: (method: string, path: string) => RouteMeter;
  /** In the format of Prometheus. */
  readonly read: () => Promise<{ readonly type: string; readonly text: string }>;
  readonly watch: (watched: Watched) => void;
  /** `lagMs`: for how long the webhook that is furthest behind has not told what stood in the feed then. */
  readonly watchWebhooks: (lagMs: () => number) => void;
}

/** Looking at the event loop wakes the process so often, milliseconds; by default every 10. */
const LOOP_LOOK_MS = 50;
let processRegistry: Registry | null = null;

/** Of the process, however many services run in it; watched only once somebody reads, for that costs a little for ever. */
function ofProcess(): Registry {
  if (processRegistry !== null) return processRegistry;
  processRegistry = new Registry();
  collectDefaultMetrics({ register: processRegistry, eventLoopMonitoringPrecision: LOOP_LOOK_MS });
  return processRegistry;
}

const REQUEST_BOUNDS = [0.005, 0.025, 0.1, 0.5, 2.5, 10];
const COMMIT_BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5];
const WAIT_BOUNDS = [0.001, 0.01, 0.1, 1, 5];
const FOLD_BOUNDS = [0.05, 0.25, 1, 5, 30, 120, 600, 3_600];

const LETTER_REASONS: readonly string[] = [
  "crashed",
  "damaged",
  "idempotency_mismatch",
  "internal",
  "invalid_json",
  "not_an_onym_message",
  "quarantined",
  "rejected",
  "unknown_message_version",
  "unknown_schema",
  "unknown_workspace",
  "validation_failed",
];

/** Everything that `/metrics` shows, in a registry of its own: two services in one process, as in tests, share nothing. */
export function createTelemetry(version: string): Telemetry {
  const registry = new Registry();
  new Gauge({
    name: "onym_build_info",
    help: "1; the version of the service",
    labelNames: ["version", "node"],
    registers: [registry],
  }).set({ version, node: process.version }, 1);
  return {
    metrics: metricsOf(registry),
    meterOf: createMeters(registry),
    watch: (watched) => watchGauges(registry, watched),
    watchWebhooks: (lagMs) => watchWebhooks(registry, lagMs),
    read: async () => ({
      type: registry.contentType,
      text: `${await registry.metrics()}\n${await ofProcess().metrics()}`,
    }),
  };
}

function createMeters(registry: Registry): Telemetry["meterOf"] {
  const requests = createCounter(registry, { name: "onym_http_requests_total", help: "Answered requests" }, [
    "route",
    "method",
    "status",
  ]);
  const durations = createHistogram(
    registry,
    { name: "onym_http_request_duration_seconds", help: "From the request's head to the answer's head" },
    REQUEST_BOUNDS,
  );
  return (method, route) => {
    const counts: (ReturnType<typeof requests> | undefined)[] = [];
    let observe: ReturnType<typeof durations> | null = null;
    return {
      answered: (status, ms) => {
        // Made when they are first needed: most routes have most statuses never.
        (counts[status] ??= requests({ route, method, status: String(status) })).value += 1;
        (observe ??= durations({ route, method }))(ms / 1_000);
      },
    };
  };
}

function metricsOf(registry: Registry): Metrics {
  const named = (name: string, help: string, label: string) => createNamedCounter(registry, { name, help }, label);
  const timed = (name: string, help: string, bounds: readonly number[]) =>
    createHistogram(registry, { name, help }, bounds);

  const accepted = named("onym_events_accepted_total", "Events that were answered as accepted", "source");
  const rejected = named("onym_events_rejected_total", "Events and whole requests of events that were refused", "code");
  const quarantined = named("onym_events_quarantined_total", "Events that went into quarantine", "reason");
  const duplicates = createCounter(registry, {
    name: "onym_sdk_duplicates_total",
    help: "Repeats within one request of an SDK",
  })({});
  const mismatches = createCounter(registry, {
    name: "onym_sdk_mismatches_total",
    help: "Calls of SDKs with the messageId of another call, of which only the first is stored",
  })({});
  const letters = named("onym_dead_letters_total", "Messages that became dead letters", "reason");
  const dropped = named("onym_events_dropped_total", "Stored events that lost what they said", "reason");
  const changes = named("onym_identity_changes_total", "Assertions and undos, by what came of them", "outcome");
  const folds = timed(
    "onym_event_fold_delay_seconds",
    "From the acceptance of an event until it stands in its profile",
    FOLD_BOUNDS,
  )({});
  const waits = timed(
    "onym_identity_queue_wait_seconds",
    "Until the step of an assertion or undo begins",
    WAIT_BOUNDS,
  )({});
  const exports = named("onym_exports_total", "Exports that ended, by how", "outcome");
  const exportLines = createCounter(registry, { name: "onym_export_lines_total", help: "Lines that exports sent" })({});
  const commits = timed("onym_store_commit_seconds", "Until a write is durable", COMMIT_BOUNDS);
  const commitsOf = new Map<TimedStore, ReturnType<typeof commits>>();
  const commitOf = (store: TimedStore): ReturnType<typeof commits> => {
    const known = commitsOf.get(store) ?? commits({ store });
    commitsOf.set(store, known);
    return known;
  };
  const webhookTries = named(
    "onym_webhook_tries_total",
    "Batches that were sent to webhooks, by what came of it",
    "outcome",
  );
  const keeperRuns = named("onym_keeper_runs_total", "Pieces of its tasks that the keeper did", "task");
  const keeperFailures = named("onym_keeper_failures_total", "Pieces at which it failed", "task");
  // A rate needs a series from before its first event.
  for (const reason of LETTER_REASONS) letters(reason, 0);
  for (const outcome of ["delivered", "failed", "stopped"]) webhookTries(outcome, 0);
  for (const reason of ["erased", "expired"] satisfies readonly DropReason[]) dropped(reason, 0);
  for (const door of ["collect", "batch", "sdk"] satisfies readonly Door[]) accepted(door, 0);

  return {
    accepted: (door) => accepted(door),
    rejected: (code) => rejected(code),
    // It is no event, and `onym_http_requests_total` has its route and status.
    linkRefused: () => {},
    quarantined: (reason) => quarantined(reason),
    sdkDuplicates: (events) => {
      duplicates.value += events;
    },
    sdkMismatches: (events) => {
      mismatches.value += events;
    },
    folded: (delayMs) => folds(delayMs / 1_000),
    deadLetter: (reason) => letters(reason),
    dropped: (reason, events) => dropped(reason, events),
    identityChanged: (outcome) => changes(outcome),
    identityWaited: (ms) => waits(ms / 1_000),
    exported: (outcome, lines) => {
      exports(outcome);
      exportLines.value += lines;
    },
    committed: (store, ms) => commitOf(store)(ms / 1_000),
    webhookSent: (outcome) => webhookTries(outcome),
    keeperRan: (task, isFailed) => {
      keeperRuns(task, isFailed ? 0 : 1);
      keeperFailures(task, isFailed ? 1 : 0);
    },
  };
}

function watchGauges(registry: Registry, watched: Watched): void {
  const { depth, oldest, parts, lags, erasures, clockBehindMs, now } = watched;
  const gauge = (name: string, help: string, read: () => Promise<number>): void => {
    const one: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: async () => {
        // What cannot be asked now is left out: an old value, or a made-up one, would look like an answer.
        await read().then(
          (value) => one.set(value),
          () => one.remove(),
        );
      },
    });
  };
  gauge("onym_queue_messages", "Messages in the queue that are not done", depth);
  if (oldest !== undefined)
    gauge("onym_queue_oldest_seconds", "Age of the oldest message that is not done", async () => {
      const at = await oldest();
      return at === null ? 0 : Math.max(0, now() - at) / 1_000;
    });
  if (erasures !== undefined) {
    gauge("onym_erasures_open", "Erasures that are not completed", async () => (await erasures()).open);
    gauge("onym_erasures_oldest_seconds", "Age of the oldest erasure that is not completed", async () => {
      const { oldestAt } = await erasures();
      return oldestAt === null ? 0 : Math.max(0, now() - oldestAt) / 1_000;
    });
  }
  gauge(
    "onym_clock_behind_seconds",
    "How far the machine's clock is behind the installation's time",
    async () => clockBehindMs() / 1_000,
  );
  const up: Gauge = new Gauge({
    name: "onym_dependency_up",
    help: "1 if the part answers",
    labelNames: ["part"],
    registers: [registry],
    collect: () => {
      for (const [part, isUp] of Object.entries(parts())) up.set({ part }, isUp ? 1 : 0);
    },
  });
  if (lags === undefined) return;
  const lag: Gauge = new Gauge({
    name: "onym_keeper_lag_seconds",
    help: "For how long a task of the keeper has been behind",
    labelNames: ["task"],
    registers: [registry],
    collect: () => {
      for (const [task, ms] of lags()) lag.set({ task }, ms / 1_000);
    },
  });
}

function watchWebhooks(registry: Registry, lagMs: () => number): void {
  const lag: Gauge = new Gauge({
    name: "onym_webhook_lag_seconds",
    help: "For how long the webhook that is furthest behind has not told what stood in the feed then",
    registers: [registry],
    collect: () => lag.set(lagMs() / 1_000),
  });
}
