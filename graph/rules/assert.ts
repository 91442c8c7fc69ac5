import type { DroppedIdentifier, Identifier } from "../../core/event/event.js";
import type { IdentifierKey, Uid } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type LinkPlan,
  type Snapshot,
  type Plan,
  type ProfileRef,
  type Repeat,
  type Rules,
  type AssertResult,
} from "../../core/identity/model.js";
import {
  addLinks,
  createDraft,
  createIn,
  groupOf,
  isLinked,
  join,
  planOf,
  refOf,
  uidOf,
  type Draft,
  type Group,
} from "./working-state.js";
import { isRepeat } from "./repeats.js";
import { isStale, select, selectFacetAlone, type Selection } from "./select.js";
import { beyondLimit, sharedIdentifiersOf, recordTouches, stillLinked } from "./shared-identifiers.js";
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
  const draft = createDraft(snapshot);
  const applied = requests.map((request) => apply(draft, request, rules));
  return {
    plan: planOf(draft),
    results: applied.map(({ result }) => result),
    stillLinked: applied.map(({ stillLinked }) => stillLinked),
  };
}

/** The result of a request that writes nothing. */
export function unchanged(profile: Repeat): AssertResult {
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
    before: refs,
    after: refs,
  };
}

interface Applied {
  readonly result: AssertResult;
  readonly stillLinked: readonly Identifier[];
}

function apply(draft: Draft, request: Request, rules: Rules): Applied {
  const known = groupOf(draft, request.keys[0]!);
  // Whatever the rules say now: existing links stay.
  const isInside = (key: IdentifierKey): boolean => groupOf(draft, key) === known;
  if (known !== null && isRepeat(request.keys, isInside, (pair) => isLinked(draft, pair)))
    return { result: unchanged({ ...refOf(known), facet: uidOf(draft, request.keys[0]!) }), stillLinked: [] };
  const { source } = request.assertion.evidence;
  if (source !== "identify" && source !== "alias") {
    const beyond = beyondLimit(draft, request, rules);
    if (isStale(draft, request, beyond))
      return { result: keep(draft, request, selectFacetAlone(draft, request, beyond)), stillLinked: [] };
  }
  const sharedIdentifiers = sharedIdentifiersOf(draft, request, rules);
  const selection = select(draft, request, rules, sharedIdentifiers);
  const result =
    source === "alias" && selection.dropped.length > 0
      ? refuse(draft, request, selection.dropped)
      : keep(draft, request, selection);
  recordTouches(draft, request, rules, sharedIdentifiers);
  return { result, stillLinked: stillLinked(draft, request, sharedIdentifiers) };
}

/** Links the identifiers that were kept. A request whose identifiers were dropped leaves a record too, so that nobody misses it. */
function keep(draft: Draft, request: Request, { kept, dropped }: Selection): AssertResult {
  const found = kept.map((position) => groupOf(draft, request.keys[position]!));
  const touched = [...new Set(found.filter((group) => group !== null))];
  const before = touched.map(refOf).toSorted(byId);
  const links = missingLinks(draft, request, kept);
  const isWritten = links.length > 0 || touched.length !== 1 || found.includes(null);
  if (!isWritten && dropped.length === 0)
    return unchanged({ ...refOf(touched[0]!), facet: facetOf(draft, request, kept) });

  const group = join(touched);
  for (const [i, position] of kept.entries()) if (found[i] === null) create(draft, request, position, group);
  addLinks(draft, links, group);

  const { profileId } = group;
  const made = touched.length === 0 ? "created" : touched.length === 1 ? "linked" : "merged";
  // An old event that links nothing needs no record.
  const isRuled = dropped.some(({ rule }) => rule !== "unlinked");
  const outcome = isRuled ? "partial" : isWritten ? made : "unchanged";
  const { source } = request.assertion.evidence;
  const isRecorded = isWritten || source === "identify" || source === "alias";
  if (isRecorded) draft.changes.push(changeOf(request, { outcome, before, after: [group], dropped }));
  return {
    profileId,
    outcome,
    mergedProfileIds: before.map((ref) => ref.profileId).filter((id) => id !== profileId),
    dropped,
    facet: facetOf(draft, request, kept),
    changeId: isRecorded ? request.changeId : null,
    rule: null,
    before,
    after: [refOf(group)],
  };
}

/** What a rule kept apart has no facet in the profile. */
const facetOf = (draft: Draft, { keys }: Request, kept: readonly number[]): Uid => uidOf(draft, keys[kept[0]!]!);

/** All or nothing: neither half of an alias is worth keeping alone. */
function refuse(draft: Draft, request: Request, dropped: readonly DroppedIdentifier[]): AssertResult {
  const groups = request.keys.map((key) => groupOf(draft, key)).filter((group) => group !== null);
  const refs = [...new Set(groups)].map(refOf).toSorted(byId);
  const { rule } = dropped[0]!;
  draft.changes.push({ ...changeOf(request, { outcome: "refused", before: refs, after: refs, dropped: [] }), rule });
  const { changeId } = request;
  return {
    profileId: null,
    outcome: "refused",
    mergedProfileIds: [],
    dropped: [],
    facet: null,
    changeId,
    rule,
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
  };
}

const idsOf = (refs: readonly ProfileRef[]) => refs.map(({ profileId }) => profileId).toSorted();
const byId = (a: ProfileRef, b: ProfileRef): number => (a.profileId < b.profileId ? -1 : 1);

function create(draft: Draft, { assertion, keys, uids }: Request, position: number, group: Group): void {
  const [key, uid] = [keys[position]!, uids[position]!];
  createIn(draft, { key, identifier: assertion.identifiers[position]!, uid, group });
}

/** A link for each pair that has none, also within one profile: it is evidence, and still connects the two if another link is removed. */
function missingLinks(draft: Draft, request: Request, kept: readonly number[]): readonly LinkPlan[] {
  const { assertion, changeId } = request;
  const keys = kept.map((position) => request.keys[position]!);
  const links: LinkPlan[] = [];
  for (const [i, from] of keys.entries())
    for (const to of keys.slice(i + 1)) {
      const pair = pairKey(from, to);
      if (isLinked(draft, pair)) continue;
      links.push({ from, to, changeId, evidence: assertion.evidence, revives: draft.snapshot.removed.has(pair) });
    }
  return links;
}
