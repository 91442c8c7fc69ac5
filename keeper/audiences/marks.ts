import type { ProfileRef } from "../../core/identity/model.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Mark } from "../../core/ports/mark-store.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookAtMoved } from "./moved.js";
import type { Parking } from "./parking.js";
import type { Pauses } from "./pauses.js";

/** So many are read when all before them have to wait. */
const READ_MAX = 4_096;
const MORE = 4;
const AT_ONCE = 64;

/** `waits`: there is more, which may not be looked at yet. */
export type Turn = "nothing" | "waits" | "busy";

/**
 * Looks at the profiles that were marked, the oldest marks first, and clears those whose looks went through. Those of a workspace that is
 * parked are passed over.
 */
export async function lookAtMarked(deps: AudienceDeps, pauses: Pauses, parking: Parking): Promise<Turn> {
  for (let limit = PER_LOOK; ; limit *= MORE) {
    const marks = await deps.marks.marks(limit);
    const { open, isPaused } = await namedBy(deps, marks, pauses, parking);
    let isBusy = false;
    for (const [workspace, named] of open) {
      const looked = await parking.attempt(workspace, () => lookAtNamed(deps, pauses, workspace, named));
      isBusy ||= looked !== null;
    }
    if (isBusy) return "busy";
    if (marks.length < limit || limit >= READ_MAX) return isPaused ? "waits" : "nothing";
  }
}

/** `profile` is null where the uid names nobody any more. */
interface Named {
  readonly mark: Mark;
  readonly profile: ProfileRef | null;
}

interface Open {
  /** Those that may be looked at now, by workspace. */
  readonly open: ReadonlyMap<WorkspaceId, readonly Named[]>;
  readonly isPaused: boolean;
}

async function namedBy(deps: AudienceDeps, marks: readonly Mark[], pauses: Pauses, parking: Parking): Promise<Open> {
  const open = new Map<WorkspaceId, readonly Named[]>();
  let [count, isPaused] = [0, false];
  for (let at = 0; at < marks.length && count < PER_LOOK; at += AT_ONCE) {
    const some = marks.slice(at, at + AT_ONCE);
    const resolve = async (workspace: WorkspaceId, its: readonly Mark[]): Promise<readonly Named[]> => {
      const uids = its.map(({ uid }) => uid);
      const profiles = await deps.identity.resolveAll(workspace, uids, 0);
      return its.map((mark, n) => ({ mark, profile: profiles[n]! }));
    };
    const workspaces = [...new Set(some.map(({ workspace }) => workspace))];
    const found = await Promise.all(
      workspaces.map((workspace) => {
        const its = some.filter((mark) => mark.workspace === workspace);
        return parking.attempt(workspace, () => resolve(workspace, its));
      }),
    );
    for (const { mark, profile } of found.flatMap((named) => named ?? [])) {
      const { workspace } = mark;
      if (profile !== null && !pauses.isFree(workspace, profile.profileId)) {
        isPaused = true;
        continue;
      }
      open.set(workspace, [...(open.get(workspace) ?? []), { mark, profile }]);
      count += 1;
    }
  }
  return { open, isPaused };
}

async function lookAtNamed(
  deps: AudienceDeps,
  pauses: Pauses,
  workspace: WorkspaceId,
  named: readonly Named[],
): Promise<void> {
  const profiles = named.flatMap(({ profile }) => profile ?? []);
  const changed = profiles.map(({ profileId }) => profileId);
  const { lost } = await lookAtMoved(deps, workspace, changed);
  for (const profile of profiles) pauses.looked(workspace, profile);
  const done = named.filter(({ profile }) => profile === null || !lost.has(profile.profileId));
  await deps.marks.clear(done.map(({ mark }) => mark));
}
