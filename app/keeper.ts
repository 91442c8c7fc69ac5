import type { EventRecord } from "../core/event/event.js";
import { encodeMessage } from "../core/event/message.js";
import type { WorkspaceId } from "../core/ids.js";
import { NO_METRICS } from "../core/metrics.js";
import type { Delivery } from "../core/ports/event-queue.js";
import { createAudienceTask } from "../keeper/audiences/task.js";
import { createBackfillTask } from "../keeper/backfill.js";
import { createFeedRetention } from "../keeper/feed.js";
import { createKeeper, type Keeper } from "../keeper/keeper.js";
import { createErasureTask } from "../keeper/erasure.js";
import { createRetention } from "../keeper/retention.js";
import type { Task } from "../keeper/task.js";
import { createTallyTask } from "../keeper/tallies.js";
import { createWebhookTask } from "../keeper/webhooks/task.js";
import { whenSure } from "../keeper/when-sure.js";
import { completeEvents } from "../worker/complete-events.js";
import { createSchemaReader } from "../worker/schemas.js";
import { servicesOf } from "./gateway.js";
import type { Parts } from "./parts.js";
import { stepOf } from "./worker.js";

/**
 * Works in the background until the lifecycle closes. By the machine's clock: who asks the service's makes it write, and a service that
 * nobody uses writes nothing.
 */
export function startKeeper(parts: Parts): Keeper {
  const { log, lifecycle, telemetry, backends, machine } = parts;
  const { purge } = parts;
  const services = servicesOf(parts);
  const webhooks = createWebhookTask({
    ...services,
    metrics: telemetry.metrics,
    log,
    isAlone: parts.config.MONGODB_URL === "",
  });
  const guarded = (task: Task): Task => whenSure(task, { isSure: parts.isClockSure, log });
  const tasks = [
    guarded(createRetention({ ...backends, log, now: parts.now })),
    guarded(createFeedRetention({ ...backends, days: parts.config.FEED_DAYS, now: parts.now })),
    createBackfillTask({ ...backends, complete: completeOf(parts), log, now: parts.now }),
    createErasureTask({ ...services, purge, log }),
    createTallyTask({ ...backends, log }),
    createAudienceTask({ ...services, marks: backends.marks, log, steady: parts.steady }),
    webhooks,
  ];
  const keeper = createKeeper({ tasks, log, metrics: telemetry.metrics, now: machine });
  lifecycle.opened("webhooks", () => webhooks.close());
  lifecycle.opened("keeper", () => keeper.close());
  keeper.start();
  telemetry.watchWebhooks(() => webhooks.lagMs());
  return keeper;
}

/** The worker's step, for events that are stored already. */
function completeOf(parts: Parts): (workspace: WorkspaceId, events: readonly EventRecord[]) => Promise<void> {
  const requireSchema = createSchemaReader(parts.backends.catalog);
  // They were received long ago: that says nothing about how long a fold takes.
  const deps = { ...stepOf(parts), metrics: NO_METRICS };
  return (workspace, events) =>
    completeEvents(
      deps,
      requireSchema,
      workspace,
      events.map((event, index) => ({ index, event, delivery: deliveryOf(event) })),
    );
}

const deliveryOf = (event: EventRecord): Delivery => ({
  message: encodeMessage(event),
  attempts: 0,
  failedAt: null,
  crashes: 0,
});
