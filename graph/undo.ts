import { AppError } from "../core/errors.js";
import { identifierKey, type Identifier } from "../core/event.js";
import type { Identity, Undone, UnlinkRequest } from "../core/identity-api.js";
import { neverIdFor, type ChangeId, type IdentifierKey, type WorkspaceId } from "../core/ids.js";
import { pairKey, type Evidence, type Never, type Picture, type Rules, type Want } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { EMPTY_PLAN, refOf } from "./draft.js";
import type { Call, Lane } from "./lane.js";
import { readWeb, type Progress } from "./read-web.js";
import { decideRevert, type Torn } from "./revert.js";
import { undone, type Ruling, type Undoing } from "./undone.js";
import { unlinkOf } from "./unlink-mark.js";
import { decideUnlinkIdentifier, decideUnlinkPair, type Side } from "./unlink.js";
import { wantWith } from "./want.js";
import type { Web } from "./web.js";

export interface UndoDeps {
  readonly graph: IdentityGraph;
  readonly lane: Pick<Lane, "alone">;
  readonly rulesOf: (workspace: WorkspaceId) => Promise<Rules>;
  readonly newChangeId: () => ChangeId;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onProgress: (progress: Progress) => void;
}

export interface UndoCall {
  readonly evidence: Evidence;
  readonly dryRun: boolean;
  readonly call: Call;
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
  const { changeId } = undoing;
  const { keyId, at } = call.evidence;
  const neverId = neverIdFor(workspace, pairKey(from.key, to.key));
  const never: Never | null = asked.never ? { neverId, from: asked.from, to: asked.to, changeId, keyId, at } : null;
  const want: Want = { keys: [from.key, to.key], pairs: [[from.key, to.key]] };
  return settle<never>(deps, workspace, call, want, async (picture) => {
    const component = requireSeen(picture, from, "from").component;
    const isOne = requireSeen(picture, to, "to").component === component;
    const held = isOne ? await readHeld(deps, workspace, picture, component, call.call) : { web: null, nevers: [] };
    return (now) => decideUnlinkPair(now, { ...undoing, from, to, never, ...held });
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
  return settle<never>(deps, workspace, call, { keys: [side.key], pairs: [] }, async (picture) => {
    const { component } = requireSeen(picture, side, "identifier");
    const held = await readHeld(deps, workspace, picture, component, call.call);
    return (now) => decideUnlinkIdentifier(now, { ...undoing, side, ...held });
  });
}

async function revert(deps: UndoDeps, workspace: WorkspaceId, changeId: ChangeId, call: UndoCall): Promise<Undone> {
  const { graph } = deps;
  const reverted = await graph.findChange(workspace, changeId);
  if (reverted === null) throw new AppError("not_found", "There is no such change.");
  const undoing = undoingOf(deps, workspace, call, reverted.identifiers, changeId);
  const rules = await deps.rulesOf(workspace);
  const named = reverted.identifiers.map((identifier) => identifierKey(workspace, identifier));
  let keys = new Set(named);
  for (;;) {
    const result = await settle<null>(deps, workspace, call, { keys: [...keys], pairs: [] }, async (picture) => {
      const states = await graph.linksOfChange(workspace, reverted);
      const all = new Set([...named, ...states.flatMap(({ pair }) => pair)]);
      if ([...all].some((key) => !keys.has(key))) {
        keys = all;
        return null;
      }
      const unlinked = await unlinkOf(graph, workspace, reverted);
      const losing = states.filter(({ isActive }) => isActive).map(({ pair }) => picture.identifiers.get(pair[0])!);
      const torn: Torn[] = [];
      for (const component of new Set(losing.map((seat) => seat.component)))
        torn.push({ component, ...(await readHeld(deps, workspace, picture, component, call.call)) });
      return (now) => decideRevert(now, { ...undoing, reverted, states, unlinked, torn, rules });
    });
    if (result !== null) return result;
  }
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
  return settle<never>(
    deps,
    workspace,
    call,
    { keys, pairs: [] },
    async () => (now) => decideLift(now, keys, never, undoing),
  );
}

function decideLift(picture: Picture, keys: readonly IdentifierKey[], { neverId }: Never, undoing: Undoing): Ruling {
  const profiles = keys.map((key) => {
    const { component } = picture.identifiers.get(key)!;
    return { component, ...picture.components.get(component)! };
  });
  const refs = profiles.map(refOf);
  if (!profiles.every(({ never }) => never.includes(neverId))) return { plan: null, undone: undone(refs, refs) };
  const components = profiles.map(({ component, profileId, size, counts, never }) => ({
    into: component,
    absorbed: [],
    profileId,
    size,
    counts,
    never: never.filter((id) => id !== neverId),
  }));
  const change = undoing.change({ outcome: "lifted", before: refs, after: refs });
  return {
    plan: { ...EMPTY_PLAN, components, lifts: [neverId], changes: [change] },
    undone: { ...undone(refs, refs), outcome: "lifted", changeId: change.changeId },
  };
}

/** Others may write between the look and the step: then all is read again. */
const TRIES_MAX = 10;
/** From then on nothing else of this process writes in the workspace meanwhile. */
const TRIES_BESIDE = 3;

type Rule = (now: Picture) => Ruling;
type Run = <T>(work: () => Promise<T>) => Promise<T>;

const atOnce: Run = (work) => work();

/**
 * Looks, lets `prepare` read what it needs, and writes if no profile changed meanwhile; else again. Null when `prepare` found that it
 * must look at more.
 */
async function settle<Again extends null>(
  { graph, lane, rulesOf }: UndoDeps,
  workspace: WorkspaceId,
  { dryRun, call }: UndoCall,
  want: Want,
  prepare: (picture: Picture) => Promise<Rule | Again>,
): Promise<Undone | Again> {
  const wanted = wantWith(want, await rulesOf(workspace));
  const inLane: Run = (work) => lane.alone(workspace, work, call);
  const attempt = async (run: Run): Promise<Undone | Again | "changed"> => {
    const seen = await graph.update(workspace, wanted, (picture) => ({ plan: null, result: picture }));
    const rule = await prepare(seen);
    if (rule === null) return rule;
    return run(() =>
      graph.update<Undone | "changed">(workspace, wanted, (now) => {
        if (!isSame(seen, now)) return { plan: null, result: "changed" };
        const { plan, undone } = rule(now);
        return dryRun ? { plan: null, result: { ...undone, changeId: null } } : { plan, result: undone };
      }),
    );
  };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const isBeside = tries < TRIES_BESIDE;
    const result = isBeside ? await attempt(dryRun ? atOnce : inLane) : await inLane(() => attempt(atOnce));
    if (result !== "changed") return result;
  }
  throw new AppError("unavailable", "The profile changed all the time while it was being taken apart.");
}

/** Each profile is what it was, with the same members, links and forbidden pairs. */
function isSame(seen: Picture, now: Picture): boolean {
  if (seen.identifiers.size !== now.identifiers.size) return false;
  return [...seen.identifiers].every(([key, { component }]) => {
    const other = now.identifiers.get(key);
    if (other === undefined) return false;
    const [was, is] = [seen.components.get(component)!, now.components.get(other.component)!];
    return was.profileId === is.profileId && was.rev === is.rev;
  });
}

async function readHeld(
  { graph, onProgress }: UndoDeps,
  workspace: WorkspaceId,
  picture: Picture,
  component: Parameters<Picture["components"]["get"]>[0],
  call: Call,
): Promise<{ readonly web: Web; readonly nevers: readonly Never[] }> {
  const { profileId, never } = picture.components.get(component)!;
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

/** Its time is that of the step, not of the call: what was asserted up to here is older, also when it is delivered again. */
function undoingOf(
  { newChangeId, now }: UndoDeps,
  workspace: WorkspaceId,
  { evidence }: UndoCall,
  identifiers: readonly Identifier[],
  reverts: ChangeId | null = null,
): Undoing & { readonly changeId: ChangeId } {
  const changeId = newChangeId();
  return {
    workspace,
    changeId,
    change: ({ outcome, before, after }) => ({
      changeId,
      at: Math.max(evidence.at, now()),
      evidence,
      identifiers,
      outcome,
      before: undone(before, before).profileIds,
      after: undone(after, after).profileIds,
      dropped: [],
      rule: null,
      reverts,
    }),
  };
}
