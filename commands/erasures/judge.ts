import { identifierKey, type EventRecord, type Identifier } from "../../core/event/event.js";
import { msOf } from "../../core/event/time.js";
import { holds, judgeErased, type Tombstone } from "../../core/identity/tombstone.js";
import { namespaceTable } from "../../core/identity/namespaces.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export type JudgeServices = Pick<Services, "catalog" | "identity" | "erasures">;

/** What names people, and when. */
export type Naming = Pick<EventRecord, "identifiers" | "receivedAt" | "effectiveTs">;

/**
 * For each of them, what refuses it: as the graph would say if it were to be linked. It is asked about what never comes to be linked.
 * Uncached.
 */
export async function refusalsOf(
  { catalog, identity, erasures }: JudgeServices,
  workspace: WorkspaceId,
  all: readonly Naming[],
): Promise<readonly (Tombstone | null)[]> {
  const keyOf = (identifier: Identifier) => identifierKey(workspace, identifier);
  const keys = [...new Set(all.flatMap(({ identifiers }) => identifiers.map(keyOf)))];
  const tombstones = keys.length === 0 ? NONE : await erasures.tombstones(workspace, keys);
  if (tombstones.size === 0) return all.map(() => null);
  const table = namespaceTable(await catalog.namespaces(workspace));
  return Promise.all(
    all.map(async (one) => {
      const times = timesOf(one);
      const stones = one.identifiers.map((identifier) => tombstones.get(keyOf(identifier)) ?? null);
      if (!stones.some((stone) => stone !== null && holds(stone, times))) return null;
      const refs = await identity.lookup(workspace, one.identifiers);
      const named = one.identifiers.map(({ namespace }, n) => ({
        tombstone: stones[n]!,
        isKnown: refs[n] !== null,
        isPerson: table.get(namespace)?.kind !== "device",
        isShared: false,
      }));
      return judgeErased(named, times).refusedBy;
    }),
  );
}
const NONE: ReadonlyMap<IdentifierKey, Tombstone> = new Map();

export const timesOf = ({ receivedAt, effectiveTs }: Pick<Naming, "receivedAt" | "effectiveTs">) => ({
  receivedAt,
  effectiveAt: msOf(effectiveTs),
});
