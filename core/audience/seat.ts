import type { AudienceId, ProfileId } from "../ids.js";

/** What is stored of the audiences that one profile is in. */
export interface Seat {
  readonly profileId: ProfileId;
  readonly memberships: readonly Membership[];
  /** Of the audiences that time alone may change, for this profile. */
  readonly untils: readonly Until[];
}

export interface Membership {
  readonly audienceId: AudienceId;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Whether the profile is in the audience holds until then if its data and the rule stay; maybe that is too early, never too late. */
export interface Until {
  readonly audienceId: AudienceId;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** When somebody has to look again, milliseconds since 1970; null: never. */
export const dueOf = ({ untils }: Pick<Seat, "untils">): number | null =>
  untils.length === 0 ? null : Math.min(...untils.map(({ until }) => until));

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

/** Whether a profile is in an audience, and until when that holds. */
export interface Judged {
  readonly audienceId: AudienceId;
  /** Null: that is to be told later, and stays as it is in the seat. */
  readonly is: boolean | null;
  /** If its data stays: milliseconds since 1970, or Infinity. Null: as it is in the seat. */
  readonly until: number | null;
  /** Of this audience alone; null: as of the look. */
  readonly cause: Cause | null;
}

/** It is not judged now: what was found before holds. */
export const stays = (audienceId: AudienceId): Judged => ({ audienceId, is: null, until: null, cause: null });

export interface Look {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly cause: Cause;
  /** Of a profile that is no more, the one that it merged into. */
  readonly into: ProfileId | null;
}

/** The seat after a look, and who entered or left. An audience that is not named is no more. */
export function seatAfter(
  seat: Seat,
  judged: readonly Judged[],
  { at, cause, into }: Look,
): { readonly seat: Seat; readonly entries: readonly Entry[] } {
  const { profileId } = seat;
  const before = new Map(seat.memberships.map((membership) => [membership.audienceId, membership]));
  const entries: Entry[] = [];
  const memberships: Membership[] = [];
  for (const { audienceId, is, cause: own } of judged) {
    const standing = before.get(audienceId);
    before.delete(audienceId);
    const isIn = is ?? standing !== undefined;
    if (isIn) memberships.push(standing ?? { audienceId, since: at });
    if (isIn === (standing !== undefined)) continue;
    entries.push({ type: isIn ? "entered" : "left", at, audienceId, profileId, cause: own ?? cause, into });
  }
  // A deleted audience tells so once, and not for each of its members.
  return { seat: { profileId, memberships, untils: untilsAfter(seat, judged, at, entries.length > 0) }, entries };
}

/**
 * All of them stay as they stand as long as none has to move: then a profile of many events is written once in a window, and looked at
 * once more, instead of being written after each.
 */
function untilsAfter(seat: Seat, judged: readonly Judged[], at: number, isWritten: boolean): readonly Until[] {
  const before = new Map(seat.untils.map(({ audienceId, until }) => [audienceId, until]));
  let isMoved = isWritten;
  const fresh: Until[] = [];
  const standing: Until[] = [];
  for (const { audienceId, until: found } of judged) {
    const stands = before.get(audienceId) ?? Infinity;
    const until = found ?? stands;
    isMoved ||= !isSoonEnough(stands, until, at);
    if (until !== Infinity) fresh.push({ audienceId, until });
    if (stands !== Infinity) standing.push({ audienceId, until: stands });
  }
  return isMoved ? fresh : standing;
}

/** The one that stands is no later, and no more than half of the way too early. */
const isSoonEnough = (standing: number, until: number, at: number): boolean =>
  standing === until || (until !== Infinity && standing <= until && standing - at >= (until - at) / 2);

/** Nothing has to be kept of it. */
export const isEmptySeat = ({ memberships, untils }: Seat): boolean => memberships.length === 0 && untils.length === 0;

export const isSameSeat = (a: Seat, b: Seat): boolean =>
  a.memberships.length === b.memberships.length &&
  a.untils.length === b.untils.length &&
  a.memberships.every(({ audienceId, since }, n) => {
    const other = b.memberships[n]!;
    return audienceId === other.audienceId && since === other.since;
  }) &&
  a.untils.every(({ audienceId, until }, n) => {
    const other = b.untils[n]!;
    return audienceId === other.audienceId && until === other.until;
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
