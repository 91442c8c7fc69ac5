import { identifierKey, type EventRecord, type Identifier } from "../../core/event/event.js";
import { msOf } from "../../core/event/time.js";
import { holds, judgeErased, type Tombstone } from "../../core/identity/tombstone.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export type JudgeServices = Pick<Services, "identity" | "erasures">;

/** What names people, and when. */
export type Naming = Pick<EventRecord, "identifiers" | "scoped" | "receivedAt" | "effectiveTs">;

/**
 * For each of them, what refuses it: as the graph would say if it were to be linked. It is asked about what never comes to be linked.
 * Uncached.
 */
export async function refusalsOf(
  { identity, erasures }: JudgeServices,
  workspace: WorkspaceId,
  all: readonly Naming[],
): Promise<readonly (Tombstone | null)[]> {
  const keyOf = (identifier: Identifier) => identifierKey(workspace, identifier);
  const keys = [...new Set(all.flatMap(({ identifiers }) => identifiers.map(keyOf)))];
  const tombstones = keys.length === 0 ? NONE : await erasures.tombstones(workspace, keys);
  if (tombstones.size === 0) return all.map(() => null);
  return Promise.all(
    all.map(async (one) => {
      const times = timesOf(one);
      const stones = one.identifiers.map((identifier) => tombstones.get(keyOf(identifier)) ?? null);
      if (!stones.some((stone) => stone !== null && holds(stone, times))) return null;
      const known = await identity.named(workspace, one);
      const named = known.map((each, n) => Object.assign({ tombstone: stones[n]! }, each));
      return judgeErased(named, times).refusedBy;
    }),
  );
}
const NONE: ReadonlyMap<IdentifierKey, Tombstone> = new Map();

export const timesOf = ({ receivedAt, effectiveTs }: Pick<Naming, "receivedAt" | "effectiveTs">) => ({
  receivedAt,
  effectiveAt: msOf(effectiveTs),
});
