import type { Seat } from "../../../core/audience/seat.js";
import type { Database } from "../../../core/database.js";
import type { ClaimId, ProfileId, WorkspaceId } from "../../../core/ids.js";

/** Looks that have not saved, each with the seat as it stood when it was claimed: whoever saves it afterwards has claimed it anew. */
export interface Claims {
  /** In the place of any other of this profile. */
  readonly put: (workspace: WorkspaceId, claim: ClaimId, seat: Seat) => void;
  /** Null: another claim stands there, or none. */
  readonly find: (workspace: WorkspaceId, profileId: ProfileId, claim: ClaimId) => Seat | null;
  readonly end: (workspace: WorkspaceId, profileId: ProfileId, claim: ClaimId) => void;
  readonly of: (workspace: WorkspaceId) => readonly ProfileId[];
}

const ofDatabases = new WeakMap<Database, Claims>();

/** Whoever opens the seats of a database once more has the same. */
export function claimsOn(database: Database): Claims {
  const claims = ofDatabases.get(database) ?? createClaims();
  ofDatabases.set(database, claims);
  return claims;
}

interface Standing {
  readonly claim: ClaimId;
  readonly seat: Seat;
}

function createClaims(): Claims {
  const all = new Map<WorkspaceId, Map<ProfileId, Standing>>();
  const find: Claims["find"] = (workspace, profileId, claim) => {
    const standing = all.get(workspace)?.get(profileId);
    return standing?.claim === claim ? standing.seat : null;
  };
  return {
    find,
    put: (workspace, claim, seat) => {
      const own = all.get(workspace) ?? new Map<ProfileId, Standing>();
      all.set(workspace, own.set(seat.profileId, { claim, seat }));
    },
    end: (workspace, profileId, claim) => {
      if (find(workspace, profileId, claim) === null) return;
      const own = all.get(workspace)!;
      own.delete(profileId);
      if (own.size === 0) all.delete(workspace);
    },
    of: (workspace) => [...(all.get(workspace)?.keys() ?? [])],
  };
}
