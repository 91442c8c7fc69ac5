import { lookAtProfiles, type LookBounds } from "../../commands/audiences/look.js";
import type { Cause } from "../../core/audience/seat.js";
import { DamagedPlace, isDamaged } from "../../core/errors.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { describeError, type Log } from "../../core/log.js";
import type { AudienceDeps } from "./deps.js";

/** Does the work for all of them together, or, where something is damaged, for smaller and smaller parts. Answers in order. */
export async function pastDamage<T, R>(
  all: readonly T[],
  work: (some: readonly T[]) => Promise<readonly R[]>,
  passOver: (one: T, error: unknown) => R,
): Promise<readonly R[]> {
  try {
    return await work(all);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    if (all.length <= 1) return all.map((one) => passOver(one, error));
    const half = Math.ceil(all.length / 2);
    const first = await pastDamage(all.slice(0, half), work, passOver);
    return [...first, ...(await pastDamage(all.slice(half), work, passOver))];
  }
}

/** What the work answers; null where it met damage, which is noted. */
export async function unlessDamaged<T>(damages: unknown[], work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!isDamaged(error)) throw error;
    damages.push(error);
    return null;
  }
}

const FAILED_MS = 60_000;

/** What the work answers; null where it met damage, and for a minute afterwards: it is told then, and holds up nothing else. */
export function createDamageWaits(log: Log, text: string) {
  const until = new Map<WorkspaceId, number>();
  return async <T>(workspace: WorkspaceId, work: () => Promise<T>): Promise<T | null> => {
    if (performance.now() < (until.get(workspace) ?? -Infinity)) return null;
    until.delete(workspace);
    const damages: unknown[] = [];
    const done = await unlessDamaged(damages, work);
    for (const error of damages) {
      until.set(workspace, performance.now() + FAILED_MS);
      log.error({ workspace, ...describeError(error) }, text);
    }
    return done;
  };
}

/** `lost`: somebody else began a look meanwhile. `left`: there was no time for it. */
export type Looked = "saved" | "lost" | "damaged" | "left";

/** Looks at the profiles of one workspace go on for so long and one call; then others have their turn. */
const LOOK_MS = 500;
/** What is claimed together, and comes into the feed together. */
const PORTION = 64;

export interface PastOptions extends Pick<LookBounds, "took"> {
  readonly tell?: (profileId: ProfileId, error: unknown) => void;
  /**
   * Fails also where those who enter cannot have a seat, be put among the members, or be put down to be looked at again: an audience must
   * not go live without all of them.
   */
  readonly isBuild?: boolean;
  /** None of them may be left. */
  readonly isWhole?: boolean;
}

/**
 * Looks at them in portions until the time is over; at one portion at least. One that can never be looked at, or whose row among the
 * members of an audience is damaged, holds up none of the others. Fails where the feed of the workspace is damaged: that is no matter of
 * the profiles, and everybody who enters an audience would be passed over.
 */
export async function lookPastDamage(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  causes: ReadonlyMap<ProfileId, Cause>,
  options: PastOptions = {},
): Promise<ReadonlyMap<ProfileId, Looked>> {
  const all = [...causes];
  const looked = new Map<ProfileId, Looked>(all.map(([profileId]) => [profileId, "left"]));
  const end = options.isWhole === true ? Infinity : performance.now() + LOOK_MS;
  for (let at = 0; at < all.length && (at === 0 || performance.now() < end); at += PORTION) {
    const portion = all.slice(at, at + PORTION);
    for (const one of await lookAtPortion(deps, workspace, portion, { ...options, until: end })) looked.set(...one);
  }
  return looked;
}

async function lookAtPortion(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  portion: readonly [ProfileId, Cause][],
  { tell, isBuild = false, until, took = () => undefined }: PastOptions & { readonly until: number },
): Promise<readonly (readonly [ProfileId, Looked])[]> {
  const told =
    tell ??
    ((profileId: ProfileId, error: unknown) =>
      deps.log.error({ workspace, profileId, ...describeError(error) }, "a damaged profile stays in its audiences"));
  const look = async (some: readonly [ProfileId, Cause][]): Promise<readonly [ProfileId, Looked][]> => {
    const saved = await lookAtProfiles(deps, workspace, new Map(some), deps.now(workspace), { until, took });
    // Where the time was over, perhaps because of that.
    const other = performance.now() < until ? "lost" : "left";
    return some.map(([profileId]) => [profileId, saved.has(profileId) ? "saved" : other]);
  };
  const passOver = ([profileId]: readonly [ProfileId, Cause], error: unknown): [ProfileId, Looked] => {
    if (error instanceof DamagedPlace && (isBuild || error.of === "feed")) throw error;
    told(profileId, error);
    return [profileId, "damaged"];
  };
  return pastDamage(portion, look, passOver);
}
