import { lookAtProfiles } from "../../commands/audiences/look.js";
import type { Cause } from "../../core/audience/seat.js";
import { isDamaged } from "../../core/errors.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { describeError } from "../../core/log.js";
import type { AudienceDeps } from "./deps.js";

/** Does the work for all of them together, or, where something is damaged, for smaller and smaller parts. Answers in order. */
export async function pastDamage<T, R>(
  all: readonly T[],
  work: (some: readonly T[]) => Promise<readonly R[]>,
  passOver: (one: T, error: unknown) => R,
): Promise<readonly R[]> {
  try {
    return await work(all);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    if (all.length <= 1) return all.map((one) => passOver(one, error));
    const half = Math.ceil(all.length / 2);
    const first = await pastDamage(all.slice(0, half), work, passOver);
    return [...first, ...(await pastDamage(all.slice(half), work, passOver))];
  }
}

/** What the work answers; null where it met damage, which is noted. */
export async function unlessDamaged<T>(damages: unknown[], work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!isDamaged(error)) throw error;
    damages.push(error);
    return null;
  }
}

/** `lost`: somebody else began a look meanwhile. */
export type Looked = "saved" | "lost" | "damaged";

export interface PastOptions {
  readonly tell?: (profileId: ProfileId, error: unknown) => void;
  /** Also where what was found cannot be saved. */
  readonly alsoUnsaved?: boolean;
}

/** One that can never be looked at holds up none of the others. */
export async function lookPastDamage(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  causes: ReadonlyMap<ProfileId, Cause>,
  { tell, alsoUnsaved = false }: PastOptions = {},
): Promise<ReadonlyMap<ProfileId, Looked>> {
  const told =
    tell ??
    ((profileId: ProfileId, error: unknown) =>
      deps.log.error({ workspace, profileId, ...describeError(error) }, "a damaged profile stays in its audiences"));
  const looking = alsoUnsaved ? deps : requiringSaves(deps);
  const look = async (some: readonly [ProfileId, Cause][]): Promise<readonly [ProfileId, Looked][]> => {
    const saved = await lookAtProfiles(looking, workspace, new Map(some), deps.now(workspace));
    return some.map(([profileId]) => [profileId, saved.has(profileId) ? "saved" : "lost"]);
  };
  const passOver = ([profileId]: readonly [ProfileId, Cause], error: unknown): [ProfileId, Looked] => {
    told(profileId, error);
    return [profileId, "damaged"];
  };
  return new Map(await pastDamage([...causes], look, passOver));
}

/**
 * A save writes into the end of the feed and among the members of each audience: what is damaged there is no matter of the profile, and
 * everybody who enters an audience would be passed over.
 */
const requiringSaves = (deps: AudienceDeps): AudienceDeps => ({
  ...deps,
  seats: {
    ...deps.seats,
    save: (...asked) =>
      deps.seats.save(...asked).catch((error: unknown) => {
        throw isDamaged(error) ? new Error("looks at profiles cannot be saved", { cause: error }) : error;
      }),
  },
});
