import { AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import type { ChangeId, IdentifierKey, Uid } from "../../core/ids.js";
import {
  pairKey,
  type Component,
  type ForbiddenPair,
  type SeenComponent,
  type Snapshot,
} from "../../core/identity/model.js";
import { refOf } from "../rules/working-state.js";
import { linkBetween, otherEnd, type ComponentGraph } from "./component-graph.js";
import { resultOf, type UndoDecision } from "./result.js";
import { explainedPath, splitWithout, type ForbiddenPairSides } from "./split.js";

/** A profile as it was read, after the snapshot. */
export interface ReadProfile {
  readonly graph: ComponentGraph;
  /** Those that have a side in the profile. */
  readonly forbiddenPairs: readonly ForbiddenPair[];
}

export interface Side {
  readonly key: IdentifierKey;
  readonly identifier: Identifier;
}

export interface UnlinkPair {
  readonly kind: "unlink pair";
  readonly snapshot: Snapshot;
  readonly from: Side;
  readonly to: Side;
  /** Forbids the pair from now on. */
  readonly forbid: ForbiddenPairSides | null;
  /** Null when the two are not in one profile. */
  readonly profile: ReadProfile | null;
}

/** Pure. Throws `still_joined` when a pair is to be forbidden that other links hold together. */
export function decideUnlinkPair(asked: UnlinkPair): UndoDecision | "changed" {
  return asked.profile === null ? decideApart(asked) : decideWithin(asked, asked.profile);
}

/** There is no link to remove; but the pair may be forbidden. */
function decideApart({ snapshot, from, to, forbid }: UnlinkPair): UndoDecision {
  const keys = [from.key, to.key];
  const profiles = keys.map((key) => locationOf(snapshot, key)[1]);
  const refs = profiles.map(refOf);
  if (forbid === null || profiles[0]!.forbidden.includes(forbid.forbiddenPairId))
    return { keys, work: null, result: resultOf(refs, refs) };
  return { keys, work: { kind: "forbid", pair: forbid }, result: resultOf(refs, refs, { outcome: "forbidden" }) };
}

function decideWithin(
  { snapshot, from, to, forbid }: UnlinkPair,
  { graph, forbiddenPairs }: ReadProfile,
): UndoDecision | "changed" {
  const keys = [from.key, to.key];
  const [start, end] = keys.map((key) => graph.positionOf(snapshot.identifiers.get(key)!.uid));
  if (start === undefined || end === undefined) return "changed";
  const isLinked = snapshot.linked.has(pairKey(from.key, to.key));
  const link = isLinked ? linkBetween(graph, start, end) : undefined;
  if (isLinked && link === undefined) return "changed";
  const removed = new Set(link === undefined ? [] : [link]);
  const path = explainedPath(graph, start, end, removed);
  if (path !== null && forbid !== null)
    throw new AppError("still_joined", "Other links still hold the two together, so the pair cannot be forbidden.", {
      members: { stillJoinedBy: path },
    });
  const [, profile] = locationOf(snapshot, from.key);
  const before = [refOf(profile)];
  if (!isLinked) return { keys, work: null, result: resultOf(before, before, { stillJoinedBy: path }) };

  const split = splitWithout(graph, removed, forbid === null ? forbiddenPairs : [...forbiddenPairs, forbid]);
  return {
    keys,
    work: { kind: "remove", affected: [{ key: from.key, rev: profile.rev, split }], forbid, unlinked: null },
    result: resultOf(before, split.parts, { outcome: "unlinked", stillJoinedBy: path }),
  };
}

/** The links of an identifier when the first of them went, by the other end. What was asserted since stays. */
export type LinksAtStart = ReadonlyMap<Uid, ChangeId>;

export interface UnlinkIdentifier {
  readonly kind: "unlink identifier";
  readonly snapshot: Snapshot;
  readonly side: Side;
  readonly profile: ReadProfile;
  /** Null as long as none went. */
  readonly atStart: LinksAtStart | null;
}

/** Removes all links of one identifier; what only it held together falls apart. */
export function decideUnlinkIdentifier(asked: UnlinkIdentifier): UndoDecision | "changed" {
  const { snapshot, side, profile, atStart } = asked;
  const keys = [side.key];
  const [, seen] = locationOf(snapshot, side.key);
  const before = [refOf(seen)];
  const position = profile.graph.positionOf(snapshot.identifiers.get(side.key)!.uid);
  if (position === undefined) return "changed";
  const removed = new Set(
    linksAround(profile.graph, position)
      .filter(([link, other]) => atStart === null || atStart.get(other) === profile.graph.linkOf(link).changeId)
      .map(([link]) => link),
  );
  if (removed.size === 0) return { keys, work: null, result: resultOf(before, before) };
  const split = splitWithout(profile.graph, removed, profile.forbiddenPairs, position);
  return {
    keys,
    work: { kind: "remove", affected: [{ key: side.key, rev: seen.rev, split }], forbid: null, unlinked: side.key },
    result: resultOf(before, split.parts, { outcome: "unlinked" }),
  };
}

/** With the uid of the other end. */
const linksAround = (graph: ComponentGraph, member: number): readonly (readonly [link: number, other: Uid])[] =>
  [...graph.around.subarray(graph.starts[member], graph.starts[member + 1])].map((link) => [
    link,
    graph.uidOf(otherEnd(graph, link, member)),
  ]);

export function linksAtStart({ snapshot, side, profile: { graph } }: UnlinkIdentifier): LinksAtStart {
  const position = graph.positionOf(snapshot.identifiers.get(side.key)!.uid);
  if (position === undefined) return new Map();
  return new Map(linksAround(graph, position).map(([link, other]) => [other, graph.linkOf(link).changeId]));
}

export function locationOf(snapshot: Snapshot, key: IdentifierKey): readonly [Component, SeenComponent] {
  const { component } = snapshot.identifiers.get(key)!;
  return [component, snapshot.components.get(component)!];
}
