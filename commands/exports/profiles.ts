import type { RestoredMember } from "../../core/identity/api.js";
import type { Member } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Facet } from "../../core/profile/facet.js";
import { emptyFacet, addFacets } from "../../core/profile/fold.js";
import type { Folded } from "../../core/profile/fold-events.js";
import { FACET_BYTES_PER_READ } from "../search/facets.js";
import type { Services } from "../services.js";
import { nextLimit } from "./pace.js";

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

/** A walk has all members of those that it meets: they may have 400 KB each. */
const PACE = { least: 10, most: 100 };
/** Of a profile with more, or with larger facets than have room together, a part is read at a time. */
const MEMBERS_MAX = 100;
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
  for (let last = after?.profileId ?? null, limit = PACE.least; ;) {
    const page = { limit, after: last, membersMax: MEMBERS_MAX };
    const found = await services.identity.walk(workspace, page);
    for (const some of portions(found)) {
      const [first] = some;
      if (first?.members === null) yield* exportLarge(services, workspace, first.profileId, null);
      else yield* exportSmall(services, workspace, some);
    }
    if (found.length < limit) return;
    last = found.at(-1)!.profileId;
    limit = nextLimit(PACE, found.length, bytesOf(found));
  }
}

/** Of the text of their members, about. */
function bytesOf(profiles: readonly WalkedProfile[]): number {
  let bytes = 0;
  for (const { members } of profiles)
    for (const { identifier } of members ?? []) bytes += MEMBER_BYTES + Buffer.byteLength(identifier.value);
  return bytes;
}
/** Of one, beside the value of its identifier. */
const MEMBER_BYTES = 100;

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

/** One whose facets have no room together comes as a large one does. */
async function* exportSmall(
  services: ExportServices,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
): AsyncGenerator<readonly ExportedProfile[], void> {
  for (let next = 0; next < some.length;) {
    const rest = some.slice(next);
    const all = await wholeMembers(
      services,
      workspace,
      rest.flatMap(({ members }) => members!),
    );
    const whole: ExportedProfile[] = [];
    let taken = 0;
    for (const { profileId, members: own } of rest) {
      if (taken + own!.length > all.length) break;
      const members = all.slice(taken, (taken += own!.length));
      whole.push({ profileId, members, facet: joined(members), isPartial: false, last: null });
    }
    if (whole.length > 0) yield whole;
    else yield* exportLarge(services, workspace, rest[0]!.profileId, null);
    next += Math.max(1, whole.length);
  }
}

/** The first of them, as many as have room together. Only a shared identifier is known by what it was seen with. */
async function wholeMembers(
  { identity, profiles }: ExportServices,
  workspace: WorkspaceId,
  asked: readonly Member[],
): Promise<readonly ExportedMember[]> {
  const uids = asked.map(({ uid }) => uid);
  const { found, looked } = await profiles.findSome(workspace, uids, FACET_BYTES_PER_READ);
  const members = asked.slice(0, looked);
  const shared = members.filter(({ isShared }) => isShared).map(({ identifier }) => identifier);
  const seenWith = shared.length === 0 ? [] : await identity.seenWith(workspace, shared);
  const seenBy = new Map(shared.map((identifier, n) => [identifier, seenWith[n] ?? []]));
  return members.map(({ uid, identifier, isShared }) => {
    return { uid, identifier, isShared, seenWith: seenBy.get(identifier) ?? [], folded: found.get(uid) ?? null };
  });
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
    if (live?.profileId !== profileId || found.length === 0) return;
    const members = await wholeMembers(services, workspace, found.slice(0, MEMBERS_MAX));
    const hasMore = found.length > members.length;
    last = hasMore ? members.at(-1)!.uid : null;
    yield [{ profileId, members, facet: joined(members), isPartial: true, last }];
    if (!hasMore) return;
  }
}
