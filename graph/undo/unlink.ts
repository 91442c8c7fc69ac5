import { AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import type { IdentifierKey } from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type ComponentPlan,
  type Link,
  type ForbiddenPair,
  type Snapshot,
  type SeenComponent,
} from "../../core/identity/model.js";
import { refOf } from "../rules/working-state.js";
import { explainedPath, lastAt, remnantsOf, type ForbiddenPairSides } from "./split.js";
import { tearApart } from "./split-steps.js";
import { undone, type Ruling, type Step, type Undoing } from "./result.js";
import { linkBetween, type Web } from "./component-graph.js";

/** What is to be taken apart; `web` is the profile that holds it, as it stands in the snapshot. */
export interface UnlinkPair extends Undoing {
  readonly from: Side;
  readonly to: Side;
  /** Forbids the pair from now on. */
  readonly forbidden: ForbiddenPairSides | null;
  /** Null when the two are apart. */
  readonly web: Web | null;
  /** Forbidden pairs that have a side in the profile. */
  readonly forbiddenPairs: readonly ForbiddenPairSides[];
}

export interface Side {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
}

/** Pure. Throws `still_joined` when a pair is to be forbidden that other links hold together. */
export function decideUnlinkPair(snapshot: Snapshot, asked: UnlinkPair): Ruling {
  return asked.web === null ? decideApart(snapshot, asked) : decideWithin(snapshot, asked, asked.web);
}

/** There is no link to take; but the pair may be forbidden. */
function decideApart(snapshot: Snapshot, asked: UnlinkPair): Ruling {
  const { from, to, forbidden } = asked;
  const keys = [from.key, to.key];
  const profiles = keys.map((key) => seatOf(snapshot, key)[1]);
  const refs = profiles.map(refOf);
  if (forbidden === null || profiles[0]!.forbidden.includes(forbidden.forbiddenPairId))
    return { keys, work: null, undone: undone(refs, refs) };
  const step: Step = {
    keys,
    links: 0,
    plan: (now) => ({ components: keys.map((key) => withForbidden(...seatOf(now, key), forbidden)) }),
  };
  const change = asked.change({ outcome: "forbidden", before: refs, after: refs });
  return {
    keys,
    work: { what: "removed links", change, marks: (made) => ({ forbids: [recordOf(forbidden, made)] }), steps: [step] },
    undone: { ...undone(refs, refs), outcome: "forbidden" },
  };
}

const recordOf = (pair: ForbiddenPairSides, { changeId, at, evidence: { keyId } }: Change): ForbiddenPair => ({
  ...pair,
  changeId,
  keyId,
  at,
});

const withForbidden = (
  component: Component,
  profile: SeenComponent,
  { forbiddenPairId }: ForbiddenPairSides,
): ComponentPlan => ({
  ...refOf(profile),
  into: component,
  absorbed: [],
  counts: profile.counts,
  forbidden: [...profile.forbidden, forbiddenPairId].toSorted(),
});

function decideWithin(snapshot: Snapshot, asked: UnlinkPair, web: Web): Ruling {
  const { workspace, from, to, forbidden } = asked;
  const keys = [from.key, to.key];
  const [, profile] = seatOf(snapshot, from.key);
  const [start, end] = [positionOf(snapshot, web, from.key), positionOf(snapshot, web, to.key)];
  const isLinked = snapshot.linked.has(pairKey(from.key, to.key));
  const gone = isLinked ? [requireRead(linkBetween(web, start, end))] : [];
  const path = explainedPath(web, start, end, new Set(gone));
  if (path !== null && forbidden !== null)
    throw new AppError("still_joined", "Other links still hold the two together, so the pair cannot be forbidden.", {
      members: { stillJoinedBy: path },
    });
  const before = [refOf(profile)];
  if (!isLinked) return { keys, work: null, undone: { ...undone(before, before), stillJoinedBy: path } };

  const after = remnantsOf(web, new Set(gone));
  const torn = {
    web,
    gone,
    forbiddenPairs: forbidden === null ? asked.forbiddenPairs : [...asked.forbiddenPairs, forbidden],
  };
  return {
    keys,
    work: {
      what: "removed links",
      change: asked.change({ outcome: "unlinked", before, after }),
      marks: (made) => (forbidden === null ? {} : { forbids: [recordOf(forbidden, made)] }),
      steps: tearApart(workspace, [torn], asked.linksPerStep),
    },
    undone: { ...undone(before, after), outcome: "unlinked", stillJoinedBy: path },
  };
}

export interface UnlinkIdentifier extends Undoing {
  readonly side: Side;
  readonly web: Web;
  readonly forbiddenPairs: readonly ForbiddenPair[];
  /** The profile as it stood when the first links went: what was linked since stays. Null as long as none went. */
  readonly begun: Web | null;
}

/** Takes all links of one identifier; what only it held together falls apart. */
export function decideUnlinkIdentifier(snapshot: Snapshot, asked: UnlinkIdentifier): Ruling {
  const { workspace, side, web, forbiddenPairs, begun } = asked;
  const keys = [side.key];
  const before = [refOf(seatOf(snapshot, side.key)[1])];
  const position = positionOf(snapshot, web, side.key);
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
      steps: tearApart(workspace, [{ web, forbiddenPairs, gone }], asked.linksPerStep),
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

function seatOf(snapshot: Snapshot, key: IdentifierKey): readonly [Component, SeenComponent] {
  const { component } = snapshot.identifiers.get(key)!;
  return [component, snapshot.components.get(component)!];
}

const positionOf = (snapshot: Snapshot, web: Web, key: IdentifierKey): number =>
  requireRead(web.positionOf.get(snapshot.identifiers.get(key)!.uid));

/** The web is read after the snapshot: when somebody wrote between them, all is read again. */
function requireRead(position: number | undefined): number {
  if (position === undefined) throw new Error("The profile is not the one that was seen.");
  return position;
}
