import { identifierKey, type Identifier } from "../../../core/event/event.js";
import type { ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { ReadSet, RulesReadSet } from "../../../core/identity/snapshot.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { readSetOf } from "../../../graph/rules/read-set.js";
import { anAssertion, anIdentifier, step } from "./fixtures.js";

export const [ann, bob, cat, dan] = ["ann", "bob", "cat", "dan"].map((value) => anIdentifier(value)) as [
  Identifier,
  Identifier,
  Identifier,
  Identifier,
];
export const ALL = { limit: 100, after: null };
export const NEWEST = { limit: 100, before: null };

export const wanting = (workspace: WorkspaceId, ...identifiers: readonly Identifier[]): ReadSet =>
  readSetOf(identifiers.map((one) => identifierKey(workspace, one)));

/** The same, with all that the rules need. */
export const wantingRules = (
  want: ReadSet,
  limited: readonly string[] = [],
  seenWithMax = limited.length === 0 ? 0 : 100,
): RulesReadSet => ({ ...want, rules: { limited, seenWithMax } });

/** What stands there, without the components' names, which only the backend knows. */
export async function standing(graph: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) {
  const want = wantingRules(wanting(workspace, ...identifiers), ["user_id", "email"]);
  const snapshot = await graph.read(workspace, want);
  return {
    profiles: [...snapshot.identifiers].map(
      ([key, { component, ...seen }]) =>
        [key, { ...seen, seenWith: seen.seenWith.toSorted() }, snapshot.components.get(component)!] as const,
    ),
    linked: [...snapshot.linked].toSorted(),
    removed: [...snapshot.removed].toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
}

/** What stands of those that were never seen. */
export const NOTHING = { profiles: [], linked: [], removed: [] };

export const idOf = async (graph: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) =>
  (await step(graph, workspace, anAssertion(...identifiers)))[0]!.profileId!;

/** All of a list, read in pages of this size; one more than there should be, so that a position that does not move shows. */
export async function inPages<T>(size: number, total: number, page: (last: T | undefined) => Promise<readonly T[]>) {
  const all: T[] = [];
  for (let pages = 0; pages <= Math.ceil(total / size); pages++) {
    const found = await page(all.at(-1));
    if (found.length > size) throw new Error(`a page of ${found.length}`);
    all.push(...found);
  }
  return all;
}

export const valuesOf = async (graph: IdentityGraph, workspace: WorkspaceId, profileId: ProfileId) =>
  (await graph.members(workspace, profileId, ALL)).map(({ identifier }) => identifier.value);

/** Values that a careless encoding cuts, folds or takes for something else. */
export const hostileValues = (other: WorkspaceId): readonly string[] => [
  ":",
  "b:c",
  "b:c:d",
  "nul\0inside",
  "nul",
  "'; DROP TABLE identifiers; --",
  '"`$q\\',
  "𝒳😀",
  "\u00e9",
  "e\u0301",
  "Case",
  "case",
  " case ",
  `${other}:user_id:ann`,
  "x".repeat(1_024),
];
