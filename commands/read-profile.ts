import { AppError } from "../core/errors.js";
import type { Identifier } from "../core/event/event.js";
import type { Outline } from "../core/identity/api.js";
import type { Member, ProfileRef } from "../core/identity/model.js";
import type { WalkedProfile } from "../core/identity/pages.js";
import { admit } from "../core/identity/namespaces.js";
import { isUuid, type ProfileId, type Uid, type WorkspaceId } from "../core/ids.js";
import { valueOf, type Facet, type Scalar } from "../core/profile/facet.js";
import { emptyFacet, addFacets } from "../core/profile/fold.js";
import { requireReadable, withoutBlocked } from "./admit-identifiers.js";
import { FACET_BYTES_PER_READ, sumsOf } from "./search/facets.js";
import type { Services, TakeBytes } from "./services.js";

const unknownProfile = (): AppError => new AppError("not_found", "There is no such profile.");

/** The live profile that any id, current or retired, names. An unknown and a foreign one look the same. */
export async function requireRef(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  id: string,
): Promise<ProfileRef> {
  const found = isUuid(id) ? await identity.resolve(workspace, id as ProfileId) : null;
  if (found === null) throw unknownProfile();
  return found;
}

export const requireProfile = async (...given: Parameters<typeof requireRef>): Promise<ProfileId> =>
  (await requireRef(...given)).profileId;

/** Its graph, as much as a person can look at. What is not known to be stored is passed over. */
export async function outlineProfile(
  services: Pick<Services, "catalog" | "identity">,
  workspace: WorkspaceId,
  id: string,
  given: Identifier | undefined,
): Promise<Outline> {
  const profileId = await requireProfile(services, workspace, id);
  const table = withoutBlocked(await services.catalog.namespaces(workspace));
  const { identifiers, errors } = admit(given === undefined ? [] : [{ path: "keep", ...given }], table);
  requireReadable([{ errors, invalid: [] }]);
  const outline = await services.identity.outline(workspace, profileId, identifiers[0] ?? null);
  // Erased meanwhile.
  if (outline === null) throw unknownProfile();
  return outline;
}

export interface Profile {
  readonly profileId: ProfileId;
  /** Of the identifiers that were read. */
  readonly uids: readonly Uid[];
  readonly identifiers: readonly Identifier[];
  readonly sharedIdentifiers: readonly Identifier[];
  readonly facet: Facet;
  /** Only a part of its identifiers was read, because it has too many for one answer. */
  readonly isPartial: boolean;
}

export type ProfileServices = Pick<Services, "catalog" | "identity" | "profiles" | "events" | "limits">;

const MEMBERS_PER_READ = 1_000;
/** Of a small profile all are read, however large they are. */
const FACETS_READ_FIRST = 16;
const FACETS_PER_READ = 500;

/** About what an identifier takes in memory and in the answer, beyond its value. */
const MEMBER_BYTES = 256;
/** Taken for each profile before its facets are read; most need far less. */
const PROFILE_BYTES = 4_096;
export const ANSWER_BYTES_MAX = 8 * 1_048_576;

/** What one answer may still read of the profiles that it has not read yet; each of them may have an equal part of it. */
export interface Allowance {
  profiles: number;
  members: number;
  bytes: number;
  /** Of the bytes that were taken already. */
  untaken: number;
  /** Others were done first, so what was known of the profiles may be old. */
  readonly hasWaited: boolean;
  readonly takeBytes: TakeBytes;
}

/** For one answer with profiles of these sizes; `taken` bytes of it were taken before. */
export async function allow(
  { limits }: Pick<Services, "limits">,
  takeBytes: TakeBytes,
  sizes: readonly number[],
  taken = 0,
): Promise<Allowance> {
  const members = limits.profileIdentifiersMax;
  const size = Math.min(
    members,
    sizes.reduce((all, one) => all + one, 0),
  );
  const bytes = Math.min(ANSWER_BYTES_MAX, sizes.length * PROFILE_BYTES + size * MEMBER_BYTES);
  const hasWaited = (taken === 0 || bytes > taken) && (await takeBytes(bytes - taken));
  const untaken = Math.max(bytes, taken);
  return { profiles: sizes.length, members, bytes: ANSWER_BYTES_MAX, untaken, hasWaited, takeBytes };
}

async function use(allowance: Allowance, bytes: number): Promise<void> {
  const more = bytes - allowance.untaken;
  allowance.bytes -= bytes;
  allowance.untaken = Math.max(0, -more);
  if (more > 0) await allowance.takeBytes(more);
}

async function readMembers(
  { identity }: Pick<Services, "identity">,
  workspace: WorkspaceId,
  profileId: ProfileId,
  most: { readonly members: number; readonly bytes: number },
) {
  const members: Member[] = [];
  for (let bytes = 0; ;) {
    const limit = Math.min(MEMBERS_PER_READ, most.members - members.length);
    const found = await identity.members(workspace, profileId, {
      limit: limit + 1,
      after: members.at(-1)?.uid ?? null,
    });
    const some = found.slice(0, limit);
    members.push(...some);
    for (const { identifier } of some) bytes += MEMBER_BYTES + identifier.value.length;
    const hasMore = found.length > limit;
    if (!hasMore || members.length >= most.members || bytes >= most.bytes)
      return { members, bytes, isPartial: hasMore };
  }
}

async function addAll(
  { profiles }: Pick<Services, "profiles">,
  workspace: WorkspaceId,
  uids: readonly Uid[],
  bytesMax: number,
) {
  let facet: Facet = emptyFacet;
  let [next, bytes] = [0, 0];
  while (next < uids.length && (next < FACETS_READ_FIRST || bytes < bytesMax)) {
    const isFirst = next < FACETS_READ_FIRST;
    const some = uids.slice(next, isFirst ? FACETS_READ_FIRST : next + FACETS_PER_READ);
    const most = isFirst ? FACET_BYTES_PER_READ : Math.min(FACET_BYTES_PER_READ, bytesMax - bytes);
    const { found, looked } = await profiles.findSome(workspace, some, most);
    for (const stored of found.values()) {
      facet = addFacets(facet, stored.facet);
      bytes += bytesOf(stored.facet);
    }
    next += looked;
  }
  return { facet, bytes, isPartial: next < uids.length };
}

const TRAIT_BYTES = 128;
const textLength = (value: Scalar): number => (typeof value === "string" ? value.length : 0);

/** About what it takes in memory. */
function bytesOf({ traits }: Facet): number {
  let bytes = 0;
  for (const [name, trait] of traits) {
    bytes += TRAIT_BYTES + name.length;
    const value = valueOf(trait);
    if (Array.isArray(value)) for (const one of value as readonly Scalar[]) bytes += textLength(one);
    else bytes += textLength(value as Scalar);
  }
  return bytes;
}

/** The uids of the members that are read for one answer. */
export async function memberUids(
  services: Pick<Services, "identity" | "limits">,
  workspace: WorkspaceId,
  profileId: ProfileId,
) {
  const most = { members: services.limits.profileIdentifiersMax, bytes: Infinity };
  const { members, isPartial } = await readMembers(services, workspace, profileId, most);
  return { uids: members.map(({ uid }) => uid), isPartial };
}

/**
 * The members of the component and the sum of their facets: always current, because a merge copies nothing. Of a large profile only a
 * part is read; it always includes the identifiers that were asked for.
 */
export async function readProfile(
  services: Omit<ProfileServices, "catalog">,
  workspace: WorkspaceId,
  profileId: ProfileId,
  allowance: Allowance,
  asked: readonly Uid[] = [],
): Promise<Profile> {
  const most = {
    // One of each, also where there are more profiles than identifiers may be read: without any it would seem to be gone.
    members: Math.max(1, Math.ceil(allowance.members / allowance.profiles)),
    bytes: Math.ceil(allowance.bytes / allowance.profiles),
  };
  const { members, bytes, isPartial } = await readMembers(services, workspace, profileId, most);
  await use(allowance, bytes);
  const uids = [...new Set([...asked, ...members.map(({ uid }) => uid)])];
  const all = await addAll(services, workspace, uids, most.bytes - bytes);
  await use(allowance, all.bytes);
  allowance.profiles -= 1;
  allowance.members -= members.length;
  return {
    profileId,
    uids,
    identifiers: members.map(({ identifier }) => identifier),
    sharedIdentifiers: members.filter(({ isShared }) => isShared).map(({ identifier }) => identifier),
    facet: all.facet,
    isPartial: isPartial || all.isPartial,
  };
}

/** The live profile that any id, current or retired, names, as a whole. */
export async function readLive(
  services: Omit<ProfileServices, "catalog">,
  workspace: WorkspaceId,
  id: string,
  takeBytes: TakeBytes,
): Promise<Profile> {
  const { read } = await readUnmoved(services, takeBytes, {
    resolve: () => requireRef(services, workspace, id),
    sizesOf: ({ size }) => [size],
    read: async ({ profileId }, allowance) => [await readProfile(services, workspace, profileId, allowance)],
  });
  return read[0]!;
}

const TRIES_MAX = 3;

/**
 * Reads what was resolved: people are erased, unlinked and merged meanwhile, so it is resolved again behind a wait for room, and where the
 * profiles that were read show that they moved.
 */
export async function readUnmoved<Found>(
  services: Pick<Services, "limits">,
  takeBytes: TakeBytes,
  steps: {
    readonly resolve: () => Promise<Found>;
    readonly sizesOf: (found: Found) => readonly number[];
    readonly read: (found: Found, allowance: Allowance) => Promise<readonly Profile[]>;
  },
): Promise<{ readonly found: Found; readonly read: readonly Profile[] }> {
  let taken = 0;
  const take: TakeBytes = async (bytes) => {
    const hasWaited = await takeBytes(bytes);
    taken += bytes;
    return hasWaited;
  };
  let found = await steps.resolve();
  let allowance = await allow(services, take, steps.sizesOf(found));
  const resolveAgain = async (): Promise<void> => {
    found = await steps.resolve();
    // What was taken before has room for this read, which stands in its place.
    allowance = await allow(services, take, steps.sizesOf(found), taken);
  };
  if (allowance.hasWaited) await resolveAgain();
  for (let tries = 1; ; tries += 1) {
    const read = await steps.read(found, allowance);
    if (!haveMoved(read)) return { found, read };
    if (tries === TRIES_MAX) throw new AppError("unavailable", "Others keep changing these profiles. Try again.");
    await resolveAgain();
  }
}

/** One has lost all its identifiers or one that was asked for, or two of them are one by now. */
function haveMoved(read: readonly Profile[]): boolean {
  const hasLost = ({ uids, identifiers, isPartial }: Profile): boolean =>
    identifiers.length === 0 || (!isPartial && identifiers.length < uids.length);
  const all = read.flatMap(({ uids }) => uids);
  return read.some(hasLost) || new Set(all).size < all.length;
}

/** What a rule looks at. */
export type Judgeable = Pick<Profile, "uids" | "identifiers" | "facet">;

/** Up to so many identifiers a profile is small: whatever stands in it, a read shows all of it. */
export const wholeMax = ({ limits }: Pick<Services, "limits">): number =>
  Math.min(FACETS_READ_FIRST, limits.profileIdentifiersMax);

/** Small profiles whose members were read, in order, some at a time: the same as a read of each. */
export async function* readWhole(
  services: Pick<Services, "profiles">,
  workspace: WorkspaceId,
  small: readonly WalkedProfile[],
): AsyncGenerator<readonly Judgeable[], void> {
  const sums = sumsOf(services, workspace, small.map(uidsOf));
  let [some, bytes]: [Judgeable[], number] = [[], 0];
  for (const one of small) {
    const facet = (await sums.next()).value!;
    const identifiers = one.members!.map(({ identifier }) => identifier);
    some.push({ uids: uidsOf(one), identifiers, facet });
    bytes += bytesOf(facet);
    if (bytes < FACET_BYTES_PER_READ) continue;
    yield some;
    [some, bytes] = [[], 0];
  }
  if (some.length > 0) yield some;
}

/** A small profile for rules that look at its events alone. */
export const withoutFacets = (one: WalkedProfile): Judgeable => ({
  uids: uidsOf(one),
  identifiers: one.members!.map(({ identifier }) => identifier),
  facet: emptyFacet,
});

const uidsOf = ({ members }: WalkedProfile): readonly Uid[] => members!.map(({ uid }) => uid);
