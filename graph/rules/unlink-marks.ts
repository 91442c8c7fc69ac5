import type { UnlinkedPlan, UnlinkMark } from "../../core/identity/model.js";

/** An identifier keeps the latest so many: few are unlinked more than twice, and a mark must not cost more each time. */
export const UNLINK_MARKS_MAX = 16;

/**
 * The marks of an identifier after a plan, the latest first: that one says what is too old to count. They are a set, so that neither the
 * order of unlinks and reverts nor two of them at once decides what is left.
 */
export function marksAfter(
  marks: readonly UnlinkMark[],
  { at, changeId: by }: Omit<UnlinkedPlan, "key">,
): readonly UnlinkMark[] {
  const others = marks.filter((mark) => mark.by !== by);
  return at === null ? others : [...others, { at, by }].toSorted(latestFirst).slice(0, UNLINK_MARKS_MAX);
}

const latestFirst = (x: UnlinkMark, y: UnlinkMark): number => y.at - x.at || (x.by < y.by ? 1 : -1);
