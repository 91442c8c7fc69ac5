import type { RestoredMember } from "../../core/identity/api.js";
import type { Member } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Facet } from "../../core/profile/facet.js";
import { emptyFacet, addFacets } from "../../core/profile/fold.js";
import type { Folded } from "../../core/profile/fold-events.js";
import type { Services } from "../services.js";

/** An identifier of a profile, with what its own events say. */
export interface ExportedMember extends RestoredMember {
  /** Null: none of its events was folded. */
  readonly folded: Folded | null;
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
  services: ExportServices,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
): Promise<readonly ExportedProfile[]> {
  const whole = await wholeMembers(
    services,
    workspace,
    some.flatMap(({ members }) => members!),
  );
  return some.map(({ profileId, members }) => {
    const read = members!.map(({ uid }) => whole.get(uid)!);
    return { profileId, members: read, facet: joined(read), isPartial: false, last: null };
  });
}

/** Only a shared identifier is known by what it was seen with. */
async function wholeMembers(
  { identity, profiles }: ExportServices,
  workspace: WorkspaceId,
  members: readonly Member[],
): Promise<ReadonlyMap<Uid, ExportedMember>> {
  const shared = members.filter(({ isShared }) => isShared).map(({ identifier }) => identifier);
  const uids = members.map(({ uid }) => uid);
  const [facets, seenWith] = await Promise.all([
    profiles.find(workspace, uids),
    shared.length === 0 ? [] : identity.seenWith(workspace, shared),
  ]);
  const seenBy = new Map(shared.map((identifier, n) => [identifier, seenWith[n] ?? []]));
  return new Map(
    members.map(({ uid, identifier, isShared }) => [
      uid,
      { uid, identifier, isShared, seenWith: seenBy.get(identifier) ?? [], folded: facets.get(uid) ?? null },
    ]),
  );
}

const joined = (members: readonly ExportedMember[]): Facet =>
  members.reduce((all, { folded }) => (folded === null ? all : addFacets(all, folded.facet)), emptyFacet);

/** In parts. It ends early where the profile merges into another meanwhile: then it comes with that. */
async function* exportLarge(
  services: ExportServices,
  workspace: WorkspaceId,
  profileId: ProfileId,
  after: Uid | null,
): AsyncGenerator<readonly ExportedProfile[], void> {
  for (let last = after; ;) {
    const { identity } = services;
    const found = await identity.members(workspace, profileId, { limit: MEMBERS_MAX + 1, after: last });
    const live = await identity.resolve(workspace, profileId);
    const some = found.slice(0, MEMBERS_MAX);
    if (live?.profileId !== profileId || some.length === 0) return;
    const members = [...(await wholeMembers(services, workspace, some)).values()];
    const hasMore = found.length > MEMBERS_MAX;
    last = hasMore ? some.at(-1)!.uid : null;
    yield [{ profileId, members, facet: joined(members), isPartial: true, last }];
    if (!hasMore) return;
  }
}
