import { setImmediate as nextTurn } from "node:timers/promises";
import { createPause } from "../../core/event-loop.js";
import type { Identifier } from "../../core/event/event.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Facet } from "../../core/profile/facet.js";
import type { Services } from "../services.js";
import { sumsOf } from "./facets.js";

export type WalkServices = Pick<Services, "identity" | "profiles">;

/** A profile that a walk has come to. */
export interface Met {
  readonly profileId: ProfileId;
  /** What was read of it with many others at once; null for a larger one, which has to be read alone. */
  readonly seen: Seen | null;
}

export interface Seen {
  readonly identifiers: readonly Identifier[];
  readonly facet: Facet;
}

const PROFILES_PER_READ = 100;
/** Few have more identifiers. */
const MEMBERS_MAX = 20;

/** What is done with its profiles holds the event loop no longer than this, milliseconds: several walks may be under way. */
const TURN_MS = 2;

/** All profiles after this one, by id; or those of these ids. */
export async function* walk(
  services: WalkServices,
  workspace: WorkspaceId,
  after: ProfileId | null,
  ids: readonly ProfileId[] | null = null,
): AsyncGenerator<Met, void> {
  if (ids !== null) {
    const pause = createPause(TURN_MS);
    for (const profileId of [...new Set(ids)].toSorted()) {
      if (after !== null && profileId <= after) continue;
      yield { profileId, seen: null };
      await pause();
    }
    return;
  }
  for (let last = after; ;) {
    const page = { limit: PROFILES_PER_READ, after: last, membersMax: MEMBERS_MAX };
    const found = await services.identity.walk(workspace, page);
    yield* withFacets(services, workspace, found);
    if (found.length < PROFILES_PER_READ) return;
    last = found.at(-1)!.profileId;
    // The embedded store answers at once, and a long walk in one turn of the event loop would hold up everybody.
    await nextTurn();
  }
}

async function* withFacets(
  services: WalkServices,
  workspace: WorkspaceId,
  found: readonly WalkedProfile[],
): AsyncGenerator<Met, void> {
  const groups = found.map(({ members }) => (members ?? []).map(({ uid }) => uid));
  const sums = sumsOf(services, workspace, groups);
  const pause = createPause(TURN_MS);
  for (const { profileId, members } of found) {
    const facet = (await sums.next()).value!;
    const identifiers = members?.map(({ identifier }) => identifier) ?? [];
    yield { profileId, seen: members === null ? null : { identifiers, facet } };
    await pause();
  }
}

const LOOKED_AT_MAX = 5_000;
const WORK_MS = 250;

export type Budget = ReturnType<typeof createBudget>;

/** What one call may look at. At least one profile, so that each call comes further. */
export function createBudget(clock: () => number = () => performance.now()) {
  const end = clock() + WORK_MS;
  let lookedAt = 0;
  return {
    spend: () => void (lookedAt += 1),
    isSpent: () => lookedAt >= LOOKED_AT_MAX || (lookedAt > 0 && clock() >= end),
    lookedAt: () => lookedAt,
  };
}
