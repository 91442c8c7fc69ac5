import type { DropRule, Identifier } from "../../../core/event/event.js";
import type { ChangeId, ProfileId } from "../../../core/ids.js";
import type { ProfileRef, UndoOutcome } from "../../../core/identity/model.js";
import {
  distance,
  forbids,
  idsOf,
  isLinked,
  linkedTo,
  membersOf,
  nameOf,
  pairName,
  profilesOf,
  record,
  type Name,
  type Pair,
  type TrustState,
} from "./model.js";

export interface ExpectedUndone {
  readonly outcome: UndoOutcome;
  readonly profileIds: readonly ProfileId[];
  readonly isRecorded: boolean;
  /** Links of the way that still holds the two together. */
  readonly stillJoined: number | null;
  readonly profilesBefore: number;
  readonly profilesAfter: number;
  /** `one other rule`, sorted. */
  readonly dropped: readonly string[];
  readonly before: readonly ProfileRef[];
  readonly after: readonly ProfileRef[];
}

/** What is no answer but an error: its code, and what it says. */
export interface ExpectedError {
  readonly error: "not_found" | "still_joined";
  readonly detail: string;
}

export type Expected = ExpectedUndone | ExpectedError;

/** When it is done, and the record that it would leave. */
export interface Moment {
  readonly at: number;
  readonly changeId: ChangeId;
}

interface Work {
  readonly outcome: UndoOutcome;
  readonly stillJoined?: number | null;
  readonly dropped?: readonly string[];
}

interface About {
  /** What the record names. */
  readonly names: readonly Name[];
  /** Also in `before` and `after`. */
  readonly others?: readonly Name[];
  readonly reverts?: ChangeId;
  readonly isForbidding?: boolean;
}

/** Profiles before and after some work on them, and its record if it did anything. */
function around(state: TrustState, about: About, { changeId }: Moment, work: () => Work): ExpectedUndone {
  const { names, others = [], reverts = null, isForbidding = false } = about;
  const concerned = [...names, ...others].filter((name) => state.seen.has(name));
  const members = concerned.flatMap((name) => [...membersOf(state, name)]);
  const before = profilesOf(state, concerned);
  const { outcome, stillJoined = null, dropped = [] } = work();
  const after = profilesOf(state, members);
  const isRecorded = outcome !== "unchanged";
  const change = {
    changeId,
    names,
    before: idsOf(before),
    after: idsOf(after),
    dropped,
    rule: null,
    reverts,
    isForbidding,
  };
  if (isRecorded) record(state, { ...change, outcome });
  const counts = { profilesBefore: before.length, profilesAfter: after.length };
  return { outcome, profileIds: idsOf(after), isRecorded, stillJoined, dropped, before, after, ...counts };
}

/** Not before it was asserted, whatever the clocks say. Answers when. */
function removeLink({ links }: TrustState, pair: Pair, { at, changeId }: Moment): number {
  const link = links.get(pairName(pair))!;
  const removedAt = Math.max(at, link.at);
  links.set(pairName(pair), { ...link, isActive: false, by: changeId, removedAt });
  return removedAt;
}

function mark({ unlinked }: TrustState, name: Name, { at, changeId: by }: Moment, times: readonly number[]): void {
  unlinked.set(name, [...(unlinked.get(name) ?? []), { at: Math.max(at, ...times), by }]);
}

const unseen = (path: string): ExpectedError => ({ error: "not_found", detail: path });

export function unlinkIdentifier(state: TrustState, identifier: Identifier, moment: Moment): Expected {
  const name = nameOf(identifier);
  if (!state.seen.has(name)) return unseen("identifier");
  return around(state, { names: [name] }, moment, () => {
    const neighbours = linkedTo(state, name);
    if (neighbours.length === 0) return { outcome: "unchanged" };
    const times = neighbours.map((other) => removeLink(state, [name, other], moment));
    mark(state, name, moment, times);
    return { outcome: "unlinked" };
  });
}

export function unlinkPair(
  state: TrustState,
  from: Identifier,
  to: Identifier,
  forbidden: boolean,
  moment: Moment,
): Expected {
  const pair: Pair = [nameOf(from), nameOf(to)];
  if (!state.seen.has(pair[0])) return unseen("from");
  if (!state.seen.has(pair[1])) return unseen("to");
  const wasLinked = isLinked(state, pair);
  const left = wayWithout(state, pair);
  if (forbidden && left !== null) return { error: "still_joined", detail: String(left) };
  return around(state, { names: pair, isForbidding: forbidden }, moment, () => {
    if (wasLinked) removeLink(state, pair, moment);
    const isNew = forbidden && !state.forbiddenPairs.has(pairName(pair));
    if (isNew) state.forbiddenPairs.set(pairName(pair), pair);
    return { outcome: wasLinked ? "unlinked" : isNew ? "forbidden" : "unchanged", stillJoined: left };
  });
}

/** How far the two are from each other by all other links. */
function wayWithout(state: TrustState, pair: Pair): number | null {
  const links = new Map(state.links);
  links.delete(pairName(pair));
  return distance({ ...state, links }, ...pair);
}

export function allow(state: TrustState, from: Identifier, to: Identifier, moment: Moment): Expected {
  const pair = pairName([nameOf(from), nameOf(to)]);
  const forbidden = state.forbiddenPairs.get(pair);
  if (forbidden === undefined) return unseen("");
  return around(state, { names: forbidden }, moment, () => {
    state.forbiddenPairs.delete(pair);
    return { outcome: "allowed" };
  });
}

export function revert(state: TrustState, reverted: ChangeId, moment: Moment): Expected {
  const found = state.changes.find(({ changeId }) => changeId === reverted);
  if (found === undefined) return unseen("");
  const links = [...state.links].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const asserted = links.filter(([, { isActive, change, by }]) => isActive && (change === reverted || by === reverted));
  const removed = links.filter(([, { isActive, by }]) => !isActive && by === reverted);
  const pairs = (list: typeof links): readonly Pair[] => list.map(([, { sides }]) => sides);
  const others = [...pairs(asserted), ...pairs(removed)].flat();
  return around(state, { names: found.names, others, reverts: reverted }, moment, () => {
    const times = pairs(asserted).map((pair) => removeLink(state, pair, moment));
    const dropped = pairs(removed).flatMap((pair) => restore(state, pair, moment.changeId));
    const freed = [...state.unlinked].filter(([, marks]) => marks.some(({ by }) => by === reverted));
    const isKept = removed.length > 0 && dropped.length === removed.length;
    const left = (marks: (typeof freed)[number][1]) => marks.filter(({ by }) => by !== reverted);
    if (!isKept) for (const [name, marks] of freed) state.unlinked.set(name, left(marks));
    const [name] = found.names;
    // What was restored had been an unlink, which counts again.
    if (asserted.length > 0 && isUnlink(state, found)) mark(state, name!, moment, times);
    const isDone = asserted.length > 0 || removed.length > dropped.length || (freed.length > 0 && !isKept);
    const held = pairs(asserted).map(([a, b]) => distance(state, a, b));
    return {
      outcome: isDone ? "reverted" : "unchanged",
      stillJoined: held.find((way) => way !== null) ?? null,
      dropped: dropped.toSorted(),
    };
  });
}

/** Of one identifier from all others, or a revert of a revert of ... one. */
function isUnlink(state: TrustState, change: TrustState["changes"][number]): boolean {
  if (change.reverts === null) return change.outcome === "unlinked" && change.names.length === 1;
  return isUnlink(
    state,
    state.changes.find(({ changeId }) => changeId === change.reverts)!,
  );
}

/** What a rule forbids by now stays removed. */
function restore(state: TrustState, pair: Pair, by: ChangeId): readonly string[] {
  const [one, other] = pair.map((name) => membersOf(state, name)) as [ReadonlySet<Name>, ReadonlySet<Name>];
  const rule: DropRule | null = one.has(pair[1]) ? null : forbids(state, one, other);
  if (rule !== null) return [`${pairName(pair)} ${rule}`];
  state.links.set(pairName(pair), { ...state.links.get(pairName(pair))!, isActive: true, by });
  return [];
}
