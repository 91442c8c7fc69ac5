import { ANSWER_BYTES_MAX, type Allowance } from "../read-profile.js";
import type { Services, TakeBytes } from "../services.js";

/** A page of large profiles ends early: one answer of many megabytes would delay all others. */
const PAGE_BYTES = 2 * 1_048_576;
const PROFILE_BYTES = 16_384;

/** What the profiles of one page may take. */
export interface Room {
  readonly isFull: () => boolean;
  /** Each may be as large as one that is read alone, or has only one of so many equal parts. */
  readonly forOne: (parts?: number) => Allowance;
  /** The profile that was read with it stands in the answer. */
  readonly keep: (allowance: Allowance) => void;
  /** For who fails to read a further profile: where no room was given for it, the page is full. The first of a page fails. */
  readonly orFull: (failure: unknown) => null;
}

export async function openRoom(
  { limits }: Pick<Services, "limits">,
  takeBytes: TakeBytes,
  profilesMax: number,
  more = 0,
): Promise<Room> {
  let taken = Math.min(PAGE_BYTES, profilesMax * PROFILE_BYTES);
  let kept = 0;
  let isRefused = false;
  await takeBytes(taken + more);
  const takeMore = async (bytes: number): Promise<boolean> => {
    isRefused = true;
    const hasWaited = await takeBytes(bytes);
    isRefused = false;
    taken += bytes;
    return hasWaited;
  };
  return {
    isFull: () => kept >= PAGE_BYTES,
    forOne: (parts = 1) => ({
      profiles: parts,
      members: limits.profileIdentifiersMax,
      bytes: ANSWER_BYTES_MAX,
      untaken: Math.max(0, taken - kept),
      hasWaited: false,
      takeBytes: takeMore,
    }),
    keep: ({ bytes }) => void (kept += ANSWER_BYTES_MAX - bytes),
    orFull: (failure) => {
      if (!isRefused || kept === 0) throw failure;
      kept = PAGE_BYTES;
      return null;
    },
  };
}
