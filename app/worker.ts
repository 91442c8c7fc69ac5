import { extract } from "../core/schema/extract.js";
import { createWorker, type Worker } from "../worker/worker.js";
import type { Parts } from "./parts.js";

/** Handles messages until the lifecycle closes. */
export function startWorker({ config, log, now, backends, identity, validator, lifecycle, telemetry }: Parts): Worker {
  const worker = createWorker({
    ...backends,
    identity,
    contribute: (schema, payload, unfolded) => {
      const { traits } = extract(validator.plan(schema), payload);
      return unfolded.length === 0 ? traits : traits.filter(({ path }) => !unfolded.includes(path));
    },
    log,
    metrics: telemetry.metrics,
    batchMax: config.WORKER_BATCH_MAX,
    triesMax: config.WORKER_TRIES_MAX,
    crashesMax: config.WORKER_CRASHES_MAX,
    now,
  });
  lifecycle.opened("worker", () => worker.close());
  worker.start();
  return worker;
}
