import { AppError } from "../../core/errors.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { UnlinkRequest } from "../../core/identity/api.js";
import {
  forbiddenPairIdFor,
  type ChangeId,
  type ForbiddenPairId,
  type IdentifierKey,
  type WorkspaceId,
} from "../../core/ids.js";
import {
  pairKey,
  type Change,
  type Component,
  type KeyPair,
  type Rules,
  type Snapshot,
} from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { forEachInTurns } from "../scheduling/chunks.js";
import type { MemoryShare } from "../scheduling/memory.js";
import { refOf } from "../rules/working-state.js";
import type { Allow } from "./allow.js";
import { readComponent, type Progress } from "./read-component.js";
import { lookInTurns } from "./read-in-chunks.js";
import type { UndoRecord } from "./result.js";
import type { Revert, UnlinkMark } from "./revert.js";
import {
  locationOf,
  type LinksAtStart,
  type ReadProfile,
  type Side,
  type UnlinkIdentifier,
  type UnlinkPair,
} from "./unlink.js";

export type UndoRequest =
  | { readonly kind: "unlink"; readonly request: UnlinkRequest }
  | { readonly kind: "revert"; readonly changeId: ChangeId }
  | { readonly kind: "allow"; readonly forbiddenPairId: ForbiddenPairId };

/** All that a decision needs, as it was read. */
export type UndoFacts = UnlinkPair | UnlinkIdentifier | Revert | Allow;

export interface Prepared {
  readonly facts: UndoFacts;
  readonly record: UndoRecord;
}

export interface PrepareDeps {
  readonly graph: IdentityGraph;
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly onProgress: (progress: Progress) => void;
}

/** Reads for one request; nothing is locked meanwhile, so the snapshot comes first and tells whether it still holds. */
interface Reading extends PrepareDeps {
  readonly workspace: WorkspaceId;
  readonly memory: MemoryShare;
}

/** As measured: 1,630 for a link of a change, with its two ends as they stand now. */
const CHANGED_LINK_BYTES = 2_000;

/** `atStart` are the links that an unlink began with, once some of them went. "changed" when somebody wrote in between. */
export function prepare(
  deps: PrepareDeps,
  workspace: WorkspaceId,
  {
    request,
    memory,
    atStart,
  }: { readonly request: UndoRequest; readonly memory: MemoryShare; readonly atStart: LinksAtStart | null },
): Promise<Prepared | "changed"> {
  const reading = { ...deps, workspace, memory };
  if (request.kind === "revert") return prepareRevert(reading, request.changeId);
  if (request.kind === "allow") return prepareAllow(reading, request.forbiddenPairId);
  return "identifier" in request.request
    ? prepareUnlinkIdentifier(reading, request.request.identifier, atStart)
    : prepareUnlinkPair(reading, request.request);
}

async function prepareUnlinkPair(
  reading: Reading,
  request: Extract<UnlinkRequest, { from: Identifier }>,
): Promise<Prepared | "changed"> {
  const { workspace } = reading;
  const from = sideOf(workspace, request.from);
  const to = sideOf(workspace, request.to);
  const snapshot = await look(reading, [from.key, to.key], [[from.key, to.key]]);
  const isOne = requireSeen(snapshot, from, "from").component === requireSeen(snapshot, to, "to").component;
  const forbiddenPairId = forbiddenPairIdFor(workspace, pairKey(from.key, to.key));
  const forbid = request.forbid ? { forbiddenPairId, from: request.from, to: request.to } : null;
  const profile = isOne ? await readProfile(reading, snapshot, from.key) : null;
  return {
    facts: { kind: "unlink pair", snapshot, from, to, forbid, profile },
    record: { identifiers: [request.from, request.to], reverts: null },
  };
}

async function prepareUnlinkIdentifier(
  reading: Reading,
  identifier: Identifier,
  atStart: LinksAtStart | null,
): Promise<Prepared | "changed"> {
  const side = sideOf(reading.workspace, identifier);
  const snapshot = await look(reading, [side.key]);
  requireSeen(snapshot, side, "identifier");
  const profile = await readProfile(reading, snapshot, side.key);
  return {
    facts: { kind: "unlink identifier", snapshot, side, profile, atStart },
    record: { identifiers: [identifier], reverts: null },
  };
}

async function prepareRevert(reading: Reading, changeId: ChangeId): Promise<Prepared | "changed"> {
  const { graph, workspace } = reading;
  const reverted = await graph.findChange(workspace, changeId);
  if (reverted === null) throw new AppError("not_found", "There is no such change.");
  const named = reverted.identifiers.map((identifier) => identifierKey(workspace, identifier));
  const earlier = await graph.linksOfChange(workspace, reverted);
  reading.memory.take(earlier.length * CHANGED_LINK_BYTES);
  const keys = [...new Set([...named, ...earlier.flatMap(({ pair }) => pair)])];
  const snapshot = await lookInTurns(graph, workspace, { keys, pairs: [] });
  if (snapshot === null) return "changed";
  const states = await graph.linksOfChange(workspace, reverted);
  const holders = new Map<Component, IdentifierKey>();
  let isSeen = true;
  await forEachInTurns(states, ({ isActive, pair }) => {
    const [one, other] = pair.map((key) => snapshot.identifiers.get(key));
    isSeen &&= one !== undefined && other !== undefined;
    if (isActive && one !== undefined) holders.set(one.component, pair[0]);
  });
  if (!isSeen) return "changed";
  const profiles: Revert["profiles"][number][] = [];
  for (const key of holders.values()) profiles.push({ key, ...(await readProfile(reading, snapshot, key)) });
  const unlinked = await unlinkOf(graph, workspace, reverted);
  const rules = await reading.rulesOf(workspace);
  return {
    facts: { kind: "revert", snapshot, workspace, reverted, states, unlinked, profiles, rules },
    record: { identifiers: reverted.identifiers, reverts: changeId },
  };
}

async function prepareAllow(reading: Reading, forbiddenPairId: ForbiddenPairId): Promise<Prepared> {
  const { graph, workspace } = reading;
  const [pair] = await graph.findForbiddenPairs(workspace, [forbiddenPairId]);
  if (pair === undefined) throw new AppError("not_found", "There is no such forbidden pair.");
  const identifiers = [pair.from, pair.to];
  const keys = identifiers.map((identifier) => identifierKey(workspace, identifier));
  const snapshot = await look(reading, keys);
  return { facts: { kind: "allow", snapshot, workspace, pair }, record: { identifiers, reverts: null } };
}

const look = async (
  { graph, workspace }: Reading,
  keys: readonly IdentifierKey[],
  pairs: readonly KeyPair[] = [],
): Promise<Snapshot> => (await lookInTurns(graph, workspace, { keys, pairs }))!;

async function readProfile(
  { graph, workspace, onProgress, memory }: Reading,
  snapshot: Snapshot,
  key: IdentifierKey,
): Promise<ReadProfile> {
  const [, profile] = locationOf(snapshot, key);
  const { forbidden } = profile;
  const forbiddenPairs = forbidden.length === 0 ? [] : await graph.findForbiddenPairs(workspace, forbidden);
  const read = await readComponent(graph, workspace, refOf(profile), { linksMax: Infinity, onProgress, memory });
  return { graph: read!, forbiddenPairs };
}

/** Null when the change is neither an unlink of an identifier nor the revert of one. */
async function unlinkOf(
  graph: Pick<IdentityGraph, "isUnlinkedBy" | "findChange">,
  workspace: WorkspaceId,
  reverted: Change,
): Promise<UnlinkMark | null> {
  let root: Change | null = reverted;
  while (root !== null && root.reverts !== null) root = await graph.findChange(workspace, root.reverts);
  const isUnlink = root?.evidence.source === "unlink" || root?.evidence.source === "shared_identifier";
  if (root?.identifiers.length !== 1 || !isUnlink) return null;
  const key = identifierKey(workspace, root.identifiers[0]!);
  return { key, isLast: await graph.isUnlinkedBy(workspace, key, reverted.changeId) };
}

const sideOf = (workspace: WorkspaceId, identifier: Identifier): Side => ({
  key: identifierKey(workspace, identifier),
  identifier,
});

function requireSeen(snapshot: Snapshot, { key }: Side, path: string) {
  const seen = snapshot.identifiers.get(key);
  if (seen === undefined)
    throw new AppError("not_found", `There is no such identifier: ${path}.`, {
      errors: [{ path, message: "was never seen" }],
    });
  return seen;
}
