import { setImmediate as nextTurn } from "node:timers/promises";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { readProfile, type Profile } from "../read-profile.js";
import type { Services, TakeBytes } from "../services.js";
import { openRoom, type Room } from "./room.js";

export type ListServices = Pick<Services, "identity" | "profiles" | "events" | "limits">;

export interface ProfileList {
  readonly profiles: readonly Profile[];
  /** Where to go on; null: there are no more. */
  readonly next: ProfileId | null;
}

/** All profiles by id (age), from the graph itself. */
export async function listProfiles(
  services: ListServices,
  workspace: WorkspaceId,
  { limit, after }: { readonly limit: number; readonly after: ProfileId | null },
  takeBytes: TakeBytes,
): Promise<ProfileList> {
  const room = await openRoom(services, takeBytes, limit);
  const met = await services.identity.walk(workspace, { limit: limit + 1, after, membersMax: 0 });
  const profiles: Profile[] = [];
  for (const [i, { profileId }] of met.entries()) {
    if (i === limit || room.isFull()) return { profiles, next: met[i - 1]!.profileId };
    const profile = await readIfLive(services, workspace, profileId, room, () => true).catch(room.orFull);
    if (profile !== null) profiles.push(profile);
    else if (room.isFull()) return { profiles, next: met[i - 1]!.profileId };
    await nextTurn();
  }
  return { profiles, next: null };
}

/** Null if the profile has merged into another meanwhile, which is met under its own id, or is not wanted. */
export async function readIfLive(
  services: ListServices,
  workspace: WorkspaceId,
  profileId: ProfileId,
  room: Pick<Room, "forOne" | "keep">,
  isWanted: (profile: Profile) => boolean | Promise<boolean>,
): Promise<Profile | null> {
  const allowance = room.forOne();
  const profile = await readProfile(services, workspace, profileId, allowance);
  if (!(await isWanted(profile))) return null;
  const live = await services.identity.resolve(workspace, profileId);
  if (live?.profileId !== profileId) return null;
  room.keep(allowance);
  return profile;
}
