import type { ProfileRef } from "../../core/identity/model.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { createMarkWalk } from "./mark-walk.js";
import { lookAtMoved } from "./moved.js";
import type { Parking } from "./parking.js";
import type { Pauses } from "./pauses.js";

/** `waits`: those that are left may not be looked at yet. `more`: so may these, but not all were seen. */
export type Turn = "nothing" | "waits" | "more" | "busy";

export interface MarkLooks {
  look(): Promise<Turn>;
  /** How old the oldest of the marks was that the last look came to, milliseconds. */
  ageMs(): number;
}

/** `profile` is null where the uid names nobody any more. */
interface Named {
  readonly mark: Mark;
  readonly profile: ProfileRef | null;
}

/** What a step found that may be looked at now, by workspace. */
interface Found {
  readonly open: Map<WorkspaceId, Named[]>;
  readonly profiles: Set<string>;
  hasWaiting: boolean;
  ageMs: number;
}

/**
 * Looks at the profiles that were marked, and clears the marks whose looks went through. Those of a workspace that is parked, and of a
 * profile that was looked at just now, are passed over, however many they are.
 */
export function createMarkLooks(deps: AudienceDeps, pauses: Pauses, parking: Parking): MarkLooks {
  const walk = createMarkWalk(deps.marks);
  /** Seen since the walk began. */
  let hasWaiting = false;
  let ageMs = 0;

  const look = async (): Promise<Turn> => {
    const found: Found = { open: new Map(), profiles: new Set(), hasWaiting: false, ageMs: 0 };
    const isWhole = await walk({
      take: (some) => nameSome(deps, some, found, pauses, parking),
      isFull: () => found.profiles.size >= PER_LOOK,
      hasOpen: (workspace) => found.open.has(workspace),
      isParked: (workspace) => !parking.isFree(workspace),
    });
    ageMs = found.ageMs;
    let isBusy = false;
    let room = PER_LOOK;
    for (const [workspace, named] of found.open) {
      const noted = await parking.attempt(workspace, () => lookAtNamed(deps, pauses, workspace, { named, room }));
      isBusy ||= noted !== null;
      room -= noted ?? 0;
    }
    const isAnyWaiting = hasWaiting || found.hasWaiting;
    hasWaiting = isAnyWaiting && !isWhole;
    if (isBusy) return "busy";
    if (!isWhole) return "more";
    return isAnyWaiting ? "waits" : "nothing";
  };
  return { look, ageMs: () => ageMs };
}

async function nameSome(
  deps: AudienceDeps,
  some: readonly Mark[],
  found: Found,
  pauses: Pauses,
  parking: Parking,
): Promise<void> {
  const byWorkspace = new Map<WorkspaceId, Mark[]>();
  for (const mark of some) {
    const its = byWorkspace.get(mark.workspace) ?? [];
    if (pauses.isWaiting(mark.markId)) found.hasWaiting = true;
    else byWorkspace.set(mark.workspace, [...its, mark]);
  }
  const resolve = async (workspace: WorkspaceId, its: readonly Mark[]): Promise<void> => {
    const uids = its.map(({ uid }) => uid);
    const profiles = await deps.identity.resolveAll(workspace, uids, 0);
    for (const [n, mark] of its.entries()) add(found, pauses, { mark, profile: profiles[n]! });
    for (const { since } of its) found.ageMs = Math.max(found.ageMs, deps.now(workspace) - since);
  };
  await Promise.all(
    [...byWorkspace].map(([workspace, its]) => parking.attemptPart(workspace, () => resolve(workspace, its))),
  );
}

function add(found: Found, pauses: Pauses, named: Named): void {
  const { workspace, markId } = named.mark;
  if (named.profile !== null) {
    const { profileId } = named.profile;
    if (!pauses.isFree(workspace, profileId)) {
      pauses.waits(markId, workspace, profileId);
      found.hasWaiting = true;
      return;
    }
    // Many marks of one profile are one look.
    found.profiles.add(`${workspace}:${profileId}`);
  }
  const its = found.open.get(workspace) ?? [];
  its.push(named);
  found.open.set(workspace, its);
}

/** Answers how many profiles of notes it looked at with them. */
async function lookAtNamed(
  deps: AudienceDeps,
  pauses: Pauses,
  workspace: WorkspaceId,
  { named, room }: { readonly named: readonly Named[]; readonly room: number },
): Promise<number> {
  const profiles = new Map(named.flatMap(({ profile }) => (profile === null ? [] : [[profile.profileId, profile]])));
  const { noted, lost } = await lookAtMoved(deps, workspace, { changed: [...profiles.keys()], room });
  for (const profile of profiles.values()) pauses.looked(workspace, profile);
  const done = named.filter(({ profile }) => profile === null || !lost.has(profile.profileId));
  await deps.marks.clear(done.map(({ mark }) => mark));
  return noted;
}
