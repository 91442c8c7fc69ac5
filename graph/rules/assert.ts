import type { DroppedIdentifier, Identifier } from "../../core/event/event.js";
import type { IdentifierKey, Uid } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type LinkPlan,
  type Plan,
  type ProfileRef,
  type Repeat,
  type Rules,
  type AssertResult,
} from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import {
  addLinks,
  createWorkingState,
  createIn,
  workingComponentOf,
  isLinked,
  join,
  planOf,
  refOf,
  uidOf,
  type WorkingState,
  type WorkingComponent,
} from "./working-state.js";
import { leftOf } from "./erased.js";
import { isRepeat } from "./repeats.js";
import { isStale, select, selectFacetAlone, type Selection } from "./select.js";
import {
  beyondLimit,
  isHeldThoughShared,
  sharedIdentifiersOf,
  recordSeenWith,
  stillLinked,
} from "./shared-identifiers.js";
import type { Request } from "./read-set.js";

export type { PendingAssertion, Request } from "./read-set.js";
export { NO_RULES } from "./violation.js";

export interface Decision {
  /** Null when there is nothing to write. */
  readonly plan: Plan | null;
  /** One for each request, in order. */
  readonly results: readonly AssertResult[];
  /** Of each request, those shared identifiers that links still hold in a profile: they are unlinked before the result is answered. */
  readonly stillLinked: readonly (readonly Identifier[])[];
}

/**
 * Applies the requests one after the other, as if each were committed alone, and answers the net effect as one plan.
 * Pure: the snapshot stays as it is. It must show all keys of the requests and all their pairs, with all that rules need.
 */
export function decide(snapshot: Snapshot, requests: readonly Request[], rules: Rules): Decision {
  const working = createWorkingState(snapshot);
  const applied = requests.map((request) => apply(working, request, rules));
  return {
    plan: planOf(working),
    results: applied.map(({ result }) => result),
    stillLinked: applied.map(({ stillLinked }) => stillLinked),
  };
}

/** The result of a request that writes nothing. */
export function unchanged(profile: Omit<Repeat, "isShared">): AssertResult {
  const refs = [refOf(profile)];
  const { profileId, facet } = profile;
  return {
    profileId,
    outcome: "unchanged",
    mergedProfileIds: [],
    dropped: [],
    facet,
    changeId: null,
    rule: null,
    refusedBy: null,
    before: refs,
    after: refs,
  };
}

interface Applied {
  readonly result: AssertResult;
  readonly stillLinked: readonly Identifier[];
}

/** What erasures leave of it is applied; what they take is answered, and stands in no record. */
function apply(working: WorkingState, request: Request, rules: Rules): Applied {
  const left = leftOf(working, request, rules);
  if (left.kind === "refused") return { result: left.result, stillLinked: [] };
  const applied = applyLeft(working, left.request, rules);
  if (left.lost.length === 0) return applied;
  return { ...applied, result: { ...applied.result, dropped: [...left.lost, ...applied.result.dropped] } };
}

function applyLeft(working: WorkingState, request: Request, rules: Rules): Applied {
  const known = workingComponentOf(working, request.keys[0]!);
  // Whatever the rules say now: existing links stay.
  const isInside = (key: IdentifierKey): boolean => workingComponentOf(working, key) === known;
  const isHeld = request.keys.some((key) => isHeldThoughShared(working, key));
  if (known !== null && !isHeld && isRepeat(request.keys, isInside, (pair) => isLinked(working, pair)))
    return { result: unchanged({ ...refOf(known), facet: uidOf(working, request.keys[0]!) }), stillLinked: [] };
  const { source } = request.assertion.evidence;
  if (source !== "identify" && source !== "alias") {
    const beyond = beyondLimit(working, request, rules);
    if (isStale(working, request, beyond))
      return { result: keep(working, request, selectFacetAlone(working, request, beyond)), stillLinked: [] };
  }
  const sharedIdentifiers = sharedIdentifiersOf(working, request, rules);
  const selection = select(working, request, rules, sharedIdentifiers);
  const result =
    source === "alias" && selection.dropped.length > 0
      ? refuse(working, request, selection.dropped)
      : keep(working, request, selection);
  recordSeenWith(working, request, rules, sharedIdentifiers);
  return { result, stillLinked: stillLinked(working, request, sharedIdentifiers) };
}

/** Links the identifiers that were kept. A request whose identifiers were dropped leaves a record too, so that nobody misses it. */
function keep(working: WorkingState, request: Request, { kept, dropped }: Selection): AssertResult {
  const found = kept.map((position) => workingComponentOf(working, request.keys[position]!));
  const joined = [...new Set(found.filter((group) => group !== null))];
  const before = joined.map(refOf).toSorted(byId);
  const links = missingLinks(working, request, kept);
  const isWritten = links.length > 0 || joined.length !== 1 || found.includes(null);
  if (!isWritten && dropped.length === 0)
    return unchanged({ ...refOf(joined[0]!), facet: facetOf(working, request, kept) });

  const group = join(joined);
  for (const [i, position] of kept.entries()) if (found[i] === null) create(working, request, position, group);
  addLinks(working, links, group);

  const { profileId } = group;
  const made = joined.length === 0 ? "created" : joined.length === 1 ? "linked" : "merged";
  // An old event that links nothing needs no record.
  const isRuled = dropped.some(({ rule }) => rule !== "unlinked");
  const outcome = isRuled ? "partial" : isWritten ? made : "unchanged";
  const { source } = request.assertion.evidence;
  const isRecorded = isWritten || source === "identify" || source === "alias";
  if (isRecorded) working.changes.push(changeOf(request, { outcome, before, after: [group], dropped }));
  return {
    profileId,
    outcome,
    mergedProfileIds: before.map((ref) => ref.profileId).filter((id) => id !== profileId),
    dropped,
    facet: facetOf(working, request, kept),
    changeId: isRecorded ? request.changeId : null,
    rule: null,
    refusedBy: null,
    before,
    after: [refOf(group)],
  };
}

/** What a rule kept apart has no facet in the profile. */
const facetOf = (working: WorkingState, { keys }: Request, kept: readonly number[]): Uid =>
  uidOf(working, keys[kept[0]!]!);

/** All or nothing: neither half of an alias is worth keeping alone. */
function refuse(working: WorkingState, request: Request, dropped: readonly DroppedIdentifier[]): AssertResult {
  const groups = request.keys.map((key) => workingComponentOf(working, key)).filter((group) => group !== null);
  const refs = [...new Set(groups)].map(refOf).toSorted(byId);
  const { rule } = dropped[0]!;
  working.changes.push({ ...changeOf(request, { outcome: "refused", before: refs, after: refs, dropped: [] }), rule });
  const { changeId } = request;
  return {
    profileId: null,
    outcome: "refused",
    mergedProfileIds: [],
    dropped: [],
    facet: null,
    changeId,
    rule,
    refusedBy: null,
    before: refs,
    after: refs,
  };
}

function changeOf(
  { assertion: { evidence, identifiers }, changeId }: Request,
  what: {
    readonly outcome: Change["outcome"];
    readonly before: readonly ProfileRef[];
    readonly after: readonly ProfileRef[];
    readonly dropped: readonly DroppedIdentifier[];
  },
): Change {
  const { outcome, dropped } = what;
  const [before, after] = [idsOf(what.before), idsOf(what.after)];
  return {
    changeId,
    at: evidence.at,
    evidence,
    identifiers,
    outcome,
    before,
    after,
    dropped,
    rule: null,
    reverts: null,
    isForbidding: false,
  };
}

const idsOf = (refs: readonly ProfileRef[]) => refs.map(({ profileId }) => profileId).toSorted();
const byId = (a: ProfileRef, b: ProfileRef): number => (a.profileId < b.profileId ? -1 : 1);

function create(
  working: WorkingState,
  { assertion, keys, uids }: Request,
  position: number,
  group: WorkingComponent,
): void {
  const [key, uid] = [keys[position]!, uids[position]!];
  createIn(working, { key, identifier: assertion.identifiers[position]!, uid, group });
}

/** A link for each pair that has none, also within one profile: it is evidence, and still connects the two if another link is removed. */
function missingLinks(working: WorkingState, request: Request, kept: readonly number[]): readonly LinkPlan[] {
  const { assertion, changeId } = request;
  const keys = kept.map((position) => request.keys[position]!);
  const links: LinkPlan[] = [];
  for (const [i, from] of keys.entries())
    for (const to of keys.slice(i + 1)) {
      const pair = pairKey(from, to);
      if (isLinked(working, pair)) continue;
      links.push({ from, to, changeId, evidence: assertion.evidence, revives: working.snapshot.removed.has(pair) });
    }
  return links;
}
