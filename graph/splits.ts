import { identifierKey } from "../core/event.js";
import type { PathLink } from "../core/identity-api.js";
import type { NeverId, WorkspaceId } from "../core/ids.js";
import type {
  Change,
  Component,
  Link,
  Member,
  Never,
  ProfileRef,
  RemovePlan,
  SplitPlan,
  Summary,
} from "../core/identity.js";
import { shortestPath, partsOf, type Gone, type Web } from "./web.js";

export interface Part extends Summary, ProfileRef {
  /** Positions in the web. */
  readonly members: readonly number[];
}

/** What a component falls into without some of its links, the largest part first. `nevers` are those that have a side in it. */
export function fallApart(web: Web, gone: Gone, nevers: readonly Never[]): readonly Part[] {
  const parts = partsOf(web, gone);
  const idsOf = neversOfParts(web, parts, nevers);
  return parts
    .map((members, position) => partOf(web, members, idsOf[position]!.toSorted()))
    .toSorted((a, b) => b.size - a.size || (a.profileId < b.profileId ? -1 : 1));
}

function partOf(web: Web, members: readonly number[], never: readonly NeverId[]): Part {
  const counts = new Map<string, number>();
  let profileId = web.members[members[0]!]!.uid;
  for (const position of members) {
    const { uid, identifier } = web.members[position]!;
    if (uid < profileId) profileId = uid;
    counts.set(identifier.namespace, (counts.get(identifier.namespace) ?? 0) + 1);
  }
  return { profileId, size: members.length, counts, never, members };
}

function neversOfParts(
  web: Web,
  parts: readonly (readonly number[])[],
  nevers: readonly Never[],
): readonly NeverId[][] {
  const ids = parts.map((): NeverId[] => []);
  if (nevers.length === 0) return ids;
  const partAt = partsByMember(web, parts);
  const positions = new Map(web.members.map(({ identifier }, position) => [nameOf(identifier), position]));
  for (const { neverId, from, to } of nevers)
    for (const side of [from, to]) {
      const position = positions.get(nameOf(side));
      if (position !== undefined) ids[partAt[position]!]!.push(neverId);
    }
  return ids;
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

const summaryOf = ({ profileId, size, counts, never }: Part): Summary & ProfileRef => ({
  profileId,
  size,
  counts,
  never,
});

/** The part that holds the member. */
export const partWith = (parts: readonly Part[], position: number): Part =>
  parts.find(({ members }) => members.includes(position))!;

/** Not before the link itself came to stand, whatever the clocks of two gateways say. */
export const removesOf = (
  workspace: WorkspaceId,
  { members, links, ends }: Web,
  gone: Gone,
  { changeId, at }: Change,
): readonly RemovePlan[] =>
  [...gone].map((link) => ({
    pair: [
      identifierKey(workspace, members[ends[2 * link]!]!.identifier),
      identifierKey(workspace, members[ends[2 * link + 1]!]!.identifier),
    ],
    changeId,
    at: Math.max(at, links[link]!.evidence.at),
  }));

/** With the evidence of each link, in the order of the way; null when there is no way. */
export function explainedPath(web: Web, from: number, to: number, gone?: Gone): readonly PathLink[] | null {
  const path = shortestPath(web, from, to, gone);
  return path === null ? null : path.map((link) => explained(web, web.links[link]!));
}

export function explained({ members, positionOf }: Web, { from, to, changeId, evidence }: Link): PathLink {
  const at = (uid: Link["from"]) => members[positionOf.get(uid)!]!.identifier;
  return { from: at(from), to: at(to), changeId, evidence };
}
