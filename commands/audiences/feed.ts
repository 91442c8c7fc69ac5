import { isWanted, type EntryFilter } from "../../core/audience/feed.js";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { FeedPage, Numbered } from "../../core/ports/seat-store.js";
import type { Services } from "../services.js";

export interface FeedAsked {
  readonly after: number;
  readonly limit: number;
  /** Seconds to wait until there is an entry. */
  readonly wait: number;
  readonly filter: EntryFilter;
  /** Nobody waits any more. */
  readonly isGone: () => boolean;
}

export interface FeedRead {
  readonly entries: readonly Numbered[];
  /** What to read on after; entries up to here that are not answered were not wanted. */
  readonly next: number;
  readonly head: number;
  readonly oldest: number;
}

const PER_READ = 1_000;
/** Entries that one answer looks through: beyond them the client asks again. */
const LOOKED_AT_MAX = 10_000;

/** Throws `unknown_position` and `feed_trimmed`. */
export async function readFeed(
  { seats, waiting }: Pick<Services, "seats" | "waiting">,
  workspace: WorkspaceId,
  { after, limit, wait, filter, isGone }: FeedAsked,
): Promise<FeedRead> {
  // What was looked through is not looked through again.
  let at = after;
  const read = async (): Promise<FeedRead & { readonly isWhole: boolean }> => {
    const wanted: Numbered[] = [];
    for (let looked = 0; ;) {
      const page = await seats.feed(workspace, at, PER_READ);
      requirePosition(at, page);
      for (const numbered of page.entries) {
        if (wanted.length === limit) break;
        at = numbered.seq;
        if (isWanted(numbered.entry, filter)) wanted.push(numbered);
      }
      looked += page.entries.length;
      const isWhole = page.entries.length < PER_READ;
      if (isWhole || wanted.length === limit || looked >= LOOKED_AT_MAX)
        return { entries: wanted, next: at, head: page.head, oldest: page.oldest, isWhole };
    }
  };
  const isDone = ({ entries, isWhole }: Awaited<ReturnType<typeof read>>): boolean =>
    entries.length > 0 || !isWhole || isGone();
  return waiting.until(workspace, read, isDone, wait);
}

/** Throws where the feed cannot be read on from there. */
export function requirePosition(after: number, { head, oldest, entries }: FeedPage): void {
  if (after > head) {
    const message = `the feed ends at ${head}`;
    throw new AppError("unknown_position", `after: ${message}. Read the members again.`, {
      errors: [{ path: "after", message }],
      members: { head },
    });
  }
  if (!isTrimmed(after, { oldest, entries })) return;
  const message = `the feed begins at ${oldest}`;
  throw new AppError("feed_trimmed", `after: ${message}. Read the members again, then the feed after head.`, {
    errors: [{ path: "after", message }],
    members: { oldest, head },
  });
}

/** What came next is kept no more. It may have gone between two reads of one answer. */
export const isTrimmed = (after: number, { oldest, entries }: Pick<FeedPage, "oldest" | "entries">): boolean =>
  oldest > after + 1 || (entries[0] !== undefined && entries[0].seq > after + 1);
