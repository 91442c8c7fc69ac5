import type { Audience, AudienceChange, AudienceSet, Build } from "../../core/audience/audience.js";
import { countingAudiences } from "../../core/audience/tallies.js";
import type { Cause } from "../../core/audience/seat.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { PER_LOOK, type AudienceDeps } from "./deps.js";
import { lookPastDamage } from "./past-damage.js";

/** A look may be lost to one that follows a change; then it is that one which counts, or the next. */
const TRIES = 5;
/** At most, after most looks were lost: so many times as long as they took. */
const YIELD_MAX = 4;
const CHANGED: Cause = "changed";

/**
 * Two processes that build for one workspace go through the same pages, and each takes the other's looks: whoever lost most of its own
 * leaves the builds to the other one for a while, at random, so that they do not meet again and again.
 */
export interface Yields {
  readonly isFree: (workspace: WorkspaceId) => boolean;
  readonly lost: (workspace: WorkspaceId, tookMs: number) => void;
}

/** `random` is from 0 to 1. */
export function createYields(random: () => number = Math.random): Yields {
  const until = new Map<WorkspaceId, number>();
  return {
    isFree: (workspace) => {
      if (performance.now() < (until.get(workspace) ?? -Infinity)) return false;
      until.delete(workspace);
      return true;
    },
    lost: (workspace, tookMs) => void until.set(workspace, performance.now() + random() * YIELD_MAX * tookMs),
  };
}

/**
 * Judges the next page of profiles, by id, for the audiences whose rules are new. All that are being built go on together from where the
 * last of them stands. Answers false when none is being built.
 */
export async function buildPage(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  set: AudienceSet,
  yields: Pick<Yields, "lost"> = createYields(),
): Promise<boolean> {
  const counting = countingAudiences(set);
  const building = set.audiences.flatMap(({ audienceId, build }) => (counting.has(audienceId) ? [] : (build ?? [])));
  if (building.length === 0) return false;
  const after = furthestBehind(building);
  const page = await deps.identity.walk(workspace, { limit: PER_LOOK, after, membersMax: 0 });
  const judged = await judgedOf(
    deps,
    workspace,
    page.map(({ profileId }) => profileId),
    yields,
  );
  // The others are begun again later, by whoever comes.
  if (judged.length === 0 && page.length > 0) return true;
  const isOver = page.length < PER_LOOK && judged.length === page.length;
  const reached = isOver ? null : judged.at(-1)!;
  // Only those that stood before these looks: of another rule they say nothing.
  const judgedBy = new Set(building.map(({ buildId }) => buildId));
  const goOn = (one: Audience): Audience => {
    const { build } = one;
    if (build === null || !judgedBy.has(build.buildId)) return one;
    if (reached === null) return { ...one, build: null };
    if (build.after !== null && build.after >= reached) return one;
    // Another process may have judged some of them meanwhile.
    const more = judged.filter((profileId) => build.after === null || profileId > build.after).length;
    return { ...one, build: { ...build, after: reached, judged: build.judged + more } };
  };
  await deps.audiences.changeAudiences(workspace, (current): AudienceChange => {
    return { ...current, audiences: current.audiences.map(goOn) };
  });
  return true;
}

/** Judges those of the page for which there is time. Answers them up to the first that is not done. */
async function judgedOf(
  deps: AudienceDeps,
  workspace: WorkspaceId,
  page: readonly ProfileId[],
  yields: Pick<Yields, "lost">,
): Promise<readonly ProfileId[]> {
  const open = new Set(page);
  for (let tries = 0, lost = page; lost.length > 0 && tries < TRIES; tries += 1) {
    const begunAt = performance.now();
    const causes = new Map(lost.map((profileId) => [profileId, CHANGED]));
    const looked = await lookPastDamage(deps, workspace, causes, { isBuild: true });
    const before = open.size;
    for (const [profileId, how] of looked) if (how === "saved" || how === "damaged") open.delete(profileId);
    lost = lost.filter((profileId) => looked.get(profileId) === "lost");
    if (lost.length <= before - open.size) continue;
    yields.lost(workspace, performance.now() - begunAt);
    break;
  }
  const first = page.findIndex((profileId) => open.has(profileId));
  return first === -1 ? page : page.slice(0, first);
}

function furthestBehind(building: readonly Build[]): ProfileId | null {
  let last: ProfileId | null = building[0]!.after;
  for (const { after } of building) if (last !== null && (after === null || after < last)) last = after;
  return last;
}
