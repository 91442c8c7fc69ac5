import type { Member, WalkedProfile } from "../../core/identity/model.js";
import type { ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { StoredFacet } from "../../core/ports/profile-store.js";
import type { Facet } from "../../core/profile/facet.js";
import { emptyFacet, addFacets } from "../../core/profile/fold.js";
import type { Services } from "../services.js";

/** An identifier of a profile, with what its own events say. */
export interface ExportedMember extends Member {
  /** Null: none of its events was folded. */
  readonly facet: Facet | null;
}

/** A profile, or a part of a large one. */
export interface ExportedProfile {
  readonly profileId: ProfileId;
  readonly members: readonly ExportedMember[];
  /** What these say together. */
  readonly facet: Facet;
  /** There are more of its identifiers, before or behind these. */
  readonly isPartial: boolean;
  /** The last of them if there may be more behind it; null: the profile is through. */
  readonly last: Uid | null;
}

/** How far an export of profiles has come: through that profile, or through its members up to one. */
export interface ProfilePlace {
  readonly profileId: ProfileId;
  readonly uid: Uid | null;
}

const PROFILES_PER_READ = 100;
/** Of a profile with more, a part is read at a time. */
const MEMBERS_MAX = 100;
/** How large facets are is not known before they are read. */
const FACETS_PER_PART = 200;

type ExportServices = Pick<Services, "identity" | "profiles">;

/**
 * All profiles by id, with what a copy of them needs: one that keeps its id meanwhile comes exactly once. Those of one part were read
 * together.
 */
export async function* exportProfiles(
  services: ExportServices,
  workspace: WorkspaceId,
  after: ProfilePlace | null,
): AsyncGenerator<readonly ExportedProfile[], void> {
  if (after?.uid) yield* exportLarge(services, workspace, after.profileId, after.uid);
  for (let last = after?.profileId ?? null; ;) {
    const page = { limit: PROFILES_PER_READ, after: last, membersMax: MEMBERS_MAX };
    const found = await services.identity.walk(workspace, page);
    for (const some of portions(found)) {
      const [first] = some;
      if (first?.members === null) yield* exportLarge(services, workspace, first.profileId, null);
      else yield await withFacets(services, workspace, some);
    }
    if (found.length < PROFILES_PER_READ) return;
    last = found.at(-1)!.profileId;
  }
}

/** Those whose facets are read together; a large one stands alone. */
function* portions(found: readonly WalkedProfile[]): Generator<readonly WalkedProfile[]> {
  let some: WalkedProfile[] = [];
  let members = 0;
  for (const profile of found) {
    if (some.length > 0 && (profile.members === null || members + profile.size > FACETS_PER_PART)) {
      yield some;
      [some, members] = [[], 0];
    }
    if (profile.members === null) yield [profile];
    else {
      some.push(profile);
      members += profile.members.length;
    }
  }
  if (some.length > 0) yield some;
}

async function withFacets(
  { profiles }: ExportServices,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
): Promise<readonly ExportedProfile[]> {
  const uids = some.flatMap(({ members }) => members!.map(({ uid }) => uid));
  const facets = await profiles.find(workspace, uids);
  return some.map(({ profileId, members }) => {
    const read = withFacet(members!, facets);
    return { profileId, members: read, facet: joined(read), isPartial: false, last: null };
  });
}

const withFacet = (members: readonly Member[], facets: ReadonlyMap<Uid, StoredFacet>): readonly ExportedMember[] =>
  members.map(({ uid, identifier, isShared }) => ({
    uid,
    identifier,
    isShared,
    facet: facets.get(uid)?.facet ?? null,
  }));

const joined = (members: readonly ExportedMember[]): Facet =>
  members.reduce((all, { facet }) => (facet === null ? all : addFacets(all, facet)), emptyFacet);

/** In parts. It ends early where the profile merges into another meanwhile: then it comes with that. */
async function* exportLarge(
  { identity, profiles }: ExportServices,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: Uid | null,
): AsyncGenerator<readonly ExportedProfile[], void> {
  for (let last = after; ;) {
    const found = await identity.members(workspace, profileId, { limit: MEMBERS_MAX + 1, after: last });
    const live = await identity.resolve(workspace, profileId);
    const some = found.slice(0, MEMBERS_MAX);
    if (live?.profileId !== profileId || some.length === 0) return;
    const facets = await profiles.find(
      workspace,
      some.map(({ uid }) => uid),
    );
    const members = withFacet(some, facets);
    const hasMore = found.length > MEMBERS_MAX;
    last = hasMore ? some.at(-1)!.uid : null;
    yield [{ profileId, members, facet: joined(members), isPartial: true, last }];
    if (!hasMore) return;
  }
}
