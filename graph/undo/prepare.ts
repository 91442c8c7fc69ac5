import { AppError } from "../../core/errors.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import type { Identity, Undone, UnlinkRequest } from "../../core/identity/api.js";
import { neverIdFor, type ChangeId, type IdentifierKey, type WorkspaceId } from "../../core/ids.js";
import {
  pairKey,
  type Component,
  type ComponentPlan,
  type Never,
  type Picture,
  type Rules,
  type Want,
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

/** Taking back. What is read page by page is written on if nothing changed meanwhile; only the write waits in the lane. */
export function createUndo(deps: UndoDeps) {
  return {
    unlink: (workspace: WorkspaceId, asked: UnlinkRequest, call: UndoCall): Promise<Undone> =>
      "identifier" in asked
        ? unlinkIdentifier(deps, workspace, asked.identifier, call)
        : unlinkPair(deps, workspace, asked, call),
    revert: (workspace: WorkspaceId, changeId: ChangeId, call: UndoCall) => revert(deps, workspace, changeId, call),
    lift: (workspace: WorkspaceId, neverId: Parameters<Identity["lift"]>[1], call: UndoCall) =>
      lift(deps, workspace, neverId, call),
  };
}

function unlinkPair(
  deps: UndoDeps,
  workspace: WorkspaceId,
  asked: Extract<UnlinkRequest, { from: Identifier }>,
  call: UndoCall,
): Promise<Undone> {
  const from = sideOf(workspace, asked.from);
  const to = sideOf(workspace, asked.to);
  const undoing = undoingOf(deps, workspace, call, [asked.from, asked.to]);
  const neverId = neverIdFor(workspace, pairKey(from.key, to.key));
  const never = asked.never ? { neverId, from: asked.from, to: asked.to } : null;
  const want: Want = { keys: [from.key, to.key], pairs: [[from.key, to.key]] };
  return settle(deps, call, {
    workspace,
    want: async () => want,
    prepare: async (picture) => {
      const isOne = requireSeen(picture, from, "from").component === requireSeen(picture, to, "to").component;
      const held = isOne ? await readHeld(deps, workspace, picture, from.key, call.call) : { web: null, nevers: [] };
      return () => decideUnlinkPair(picture, { ...undoing, from, to, never, ...held });
    },
  });
}

function unlinkIdentifier(
  deps: UndoDeps,
  workspace: WorkspaceId,
  identifier: Identifier,
  call: UndoCall,
): Promise<Undone> {
  const side = sideOf(workspace, identifier);
  const undoing = undoingOf(deps, workspace, call, [identifier]);
  let first: Web | null = null;
  const want: Want = { keys: [side.key], pairs: [] };
  return settle(deps, call, {
    workspace,
    want: async () => want,
    prepare: async (picture, hasBegun) => {
      requireSeen(picture, side, "identifier");
      const held = await readHeld(deps, workspace, picture, side.key, call.call);
      const begun = hasBegun ? first : null;
      if (!hasBegun) first = held.web;
      return () => decideUnlinkIdentifier(picture, { ...undoing, side, ...held, begun });
    },
  });
}

async function revert(deps: UndoDeps, workspace: WorkspaceId, changeId: ChangeId, call: UndoCall): Promise<Undone> {
  const { graph } = deps;
  const reverted = await graph.findChange(workspace, changeId);
  if (reverted === null) throw new AppError("not_found", "There is no such change.");
  const undoing = undoingOf(deps, workspace, call, reverted.identifiers, changeId);
  const rules = await deps.rulesOf(workspace);
  const named = reverted.identifiers.map((identifier) => identifierKey(workspace, identifier));
  const want = async (): Promise<Want> => {
    const states = await graph.linksOfChange(workspace, reverted);
    return { keys: [...new Set([...named, ...states.flatMap(({ pair }) => pair)])], pairs: [] };
  };
  return settle(deps, call, {
    workspace,
    want,
    prepare: async (picture) => {
      const states = await graph.linksOfChange(workspace, reverted);
      const unlinked = await unlinkOf(graph, workspace, reverted);
      const holders = new Map<Component, IdentifierKey>();
      let isSeen = true;
      await forEachInTurns(states, ({ isActive, pair }) => {
        const [one, other] = pair.map((key) => picture.identifiers.get(key));
        isSeen &&= one !== undefined && other !== undefined;
        if (isActive && one !== undefined) holders.set(one.component, pair[0]);
      });
      if (!isSeen) return "changed";
      const losing: Losing[] = [];
      for (const key of holders.values())
        losing.push({ key, ...(await readHeld(deps, workspace, picture, key, call.call)) });
      return () => decideRevert(picture, { ...undoing, reverted, states, unlinked, losing, rules });
    },
  });
}

async function lift(
  deps: UndoDeps,
  workspace: WorkspaceId,
  neverId: Never["neverId"],
  call: UndoCall,
): Promise<Undone> {
  const [never] = await deps.graph.findNevers(workspace, [neverId]);
  if (never === undefined) throw new AppError("not_found", "There is no such forbidden pair.");
  const undoing = undoingOf(deps, workspace, call, [never.from, never.to]);
  const keys = [never.from, never.to].map((identifier) => identifierKey(workspace, identifier));
  const want: Want = { keys, pairs: [] };
  return settle(deps, call, {
    workspace,
    want: async () => want,
    prepare: async (picture) => () => decideLift(picture, keys, never, undoing),
  });
}

function decideLift(picture: Picture, keys: readonly IdentifierKey[], { neverId }: Never, { change }: Undoing): Ruling {
  const seen = (now: Picture) =>
    keys.map((key) => {
      const { component } = now.identifiers.get(key)!;
      return { component, ...now.components.get(component)! };
    });
  const profiles = seen(picture);
  const refs = profiles.map(refOf);
  if (!profiles.every(({ never }) => never.includes(neverId))) return { keys, work: null, undone: undone(refs, refs) };
  const components = (now: Picture): readonly ComponentPlan[] =>
    seen(now).map(({ component, profileId, size, counts, never }) => ({
      into: component,
      absorbed: [],
      profileId,
      size,
      counts,
      never: never.filter((id) => id !== neverId),
    }));
  return {
    keys,
    work: {
      what: "restored links",
      change: change({ outcome: "lifted", before: refs, after: refs }),
      marks: () => ({ lifts: [neverId] }),
      steps: [{ keys, links: 0, plan: (now) => ({ components: components(now) }) }],
    },
    undone: { ...undone(refs, refs), outcome: "lifted" },
  };
}

async function readHeld(
  { graph, onProgress }: UndoDeps,
  workspace: WorkspaceId,
  { identifiers, components }: Picture,
  key: IdentifierKey,
  call: Call,
): Promise<{ readonly web: Web; readonly nevers: readonly Never[] }> {
  const { profileId, never } = components.get(identifiers.get(key)!.component)!;
  const nevers = never.length === 0 ? [] : await graph.findNevers(workspace, never);
  const web = await readWeb(graph, workspace, profileId, { linksMax: Infinity, onProgress, call });
  return { web: web!, nevers };
}

const sideOf = (workspace: WorkspaceId, identifier: Identifier): Side => ({
  key: identifierKey(workspace, identifier),
  identifier,
});

function requireSeen(picture: Picture, { key }: Side, path: string) {
  const seen = picture.identifiers.get(key);
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
