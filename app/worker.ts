import { createLate } from "../commands/erasures/late.js";
import { outermostOf } from "../core/event/places.js";
import { extract } from "../core/schema/extract.js";
import type { Validator } from "../core/schema/validation/validator.js";
import type { CompleteDeps } from "../worker/complete-events.js";
import { createWorker, type Worker } from "../worker/worker.js";
import type { Parts } from "./parts.js";

/** What the worker takes events through all their stages with, without those it has for messages. */
export const stepOf = ({ backends, identity, validator, telemetry, purge, now }: Parts): CompleteDeps => ({
  ...backends,
  identity,
  late: createLate({ ...backends, identity, erasures: backends.graph, purge, now }),
  contribute: contributeWith(validator),
  metrics: telemetry.metrics,
  now,
});

export const contributeWith =
  (validator: Pick<Validator, "plan">): CompleteDeps["contribute"] =>
  (schema, payload, bytes, unfolded) => {
    const { traits } = extract(validator.plan(schema), payload, bytes);
    if (unfolded.length === 0) return traits;
    const outermost = outermostOf(unfolded);
    return traits.filter(({ path }) => outermost(path) === null);
  };

/** Handles messages until the lifecycle closes. */
export function startWorker(parts: Parts): Worker {
  const { config, log, backends, lifecycle } = parts;
  const worker = createWorker({
    ...backends,
    ...stepOf(parts),
    log,
    batchMax: config.WORKER_BATCH_MAX,
    triesMax: config.WORKER_TRIES_MAX,
    crashesMax: config.WORKER_CRASHES_MAX,
  });
  lifecycle.opened("worker", () => worker.close());
  worker.start();
  return worker;
}
