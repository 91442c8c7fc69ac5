import { AppError } from "../../core/errors.js";
import type { Identifier } from "../../core/event/event.js";
import type { UnlinkRequest } from "../../core/identity/api.js";
import { forbiddenPairIdFor, type Uid } from "../../core/ids.js";
import { pairKey } from "../../core/identity/model.js";
import type { SeenIdentifier, Snapshot } from "../../core/identity/snapshot.js";
import { refOf } from "../rules/working-state.js";
import { decidePair, FORBIDDEN_PAIRS_MAX, requireRoom } from "./allow.js";
import { linkBetween, otherEnd, type ComponentGraph } from "./component-graph.js";
import { resultOf, type LinksAtStart, type PairToForbid, type UndoDecision } from "./decision.js";
import {
  locationOf,
  look,
  readProfile,
  sideOf,
  type Prepared,
  type Reading,
  type ReadProfile,
  type Side,
} from "./read.js";
import { explainedPath, splitWithout, summaryOf, type Split } from "./split.js";

/** Of the profiles that it takes apart. */
export function namedBy(asked: UnlinkRequest): readonly Identifier[] {
  if ("within" in asked) return [asked.within];
  return "identifier" in asked ? [asked.identifier] : [asked.from, asked.to];
}

export async function prepareUnlinkPair(
  reading: Reading,
  request: Extract<UnlinkRequest, { from: Identifier }>,
): Promise<Prepared> {
  const { workspace } = reading;
  const [from, to] = [sideOf(workspace, request.from), sideOf(workspace, request.to)];
  const keys = [from.key, to.key];
  const snapshot = await look(reading, keys, [[from.key, to.key]]);
  const isOne = requireSeen(snapshot, from, "from").component === requireSeen(snapshot, to, "to").component;
  const forbiddenPairId = forbiddenPairIdFor(workspace, pairKey(from.key, to.key));
  const isListed = request.forbid && (await reading.graph.findForbiddenPairs(workspace, [forbiddenPairId])).length > 0;
  const forbid = request.forbid ? { forbiddenPairId, from: request.from, to: request.to, isListed } : null;
  const record = { identifiers: [request.from, request.to], reverts: null, isForbidding: forbid !== null };
  if (!isOne) return { snapshot, record, decide: () => decideApart(snapshot, [from, to], forbid) };
  const profile = await readProfile(reading, snapshot, from.key);
  return { snapshot, record, decide: () => decideWithin(snapshot, [from, to], forbid, profile) };
}

function requireSeen(snapshot: Snapshot, { key }: Side, path: string): SeenIdentifier {
  const seen = snapshot.identifiers.get(key);
  if (seen !== undefined) return seen;
  throw new AppError("not_found", `There is no such identifier: ${path}.`, {
    errors: [{ path, message: "was never seen" }],
  });
}

type Sides = readonly [from: Side, to: Side];

/** Pure. There is no link to remove, but the pair may be forbidden. */
function decideApart(snapshot: Snapshot, sides: Sides, forbid: PairToForbid | null): UndoDecision {
  const keys = sides.map(({ key }) => key);
  if (forbid !== null) return decidePair(snapshot, { kind: "forbid", pair: forbid, keys });
  const refs = keys.map((key) => refOf(locationOf(snapshot, key)[1]));
  return { keys, work: null, result: resultOf(refs, refs) };
}

/** Pure. Throws `still_joined` when a pair is to be forbidden that other links hold together. */
function decideWithin(
  snapshot: Snapshot,
  [from, to]: Sides,
  forbid: PairToForbid | null,
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
      members: { stillJoinedBy: path.links, isPartial: path.isPartial },
    });
  const [, profile] = locationOf(snapshot, from.key);
  const before = [refOf(profile)];
  if (!isLinked) return { keys, work: null, result: resultOf(before, before, { stillJoinedBy: path }) };
  const split = splitWithout(graph, removed, forbid === null ? forbiddenPairs : [...forbiddenPairs, forbid]);
  if (forbid !== null && forbiddenPairs.length >= FORBIDDEN_PAIRS_MAX) {
    requireRoom("from", pairsWith(split, start));
    requireRoom("to", pairsWith(split, end));
  }
  return {
    keys,
    work: { kind: "remove", affected: [{ key: from.key, rev: profile.rev, split }], forbid, unlinked: null },
    result: resultOf(before, split.parts, { outcome: "unlinked", stillJoinedBy: path }),
  };
}

/** Forbidden pairs of the part that a member ends up in. */
const pairsWith = (split: Split, member: number): number =>
  summaryOf(split, split.parts[split.partOf[member]!]!.members).forbidden.length;

/** `atStart` is null as long as no link was removed. */
export async function prepareUnlinkIdentifier(
  reading: Reading,
  identifier: Identifier,
  atStart: LinksAtStart | null,
): Promise<Prepared> {
  const side = sideOf(reading.workspace, identifier);
  const snapshot = await look(reading, [side.key]);
  requireSeen(snapshot, side, "identifier");
  const profile = await readProfile(reading, snapshot, side.key);
  const decide = () => decideUnlinkIdentifier(snapshot, side, profile, atStart);
  return { snapshot, record: { identifiers: [identifier], reverts: null, isForbidding: false }, decide };
}

/** Pure. Removes all links of one identifier; what only it held together becomes several profiles. */
function decideUnlinkIdentifier(
  snapshot: Snapshot,
  { key }: Side,
  { graph, forbiddenPairs }: ReadProfile,
  atStart: LinksAtStart | null,
): UndoDecision | "changed" {
  const [, seen] = locationOf(snapshot, key);
  const before = [refOf(seen)];
  const position = graph.positionOf(snapshot.identifiers.get(key)!.uid);
  if (position === undefined) return "changed";
  const around = linksAround(graph, position);
  const isOld = ([link, other]: (typeof around)[number]) =>
    atStart === null || atStart.get(other) === graph.linkOf(link).changeId;
  const removed = new Set(around.filter(isOld).map(([link]) => link));
  if (removed.size === 0) return { keys: [key], work: null, result: resultOf(before, before) };
  const split = splitWithout(graph, removed, forbiddenPairs, position);
  return {
    keys: [key],
    work: { kind: "remove", affected: [{ key, rev: seen.rev, split }], forbid: null, unlinked: key },
    result: resultOf(before, split.parts, { outcome: "unlinked" }),
    linksAtStart: () => new Map(around.map(([link, other]) => [other, graph.linkOf(link).changeId])),
  };
}

/** With the uid of the other end. */
const linksAround = (graph: ComponentGraph, member: number): readonly (readonly [link: number, other: Uid])[] =>
  [...graph.around.subarray(graph.starts[member], graph.starts[member + 1])].map((link) => [
    link,
    graph.uidOf(otherEnd(graph, link, member)),
  ]);

/** Nobody is marked as unlinked: what the others sent before still counts for them. */
export async function prepareUnlinkUids(
  reading: Reading,
  request: Extract<UnlinkRequest, { within: Identifier }>,
): Promise<Prepared> {
  const { within } = request;
  const side = sideOf(reading.workspace, within);
  const snapshot = await look(reading, [side.key]);
  requireSeen(snapshot, side, "within");
  const profile = await readProfile(reading, snapshot, side.key);
  const decide = () => decideUnlinkUids(snapshot, side, profile, request);
  return { snapshot, record: { identifiers: [within], reverts: null, isForbidding: false }, decide };
}

/** Pure. What it cuts is gone at once, to however many others the links lead. */
function decideUnlinkUids(
  snapshot: Snapshot,
  { key }: Side,
  { graph, forbiddenPairs }: ReadProfile,
  { uids, linksMax }: Pick<Extract<UnlinkRequest, { within: Identifier }>, "uids" | "linksMax">,
): UndoDecision | "changed" {
  const [, seen] = locationOf(snapshot, key);
  const before = [refOf(seen)];
  if (graph.positionOf(snapshot.identifiers.get(key)!.uid) === undefined) return "changed";
  const isOne = Uint8Array.from({ length: graph.size }, (_, member) => (uids.has(graph.uidOf(member)) ? 1 : 0));
  const removed = new Set<number>();
  for (let link = 0; link < graph.linkCount && removed.size < linksMax; link += 1)
    if (isOne[graph.ends[2 * link]!] !== isOne[graph.ends[2 * link + 1]!]) removed.add(link);
  if (removed.size === 0) return { keys: [key], work: null, result: resultOf(before, before) };
  const split = splitWithout(graph, removed, forbiddenPairs);
  return {
    keys: [key],
    work: { kind: "remove", affected: [{ key, rev: seen.rev, split }], forbid: null, unlinked: null },
    result: resultOf(before, split.parts, { outcome: "unlinked" }),
  };
}
