import type { ProfileId } from "../ids.js";
import { seatAfter, type Cause, type Entry, type Judged, type Seat } from "./seat.js";

/** What a look found of a profile. */
export type Found =
  | { readonly kind: "live"; readonly judged: readonly Judged[] }
  /** It is no more: it merged into another one, or (`into` null) its person was erased. */
  | { readonly kind: "gone"; readonly into: ProfileId | null };

export interface LookSteps<Rules> {
  /** Writes a fresh claim into the seats, and answers them. */
  readonly claim: (profileIds: readonly ProfileId[]) => Promise<readonly Seat[]>;
  /** The rules as they stand then. */
  readonly rules: () => Promise<Rules>;
  /** The profile as it stands then. */
  readonly judge: (profileId: ProfileId, rules: Rules) => Promise<Found>;
  /** Answers, in order, whether the claim still stood. */
  readonly save: (
    saves: readonly { readonly seat: Seat; readonly entries: readonly Entry[] }[],
  ) => Promise<readonly boolean[]>;
}

/**
 * Judges profiles and puts what was found into their seats: claim, read, save. All is read after the claim, so whatever is saved under a
 * claim that still stands is no older than what any other look found. Answers the profiles that were saved; of the others somebody else
 * began a look meanwhile.
 */
export async function lookAt<Rules>(
  steps: LookSteps<Rules>,
  causes: ReadonlyMap<ProfileId, Cause>,
  at: number,
): Promise<ReadonlySet<ProfileId>> {
  const seats = await steps.claim([...causes.keys()]);
  const rules = await steps.rules();
  const saves: { readonly seat: Seat; readonly entries: readonly Entry[] }[] = [];
  for (const seat of seats) {
    const found = await steps.judge(seat.profileId, rules);
    const cause = causes.get(seat.profileId)!;
    saves.push(
      found.kind === "live"
        ? seatAfter(seat, found.judged, { at, cause, into: null })
        : seatAfter(seat, leavesAll(seat), { at, cause: found.into === null ? "erased" : "merged", into: found.into }),
    );
  }
  const saved = await steps.save(saves);
  return new Set(seats.flatMap(({ profileId }, n) => (saved[n] === true ? [profileId] : [])));
}

const leavesAll = ({ memberships }: Seat): readonly Judged[] =>
  memberships.map(({ audienceId }) => ({ audienceId, is: false, until: Infinity, cause: null }));
