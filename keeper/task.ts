/** A label of metrics and of log lines. */
export type TaskName = "retention" | "backfill" | "erasure";

/**
 * Something that a keeper does for as long as the process lives. Several processes do the same task at once, and any of them may end at
 * any point: each piece is idempotent.
 */
export interface Task {
  readonly name: TaskName;
  /** Does a piece that takes milliseconds. Answers in how many there may be something to do again; 0: there is more now. */
  step(): Promise<number>;
}
