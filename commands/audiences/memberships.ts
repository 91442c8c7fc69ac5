import type { Audience } from "../../core/audience/audience.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Profile } from "../read-profile.js";
import type { EventServices } from "../search/events.js";
import { compileAudiences, judgeProfile } from "./judged.js";

/** The audiences that a profile is in. */
export interface Memberships {
  readonly audiences: readonly Audience[];
  /** It has more events than were looked at. */
  readonly isPartial: boolean;
}

const NONE: Memberships = { audiences: [], isPartial: false };

/** Judges profiles by what was read of them. */
export async function openMemberships(
  services: EventServices,
  workspace: WorkspaceId,
  now: number,
): Promise<(profile: Profile) => Promise<Memberships>> {
  const compiled = compileAudiences(await services.audiences.audiences(workspace));
  const { all } = compiled;
  if (all.length === 0) return () => Promise.resolve(NONE);
  return async (profile) => {
    const { verdicts, isPartial } = await judgeProfile(services, workspace, compiled, profile, now);
    return { audiences: all.flatMap(({ audience }, i) => (verdicts[i]!.is === true ? [audience] : [])), isPartial };
  };
}
