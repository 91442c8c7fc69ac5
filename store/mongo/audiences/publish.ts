import { sizesAfter, type Entry } from "../../../core/audience/seat.js";
import type { AudienceId } from "../../../core/ids.js";

/** What one save means to the feed. */
export interface Outgoing {
  /** Of this save and no other. */
  readonly origin: string;
  readonly entries: readonly Entry[];
}

/** The end of the feed. */
export interface Head {
  /** The last number. */
  readonly seq: number;
  readonly sizes: ReadonlyMap<AudienceId, number>;
}

/** Entries that are appended together, from `first` on. */
export interface Chunk {
  readonly first: number;
  readonly entries: readonly Entry[];
  readonly origins: readonly string[];
  /** The members of each audience after them. */
  readonly sizes: ReadonlyMap<AudienceId, number>;
}

export interface AppendSteps {
  readonly head: () => Promise<Head>;
  /** Those of the origins that stand in the feed. */
  readonly standing: (origins: readonly string[]) => Promise<ReadonlySet<string>>;
  /** False if another chunk begins with that number. */
  readonly insert: (chunk: Chunk) => Promise<boolean>;
}

/**
 * Appends what does not stand in the feed yet, whoever else does so at the same moment. The head is read first: whatever was appended
 * since takes the next number, so the insert fails and all is looked at again.
 */
export async function appendOnce(steps: AppendSteps, outgoing: readonly Outgoing[]): Promise<void> {
  for (let isIn = outgoing.length === 0; !isIn;) {
    const { seq, sizes } = await steps.head();
    const standing = await steps.standing(outgoing.map(({ origin }) => origin));
    const open = outgoing.filter(({ origin }) => !standing.has(origin));
    if (open.length === 0) return;
    const entries = open.flatMap((one) => one.entries);
    isIn = await steps.insert({
      first: seq + 1,
      entries,
      origins: open.map(({ origin }) => origin),
      sizes: sizesAfter(sizes, entries),
    });
  }
}
