import { identifierKey } from "../../core/event/event.js";
import type { PathLink } from "../../core/identity/api.js";
import type { ForbiddenPairId, WorkspaceId } from "../../core/ids.js";
import type {
  Change,
  Component,
  Link,
  Member,
  ForbiddenPair,
  ProfileRef,
  RemovePlan,
  SplitPlan,
  Summary,
} from "../../core/identity/model.js";
import { shortestPath, partsOf, type Gone, type Web } from "./component-graph.js";

export interface Part extends Remnant, Summary {}

/** Two that may not come into one profile. */
export type ForbiddenPairSides = Pick<ForbiddenPair, "forbiddenPairId" | "from" | "to">;

/** What a component falls into without some of its links, the largest part first. `forbiddenPairs` are those that have a side in it. */
export function fallApart(
  web: Web,
  gone: Gone,
  forbiddenPairs: readonly ForbiddenPairSides[],
  among?: readonly number[],
): readonly Part[] {
  const parts = partsOf(web, gone, among);
  const idsOf = forbiddenOfParts(web, parts, forbiddenPairs);
  return parts
    .map((members, position) => partOf(web, members, idsOf[position]!.toSorted()))
    .toSorted((a, b) => b.size - a.size || (a.profileId < b.profileId ? -1 : 1));
}

function partOf(web: Web, members: readonly number[], forbidden: readonly ForbiddenPairId[]): Part {
  const counts = new Map<string, number>();
  for (const position of members) {
    const { namespace } = web.members[position]!.identifier;
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return { ...remnantOf(web, members), counts, forbidden };
}

/** What is left of a component, and no more than an answer tells of it. */
export interface Remnant extends ProfileRef {
  /** Positions in the web. */
  readonly members: readonly number[];
}

export const remnantsOf = (web: Web, gone: Gone): readonly Remnant[] =>
  partsOf(web, gone).map((members) => remnantOf(web, members));

function remnantOf({ members: all }: Web, members: readonly number[]): Remnant {
  let profileId = all[members[0]!]!.uid;
  for (const position of members) if (all[position]!.uid < profileId) profileId = all[position]!.uid;
  return { profileId, size: members.length, members };
}

function forbiddenOfParts(
  web: Web,
  parts: readonly (readonly number[])[],
  forbiddenPairs: readonly ForbiddenPairSides[],
): readonly ForbiddenPairId[][] {
  if (forbiddenPairs.length === 0) return parts.map(() => []);
  const idsAt = new Map<string, ForbiddenPairId[]>();
  for (const { forbiddenPairId, from, to } of forbiddenPairs)
    for (const side of [from, to].map(nameOf)) {
      const ids = idsAt.get(side);
      if (ids === undefined) idsAt.set(side, [forbiddenPairId]);
      else ids.push(forbiddenPairId);
    }
  return parts.map((members) =>
    members.flatMap((position) => idsAt.get(nameOf(web.members[position]!.identifier)) ?? []),
  );
}

/** The number of the part that each member is in. */
export function partsByMember(web: Web, parts: readonly (readonly number[])[]): Uint32Array {
  const partAt = new Uint32Array(web.members.length);
  for (const [part, positions] of parts.entries()) for (const position of positions) partAt[position] = part;
  return partAt;
}

/** Injective, since no namespace holds a colon. */
const nameOf = ({ namespace, value }: Member["identifier"]): string => `${namespace}:${value}`;

/** Null when it did not fall apart. The largest part keeps the component's place, so that the fewest members move. */
export function splitPlan(
  component: Component,
  { members }: Web,
  [stays, ...parts]: readonly Part[],
): SplitPlan | null {
  if (stays === undefined || parts.length === 0) return null;
  return {
    component,
    stays: summaryOf(stays),
    parts: parts.map((part) => ({
      ...summaryOf(part),
      members: part.members.map((position) => members[position]!.uid),
    })),
  };
}

const summaryOf = ({ profileId, size, counts, forbidden }: Part): Summary & ProfileRef => ({
  profileId,
  size,
  counts,
  forbidden,
});

/** Not before the link itself came to stand, whatever the clocks of two gateways say. */
export const removesOf = (
  workspace: WorkspaceId,
  { members, links, ends }: Web,
  gone: readonly number[],
  { changeId, at }: Change,
): readonly RemovePlan[] =>
  gone.map((link) => ({
    pair: [
      identifierKey(workspace, members[ends[2 * link]!]!.identifier),
      identifierKey(workspace, members[ends[2 * link + 1]!]!.identifier),
    ],
    changeId,
    at: Math.max(at, links[link]!.evidence.at),
  }));

/** When the last of them went. */
export const lastAt = ({ links }: Web, gone: readonly number[], at: number): number =>
  gone.reduce((last, link) => Math.max(last, links[link]!.evidence.at), at);

/** With the evidence of each link, in the order of the way; null when there is no way. */
export function explainedPath(web: Web, from: number, to: number, gone?: Gone): readonly PathLink[] | null {
  const path = shortestPath(web, from, to, gone);
  return path === null ? null : path.map((link) => explained(web, web.links[link]!));
}

export function explained({ members, positionOf }: Web, { from, to, changeId, evidence }: Link): PathLink {
  const at = (uid: Link["from"]) => members[positionOf.get(uid)!]!.identifier;
  return { from: at(from), to: at(to), changeId, evidence };
}
