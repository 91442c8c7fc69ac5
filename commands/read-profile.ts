import { AppError } from "../core/errors.js";
import type { Identifier } from "../core/event/event.js";
import { admit } from "../core/identity/namespaces.js";
import { isUuid, type EventId, type ProfileId, type Uid, type WorkspaceId } from "../core/ids.js";
import type { Facet } from "../core/profile/facet.js";
import { emptyFacet, joinFacets } from "../core/profile/fold.js";
import { requireReadable, withoutBlocked } from "./admit-identifiers.js";
import { isSettled } from "./read-event.js";
import type { Services } from "./services.js";

/** The live id that any id, current or retired, names. An unknown and a foreign one look the same. */
export async function requireProfile(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  id: string,
): Promise<ProfileId> {
  const found = isUuid(id) ? await identity.resolve(workspace, id as ProfileId) : null;
  if (found === null) throw new AppError("not_found", "There is no such profile.");
  return found.profileId;
}

export interface Profile {
  readonly profileId: ProfileId;
  readonly identifiers: readonly Identifier[];
  readonly sharedIdentifiers: readonly Identifier[];
  readonly facet: Facet;
  readonly eventCount: number;
  /** Only a part of its identifiers was read, because it has too many for one answer. */
  readonly isPartial: boolean;
}

/** The members that are read for one answer. */
export async function membership(
  { identity, limits: { profileIdentifiersMax: max } }: Pick<Services, "identity" | "limits">,
  workspace: WorkspaceId,
  profileId: ProfileId,
) {
  const found = await identity.members(workspace, profileId, { limit: max + 1, after: null });
  const members = found.slice(0, max);
  return { members, uids: members.map(({ uid }) => uid), isPartial: found.length > members.length };
}

type ProfileServices = Pick<Services, "catalog" | "identity" | "profiles" | "events" | "limits">;

/**
 * The members of the component and the join of their facets: always current, because a merge copies nothing. Of a large profile only a
 * part is read; it always includes the identifiers that were asked for.
 */
export async function readProfile(
  services: Omit<ProfileServices, "catalog">,
  workspace: WorkspaceId,
  profileId: ProfileId,
  asked: readonly Uid[] = [],
): Promise<Profile> {
  const { members, uids: first, isPartial } = await membership(services, workspace, profileId);
  const uids = isPartial ? [...new Set([...first, ...asked])] : first;
  const [facets, eventCount] = await Promise.all([
    services.profiles.find(workspace, uids),
    services.events.count(workspace, uids),
  ]);
  let facet: Facet = emptyFacet;
  for (const stored of facets.values()) facet = joinFacets(facet, stored.facet);
  return {
    profileId,
    identifiers: members.map(({ identifier }) => identifier),
    sharedIdentifiers: members.filter(({ isShared }) => isShared).map(({ identifier }) => identifier),
    facet,
    eventCount,
    isPartial,
  };
}

export interface LookedUp {
  /** Each profile with the identifiers that found it, as they were sent, so that the caller can match them. */
  readonly profiles: readonly (Profile & { readonly matched: readonly Identifier[] })[];
  readonly unknown: readonly Identifier[];
}

/** The profiles of the identifiers. Creates nothing. */
export async function lookUpProfiles(
  services: ProfileServices,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
): Promise<LookedUp> {
  const known = await admitKnown(services, workspace, asked);
  const refs = await services.identity.lookup(
    workspace,
    known.map(({ stored }) => stored),
  );
  const found = new Map<ProfileId, { readonly asked: Identifier; readonly uid: Uid }[]>();
  for (const [i, ref] of refs.entries())
    if (ref !== null) {
      const one = { asked: known[i]!.asked, uid: ref.uid };
      found.set(ref.profileId, [...(found.get(ref.profileId) ?? []), one]);
    }
  const profiles = [];
  for (const [profileId, its] of found) {
    const uids = its.map(({ uid }) => uid);
    const profile = await readProfile(services, workspace, profileId, uids);
    profiles.push({ ...profile, matched: its.map((one) => one.asked) });
  }
  const matched = new Set(profiles.flatMap((profile) => profile.matched));
  return { profiles, unknown: asked.filter((one) => !matched.has(one)) };
}

/** Those that can be known at all, as they are stored. */
async function admitKnown(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
): Promise<readonly { readonly stored: Identifier; readonly asked: Identifier }[]> {
  const table = withoutBlocked(await catalog.namespaces(workspace));
  const admissions = asked.map((identifier, i) => admit([{ path: `identifiers.${i}`, ...identifier }], table));
  // A value that is not an e-mail address was never stored, so it is unknown.
  requireReadable(admissions.map(({ errors }) => ({ errors, invalid: [] })));
  return admissions.flatMap(({ identifiers: [stored] }, i) => (stored ? [{ stored, asked: asked[i]! }] : []));
}

/** So many of a profile's last changes are looked at for events that are still to be folded. */
const CHANGES_LOOKED_AT = 10;

/** Resolves when all the identifiers are known and the events that made them so are folded, or when the seconds are over. */
export async function waitUntilFolded(
  services: Pick<Services, "catalog" | "identity" | "events" | "waiting">,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
  seconds: number,
): Promise<void> {
  if (seconds === 0) return;
  const known = await admitKnown(services, workspace, asked);
  const stored = known.map((one) => one.stored);
  await services.waiting.until(
    () => areFolded(services, workspace, stored),
    (isDone) => isDone,
    seconds,
  );
}

async function areFolded(
  { identity, events }: Pick<Services, "identity" | "events">,
  workspace: WorkspaceId,
  identifiers: readonly Identifier[],
): Promise<boolean> {
  const refs = await identity.lookup(workspace, identifiers);
  if (refs.includes(null)) return false;
  for (const profileId of new Set(refs.map((ref) => ref!.profileId))) {
    const changes = await identity.history(workspace, profileId, { limit: CHANGES_LOOKED_AT, before: null });
    for (const { source } of changes.map(({ evidence }) => evidence)) {
      const event = isUuid(source) ? await events.find(workspace, source as EventId) : null;
      if (event !== null && !isSettled(event)) return false;
    }
  }
  return true;
}
