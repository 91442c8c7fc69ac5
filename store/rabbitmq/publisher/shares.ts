/** What a workspace publishes within its share is not behind what another one publishes beyond its own. */
export interface Shares {
  /** Whether so many messages of so many bytes are within the workspace's share, from which they then are taken. */
  take(workspace: string, messages: number, bytes: number): boolean;
  /** Workspaces that are not forgotten. */
  known(): number;
}

/** Of one process and workspace. */
const MESSAGES_PER_SECOND = 100;
const BYTES_PER_SECOND = 256 * 1_024;
/** So many whole shares are given: one queue has one leader, which must not carry all that many small workspaces send. */
const SHARES = 20;
/** So much of it may come at once: a batch of an SDK. */
const BURST_MS = 1_000;
/** Of one message of the express queue. */
export const EXPRESS_BYTES_MAX = (BYTES_PER_SECOND * BURST_MS) / 1_000;
/** Workspaces that used nothing of late are forgotten where there are so many. */
const KNOWN_MAX = 10_000;

/** A rate with bursts by one number for each workspace, as ATM Forum's generic cell rate algorithm has it. `now`: monotonic, milliseconds. */
export function createShares(now: () => number = () => performance.now()): Shares {
  /** When each has its whole share again. */
  const wholeAt = new Map<string, number>();
  let allWholeAt = 0;
  return {
    take: (workspace, messages, bytes) => {
      const time = now();
      const costMs = 1_000 * Math.max(messages / MESSAGES_PER_SECOND, bytes / BYTES_PER_SECOND);
      const at = Math.max(time, wholeAt.get(workspace) ?? 0) + costMs;
      const allAt = Math.max(time, allWholeAt) + costMs / SHARES;
      if (Math.max(at, allAt) > time + BURST_MS) return false;
      if (wholeAt.size >= KNOWN_MAX) for (const [known, whole] of wholeAt) if (whole <= time) wholeAt.delete(known);
      wholeAt.set(workspace, at);
      allWholeAt = allAt;
      return true;
    },
    known: () => wholeAt.size,
  };
}
