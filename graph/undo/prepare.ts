import { AppError } from "../../core/errors.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Identity, UndoResult, UnlinkRequest } from "../../core/identity/api.js";
import { forbiddenPairIdFor, type ChangeId, type IdentifierKey, type WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type Component,
  type ComponentPlan,
  type ForbiddenPair,
  type Snapshot,
  type Rules,
  type ReadSet,
} from "../../core/identity/model.js";
import { refOf } from "../rules/working-state.js";
import { forEachInTurns } from "../scheduling/chunks.js";
import type { Call } from "../workspace-queue.js";
import { readWeb } from "./read-component.js";
import { decideRevert, type Losing } from "./revert.js";
import { settle, type SettleDeps, type UndoCall } from "./run.js";
import { idsOf, undone, type Ruling, type Undoing } from "./result.js";
import { unlinkOf } from "./unlink-mark.js";
import { decideUnlinkIdentifier, decideUnlinkPair, type Side } from "./unlink.js";
import type { Web } from "./component-graph.js";

export interface UndoDeps extends SettleDeps {
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly newChangeId: () => ChangeId;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly linksPerStep: number;
}

/** Taking back. What is read page by page is written on if nothing changed meanwhile; only the write waits in the workspace queue. */
export function createUndo(deps: UndoDeps) {
  return {
    unlink: (workspace: WorkspaceId, asked: UnlinkRequest, call: UndoCall): Promise<UndoResult> =>
      "identifier" in asked
        ? unlinkIdentifier(deps, workspace, asked.identifier, call)
        : unlinkPair(deps, workspace, asked, call),
    revert: (workspace: WorkspaceId, changeId: ChangeId, call: UndoCall) => revert(deps, workspace, changeId, call),
    allow: (workspace: WorkspaceId, forbiddenPairId: Parameters<Identity["allow"]>[1], call: UndoCall) =>
      allow(deps, workspace, forbiddenPairId, call),
  };
}

function unlinkPair(
  deps: UndoDeps,
  workspace: WorkspaceId,
  asked: Extract<UnlinkRequest, { from: Identifier }>,
  call: UndoCall,
): Promise<UndoResult> {
  const from = sideOf(workspace, asked.from);
  const to = sideOf(workspace, asked.to);
  const undoing = undoingOf(deps, workspace, call, [asked.from, asked.to]);
  const forbiddenPairId = forbiddenPairIdFor(workspace, pairKey(from.key, to.key));
  const forbidden = asked.forbid ? { forbiddenPairId, from: asked.from, to: asked.to } : null;
  const want: ReadSet = { keys: [from.key, to.key], pairs: [[from.key, to.key]] };
  return settle(deps, call, {
    workspace,
    want: async () => want,
    prepare: async (snapshot) => {
      const isOne = requireSeen(snapshot, from, "from").component === requireSeen(snapshot, to, "to").component;
      const held = isOne
        ? await readHeld(deps, workspace, snapshot, from.key, call.call)
        : { web: null, forbiddenPairs: [] };
      return () => decideUnlinkPair(snapshot, { ...undoing, from, to, forbidden, ...held });
    },
  });
}

function unlinkIdentifier(
  deps: UndoDeps,
  workspace: WorkspaceId,
  identifier: Identifier,
  call: UndoCall,
): Promise<UndoResult> {
  const side = sideOf(workspace, identifier);
  const undoing = undoingOf(deps, workspace, call, [identifier]);
  let first: Web | null = null;
  const want: ReadSet = { keys: [side.key], pairs: [] };
  return settle(deps, call, {
    workspace,
    want: async () => want,
    prepare: async (snapshot, hasBegun) => {
      requireSeen(snapshot, side, "identifier");
      const held = await readHeld(deps, workspace, snapshot, side.key, call.call);
      const begun = hasBegun ? first : null;
      if (!hasBegun) first = held.web;
      return () => decideUnlinkIdentifier(snapshot, { ...undoing, side, ...held, begun });
    },
  });
}

async function revert(deps: UndoDeps, workspace: WorkspaceId, changeId: ChangeId, call: UndoCall): Promise<UndoResult> {
  const { graph } = deps;
  const reverted = await graph.findChange(workspace, changeId);
  if (reverted === null) throw new AppError("not_found", "There is no such change.");
  const undoing = undoingOf(deps, workspace, call, reverted.identifiers, changeId);
  const rules = await deps.rulesOf(workspace);
  const named = reverted.identifiers.map((identifier) => identifierKey(workspace, identifier));
  const want = async (): Promise<ReadSet> => {
    const states = await graph.linksOfChange(workspace, reverted);
    return { keys: [...new Set([...named, ...states.flatMap(({ pair }) => pair)])], pairs: [] };
  };
  return settle(deps, call, {
    workspace,
    want,
    prepare: async (snapshot) => {
      const states = await graph.linksOfChange(workspace, reverted);
      const unlinked = await unlinkOf(graph, workspace, reverted);
      const holders = new Map<Component, IdentifierKey>();
      let isSeen = true;
      await forEachInTurns(states, ({ isActive, pair }) => {
        const [one, other] = pair.map((key) => snapshot.identifiers.get(key));
        isSeen &&= one !== undefined && other !== undefined;
        if (isActive && one !== undefined) holders.set(one.component, pair[0]);
      });
      if (!isSeen) return "changed";
      const losing: Losing[] = [];
      for (const key of holders.values())
        losing.push({ key, ...(await readHeld(deps, workspace, snapshot, key, call.call)) });
      return () => decideRevert(snapshot, { ...undoing, reverted, states, unlinked, losing, rules });
    },
  });
}

async function allow(
  deps: UndoDeps,
  workspace: WorkspaceId,
  forbiddenPairId: ForbiddenPair["forbiddenPairId"],
  call: UndoCall,
): Promise<UndoResult> {
  const [forbidden] = await deps.graph.findForbiddenPairs(workspace, [forbiddenPairId]);
  if (forbidden === undefined) throw new AppError("not_found", "There is no such forbidden pair.");
  const undoing = undoingOf(deps, workspace, call, [forbidden.from, forbidden.to]);
  const keys = [forbidden.from, forbidden.to].map((identifier) => identifierKey(workspace, identifier));
  const want: ReadSet = { keys, pairs: [] };
  return settle(deps, call, {
    workspace,
    want: async () => want,
    prepare: async (snapshot) => () => decideAllow(snapshot, keys, forbidden, undoing),
  });
}

function decideAllow(
  snapshot: Snapshot,
  keys: readonly IdentifierKey[],
  { forbiddenPairId }: ForbiddenPair,
  { change }: Undoing,
): Ruling {
  const seen = (now: Snapshot) =>
    keys.map((key) => {
      const { component } = now.identifiers.get(key)!;
      return { component, ...now.components.get(component)! };
    });
  const profiles = seen(snapshot);
  const refs = profiles.map(refOf);
  if (!profiles.every(({ forbidden }) => forbidden.includes(forbiddenPairId)))
    return { keys, work: null, undone: undone(refs, refs) };
  const components = (now: Snapshot): readonly ComponentPlan[] =>
    seen(now).map(({ component, profileId, size, counts, forbidden }) => ({
      into: component,
      absorbed: [],
      profileId,
      size,
      counts,
      forbidden: forbidden.filter((id) => id !== forbiddenPairId),
    }));
  return {
    keys,
    work: {
      what: "restored links",
      change: change({ outcome: "allowed", before: refs, after: refs }),
      marks: () => ({ allows: [forbiddenPairId] }),
      steps: [{ keys, links: 0, plan: (now) => ({ components: components(now) }) }],
    },
    undone: { ...undone(refs, refs), outcome: "allowed" },
  };
}

async function readHeld(
  { graph, onProgress }: UndoDeps,
  workspace: WorkspaceId,
  { identifiers, components }: Snapshot,
  key: IdentifierKey,
  call: Call,
): Promise<{ readonly web: Web; readonly forbiddenPairs: readonly ForbiddenPair[] }> {
  const { profileId, forbidden } = components.get(identifiers.get(key)!.component)!;
  const forbiddenPairs = forbidden.length === 0 ? [] : await graph.findForbiddenPairs(workspace, forbidden);
  const web = await readWeb(graph, workspace, profileId, { linksMax: Infinity, onProgress, call });
  return { web: web!, forbiddenPairs };
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

/**
 * Time and id are those of the step, not of the call: what was asserted up to here is older, also when it is delivered again, and
 * stands before it in every list.
 */
function undoingOf(
  { newChangeId, now, linksPerStep }: UndoDeps,
  workspace: WorkspaceId,
  { evidence }: UndoCall,
  identifiers: readonly Identifier[],
  reverts: ChangeId | null = null,
): Undoing {
  return {
    workspace,
    linksPerStep,
    change: ({ outcome, before, after, dropped = [] }) => {
      const ids = { before: idsOf(before), after: idsOf(after) };
      const what = { evidence, identifiers, outcome, ...ids, dropped, rule: null, reverts };
      return () => ({ ...what, changeId: newChangeId(), at: Math.max(evidence.at, now()) });
    },
  };
}
