import { identifierKey, type Identifier } from "../../core/event.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import type { Want } from "../../core/identity.js";
import type { IdentityGraph } from "../../core/ports.js";
import { wantOf } from "../../graph/want.js";
import { anAssertion, anIdentifier, step } from "./identity-fixtures.js";

export const [ann, bob, cat, dan] = ["ann", "bob", "cat", "dan"].map((value) => anIdentifier(value)) as [
  Identifier,
  Identifier,
  Identifier,
  Identifier,
];
export const ALL = { limit: 100, after: null };

export const wanting = (workspace: WorkspaceId, ...identifiers: readonly Identifier[]): Want =>
  wantOf(identifiers.map((one) => identifierKey(workspace, one)));

/** What stands there, without the components' names, which only the backend knows. */
export async function standing(graph: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) {
  const picture = await graph.read(workspace, wanting(workspace, ...identifiers));
  return {
    profiles: [...picture.identifiers].map(([key, { uid, component }]) => [
      key,
      uid,
      picture.components.get(component)!,
    ]),
    linked: [...picture.linked].toSorted(),
  };
}

export const idOf = async (graph: IdentityGraph, workspace: WorkspaceId, ...identifiers: readonly Identifier[]) =>
  (await step(graph, workspace, anAssertion(...identifiers)))[0]!.profileId;

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
