import { identifierKey } from "../../core/event/event.js";
import type { IdentifierKey, WorkspaceId } from "../../core/ids.js";
import type { ComponentPlan, ForbiddenPair, Plan, Snapshot } from "../../core/identity/model.js";
import { refOf } from "../rules/working-state.js";
import { resultOf, type ChangingPair, type UndoDecision } from "./result.js";
import type { ForbiddenPairSides } from "./split.js";
import { locationOf } from "./unlink.js";

export interface Allow {
  readonly kind: "allow";
  readonly snapshot: Snapshot;
  readonly workspace: WorkspaceId;
  readonly pair: ForbiddenPair;
}

export const sidesOf = (workspace: WorkspaceId, { from, to }: ForbiddenPairSides): readonly IdentifierKey[] =>
  [from, to].map((identifier) => identifierKey(workspace, identifier));

/** Pure. */
export function decideAllow({ snapshot, workspace, pair }: Allow): UndoDecision {
  const keys = sidesOf(workspace, pair);
  const refs = keys.map((key) => refOf(locationOf(snapshot, key)[1]));
  if (!isForbiddenIn(snapshot, keys, pair)) return { keys, work: null, result: resultOf(refs, refs) };
  return { keys, work: { kind: "allow", pair }, result: resultOf(refs, refs, { outcome: "allowed" }) };
}

const isForbiddenIn = (
  snapshot: Snapshot,
  keys: readonly IdentifierKey[],
  { forbiddenPairId }: ForbiddenPairSides,
): boolean => keys.every((key) => locationOf(snapshot, key)[1].forbidden.includes(forbiddenPairId));

/** Forbids the pair or allows it, as its two profiles are now. Null when they are not what it was decided on. */
export function planPair(
  workspace: WorkspaceId,
  now: Snapshot,
  pair: ForbiddenPairSides,
  kind: ChangingPair["kind"],
): Pick<Plan, "components"> | null {
  const keys = sidesOf(workspace, pair);
  const isApart = new Set(keys.map((key) => locationOf(now, key)[0])).size === keys.length;
  if (!isApart || isForbiddenIn(now, keys, pair) !== (kind === "allow")) return null;
  const { forbiddenPairId } = pair;
  const components = keys.map((key): ComponentPlan => {
    const [into, { profileId, size, counts, forbidden }] = locationOf(now, key);
    const others = forbidden.filter((id) => id !== forbiddenPairId);
    const after = kind === "allow" ? others : [...others, forbiddenPairId].toSorted();
    return { into, absorbed: [], profileId, size, counts, forbidden: after };
  });
  return { components };
}
