/** A label of metrics and of log lines. */
export type TaskName = "retention" | "tallies" | "feed" | "backfill" | "erasure" | "audiences" | "webhooks";

/**
 * Something that a keeper does for as long as the process lives. Several processes do the same task at once, and any of them may end at
 * any point: each piece is idempotent.
 */
export interface Task {
  readonly name: TaskName;
  /** Others make work for it: at rest it has found nothing to do after they have. */
  readonly isLast?: boolean;
  /** Part of it waits for a dependency, or for its time: it is not at rest, though it has nothing to do now. */
  readonly isWaiting?: () => boolean;
  /** For one that is hardly ever at rest: whether something waits for longer than it should. Otherwise what is not at rest is behind. */
  readonly isBehind?: () => boolean;
  /** Whether its last piece met something that had waited for too long: the keeper rests less then. */
  readonly hurries?: () => boolean;
  /** Does a piece that takes milliseconds. Answers in how many there may be something to do again; 0: there is more now. */
  step(): Promise<number>;
}
