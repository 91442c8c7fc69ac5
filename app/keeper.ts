import { createKeeper, type Keeper } from "../keeper/keeper.js";
import { createRetention } from "../keeper/retention.js";
import type { Parts } from "./parts.js";

/**
 * Works in the background until the lifecycle closes. By the machine's clock: who asks the service's makes it write, and a service that
 * nobody uses writes nothing.
 */
export function startKeeper(parts: Parts, now: () => number): Keeper {
  const { log, lifecycle, telemetry, backends } = parts;
  const tasks = [createRetention({ ...backends, now: parts.now })];
  const keeper = createKeeper({ tasks, log, metrics: telemetry.metrics, now });
  lifecycle.opened("keeper", () => keeper.close());
  keeper.start();
  return keeper;
}
