import type { AudienceId, ProfileId } from "../ids.js";

/** What is stored of the audiences that one profile is in. */
export interface Seat {
  readonly profileId: ProfileId;
  readonly memberships: readonly Membership[];
  /** When time alone may change one of them, milliseconds since 1970; maybe too early, never too late. Null: never. */
  readonly due: number | null;
}

export interface Membership {
  readonly audienceId: AudienceId;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/**
 * Why somebody entered or left. `changed`: the profile did. `time`: a window ended or an instant came. `merged`, `split`: by a change of
 * who is whom. `rule`: the audience got another rule. `built`: it is new. `erased`: the person was.
 */
export const CAUSES = ["changed", "time", "merged", "split", "rule", "built", "erased"] as const;
export type Cause = (typeof CAUSES)[number];

/** One line of the feed of a workspace. Ids alone, so that an erasure need not rewrite it. */
export type Entry =
  | {
      readonly type: "entered" | "left";
      /** Milliseconds since 1970, like each `at` here. */
      readonly at: number;
      readonly audienceId: AudienceId;
      readonly profileId: ProfileId;
      readonly cause: Cause;
      /** The profile that it merged into. */
      readonly into: ProfileId | null;
    }
  | { readonly type: "audience_deleted"; readonly at: number; readonly audienceId: AudienceId }
  | { readonly type: "profile_erased"; readonly at: number; readonly profileId: ProfileId };

/** Whether a profile is in an audience, and until when that holds if its data stays: milliseconds since 1970, or Infinity. */
export interface Judged {
  readonly audienceId: AudienceId;
  /** Null: that is to be told later, and stays as it is in the seat. */
  readonly is: boolean | null;
  readonly until: number;
  /** Of this audience alone; null: as of the look. */
  readonly cause: Cause | null;
}

export interface Look {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly cause: Cause;
  /** Of a profile that is no more, the one that it merged into. */
  readonly into: ProfileId | null;
}

/** The seat after a look that judged all audiences, and who entered or left. An audience that was not judged is no more. */
export function seatAfter(
  seat: Seat,
  judged: readonly Judged[],
  { at, cause, into }: Look,
): { readonly seat: Seat; readonly entries: readonly Entry[] } {
  const { profileId } = seat;
  const before = new Map(seat.memberships.map((membership) => [membership.audienceId, membership]));
  const entries: Entry[] = [];
  const memberships: Membership[] = [];
  let due = Infinity;
  for (const { audienceId, is, until, cause: own } of judged) {
    due = Math.min(due, until);
    const standing = before.get(audienceId);
    before.delete(audienceId);
    const isIn = is ?? standing !== undefined;
    if (isIn) memberships.push(standing ?? { audienceId, since: at });
    if (isIn === (standing !== undefined)) continue;
    entries.push({ type: isIn ? "entered" : "left", at, audienceId, profileId, cause: own ?? cause, into });
  }
  // A deleted audience tells so once, and not for each of its members.
  const isKept = entries.length === 0 && isSoonEnough(seat.due, due, at);
  return { seat: { profileId, memberships, due: isKept ? seat.due : due === Infinity ? null : due }, entries };
}

/**
 * A due time that stands is left when it is no more than half of the way too early: then a profile of many events is written once in a
 * window, and looked at once more, instead of being written after each.
 */
const isSoonEnough = (standing: number | null, due: number, at: number): boolean =>
  standing !== null && due !== Infinity && standing <= due && standing - at >= (due - at) / 2;

/** Nothing has to be kept of it. */
export const isEmptySeat = ({ memberships, due }: Seat): boolean => memberships.length === 0 && due === null;

export const isSameSeat = (a: Seat, b: Seat): boolean =>
  a.due === b.due &&
  a.memberships.length === b.memberships.length &&
  a.memberships.every(({ audienceId, since }, n) => {
    const other = b.memberships[n]!;
    return audienceId === other.audienceId && since === other.since;
  });

/** How many members each audience has after these entries; those without any are left out. */
export function sizesAfter(
  sizes: ReadonlyMap<AudienceId, number>,
  entries: readonly Entry[],
): ReadonlyMap<AudienceId, number> {
  const after = new Map(sizes);
  for (const entry of entries) {
    if (entry.type === "entered") after.set(entry.audienceId, (after.get(entry.audienceId) ?? 0) + 1);
    if (entry.type === "left") after.set(entry.audienceId, (after.get(entry.audienceId) ?? 0) - 1);
    if (entry.type === "audience_deleted") after.delete(entry.audienceId);
    else if (entry.type === "left" && after.get(entry.audienceId) === 0) after.delete(entry.audienceId);
  }
  return after;
}

/** By this name an entry of no seat stands in the feed once. Null: it is of a seat. */
export function originOf(entry: Entry): string | null {
  if (entry.type === "audience_deleted") return `deleted:${entry.audienceId}`;
  return entry.type === "profile_erased" ? `erased:${entry.profileId}` : null;
}
