import { createWriteStream, writeFileSync } from "node:fs";
import path from "node:path";
import { openScratch } from "../../shared/scratch.js";
import type { BatchOperation } from "../load/batch.js";
import type { Operation } from "../load/operation.js";

/** What a client knows of one operation. */
export interface Entry {
  readonly operation: Operation;
  /** Of the last try. `unknown`: no answer, or a 503; it may have been applied or not. */
  result: "unknown" | "acknowledged";
  /** As answered to an acknowledged event. */
  eventId: string | null;
  /** As answered to an acknowledged identify or alias. */
  profileId: string | null;
}

interface Answered {
  readonly status: number;
  readonly eventId?: string;
  readonly profileId?: string;
  readonly retired?: readonly string[];
}

export type History = ReturnType<typeof openHistory>;

/** All that the clients did and saw, in memory for the checks and in a file for people. */
export function openHistory() {
  const { folder, remove } = openScratch("drill-history");
  const file = path.join(folder, "history.jsonl");
  const stream = createWriteStream(file);
  const entries = new Map<number, Entry>();
  const profileIds = new Map<string, number>();
  const atomic: BatchOperation[] = [];
  const write = (what: string, operation: Operation, fields: object): void =>
    void stream.write(`${JSON.stringify({ at: performance.now(), what, id: operation.id, ...fields })}\n`);
  /** Writes what is not written. */
  const close = (): Promise<void> => new Promise((resolve) => stream.end(resolve));
  return {
    file,
    invoked: (operation: Operation): void => {
      const { site, path, body } = operation;
      write("invoked", operation, { site, path, body });
      if (!entries.has(operation.id))
        entries.set(operation.id, { operation, result: "unknown", eventId: null, profileId: null });
    },
    /** Before its events are invoked. */
    batched: (batch: BatchOperation): void => {
      if (batch.isAtomic) atomic.push(batch);
    },
    unansweredAtomic: (): readonly BatchOperation[] =>
      atomic.filter(({ events }) => entries.get(events[0]!.id)!.result === "unknown"),
    /** Answers the event id of an earlier acknowledgement, or null. */
    acknowledged: (operation: Operation, answered: Answered): string | null => {
      write("acknowledged", operation, answered);
      const entry = entries.get(operation.id)!;
      const earlier = entry.eventId;
      entry.result = "acknowledged";
      entry.eventId = answered.eventId ?? null;
      entry.profileId = answered.profileId ?? null;
      for (const profileId of [answered.profileId, ...(answered.retired ?? [])])
        if (profileId !== undefined) profileIds.set(profileId, operation.site);
      return earlier;
    },
    unknown: (operation: Operation, why: string): void => write("unknown", operation, { why }),
    entries: (): readonly Entry[] => [...entries.values()],
    /** Every profile id that was ever answered, with the site that it was answered to. */
    profileIds: (): ReadonlyMap<string, number> => profileIds,
    /** Keeps what the service wrote, beside the file. */
    keepLog: (log: string): void => writeFileSync(path.join(folder, "service.log"), log),
    close,
    /** Closes and removes the file. */
    drop: () => close().then(remove),
  };
}
