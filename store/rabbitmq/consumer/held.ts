import type { Delivery } from "../../../core/ports/event-queue.js";
import type { Waiting } from "../../queue/schedule.js";
import type { QueueRole } from "../topology.js";
import type { Intake } from "./intake.js";

/** An unacknowledged message in memory. Times are on the monotonic clock, milliseconds. */
export interface Held extends Delivery, Waiting {
  readonly intake: Intake;
  readonly source: QueueRole;
  readonly tag: number;
  /** How often the broker took it back: unlike the crashes, each time counts though no copy was made. */
  readonly returns: number;
  readonly heldSince: number;
}
