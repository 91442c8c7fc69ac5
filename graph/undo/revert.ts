import type { DropRule } from "../../core/event/event.js";
import { identifierKey, identifierOf } from "../../core/event/event.js";
import type { PathLink, UndoResult } from "../../core/identity/api.js";
import {
  type Change,
  type Component,
  type LinkState,
  type ForbiddenPair,
  type Snapshot,
  type KeyPair,
  type ProfileRef,
  type Rules,
} from "../../core/identity/model.js";
import type { IdentifierKey } from "../../core/ids.js";
import { breaks } from "../rules/violation.js";
import { componentPlans, createDraft, endOf, groupOf, join, refOf, touch, type Group } from "../rules/working-state.js";
import { forEachInTurns, inPortions } from "../scheduling/chunks.js";
import { explainedPath, lastAt, partsByMember, remnantsOf, type Remnant } from "./split.js";
import { tearApart } from "./split-steps.js";
import { noMarks, undone, type Ruling, type Step, type Undoing } from "./result.js";
import type { UnlinkMark } from "./unlink-mark.js";
import { linkBetween, type Web } from "./component-graph.js";

/** A profile that loses links, as it stands in the snapshot. */
export interface Losing {
  /** Of an identifier in it. */
  readonly key: IdentifierKey;
  readonly web: Web;
  /** Forbidden pairs that have a side in it. */
  readonly forbiddenPairs: readonly ForbiddenPair[];
}

export interface Revert extends Undoing {
  readonly reverted: Change;
  /** Links that the change made what they are, as they stand in the snapshot. */
  readonly states: readonly LinkState[];
  /** The identifier that the change took from all others, or put back. */
  readonly unlinked: UnlinkMark | null;
  readonly losing: readonly Losing[];
  readonly rules: Rules;
}

/** Pure: takes back what a change asserted or restored, or restores what it removed. In turns, because it may be much. */
export async function decideRevert(snapshot: Snapshot, asked: Revert): Promise<Ruling> {
  // In an order of their own: which of two links a rule keeps out must not hang on the backend.
  const states = asked.states.map(sided).toSorted(byPair);
  const active = states.filter(({ isActive }) => isActive);
  // What another change took back is that change's to restore.
  const removed = states.filter(({ isActive, by }) => !isActive && by === asked.reverted.changeId);
  if (active.length > 0) return remove(snapshot, asked, active);
  const isUnlink = asked.unlinked?.isLast ?? false;
  return removed.length > 0 || isUnlink ? restore(snapshot, asked, removed) : nothing(snapshot, asked);
}

const nothing = (snapshot: Snapshot, asked: Revert): Ruling => {
  const refs = profilesOf(snapshot, asked);
  const keys = keysOf(asked).filter((key) => snapshot.identifiers.has(key));
  return { keys, work: null, undone: undone(refs, refs) };
};

const keysOf = ({ workspace, reverted }: Revert): readonly IdentifierKey[] =>
  reverted.identifiers.map((identifier) => identifierKey(workspace, identifier));

/** Of those of the change's identifiers that stand. */
const profilesOf = (snapshot: Snapshot, asked: Revert, without: readonly Component[] = []): readonly ProfileRef[] =>
  keysOf(asked).flatMap((key) => {
    const seat = snapshot.identifiers.get(key);
    if (seat === undefined || without.includes(seat.component)) return [];
    return [refOf(snapshot.components.get(seat.component)!)];
  });

async function remove(snapshot: Snapshot, asked: Revert, active: readonly LinkState[]): Promise<Ruling> {
  const { workspace } = asked;
  const torn: Fallen[] = [];
  for (const one of asked.losing) torn.push(await tear(snapshot, one, active));
  const holders = asked.losing.map(({ key }) => key);
  const components = holders.map((key) => snapshot.identifiers.get(key)!.component);
  const whole = profilesOf(snapshot, asked, components);
  const before = [...components.map((component) => refOf(snapshot.components.get(component)!)), ...whole];
  const after = [...torn.flatMap(({ parts }) => parts), ...whole];
  const { unlinked } = asked;
  return {
    keys: [...holders, ...keysOf(asked).filter((key) => snapshot.identifiers.has(key))],
    work: {
      what: "removed links",
      change: asked.change({ outcome: "reverted", before, after }),
      // What was restored had been an unlink, which counts again.
      marks: ({ at, changeId }) => {
        if (unlinked === null) return {};
        const last = torn.reduce((most, { web, gone }) => lastAt(web, gone, most), at);
        return { unlinked: [{ key: unlinked.key, at: last, changeId }] };
      },
      steps: tearApart(workspace, torn, asked.linksPerStep),
    },
    undone: { ...undone(before, after), outcome: "reverted", stillJoinedBy: heldBy(torn, active) },
  };
}

interface Fallen extends Losing {
  readonly gone: readonly number[];
  readonly parts: readonly Remnant[];
  /** Where the two ends of each link stand that went. */
  readonly lost: ReadonlyMap<LinkState, readonly [number, number]>;
}

async function tear(snapshot: Snapshot, losing: Losing, active: readonly LinkState[]): Promise<Fallen> {
  const { web } = losing;
  const gone: number[] = [];
  const lost = new Map<LinkState, readonly [number, number]>();
  await forEachInTurns(active, (state) => {
    const [a, b] = state.pair.map((key) => web.positionOf.get(snapshot.identifiers.get(key)!.uid));
    const link = a === undefined || b === undefined ? undefined : linkBetween(web, a, b);
    if (link === undefined) return;
    gone.push(link);
    lost.set(state, [a!, b!]);
  });
  return { ...losing, gone, parts: remnantsOf(web, new Set(gone)), lost };
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
    return held === undefined ? [] : [{ held, path: () => explainedPath(web, ...lost.get(held)!, new Set(gone)) }];
  });
  return found.toSorted((a, b) => byPair(a.held, b.held))[0]?.path() ?? null;
}

/** Nobody reads more of them. */
const DROPPED_MAX = 1_000;

/** One by one, as if each were asserted now: what a rule forbids by now stays removed. */
async function restore(snapshot: Snapshot, asked: Revert, removed: readonly LinkState[]): Promise<Ruling> {
  const draft = createDraft(snapshot);
  // Many are checked by the steps that restore them.
  const isMany = removed.length > asked.linksPerStep;
  const named = keysOf(asked).filter((key) => snapshot.identifiers.has(key));
  const keys = isMany ? named : [...new Set([...named, ...removed.flatMap(({ pair }) => pair)])];
  const namedGroups = named.map((key) => groupOf(draft, key)!);
  const sides: (readonly [LinkState, Group, Group])[] = [];
  await forEachInTurns(removed, (state) => {
    const [x, y] = state.pair;
    sides.push([state, groupOf(draft, x)!, groupOf(draft, y)!]);
  });
  const groups = [...new Set([...namedGroups, ...sides.flatMap(([, one, other]) => [one, other])])];
  const before = groups.map(refOf);
  const pairs: KeyPair[] = [];
  const dropped: UndoResult["dropped"][number][] = [];
  await forEachInTurns(sides, ([{ pair }, ...both]) => {
    const [one, other] = both.map(endOf) as [Group, Group];
    const rule: DropRule | null = one === other ? null : breaks(one, other, asked.rules);
    if (rule === null) {
      joinBoth(one, other);
      pairs.push(pair);
    } else dropped.push({ from: identifierOf(pair[0]), to: identifierOf(pair[1]), rule });
  });
  const after = [...new Set(groups.map(endOf))].map(refOf);
  const result = { ...undone(before, after), dropped: dropped.slice(0, DROPPED_MAX) };
  const unlinked = asked.unlinked?.isLast ? asked.unlinked : null;
  // When a rule keeps out all that would come back, the unlink goes on to count.
  const isNothing = pairs.length === 0 && (dropped.length > 0 || unlinked === null);
  if (isNothing) return { keys, work: null, undone: result };
  return {
    keys,
    work: {
      what: "restored links",
      change: asked.change({ outcome: "reverted", before, after, dropped: result.dropped }),
      marks:
        unlinked === null ? noMarks : ({ changeId }) => ({ unlinked: [{ key: unlinked.key, at: null, changeId }] }),
      steps: pairs.length === 0 ? [restoring([])] : putBack(pairs, asked.linksPerStep),
    },
    undone: { ...result, outcome: "reverted" },
  };
}

/** Also what was one already is written: it has a link more. */
const joinBoth = (one: Group, other: Group): void => touch(join(one === other ? [one] : [one, other]));

function* putBack(pairs: readonly KeyPair[], linksPerStep: number): Generator<Step> {
  for (const some of inPortions(pairs, linksPerStep)) yield restoring(some);
}

const restoring = (pairs: readonly KeyPair[]): Step => ({
  keys: [...new Set(pairs.flat())],
  links: pairs.length,
  plan: (now, { changeId }) => {
    const draft = createDraft(now);
    for (const [x, y] of pairs) joinBoth(groupOf(draft, x)!, groupOf(draft, y)!);
    return { components: componentPlans(draft), restores: pairs.map((pair) => ({ pair, changeId })) };
  },
});

const sided = (state: LinkState): LinkState => {
  const [a, b] = state.pair;
  return a < b ? state : { ...state, pair: [b, a] };
};

const byPair = (a: LinkState, b: LinkState): number =>
  a.pair[0] === b.pair[0] ? (a.pair[1] < b.pair[1] ? -1 : 1) : a.pair[0] < b.pair[0] ? -1 : 1;
