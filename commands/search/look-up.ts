import { setImmediate as nextTurn } from "node:timers/promises";
import type { Identifier } from "../../core/event/event.js";
import type { FoundIdentifier } from "../../core/identity/api.js";
import { admit } from "../../core/identity/namespaces.js";
import type { ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import { requireReadable, withoutBlocked } from "../admit-identifiers.js";
import { readProfile, readUnmoved, type Allowance, type Profile, type ProfileServices } from "../read-profile.js";
import type { Services, TakeBytes } from "../services.js";

const PROFILES_AT_ONCE = 16;
const MEMBERS_AT_ONCE = 200;

export interface LookedUp {
  /** Each profile with the identifiers that found it, as they were sent, so that the caller can match them. */
  readonly profiles: readonly (Profile & { readonly matched: readonly Identifier[] })[];
  readonly unknown: readonly Identifier[];
}

/** The profiles of the identifiers, and of others as they are stored. Creates nothing. */
export async function lookUpProfiles(
  services: ProfileServices,
  workspace: WorkspaceId,
  asked: readonly Identifier[],
  takeBytes: TakeBytes,
  stored: readonly Identifier[] = [],
): Promise<LookedUp> {
  const admitted = await admitKnown(services, workspace, asked);
  const known = [...admitted, ...stored.map((one) => ({ stored: one, asked: one }))];
  const { found, read } = await readUnmoved(services, takeBytes, {
    resolve: async () => {
      const stored = known.map((one) => one.stored);
      return foundOf(await services.identity.lookup(workspace, stored));
    },
    sizesOf: (profiles) => profiles.map(({ size }) => size),
    read: (profiles, allowance) => readFound(services, workspace, profiles, allowance),
  });
  const profiles = read.map((profile, n) =>
    Object.assign(profile, { matched: found[n]!.matched.map((i) => known[i]!.asked) }),
  );
  const matched = new Set(profiles.flatMap((profile) => profile.matched));
  return { profiles, unknown: asked.filter((one) => !matched.has(one)) };
}

interface Found {
  readonly profileId: ProfileId;
  readonly size: number;
  readonly uids: readonly Uid[];
  /** Which of the refs name it. */
  readonly matched: readonly number[];
}

/** Each profile once. */
function foundOf(refs: readonly (FoundIdentifier | null)[]): readonly Found[] {
  const found = new Map<ProfileId, Found & { readonly uids: Uid[]; readonly matched: number[] }>();
  for (const [i, ref] of refs.entries()) {
    if (ref === null) continue;
    const { profileId, size, uid } = ref;
    const one = found.get(profileId) ?? { profileId, size, uids: [], matched: [] };
    one.uids.push(uid);
    one.matched.push(i);
    found.set(profileId, one);
  }
  return [...found.values()];
}

/** In their order. */
async function readFound(
  services: ProfileServices,
  workspace: WorkspaceId,
  found: readonly Found[],
  allowance: Allowance,
): Promise<readonly Profile[]> {
  // The small ones first: what they leave of their parts is for the large ones.
  const smallFirst = found.toSorted((a, b) => a.size - b.size);
  const read = new Map<ProfileId, Profile>();
  for (const group of inGroups(smallFirst, allowance)) {
    // The embedded store answers at once, and all the profiles in one turn of the event loop would hold up everybody.
    if (read.size > 0) await nextTurn();
    await Promise.all(
      group.map(async ({ profileId, uids }) => {
        read.set(profileId, await readProfile(services, workspace, profileId, allowance, uids));
      }),
    );
  }
  return found.map(({ profileId }) => read.get(profileId)!);
}

/** Small ones that have room for all of them are read beside each other: a store on a server answers each after its way there and back. */
function* inGroups(smallFirst: readonly Found[], allowance: Allowance): Generator<readonly Found[]> {
  for (let next = 0; next < smallFirst.length;) {
    const part = allowance.members / allowance.profiles;
    const group = [smallFirst[next]!];
    let members = group[0]!.size;
    for (next += 1; next < smallFirst.length && group.length < PROFILES_AT_ONCE; next += 1) {
      const { size } = smallFirst[next]!;
      members += size;
      if (size > part || members > MEMBERS_AT_ONCE) break;
      group.push(smallFirst[next]!);
    }
    yield group;
  }
}

/** Those that can be known at all, as they are stored. */
export async function admitKnown(
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
