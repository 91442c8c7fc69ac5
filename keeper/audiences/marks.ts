import type { ProfileRef } from "../../core/identity/model.js";
import type { WorkspaceId } from "../../core/ids.js";
import { describeError } from "../../core/log.js";
import type { Mark } from "../../core/ports/mark-store.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { createMarkWalk } from "./mark-walk.js";
import type { MovedLooks } from "./moved.js";
import type { Parking } from "./parking.js";
import { pastDamage } from "./past-damage.js";
import type { Pauses } from "./pauses.js";

/** `waits`: those that are left may not be looked at yet. `more`: so may these, but not all were seen. */
export type Turn = "nothing" | "waits" | "more" | "busy";

export interface MarkLooks {
  look(): Promise<Turn>;
  /** Whether one of the marks that the last look came to had waited for long. */
  isLate(): boolean;
  /** Whether one of those that it took had waited for a good part of the second within which the feed follows. */
  hurries(): boolean;
}

/** A change that is younger is being followed in time. */
const LATE_MS = 10_000;
/** Whoever waits for the feed gives it a second: so little leaves time for what comes meanwhile. */
const HURRY_MS = 100;

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
  /** The longest that one of the marks that were met has waited, milliseconds. */
  metMs: number;
  /** The same of those that may be looked at now. */
  openMs: number;
  readonly waitedMs: (mark: Mark) => number;
}

/**
 * Looks at the profiles that were marked, and clears the marks whose looks went through. Those of a workspace that is parked, and of a
 * profile that was looked at just now, are passed over, however many they are.
 */
export function createMarkLooks(
  deps: AudienceDeps,
  pauses: Pauses,
  parking: Parking,
  lookAtMoved: MovedLooks,
): MarkLooks {
  const walk = createMarkWalk(deps.marks);
  const followed = createFollowed();
  const waitedMs = (mark: Mark): number => Math.min(deps.now(mark.workspace) - mark.since, followed.agoMs(mark));
  /** Seen since the walk began. */
  let hasWaiting = false;
  let [metMs, openMs] = [0, 0];

  /** Answers how many profiles of notes it looked at with them, and the marks whose looks went through. */
  const lookAtNamed = async (
    workspace: WorkspaceId,
    { named, room }: { readonly named: readonly Named[]; readonly room: number },
  ): Promise<{ readonly noted: number; readonly done: readonly Mark[] }> => {
    const profiles = new Map(named.flatMap(({ profile }) => (profile === null ? [] : [[profile.profileId, profile]])));
    const { noted, open } = await lookAtMoved(workspace, { changed: [...profiles.keys()], room });
    for (const profile of profiles.values()) if (!open.has(profile.profileId)) pauses.looked(workspace, profile);
    const isDone = ({ profile }: Named): boolean => profile === null || !open.has(profile.profileId);
    const done = named.filter(isDone).map(({ mark }) => mark);
    await deps.marks.clear(done);
    return { noted, done };
  };

  const look = async (): Promise<Turn> => {
    const begunAt = performance.now();
    // Nothing is known of marks that cannot be read.
    [metMs, openMs] = [0, 0];
    const found: Found = { open: new Map(), profiles: new Set(), hasWaiting: false, metMs: 0, openMs: 0, waitedMs };
    const isWhole = await walk.step({
      take: (some) => nameSome(deps, some, found, pauses, parking),
      isFull: () => found.profiles.size >= PER_LOOK,
      hasOpen: (workspace) => found.open.has(workspace),
      isParked: (workspace) => !parking.isFree(workspace),
    });
    ({ metMs, openMs } = found);
    let isBusy = false;
    let room = PER_LOOK;
    for (const [workspace, named] of found.open) {
      const looked = await parking.attempt(workspace, () => lookAtNamed(workspace, { named, room }));
      isBusy ||= looked !== null;
      room -= looked?.noted ?? 0;
      followed.note(looked?.done ?? [], begunAt);
    }
    // Marks for which there was no time, and those that came again during their look, are older than what the walk has not seen yet.
    if (isBusy && !found.hasWaiting) walk.rewind();
    const isAnyWaiting = hasWaiting || found.hasWaiting;
    hasWaiting = isAnyWaiting && !isWhole;
    if (isBusy) return "busy";
    if (!isWhole) return "more";
    return isAnyWaiting ? "waits" : "nothing";
  };
  return { look, isLate: () => metMs > LATE_MS, hurries: () => openMs > HURRY_MS };
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
    const ask = (of: readonly Mark[]) =>
      deps.identity.resolveAll(
        workspace,
        of.map(({ uid }) => uid),
        0,
      );
    // Nobody can be found by it any more, so it goes like one that names nobody.
    const passOver = ({ uid }: Mark, error: unknown): null => {
      deps.log.error({ workspace, uid, ...describeError(error) }, "no audiences follow a damaged identifier");
      return null;
    };
    const profiles = await pastDamage<Mark, ProfileRef | null>(its, ask, passOver);
    for (const [n, mark] of its.entries()) add(found, pauses, { mark, profile: profiles[n]! });
    found.metMs = Math.max(found.metMs, ...its.map(found.waitedMs));
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
    found.openMs = Math.max(found.openMs, found.waitedMs(named.mark));
  }
  const its = found.open.get(workspace) ?? [];
  its.push(named);
  found.open.set(workspace, its);
}

const keyOf = ({ workspace, uid }: Mark): string => `${workspace}:${uid}`;
const isOver = (at: number): boolean => at + LATE_MS < performance.now();

/** When those of late were followed: one that is marked again during its look keeps its `since`, though only what came later waits. */
function createFollowed() {
  /** When the marks were read, in that order. */
  const readAt = new Map<string, number>();
  return {
    /** Since what the mark stands for was read, milliseconds; Infinity: longer than matters. */
    agoMs: (mark: Mark): number => performance.now() - (readAt.get(keyOf(mark)) ?? -Infinity),
    note: (marks: readonly Mark[], at: number): void => {
      for (const key of marks.map(keyOf)) {
        readAt.delete(key);
        readAt.set(key, at);
      }
      for (const [key, one] of readAt) {
        if (!isOver(one)) break;
        readAt.delete(key);
      }
    },
  };
}
