import { identifierKey } from "../core/event.js";
import { newId, type IdentifierKey, type Uid, type WorkspaceId } from "../core/ids.js";
import {
  pairKey,
  type ComponentPlan,
  type PartPlan,
  type Picture,
  type Plan,
  type SplitPlan,
} from "../core/identity.js";
import { whole, type Row, type Step } from "./neo4j-client.js";
import { linkKey } from "./neo4j-look.js";
import { profileOf, unknown, writeParameters } from "./neo4j-plan.js";
import { WRITE } from "./neo4j-statements.js";
import {
  FORBID,
  LEAVE,
  LIFT,
  MOVE_PART,
  NAME,
  PART,
  REMOVE,
  RESTORE,
  REVIVE,
  STAY,
  TOUCH,
  UNLINK,
} from "./neo4j-undo-statements.js";

/** What one statement moves or marks at most: each is over in a second, and none holds much memory. */
export const PART_ROWS = 5_000;

/** Identifiers that a plan moves and things that it marks: what its length goes by. */
export function weightOf({ components, splits, removes, restores }: Plan, picture: Picture): number {
  let weight = removes.length + restores.length;
  for (const { absorbed } of components)
    for (const component of absorbed) weight += picture.components.get(component)!.size;
  for (const { parts } of splits) for (const { size } of parts) weight += size;
  return weight;
}

/** Whether the writing statement is all that the plan needs. */
export const isPlain = (plan: Plan): boolean =>
  plan.removes.length === 0 &&
  plan.restores.length === 0 &&
  plan.splits.length === 0 &&
  plan.unlinked.length === 0 &&
  plan.touches.length === 0 &&
  plan.forbids.length === 0 &&
  plan.lifts.length === 0 &&
  plan.links.every(({ revives }) => !revives);

/** What a step looked at, and what stood there of it. */
export interface Seen {
  readonly keys: ReadonlySet<IdentifierKey>;
  readonly picture: Picture;
}

/** Writes a plan that is known to fit the picture. What it names beside that and does not exist undoes the step. */
export async function writePlan(step: Step, ws: WorkspaceId, plan: Plan, seen: Seen): Promise<void> {
  const { picture } = seen;
  if (weightOf(plan, picture) > PART_ROWS) for (const component of plan.components) await moveInParts(step, component);
  const pairs = plan.links.filter(({ revives }) => revives).map(({ from, to }) => linkKey(pairKey(from, to)));
  await inParts(step, REVIVE, pairs, (pairs) => ({ pairs }), "link");
  await step.run(WRITE, writeParameters(ws, plan, picture));
  await nameOthers(step, ws, plan, seen);
  if (!isPlain(plan)) await writeRest(step, ws, plan);
}

/** The writing statement moves what is left: nothing. */
async function moveInParts(step: Step, { into, absorbed }: ComponentPlan): Promise<void> {
  for (const gone of absorbed)
    for (let after = "", moved = PART_ROWS; moved === PART_ROWS;) {
      const [row] = await step.run(MOVE_PART, { into, gone, after, limit: whole(PART_ROWS) });
      const [count, last] = row as [number, Uid | null];
      [moved, after] = [count, last ?? after];
    }
}

/** A change may be about identifiers that the step did not look at. */
async function nameOthers(step: Step, ws: WorkspaceId, { changes, creates }: Plan, { keys }: Seen): Promise<void> {
  const created = new Set<IdentifierKey>(creates.map(({ key }) => key));
  const isUnseen = (key: IdentifierKey): boolean => !keys.has(key) && !created.has(key);
  const named = changes
    .map(({ changeId, identifiers }) => ({
      change: changeId,
      keys: identifiers.map((identifier) => identifierKey(ws, identifier)).filter(isUnseen),
    }))
    .filter(({ keys }) => keys.length > 0);
  if (named.length > 0) await step.run(NAME, { named });
}

async function writeRest(step: Step, ws: WorkspaceId, plan: Plan): Promise<void> {
  for (const split of plan.splits) await writeSplit(step, ws, split);
  const removes = plan.removes.map(({ pair, changeId, at }) => ({
    key: linkKey(pairKey(...pair)),
    change: changeId,
    at: whole(at),
  }));
  await inParts(step, REMOVE, removes, (removes) => ({ ws, removes }), "link");
  const restores = plan.restores.map(({ pair, changeId }) => ({ key: linkKey(pairKey(...pair)), change: changeId }));
  await inParts(step, RESTORE, restores, (restores) => ({ ws, restores }), "link");
  const unlinked = plan.unlinked.map(({ key, at, changeId }) => ({
    key,
    at: at === null ? null : whole(at),
    change: at === null ? null : changeId,
  }));
  await inParts(step, UNLINK, unlinked, (unlinked) => ({ unlinked }), "identifier");
  await inParts(step, TOUCH, plan.touches, (touches) => ({ touches }), "identifier");
  const forbids = plan.forbids.map(({ neverId, from, to, changeId, keyId, at }) => ({
    id: neverId,
    from: identifierKey(ws, from),
    to: identifierKey(ws, to),
    change: changeId,
    key_id: keyId,
    at: whole(at),
  }));
  await inParts(step, FORBID, forbids, (forbids) => ({ ws, forbids }), "identifier");
  await inParts(step, LIFT, plan.lifts, (lifts) => ({ ws, lifts }), "forbidden pair");
}

async function writeSplit(step: Step, ws: WorkspaceId, { component, stays, parts }: SplitPlan): Promise<void> {
  const from = stays.profileId;
  await inParts(step, STAY, [{ was: component, ...profileOf(stays) }], (stays) => ({ stays }), "component");
  // Its id may be the name of another by now.
  const made = parts.map((part) => ({ from, hub: newId(), ...profileOf(part) }));
  await inParts(step, PART, made, (parts) => ({ ws, parts }), "component");
  for (const leaves of leavesOf(parts)) {
    const uids = leaves.reduce((sum, { uids }) => sum + uids.length, 0);
    const rows = await step.run(LEAVE, { leaves: leaves.map((leave) => ({ ...leave, from })) });
    requireAll(rows, uids, "member");
  }
}

interface Leave {
  readonly part: Uid;
  readonly uids: readonly Uid[];
}

/** Who goes where, cut into parts of that size: one large part of the component, or thousands of single ones. */
function* leavesOf(parts: readonly PartPlan[]): Generator<readonly Leave[]> {
  let leaves: Leave[] = [];
  let room = PART_ROWS;
  for (const { profileId, members } of parts)
    for (let from = 0; from < members.length;) {
      const uids = members.slice(from, from + room);
      leaves.push({ part: profileId, uids });
      from += uids.length;
      room -= uids.length;
      if (room > 0) continue;
      yield leaves;
      [leaves, room] = [[], PART_ROWS];
    }
  if (leaves.length > 0) yield leaves;
}

async function inParts<T>(
  step: Step,
  statement: string,
  all: readonly T[],
  parametersOf: (part: readonly T[]) => Readonly<Record<string, unknown>>,
  what: string,
): Promise<void> {
  for (let from = 0; from < all.length; from += PART_ROWS) {
    const part = all.slice(from, from + PART_ROWS);
    requireAll(await step.run(statement, parametersOf(part)), part.length, what);
  }
}

function requireAll([row]: readonly Row[], expected: number, what: string): void {
  if (row?.[0] !== expected) throw unknown(what);
}
