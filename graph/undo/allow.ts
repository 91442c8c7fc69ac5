import { AppError } from "../../core/errors.js";
import { identifierKey } from "../../core/event/event.js";
import type { ForbiddenPairId, IdentifierKey } from "../../core/ids.js";
import type { ComponentPlan } from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import { refOf } from "../rules/working-state.js";
import { resultOf, type ChangingPair, type UndoDecision, type UndoStep } from "./decision.js";
import { locationOf, look, type Prepared, type Reading } from "./read.js";

export async function prepareAllow(reading: Reading, forbiddenPairId: ForbiddenPairId): Promise<Prepared> {
  const { graph, workspace } = reading;
  const [pair] = await graph.findForbiddenPairs(workspace, [forbiddenPairId]);
  if (pair === undefined) throw noPair();
  const identifiers = [pair.from, pair.to];
  const keys = identifiers.map((identifier) => identifierKey(workspace, identifier));
  const snapshot = await look(reading, keys);
  // A side was erased meanwhile, and the pair went with it.
  if (!haveStayed(snapshot, keys)) throw noPair();
  const decide = () => decidePair(snapshot, { kind: "allow", pair: { ...pair, isListed: true }, keys });
  return { snapshot, record: { identifiers, reverts: null, isForbidding: false }, decide };
}

const noPair = () => new AppError("not_found", "There is no such forbidden pair.");

const haveStayed = ({ identifiers }: Snapshot, keys: readonly IdentifierKey[]): boolean =>
  keys.every((key) => identifiers.has(key));

/** Each step that writes a profile writes its pairs anew, and the step that erases it ends them all. */
export const FORBIDDEN_PAIRS_MAX = 1_000;

/** `pairs`: those of the profile on that side. A merge may bring more together. */
export function requireRoom(path: "from" | "to", pairs: number): void {
  if (pairs <= FORBIDDEN_PAIRS_MAX) return;
  const message = `its profile may have at most ${FORBIDDEN_PAIRS_MAX.toLocaleString("en-US")} forbidden pairs`;
  throw new AppError("conflict", `${path}: ${message}. Allow some of them first.`, { errors: [{ path, message }] });
}

/** Pure. The two are in different profiles; of one that is allowed they may be in one, see `PairToForbid`. */
export function decidePair(snapshot: Snapshot, asked: Omit<ChangingPair, "named">): UndoDecision {
  const { kind, keys } = asked;
  const profiles = new Map(keys.map((key) => locationOf(snapshot, key)));
  const refs = [...profiles.values()].map(refOf);
  const named = namedIn(snapshot, asked);
  if (named === (kind === "allow" ? 0 : keys.length)) return { keys, work: null, result: resultOf(refs, refs) };
  if (kind === "forbid")
    for (const [i, key] of keys.entries())
      requireRoom(i === 0 ? "from" : "to", locationOf(snapshot, key)[1].forbidden.length + 1);
  const outcome = kind === "allow" ? "allowed" : "forbidden";
  return { keys, work: { ...asked, named }, result: resultOf(refs, refs, { outcome }) };
}

const namedIn = (snapshot: Snapshot, { keys, pair }: Pick<ChangingPair, "keys" | "pair">): number =>
  keys.filter((key) => locationOf(snapshot, key)[1].forbidden.includes(pair.forbiddenPairId)).length;

/** Notes it in its profiles, if it still is to be done. */
export function pairStep(work: ChangingPair): UndoStep {
  const { kind, keys, pair, named } = work;
  const planOf = (now: Snapshot, key: IdentifierKey): ComponentPlan => {
    const [into, { profileId, size, counts, forbidden }] = locationOf(now, key);
    const others = forbidden.filter((id) => id !== pair.forbiddenPairId);
    const after = kind === "allow" ? others : [...others, pair.forbiddenPairId].toSorted();
    return { into, absorbed: [], profileId, size, counts, forbidden: after };
  };
  return {
    keys,
    links: 0,
    plan: ({ now }) => {
      if (!haveStayed(now, keys)) return "changed";
      const oneOfEach = [...new Map(keys.map((key) => [locationOf(now, key)[0], key])).values()];
      const isApart = oneOfEach.length === keys.length;
      if ((kind === "forbid" && !isApart) || namedIn(now, work) !== named) return "changed";
      return { plan: { components: oneOfEach.map((key) => planOf(now, key)) } };
    },
  };
}
