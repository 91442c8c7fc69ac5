import assert from "node:assert/strict";
import type { DropRule, Identifier } from "../../../core/event/event.js";
import type { ChangeId, ProfileId } from "../../../core/ids.js";
import type { Outcome, ProfileRef, Source } from "../../../core/identity/model.js";
import {
  forbids,
  idOf,
  idsOf,
  isLinked,
  linkedTo,
  membersOf,
  identifierOfName,
  nameOf,
  namespaceOf,
  pairName,
  pairsOf,
  profilesOf,
  record,
  type Name,
  type Pair,
  type TrustState,
} from "./model.js";
import { unlinkIdentifier } from "./undo.js";

export interface Claim {
  readonly identifiers: readonly Identifier[];
  readonly source: Source;
  readonly at: number;
  readonly scoped?: boolean;
}

export interface ExpectedVerdict {
  readonly outcome: Outcome;
  readonly profileId: ProfileId | null;
  readonly mergedProfileIds: readonly ProfileId[];
  /** `namespace:value rule`, sorted. */
  readonly dropped: readonly string[];
  readonly rule: DropRule | null;
  readonly isRecorded: boolean;
  /** In the order in which they were asserted. */
  readonly kept: readonly Name[];
  readonly before: readonly ProfileRef[];
  readonly after: readonly ProfileRef[];
}

interface Selection {
  readonly kept: readonly Name[];
  readonly dropped: readonly (readonly [Name, DropRule])[];
}

const isEvent = ({ source }: Claim): boolean => source !== "identify" && source !== "alias";

export function claim(state: TrustState, asked: Claim, changeId: ChangeId): ExpectedVerdict {
  const names = asked.identifiers.map(nameOf);
  const isHeld = names.some((name) => state.sharedIdentifiers.has(name) && linkedTo(state, name).length > 0);
  if (!isHeld && names.every((name) => state.seen.has(name)) && pairsOf(names).every((pair) => isLinked(state, pair)))
    return keep(state, asked, { kept: names, dropped: [] }, changeId);
  const known = names.filter((name) => isBeyond(state, name));
  const others = names.filter((name) => !known.includes(name));
  if (isEvent(asked) && isOld(state, others, asked.at))
    return keep(state, asked, facetAlone(state, known, others), changeId);
  const before = new Map(names.map((name) => [name, seenWithOf(state, name)]));
  const said: Said = { names, ...(asked.scoped !== undefined && { scoped: asked.scoped }) };
  const sharedIdentifiers = sharedIdentifiersOf(state, said, before);
  const selection = select(state, asked, names, sharedIdentifiers);
  const isRefused = asked.source === "alias" && selection.dropped.length > 0;
  const result = isRefused
    ? refuse(state, names, selection.dropped[0]![1], changeId)
    : keep(state, asked, selection, changeId);
  noteTouches(state, said, before, sharedIdentifiers);
  return result;
}

/** Taken apart since, or at the same moment. */
const isOld = ({ links, unlinked }: TrustState, names: readonly Name[], at: number): boolean =>
  names.some((name) => unlinked.get(name)?.some((unlink) => unlink.at >= at) === true) ||
  pairsOf(names).some((pair) => {
    const link = links.get(pairName(pair));
    return link !== undefined && !link.isActive && link.removedAt >= at;
  });

function facetAlone(state: TrustState, sharedIdentifiers: readonly Name[], names: readonly Name[]): Selection {
  const [facet, ...others] = names;
  const members = membersOf(state, facet!);
  const apart = others.filter((name) => !members.has(name));
  const dropped = sharedIdentifiers.map((name): Selection["dropped"][number] => [name, "shared_identifier"]);
  return { kept: [facet!], dropped: [...dropped, ...apart.map((name) => [name, "unlinked"] as const)] };
}

type Said = Pick<Claim, "scoped"> & { readonly names: readonly Name[] };

const isPerson = ({ rules }: TrustState, name: Name): boolean => rules.isPerson(namespaceOf(name));
const peopleOf = (state: TrustState, names: readonly Name[]): readonly Name[] =>
  names.filter((name) => state.rules.limits.has(namespaceOf(name)) && isPerson(state, name));
/** What a collect-only key says of a person counts for nothing. */
const othersOf = (state: TrustState, { names, scoped }: Said, name: Name): readonly Name[] =>
  scoped === true && isPerson(state, name) ? [] : peopleOf(state, names).filter((other) => other !== name);

const seenWithOf = (state: TrustState, name: Name): ReadonlySet<Name> =>
  new Set(peopleOf(state, [...linkedTo(state, name), ...(state.seenWith.get(name) ?? [])]));

/**
 * Unlinks the shared identifiers that assertions since the last call came upon and that are linked to anybody. `notedOf` tells what the
 * graph noted of one: which of those that it was sent with is the graph's choice, but so many that it stays beyond the limit.
 */
export function takeBack(state: TrustState, { changeIdOf, notedOf, at }: TakeBack): readonly ChangeId[] {
  const judged = [...state.judged];
  state.judged.clear();
  const taken: ChangeId[] = [];
  for (const [name, sentWith] of judged) {
    // What was unlinked before it may have been all that it was linked to.
    if (linkedTo(state, name).length > 0) {
      const changeId = changeIdOf(taken.length);
      unlinkIdentifier(state, identifierOfName(name), { at, changeId });
      taken.push(changeId);
    }
    const before = state.seenWith.get(name) ?? [];
    const noted = notedOf(name);
    assert.ok(
      noted.every((one) => before.includes(one) || sentWith.has(one)),
      `${name}: nothing is made up`,
    );
    state.seenWith.set(name, noted);
    assert.ok(isShared(state, name), `${name} goes on to be shared`);
  }
  return taken;
}

export interface TakeBack {
  readonly changeIdOf: (n: number) => ChangeId;
  readonly notedOf: (name: Name) => readonly Name[];
  readonly at: number;
}

const isBeyond = (state: TrustState, name: Name): boolean =>
  seenWithOf(state, name).size > (state.rules.sharedIdentifierLimit ?? Infinity);
/** By the limit of now, whatever was found before. */
export const isShared = (state: TrustState, name: Name): boolean =>
  state.sharedIdentifiers.has(name) && isBeyond(state, name);

/** Of what one assertion names, those that are shared once it is counted. */
export const sharedIn = (state: TrustState, said: Said): ReadonlySet<Name> =>
  sharedIdentifiersOf(state, said, new Map(said.names.map((name) => [name, seenWithOf(state, name)])));

type Touched = ReadonlyMap<Name, ReadonlySet<Name>>;

function sharedIdentifiersOf(state: TrustState, said: Said, seenWith: Touched): ReadonlySet<Name> {
  const { sharedIdentifierLimit } = state.rules;
  if (sharedIdentifierLimit === null) return new Set();
  const isTooMany = (name: Name): boolean =>
    new Set([...seenWith.get(name)!, ...othersOf(state, said, name)]).size > sharedIdentifierLimit;
  return new Set(said.names.filter(isTooMany));
}

/** No more is noted than it takes to know that the limit is exceeded. */
function noteTouches(state: TrustState, said: Said, before: Touched, sharedIdentifiers: ReadonlySet<Name>): void {
  const { sharedIdentifierLimit, limits } = state.rules;
  if (sharedIdentifierLimit === null || limits.size === 0) return;
  for (const name of said.names.filter((one) => state.seen.has(one))) {
    const seenWith = before.get(name)!;
    const apart = othersOf(state, said, name).filter(
      (other) => !seenWith.has(other) && !isLinked(state, [name, other]),
    );
    const isHeld = sharedIdentifiers.has(name) && linkedTo(state, name).length > 0;
    if (isHeld) state.judged.set(name, new Set([...(state.judged.get(name) ?? []), ...seenWith, ...apart]));
    const noted = isHeld ? apart : apart.slice(0, Math.max(sharedIdentifierLimit + 1 - seenWith.size, 0));
    state.seenWith.set(name, [...(state.seenWith.get(name) ?? []), ...noted]);
    if (sharedIdentifiers.has(name)) state.sharedIdentifiers.add(name);
    else state.sharedIdentifiers.delete(name);
  }
}

function inOrder(
  { rules }: TrustState,
  { source }: Claim,
  names: readonly Name[],
  sharedIdentifiers: ReadonlySet<Name>,
): readonly Name[] {
  if (source === "alias") return names;
  const rank = (name: Name): number => rules.priorityOf(namespaceOf(name));
  const sort = (list: readonly Name[]) => list.toSorted((a, b) => rank(b) - rank(a) || (a < b ? -1 : 1));
  const facet = names.find((name) => !sharedIdentifiers.has(name)) ?? names[0]!;
  return source === "identify" ? sort(names) : [facet, ...sort(names.filter((name) => name !== facet))];
}

function select(
  state: TrustState,
  asked: Claim,
  names: readonly Name[],
  sharedIdentifiers: ReadonlySet<Name>,
): Selection {
  const order = inOrder(state, asked, names, sharedIdentifiers);
  const free = order.filter((name) => !sharedIdentifiers.has(name));
  const candidates = free.length === 0 ? [order[0]!] : free;
  const dropped = order
    .filter((name) => !candidates.includes(name))
    .map((name): Selection["dropped"][number] => [name, "shared_identifier"]);
  const kept: Name[] = [];
  let union: ReadonlySet<Name> = new Set();
  for (const name of candidates) {
    const own = membersOf(state, name);
    const rule = kept.length === 0 || union.has(name) ? null : forbids(state, union, own, asked.scoped);
    if (rule !== null) {
      dropped.push([name, rule]);
      continue;
    }
    kept.push(name);
    union = new Set([...union, ...own]);
  }
  return { kept, dropped };
}

function keep(state: TrustState, asked: Claim, { kept, dropped }: Selection, changeId: ChangeId): ExpectedVerdict {
  const before = profilesOf(state, kept);
  const created = kept.filter((name) => !state.seen.has(name));
  const missing = pairsOf(kept).filter((pair) => !isLinked(state, pair));
  for (const name of created) state.seen.add(name);
  for (const pair of missing) assertLink(state, pair, asked.at, changeId);
  const isWritten = created.length > 0 || missing.length > 0;
  const made = before.length === 0 ? "created" : before.length === 1 ? "linked" : "merged";
  const isRuled = dropped.some(([, rule]) => rule !== "unlinked");
  const outcome = isRuled ? "partial" : isWritten ? made : "unchanged";
  const after = profilesOf(state, kept);
  const profileId = idOf(state, kept[0]!);
  const expected: ExpectedVerdict = {
    outcome,
    profileId,
    mergedProfileIds: idsOf(before).filter((id) => id !== profileId),
    dropped: dropped.map(([name, rule]) => `${name} ${rule}`).toSorted(),
    rule: null,
    isRecorded: isWritten || (!isEvent(asked) && isRuled),
    kept: asked.identifiers.map(nameOf).filter((name) => kept.includes(name)),
    before,
    after,
  };
  if (expected.isRecorded) leave(state, asked.identifiers.map(nameOf), expected, changeId);
  return expected;
}

const assertLink = ({ links }: TrustState, pair: Pair, at: number, changeId: ChangeId): void =>
  void links.set(pairName(pair), { sides: pair, isActive: true, change: changeId, by: changeId, at, removedAt: -1 });

function refuse(state: TrustState, names: readonly Name[], rule: DropRule, changeId: ChangeId): ExpectedVerdict {
  const refs = profilesOf(state, names);
  const expected: ExpectedVerdict = {
    outcome: "refused",
    profileId: null,
    mergedProfileIds: [],
    dropped: [],
    rule,
    isRecorded: true,
    kept: [],
    before: refs,
    after: refs,
  };
  leave(state, names, expected, changeId);
  return expected;
}

function leave(state: TrustState, names: readonly Name[], expected: ExpectedVerdict, changeId: ChangeId): void {
  const { outcome, before, after, dropped, rule } = expected;
  record(state, {
    changeId,
    names,
    outcome,
    before: idsOf(before),
    after: idsOf(after),
    dropped,
    rule,
    reverts: null,
    isForbidding: false,
  });
}

/** In the profile of now: without the ids that name another again. */
export function afterwards(state: TrustState, expected: ExpectedVerdict): ExpectedVerdict {
  if (expected.profileId === null) return expected;
  const profileId = idOf(state, expected.kept[0]!);
  const names = new Map([...state.seen].map((name) => [state.uidOf(name), name]));
  const isMerged = (id: ProfileId) => id !== profileId && idOf(state, names.get(id)!) === profileId;
  return { ...expected, profileId, mergedProfileIds: expected.mergedProfileIds.filter(isMerged) };
}
