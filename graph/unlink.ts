import { AppError } from "../core/errors.js";
import type { Identifier } from "../core/event.js";
import type { IdentifierKey } from "../core/ids.js";
import {
  pairKey,
  type Component,
  type ComponentPlan,
  type Never,
  type Picture,
  type Plan,
  type SeenComponent,
} from "../core/identity.js";
import { EMPTY_PLAN, refOf } from "./draft.js";
import { explainedPath, fallApart, partWith, removesOf, splitPlan, type Part } from "./splits.js";
import { idsOf, undone, type Ruling, type Undoing } from "./undone.js";
import { linkBetween, type Gone, type Web } from "./web.js";

/** What is to be taken apart; `web` is the profile that holds it, as it stands in the picture. */
export interface UnlinkPair extends Undoing {
  readonly from: Side;
  readonly to: Side;
  /** Forbids the pair from now on. */
  readonly never: Never | null;
  /** Null when the two are apart. */
  readonly web: Web | null;
  /** Forbidden pairs that have a side in the profile. */
  readonly nevers: readonly Never[];
}

export interface Side {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
}

/** Pure. Throws `still_joined` when a pair is to be forbidden that other links hold together. */
export function decideUnlinkPair(picture: Picture, asked: UnlinkPair): Ruling {
  return asked.web === null ? decideApart(picture, asked) : decideWithin(picture, asked, asked.web);
}

/** There is no link to take; but the pair may be forbidden. */
function decideApart(picture: Picture, asked: UnlinkPair): Ruling {
  const { from, to, never } = asked;
  const sides = [from, to].map(({ key }) => seatOf(picture, key));
  const refs = sides.map(([, profile]) => refOf(profile));
  if (never === null || sides[0]![1].never.includes(never.neverId)) return { plan: null, undone: undone(refs, refs) };
  const components = sides.map(([component, profile]) => withNever(component, profile, never));
  const change = asked.change({ outcome: "forbidden", before: refs, after: refs });
  const plan: Plan = { ...EMPTY_PLAN, components, forbids: [{ ...never, at: change.at }], changes: [change] };
  return { plan, undone: { ...undone(refs, refs), outcome: "forbidden", changeId: change.changeId } };
}

const withNever = (component: Component, profile: SeenComponent, { neverId }: Never): ComponentPlan => ({
  ...refOf(profile),
  into: component,
  absorbed: [],
  counts: profile.counts,
  never: [...profile.never, neverId].toSorted(),
});

function decideWithin(picture: Picture, asked: UnlinkPair, web: Web): Ruling {
  const { workspace, from, to, never } = asked;
  const [component, profile] = seatOf(picture, from.key);
  const [start, end] = [positionOf(picture, web, from.key), positionOf(picture, web, to.key)];
  const isLinked = picture.linked.has(pairKey(from.key, to.key));
  const gone: Gone = new Set(isLinked ? [linkBetween(web, start, end)!] : []);
  const path = explainedPath(web, start, end, gone);
  if (path !== null && never !== null)
    throw new AppError("still_joined", "Other links still hold the two together, so the pair cannot be forbidden.", {
      members: { stillJoinedBy: path },
    });
  const before = [refOf(profile)];
  if (!isLinked) return { plan: null, undone: { ...undone(before, before), stillJoinedBy: path } };

  const parts = fallApart(web, gone, never === null ? asked.nevers : [...asked.nevers, never]);
  const after = parts.map(refOf);
  const change = asked.change({ outcome: "unlinked", before, after });
  const { changeId } = change;
  const removes = removesOf(workspace, web, gone, change);
  const split = splitPlan(component, web, parts);
  const plan: Plan = {
    ...EMPTY_PLAN,
    removes,
    splits: split === null ? [] : [split],
    forbids: never === null ? [] : [{ ...never, at: change.at }],
    changes: [change],
  };
  const sides: readonly Part[] = [partWith(parts, start), partWith(parts, end)];
  return {
    plan,
    undone: {
      ...undone(before, after),
      outcome: "unlinked",
      profileIds: idsOf(sides),
      changeId,
      stillJoinedBy: path,
    },
  };
}

export interface UnlinkIdentifier extends Undoing {
  readonly side: Side;
  readonly web: Web;
  readonly nevers: readonly Never[];
}

/** Takes all links of one identifier; what only it held together falls apart. */
export function decideUnlinkIdentifier(picture: Picture, asked: UnlinkIdentifier): Ruling {
  const { workspace, side, web, nevers } = asked;
  const [component, profile] = seatOf(picture, side.key);
  const before = [refOf(profile)];
  const position = positionOf(picture, web, side.key);
  const gone: Gone = new Set(web.around.subarray(web.starts[position], web.starts[position + 1]));
  if (gone.size === 0) return { plan: null, undone: undone(before, before) };
  const parts = fallApart(web, gone, nevers);
  const after = parts.map(refOf);
  const change = asked.change({ outcome: "unlinked", before, after });
  const { changeId } = change;
  const split = splitPlan(component, web, parts);
  const removes = removesOf(workspace, web, gone, change);
  const plan: Plan = {
    ...EMPTY_PLAN,
    removes,
    splits: split === null ? [] : [split],
    unlinked: [{ key: side.key, at: removes.reduce((last, { at }) => Math.max(last, at), change.at), changeId }],
    changes: [change],
  };
  return { plan, undone: { ...undone(before, after), outcome: "unlinked", changeId } };
}

function seatOf(picture: Picture, key: IdentifierKey): readonly [Component, SeenComponent] {
  const { component } = picture.identifiers.get(key)!;
  return [component, picture.components.get(component)!];
}

const positionOf = (picture: Picture, web: Web, key: IdentifierKey): number =>
  web.positionOf.get(picture.identifiers.get(key)!.uid)!;
