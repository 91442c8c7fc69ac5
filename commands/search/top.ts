import { mismatch } from "../../core/errors.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { valueOf, type Facet, type Scalar } from "../../core/profile/facet.js";
import { compareScalars } from "../../core/profile/scalar.js";
import type { Profile } from "../read-profile.js";
import type { Services, TakeBytes } from "../services.js";
import { readIfLive, type ListServices } from "./list.js";
import { openRoom } from "./room.js";
import { createBudget, walk, type Budget } from "./walk.js";

const everybody = (): boolean => true;

interface Ranked {
  readonly profileId: ProfileId;
  readonly value: Scalar;
}

export interface Top {
  readonly profiles: readonly Profile[];
  /** How far the walk has come, and who is first so far; null: it is through. */
  readonly next: { readonly last: ProfileId; readonly best: readonly ProfileId[] } | null;
  readonly lookedAt: number;
}

interface Asked {
  readonly trait: string;
  readonly limit: number;
  readonly after: ProfileId | null;
  /** Who was first in the part of the walk that is done. */
  readonly best: readonly ProfileId[];
}

/** The profiles with the greatest values of a trait, among those that the walk has come to; of equal ones the older come first. */
export async function topProfiles(
  services: ListServices & Pick<Services, "catalog">,
  workspace: WorkspaceId,
  { trait, limit, after, best }: Asked,
  takeBytes: TakeBytes,
  budget: Budget = createBudget(),
): Promise<Top> {
  if (!(await services.catalog.traits(workspace)).has(trait))
    throw mismatch([{ path: "trait", message: "is not a trait of this workspace" }]);
  const room = await openRoom(services, takeBytes, limit);
  const valueIn = async (profileId: ProfileId): Promise<Scalar> => {
    const unkept = { forOne: room.forOne, keep: () => undefined };
    const profile = await readIfLive(services, workspace, profileId, unkept, everybody);
    return profile === null ? null : greatest(profile.facet, trait);
  };
  const ranked: Ranked[] = [];
  const rank = (profileId: ProfileId, value: Scalar): void => {
    if (value === null) return;
    ranked.push({ profileId, value });
    if (ranked.length >= 2 * limit) cut(ranked, limit);
  };
  for (const profileId of best) rank(profileId, await valueIn(profileId));
  let last: ProfileId | null = after;
  let isThrough = true;
  for await (const { profileId, seen } of walk(services, workspace, after)) {
    if (budget.isSpent()) {
      isThrough = false;
      break;
    }
    budget.spend();
    last = profileId;
    rank(profileId, seen === null ? await valueIn(profileId) : greatest(seen.facet, trait));
  }
  cut(ranked, limit);
  const profiles: Profile[] = [];
  for (const { profileId } of ranked) {
    const parts = { forOne: () => room.forOne(limit), keep: room.keep };
    const profile = await readIfLive(services, workspace, profileId, parts, everybody);
    if (profile !== null) profiles.push(profile);
  }
  // By what the answer shows: it may have changed since.
  profiles.sort((a, b) => inOrder(rankOf(a, trait), rankOf(b, trait)));
  const next = isThrough ? null : { last: last!, best: ranked.map(({ profileId }) => profileId) };
  return { profiles, next, lookedAt: budget.lookedAt() };
}

const rankOf = ({ profileId, facet }: Profile, trait: string): Ranked => ({ profileId, value: greatest(facet, trait) });

function greatest({ traits }: Facet, name: string): Scalar {
  const trait = traits.get(name);
  if (trait === undefined) return null;
  // The values of a union stand in order, the greatest first.
  if (trait.merge === "union") return trait.values[0] ?? null;
  return valueOf(trait) as Scalar;
}

const inOrder = (a: Ranked, b: Ranked): number =>
  compareScalars(b.value, a.value) || (a.profileId < b.profileId ? -1 : 1);

function cut(ranked: Ranked[], limit: number): void {
  ranked.sort(inOrder);
  ranked.splice(limit);
}
