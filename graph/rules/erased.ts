import type { DroppedIdentifier, DropRule } from "../../core/event/event.js";
import { judgeErased, type EventTimes, type Tombstone } from "../../core/identity/tombstone.js";
import type { AssertResult, Rules } from "../../core/identity/model.js";
import type { Request } from "./read-set.js";
import { sharedIdentifiersOf } from "./shared-identifiers.js";
import { workingComponentOf, type WorkingState } from "./working-state.js";

/** What erasures leave of a request. */
export type Left =
  | { readonly kind: "refused"; readonly result: AssertResult }
  | { readonly kind: "left"; readonly request: Request; readonly lost: readonly DroppedIdentifier[] };

/** As if an erased identifier had not been named; unless what names it is of the person who was erased. */
export function leftOf(working: WorkingState, request: Request, rules: Rules): Left {
  const { tombstones } = working.snapshot;
  if (tombstones.size === 0 || !request.keys.some((key) => tombstones.has(key)))
    return { kind: "left", request, lost: [] };
  const times = timesOf(request);
  const shared = sharedIdentifiersOf(working, request, rules);
  const verdict = judgeErased(
    request.keys.map((key, position) => ({
      tombstone: tombstones.get(key) ?? null,
      isKnown: workingComponentOf(working, key) !== null,
      isPerson: rules.isPerson(request.assertion.identifiers[position]!.namespace),
      isShared: shared.has(position),
    })),
    times,
  );
  // A request of today is nobody's event: only what is suppressed stays away.
  if (times !== null && verdict.refusedBy !== null) return refused(verdict.refusedBy);
  const erased = verdict.erased ?? suppressedIn(working, request);
  const isAlias = request.assertion.evidence.source === "alias";
  if (erased.length > 0 && (isAlias || erased.length === request.keys.length))
    return refused(tombstones.get(request.keys[erased[0]!]!)!);
  return { kind: "left", ...without(working, request, new Set(erased)) };
}

const isEvent = ({ assertion: { evidence } }: Request): boolean =>
  evidence.source !== "identify" && evidence.source !== "alias";

const timesOf = (request: Request): EventTimes => {
  const { evidence, effectiveAt = evidence.at } = request.assertion;
  return isEvent(request) ? { receivedAt: evidence.at, effectiveAt } : null;
};

const suppressedIn = ({ snapshot }: WorkingState, { keys }: Request): readonly number[] =>
  [...keys.keys()].filter((position) => snapshot.tombstones.get(keys[position]!)?.isSuppressed === true);

const ruleOf = ({ isSuppressed }: Tombstone): DropRule => (isSuppressed ? "suppressed" : "erased");

function without({ snapshot }: WorkingState, request: Request, erased: ReadonlySet<number>) {
  if (erased.size === 0) return { request, lost: [] };
  const isLeft = (_: unknown, position: number): boolean => !erased.has(position);
  const { identifiers } = request.assertion;
  return {
    request: {
      ...request,
      assertion: { ...request.assertion, identifiers: identifiers.filter(isLeft) },
      keys: request.keys.filter(isLeft),
      uids: request.uids.filter(isLeft),
    },
    lost: [...erased].map((position) => ({
      identifier: identifiers[position]!,
      rule: ruleOf(snapshot.tombstones.get(request.keys[position]!)!),
    })),
  };
}

/** It leaves no record: that would name who was erased. */
const refused = (refusedBy: Tombstone): Left => ({
  kind: "refused",
  result: {
    profileId: null,
    outcome: "refused",
    mergedProfileIds: [],
    dropped: [],
    facet: null,
    changeId: null,
    rule: ruleOf(refusedBy),
    refusedBy,
    before: [],
    after: [],
  },
});
