import type { Purge } from "../commands/erasures/purge.js";
import type { TimeOf } from "../core/clock.js";
import type { Config } from "../core/config.js";
import type { Identity } from "../core/identity/api.js";
import type { Log } from "../core/log.js";
import type { Metrics } from "../core/metrics.js";
import type { StatsStore } from "../core/stats.js";
import type { Validator } from "../core/schema/validation/validator.js";
import type { Backends } from "./backends.js";
import type { Lifecycle } from "./lifecycle.js";
import type { Telemetry } from "./telemetry/registry.js";
import type { Tracing } from "./telemetry/tracing.js";

/** What the halves of the service, gateway and worker, are built from. */
export interface Parts {
  readonly config: Config;
  readonly log: Log;
  readonly now: TimeOf;
  /** The machine's clock, which may go back; to ask it writes nothing. */
  readonly machine: () => number;
  /** Milliseconds since whenever; never jumps. */
  readonly steady: () => number;
  /** Whether what cannot be taken back may go by it. */
  readonly isClockSure: () => boolean;
  /** How far it is behind the installation's time. */
  readonly clockBehindMs: () => number;
  readonly backends: Backends;
  readonly identity: Identity;
  readonly validator: Validator;
  /** Of the files of this process. */
  readonly purge: Purge;
  readonly lifecycle: Lifecycle;
  readonly telemetry: Telemetry;
  readonly tracing: Tracing;
  /** Those of the process, and the statistics of workspaces with them. */
  readonly metrics: Metrics;
  readonly stats: Pick<StatsStore, "read">;
}
