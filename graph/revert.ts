import type { DropRule } from "../core/event.js";
import { identifierKey, identifierOf } from "../core/event.js";
import type { PathLink, Undone } from "../core/identity-api.js";
import {
  type Change,
  type Component,
  type LinkState,
  type Never,
  type Picture,
  type Plan,
  type ProfileRef,
  type RestorePlan,
  type Rules,
  type SplitPlan,
  type UnlinkedPlan,
} from "../core/identity.js";
import type { IdentifierKey } from "../core/ids.js";
import { breaks } from "./breaks.js";
import { createDraft, EMPTY_PLAN, groupOf, join, planOf, refOf, touch } from "./draft.js";
import { explainedPath, fallApart, partsByMember, removesOf, splitPlan, type Part } from "./splits.js";
import { idsOf, undone, type Ruling, type Undoing } from "./undone.js";
import type { UnlinkMark } from "./unlink-mark.js";
import { linkBetween, type Gone, type Web } from "./web.js";

/** A profile that loses links, as it stands in the picture. */
export interface Torn {
  readonly component: Component;
  readonly web: Web;
  /** Forbidden pairs that have a side in it. */
  readonly nevers: readonly Never[];
}

export interface Revert extends Undoing {
  readonly reverted: Change;
  /** Links that the change made what they are, as they stand in the picture. */
  readonly states: readonly LinkState[];
  /** The identifier that the change took from all others, or put back. */
  readonly unlinked: UnlinkMark | null;
  readonly torn: readonly Torn[];
  readonly rules: Rules;
}

/** Pure: takes back what a change asserted or restored, or restores what it removed. */
export function decideRevert(picture: Picture, asked: Revert): Ruling {
  // In an order of their own: which of two links a rule keeps out must not hang on the backend.
  const states = asked.states.map(sided).toSorted(byPair);
  const active = states.filter(({ isActive }) => isActive);
  // What another change took back is that change's to restore.
  const removed = states.filter(({ isActive, by }) => !isActive && by === asked.reverted.changeId);
  if (active.length > 0) return remove(picture, asked, active);
  const isUnlink = asked.unlinked?.isLast ?? false;
  return removed.length > 0 || isUnlink ? restore(picture, asked, removed) : nothing(picture, asked);
}

const nothing = (picture: Picture, asked: Revert): Ruling => {
  const refs = profilesOf(picture, asked);
  return { plan: null, undone: undone(refs, refs) };
};

const keysOf = ({ workspace, reverted }: Revert): readonly IdentifierKey[] =>
  reverted.identifiers.map((identifier) => identifierKey(workspace, identifier));

/** Of those of the change's identifiers that stand. */
const profilesOf = (picture: Picture, asked: Revert, without: readonly Component[] = []): readonly ProfileRef[] =>
  keysOf(asked).flatMap((key) => {
    const seat = picture.identifiers.get(key);
    if (seat === undefined || without.includes(seat.component)) return [];
    return [refOf(picture.components.get(seat.component)!)];
  });

function remove(picture: Picture, asked: Revert, active: readonly LinkState[]): Ruling {
  const torn = asked.torn.map((one) => tear(picture, one, active));
  const components = asked.torn.map(({ component }) => component);
  const whole = profilesOf(picture, asked, components);
  const before = [...components.map((component) => refOf(picture.components.get(component)!)), ...whole];
  const after = [...torn.flatMap(({ parts }) => parts.map(refOf)), ...whole];
  const change = asked.change({ outcome: "reverted", before, after });
  const { changeId } = change;
  const removes = torn.flatMap(({ web, gone }) => removesOf(asked.workspace, web, gone, change));
  const splits = torn.flatMap(({ split }) => (split === null ? [] : [split]));
  const uids = new Set(keysOf(asked).map((key) => picture.identifiers.get(key)?.uid));
  const named = torn.flatMap(({ web, parts }) =>
    parts.filter(({ members }) => members.some((position) => uids.has(web.members[position]!.uid))),
  );
  // What was restored had been an unlink, which counts again.
  const at = removes.reduce((last, { at }) => Math.max(last, at), change.at);
  const unlinked = asked.unlinked === null ? [] : [{ key: asked.unlinked.key, at, changeId }];
  return {
    plan: { ...EMPTY_PLAN, removes, splits, unlinked, changes: [change] },
    undone: {
      ...undone(before, after),
      outcome: "reverted",
      profileIds: idsOf([...named, ...whole]),
      changeId,
      stillJoinedBy: heldBy(torn, active),
    },
  };
}

interface Fallen {
  readonly web: Web;
  readonly gone: Gone;
  readonly parts: readonly Part[];
  readonly split: SplitPlan | null;
  /** Where the two ends of each link stand that went. */
  readonly lost: ReadonlyMap<LinkState, readonly [number, number]>;
}

function tear(picture: Picture, { component, web, nevers }: Torn, active: readonly LinkState[]): Fallen {
  const gone = new Set<number>();
  const lost = new Map<LinkState, readonly [number, number]>();
  for (const state of active) {
    const [a, b] = state.pair.map((key) => web.positionOf.get(picture.identifiers.get(key)!.uid));
    const link = a === undefined || b === undefined ? undefined : linkBetween(web, a, b);
    if (link === undefined) continue;
    gone.add(link);
    lost.set(state, [a!, b!]);
  }
  const parts = fallApart(web, gone, nevers);
  return { web, gone, parts, split: splitPlan(component, web, parts), lost };
}

/** The way that still holds the first of the pairs together that lost their link. */
function heldBy(torn: readonly Fallen[], active: readonly LinkState[]): readonly PathLink[] | null {
  const found = torn.flatMap(({ web, gone, parts, lost }) => {
    const partAt = partsByMember(
      web,
      parts.map(({ members }) => members),
    );
    const held = active.find((state) => {
      const ends = lost.get(state);
      return ends !== undefined && partAt[ends[0]] === partAt[ends[1]];
    });
    return held === undefined ? [] : [{ held, path: () => explainedPath(web, ...lost.get(held)!, gone) }];
  });
  return found.toSorted((a, b) => byPair(a.held, b.held))[0]?.path() ?? null;
}

/** One by one, as if each were asserted now: what a rule forbids by now stays removed. */
function restore(picture: Picture, asked: Revert, removed: readonly LinkState[]): Ruling {
  const draft = createDraft(picture);
  const keys = [...keysOf(asked), ...removed.flatMap(({ pair }) => pair)];
  const before = [...new Set(keys.map((key) => groupOf(draft, key)))].flatMap((group) => (group ? [refOf(group)] : []));
  const changeId = asked.change({ outcome: "reverted", before, after: [] }).changeId;
  const restores: RestorePlan[] = [];
  const dropped: Undone["dropped"][number][] = [];
  for (const { pair } of removed) {
    const [one, other] = [groupOf(draft, pair[0])!, groupOf(draft, pair[1])!];
    const rule: DropRule | null = one === other ? null : breaks(one, other, asked.rules);
    if (rule !== null) {
      dropped.push({ from: identifierOf(pair[0]), to: identifierOf(pair[1]), rule });
      continue;
    }
    touch(join(one === other ? [one] : [one, other]));
    restores.push({ pair, changeId });
  }
  const after = [...new Set(keys.map((key) => groupOf(draft, key)))].flatMap((group) => (group ? [refOf(group)] : []));
  const named = keysOf(asked).flatMap((key) => groupOf(draft, key) ?? []);
  const result = { ...undone(before, after), profileIds: idsOf(named), dropped };
  const unlinked: UnlinkedPlan[] = asked.unlinked?.isLast ? [{ key: asked.unlinked.key, at: null, changeId }] : [];
  if (restores.length === 0 && unlinked.length === 0) return { plan: null, undone: result };
  draft.changes.push(asked.change({ outcome: "reverted", before, after }));
  const plan: Plan = { ...planOf(draft)!, restores, unlinked };
  return { plan, undone: { ...result, outcome: "reverted", changeId } };
}

const sided = (state: LinkState): LinkState => {
  const [a, b] = state.pair;
  return a < b ? state : { ...state, pair: [b, a] };
};

const byPair = (a: LinkState, b: LinkState): number =>
  a.pair[0] === b.pair[0] ? (a.pair[1] < b.pair[1] ? -1 : 1) : a.pair[0] < b.pair[0] ? -1 : 1;
