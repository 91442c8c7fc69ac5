import { AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import type { ErasureId, ForbiddenPairId, ProfileId, WorkspaceId } from "../../core/ids.js";
import {
  isSuppressing,
  renewed,
  type Erasure,
  type ErasurePreview,
  type ErasureRequest,
} from "../../core/identity/erasure.js";
import type { Tombstone } from "../../core/identity/tombstone.js";

/** A profile that may be erased. */
export interface LiveProfile {
  readonly profileId: ProfileId;
  readonly rev: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly forbidden: readonly ForbiddenPairId[];
}

/** It was erased before: by these, the oldest first. */
export interface Dead {
  readonly kind: "dead";
  readonly erasures: readonly [Erasure, ...Erasure[]];
  /** By identifiers, which something that came in since may name. Of an id nothing comes in any more. */
  readonly isNamed: boolean;
}

/** What a request is about, as it is now. Strangers are identifiers that are in no profile. */
export type Found<Profile extends LiveProfile = LiveProfile> =
  | { readonly kind: "live"; readonly profile: Profile; readonly strangers: readonly Identifier[] }
  | { readonly kind: "nobody"; readonly strangers: readonly Identifier[] }
  | Dead
  | { readonly kind: "several"; readonly profileIds: readonly ProfileId[] }
  | { readonly kind: "unknown" };

type Erasable = Extract<Found, { readonly kind: "live" | "nobody" }>;

export const ofAnotherWorkspace = ({ erasureId }: Pick<Erasure, "erasureId">): AppError =>
  new AppError("conflict", `erasure_id: ${erasureId} is an erasure of another workspace of this installation.`);

/** A profile that is put together anew has another id or a higher `rev`. */
export function revisionOf(found: Erasable | Dead): string {
  if (found.kind === "dead") return newestOf(found).erasureId;
  return found.kind === "live" ? `${found.profile.profileId}.${found.profile.rev}` : "nobody";
}

export function previewOf(found: Found): ErasurePreview | null {
  if (found.kind === "unknown") return null;
  if (found.kind === "several")
    throw new AppError("conflict", "The identifiers are in several profiles: erase one at a time.", {
      members: { profile_ids: found.profileIds },
    });
  if (found.kind === "dead") {
    const erasure = newestOf(found);
    return { profileId: erasure.profileId, identifiers: erasure.identifiers, revision: revisionOf(found), erasure };
  }
  return {
    profileId: found.kind === "live" ? found.profile.profileId : null,
    identifiers: countsOf(found),
    revision: revisionOf(found),
    erasure: null,
  };
}

export const newestOf = ({ erasures }: Dead): Erasure => erasures.at(-1)!;

/** The latest erasure of each, the oldest first; null if one of them was never erased. */
export function erasuresOf(tombstones: readonly (Tombstone | null | undefined)[]): readonly ErasureId[] | null {
  const ids = tombstones.map((one) => one?.erasureId);
  return ids.includes(undefined) ? null : [...new Set(ids as readonly ErasureId[])].toSorted();
}

/** Those records that a repeated request changes, as they are after it: what came in since goes too. */
export function repeated({ erasures, isNamed }: Dead, { now, suppress }: ErasureRequest): readonly Erasure[] {
  const at = now();
  return erasures.flatMap((one) => {
    // By the id of a profile nothing came in since, but a suppression that begins or is renewed has its time.
    const isMoved = isNamed || (suppress && !isSuppressing(one));
    return renewed(one, { erasedAt: isMoved ? at : one.erasedAt, suppress, readmittedAt: null }) ?? [];
  });
}

function countsOf(found: Erasable): ReadonlyMap<string, number> {
  const all = new Map(found.kind === "live" ? found.profile.counts : []);
  for (const { namespace } of found.strangers) all.set(namespace, (all.get(namespace) ?? 0) + 1);
  return all;
}

/** The record as it is first written: the time is that of the step. */
export const newErasure = (
  workspace: WorkspaceId,
  { keyId, now, suppress }: ErasureRequest,
  erasureId: ErasureId,
  found: Erasable,
): Erasure => ({
  workspace,
  erasureId,
  erasedAt: now(),
  keyId,
  profileId: found.kind === "live" ? found.profile.profileId : null,
  identifiers: countsOf(found),
  suppress,
  readmittedAt: null,
  links: 0,
  changes: 0,
  isGone: false,
  rev: 1,
  removed: {},
  cursor: null,
  late: { events: 0, lastAt: null },
  completedAt: null,
});
