import { AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type ComponentPlan,
  type Link,
  type Never,
  type Picture,
  type SeenComponent,
} from "../../core/identity/model.js";
import { refOf } from "../rules/working-state.js";
import { explainedPath, lastAt, remnantsOf, type ForbiddenPair } from "./split.js";
import { tearApart } from "./split-steps.js";
import { undone, type Ruling, type Step, type Undoing } from "./result.js";
import { linkBetween, type Web } from "./component-graph.js";

/** What is to be taken apart; `web` is the profile that holds it, as it stands in the picture. */
export interface UnlinkPair extends Undoing {
  readonly from: Side;
  readonly to: Side;
  /** Forbids the pair from now on. */
  readonly never: ForbiddenPair | null;
  /** Null when the two are apart. */
  readonly web: Web | null;
  /** Forbidden pairs that have a side in the profile. */
  readonly nevers: readonly ForbiddenPair[];
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
  const keys = [from.key, to.key];
  const profiles = keys.map((key) => seatOf(picture, key)[1]);
  const refs = profiles.map(refOf);
  if (never === null || profiles[0]!.never.includes(never.neverId))
    return { keys, work: null, undone: undone(refs, refs) };
  const step: Step = {
    keys,
    links: 0,
    plan: (now) => ({ components: keys.map((key) => withNever(...seatOf(now, key), never)) }),
  };
  const change = asked.change({ outcome: "forbidden", before: refs, after: refs });
  return {
    keys,
    work: { what: "removed links", change, marks: (made) => ({ forbids: [forbidden(never, made)] }), steps: [step] },
    undone: { ...undone(refs, refs), outcome: "forbidden" },
  };
}

const forbidden = (pair: ForbiddenPair, { changeId, at, evidence: { keyId } }: Change): Never => ({
  ...pair,
  changeId,
  keyId,
  at,
});

const withNever = (component: Component, profile: SeenComponent, { neverId }: ForbiddenPair): ComponentPlan => ({
  ...refOf(profile),
  into: component,
  absorbed: [],
  counts: profile.counts,
  never: [...profile.never, neverId].toSorted(),
});

function decideWithin(picture: Picture, asked: UnlinkPair, web: Web): Ruling {
  const { workspace, from, to, never } = asked;
  const keys = [from.key, to.key];
  const [, profile] = seatOf(picture, from.key);
  const [start, end] = [positionOf(picture, web, from.key), positionOf(picture, web, to.key)];
  const isLinked = picture.linked.has(pairKey(from.key, to.key));
  const gone = isLinked ? [requireRead(linkBetween(web, start, end))] : [];
  const path = explainedPath(web, start, end, new Set(gone));
  if (path !== null && never !== null)
    throw new AppError("still_joined", "Other links still hold the two together, so the pair cannot be forbidden.", {
      members: { stillJoinedBy: path },
    });
  const before = [refOf(profile)];
  if (!isLinked) return { keys, work: null, undone: { ...undone(before, before), stillJoinedBy: path } };

  const after = remnantsOf(web, new Set(gone));
  const torn = { web, gone, nevers: never === null ? asked.nevers : [...asked.nevers, never] };
  return {
    keys,
    work: {
      what: "removed links",
      change: asked.change({ outcome: "unlinked", before, after }),
      marks: (made) => (never === null ? {} : { forbids: [forbidden(never, made)] }),
      steps: tearApart(workspace, [torn], asked.linksPerStep),
    },
    undone: { ...undone(before, after), outcome: "unlinked", stillJoinedBy: path },
  };
}

export interface UnlinkIdentifier extends Undoing {
  readonly side: Side;
  readonly web: Web;
  readonly nevers: readonly Never[];
  /** The profile as it stood when the first links went: what was linked since stays. Null as long as none went. */
  readonly begun: Web | null;
}

/** Takes all links of one identifier; what only it held together falls apart. */
export function decideUnlinkIdentifier(picture: Picture, asked: UnlinkIdentifier): Ruling {
  const { workspace, side, web, nevers, begun } = asked;
  const keys = [side.key];
  const before = [refOf(seatOf(picture, side.key)[1])];
  const position = positionOf(picture, web, side.key);
  const links = [...web.around.subarray(web.starts[position], web.starts[position + 1])];
  const gone = begun === null ? links : links.filter((link) => stoodIn(begun, web.links[link]!));
  if (gone.length === 0) return { keys, work: null, undone: undone(before, before) };
  const after = remnantsOf(web, new Set(gone));
  return {
    keys,
    work: {
      what: "removed links",
      change: asked.change({ outcome: "unlinked", before, after }),
      marks: ({ at, changeId }) => ({ unlinked: [{ key: side.key, at: lastAt(web, gone, at), changeId }] }),
      steps: tearApart(workspace, [{ web, nevers, gone }], asked.linksPerStep),
    },
    undone: { ...undone(before, after), outcome: "unlinked" },
  };
}

/** Nobody asserted it anew since. */
function stoodIn(web: Web, { from, to, changeId }: Link): boolean {
  const [one, other] = [web.positionOf.get(from), web.positionOf.get(to)];
  const link = one === undefined || other === undefined ? undefined : linkBetween(web, one, other);
  return link !== undefined && web.links[link]!.changeId === changeId;
}

function seatOf(picture: Picture, key: IdentifierKey): readonly [Component, SeenComponent] {
  const { component } = picture.identifiers.get(key)!;
  return [component, picture.components.get(component)!];
}

const positionOf = (picture: Picture, web: Web, key: IdentifierKey): number =>
  requireRead(web.positionOf.get(picture.identifiers.get(key)!.uid));

/** The web is read after the picture: when somebody wrote between them, all is read again. */
function requireRead(position: number | undefined): number {
  if (position === undefined) throw new Error("The profile is not the one that was seen.");
  return position;
}
