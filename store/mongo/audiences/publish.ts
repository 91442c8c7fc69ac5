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

/** Of one chunk, so that whoever reads a page of the feed reads not much more; the entries of one save stay together. */
const ENTRIES_MAX = 1_000;

/**
 * Appends what does not stand in the feed yet, whoever else does so at the same moment. The head is read first: whatever was appended
 * since takes the next number, so the insert fails and all is looked at again.
 */
export async function appendOnce(steps: AppendSteps, outgoing: readonly Outgoing[]): Promise<void> {
  for (let rest = outgoing; rest.length > 0;) {
    const { seq, sizes } = await steps.head();
    const standing = await steps.standing(rest.map(({ origin }) => origin));
    rest = rest.filter(({ origin }) => !standing.has(origin));
    if (rest.length === 0) return;
    const next = firstOf(rest);
    const entries = next.flatMap((one) => one.entries);
    const isIn = await steps.insert({
      first: seq + 1,
      entries,
      origins: next.map(({ origin }) => origin),
      sizes: sizesAfter(sizes, entries),
    });
    if (isIn) rest = rest.slice(next.length);
  }
}

/** As many as a chunk takes, and at least one. */
function firstOf(outgoing: readonly Outgoing[]): readonly Outgoing[] {
  let count = 0;
  const end = outgoing.findIndex(({ entries }, n) => (count += entries.length) > ENTRIES_MAX && n > 0);
  return end === -1 ? outgoing : outgoing.slice(0, end);
}
