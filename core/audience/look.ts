import type { AudienceId, ProfileId } from "../ids.js";
import { seatAfter, type Cause, type Entry, type Judged, type Seat } from "./seat.js";

/** What a look found of a profile. */
export type Found =
  | { readonly kind: "live"; readonly judged: readonly Judged[] }
  /** It is no more: it merged into another one, or (`into` null) its person was erased. */
  | { readonly kind: "gone"; readonly into: ProfileId | null }
  /** Something of it cannot be read: it stays where it is, and is looked at again. Only from audiences that are no more it goes. */
  | { readonly kind: "unread"; readonly judged: readonly Judged[] };

export interface LookSteps<Rules> {
  /** Writes a fresh claim into the seats, and answers them. */
  readonly claim: (profileIds: readonly ProfileId[]) => Promise<readonly Seat[]>;
  /** The rules as they stand then. */
  readonly rules: () => Promise<Rules>;
  /** The profiles of these seats as they stand then, in order; only the first of them where the time is over. */
  readonly judge: (seats: readonly Seat[], rules: Rules) => Promise<readonly Found[]>;
  /** Answers, in order, whether the claim still stood. */
  readonly save: (
    saves: readonly { readonly seat: Seat; readonly entries: readonly Entry[] }[],
  ) => Promise<readonly boolean[]>;
}

/**
 * By which audiences a look has to judge the profile of this seat; null: by all. When only time has passed, those whose time has come: what
 * was found of the others holds, because whatever else changes it has a look of its own, and that is not done before it has saved.
 */
export const askedOf = ({ untils }: Seat, cause: Cause, at: number): readonly AudienceId[] | null =>
  cause === "time" ? untils.flatMap(({ audienceId, until }) => (until <= at ? [audienceId] : [])) : null;

/**
 * Judges profiles and puts what was found into their seats: claim, read, save. All is read after the claim, so whatever is saved under a
 * claim that still stands is no older than what any other look found. Answers the profiles that were saved; of the others somebody else
 * began a look meanwhile, or there was no time for them.
 */
export async function lookAt<Rules>(
  steps: LookSteps<Rules>,
  causes: ReadonlyMap<ProfileId, Cause>,
  at: number,
): Promise<ReadonlySet<ProfileId>> {
  const seats = await steps.claim([...causes.keys()]);
  const rules = await steps.rules();
  const found = await steps.judge(seats, rules);
  const saves = found.map((one, n) => saveOf(seats[n]!, one, causes.get(seats[n]!.profileId)!, at));
  const saved = await steps.save(saves);
  return new Set(seats.flatMap(({ profileId }, n) => (saved[n] === true ? [profileId] : [])));
}

function saveOf(seat: Seat, found: Found, cause: Cause, at: number): ReturnType<typeof seatAfter> {
  if (found.kind !== "gone") return seatAfter(seat, found.judged, { at, cause, into: null });
  const why: Cause = found.into === null ? "erased" : "merged";
  return seatAfter(seat, leavesAll(seat), { at, cause: why, into: found.into });
}

const leavesAll = ({ memberships }: Seat): readonly Judged[] =>
  memberships.map(({ audienceId }) => ({ audienceId, is: false, until: Infinity, cause: null }));
