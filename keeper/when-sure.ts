import type { Log } from "../core/log.js";
import type { Task } from "./task.js";

const WAIT_MS = 600_000;

/** A task that deletes by the clock, and waits while the clock may be wrong: what it deletes does not come back. */
export function whenSure(task: Task, { isSure, log }: { readonly isSure: () => boolean; readonly log: Log }): Task {
  let isHeld = false;
  return {
    ...task,
    step: async () => {
      const wasHeld = isHeld;
      isHeld = !isSure();
      if (!isHeld) return task.step();
      if (!wasHeld)
        log.warn(
          { task: task.name },
          "a task of the keeper waits for an hour, or for what a restart left of it: the clock went ahead by more than an hour, or the service was stopped for as long",
        );
      return WAIT_MS;
    },
  };
}
