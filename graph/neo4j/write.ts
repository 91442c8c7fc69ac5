import { identifierKey } from "../../core/event/event.js";
import { newId, type IdentifierKey, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { pairKey, type Component, type Plan, type SplitPlan } from "../../core/identity/model.js";
import type { Snapshot } from "../../core/identity/snapshot.js";
import { REMOVAL_REV } from "../../core/identity/step.js";
import { isStaged, leavesOf, movesOf, stageLate, type Staged, type Move } from "./staging.js";
import { ANNEX, CATCH_UP, PART_STAGED, REPOINT, SPREAD } from "./cypher/staging.js";
import { whole, type Row, type Step } from "./client.js";
import { changedMeanwhile } from "./failure.js";
import { marksOf, markParameters, type MarkColumns } from "./marks.js";
import { namedKeys } from "../rules/subjects.js";
import { marksAfter } from "../rules/unlink-marks.js";
import { afterErasures, writeTraces } from "./erasure/writes.js";
import { linkKey, type Names, type RulesRead } from "./snapshot.js";
import { profileOf, unknown, writeParameters } from "./parameters.js";
import { WRITE } from "./cypher/writes.js";
import {
  CHANGE_ENDS,
  DROP,
  FORBID,
  LEAVE,
  ALLOW,
  MOVE,
  NAME,
  PART,
  REMOVE,
  RESTORE,
  REVIVE,
  STAY,
  NOTE_SEEN_WITH,
  UNLINK,
  UNLINK_MARKS,
} from "./cypher/undo.js";

/** The most that one statement moves or marks: so each takes less than a second and little memory. */
export const PART_ROWS = 5_000;

/** Whether one writing statement is enough for the plan. */
export const isPlain = (plan: Plan): boolean =>
  plan.removes.length === 0 &&
  plan.restores.length === 0 &&
  plan.splits.length === 0 &&
  plan.unlinked.length === 0 &&
  plan.seenWith.length === 0 &&
  plan.forbids.length === 0 &&
  plan.allows.length === 0 &&
  plan.links.every(({ revives }) => !revives);

/** What a step read, and what it found. */
export interface Seen extends RulesRead {
  readonly keys: ReadonlySet<IdentifierKey>;
}

/** How a plan is written: what it moves itself, and what stays staged. */
export interface Layout {
  readonly moves: readonly Move[];
  readonly annexes: readonly Move[];
  readonly staged: Staged;
  /** Everything that is too much for the step is staged. */
  readonly isComplete: boolean;
  /** Things that it writes, beside what it creates: what its length goes by. */
  readonly rows: number;
}

export function layoutOf(plan: Plan, snapshot: Snapshot, staged: Staged, movesMax: number): Layout {
  const { fits, rest } = movesOf(plan, snapshot, movesMax);
  const parts = plan.splits.flatMap(({ parts }) => parts);
  const staying = parts.filter(({ profileId }) => !staged.has(profileId));
  const leaving = staying.reduce((sum, { size }) => sum + size, 0);
  const moving = fits.reduce((sum, { gone }) => sum + snapshot.components.get(gone)!.size, rest.length);
  const rows = moving + leaving + parts.length + plan.removes.length + plan.restores.length;
  return { moves: fits, annexes: rest, staged, isComplete: isStaged(plan, staged, movesMax), rows };
}

/**
 * Writes a plan that is known to fit the snapshot, and answers the profiles that have annexes by now. What it names beside that and does
 * not exist undoes the step.
 */
export async function writePlan(
  step: Step,
  ws: WorkspaceId,
  given: Plan,
  seen: Seen,
  layout: Layout,
  names: Names,
): Promise<readonly ProfileId[]> {
  const { snapshot, annexed } = seen;
  const plan = await afterErasures(step, ws, given, seen, names);
  const { moves, annexes } = layout;
  const { own, others } = removesOf(plan);
  if (!isPlain(plan)) await changeLinks(step, ws, { ...plan, removes: others });
  const repointed = [...moves, ...annexes].filter(({ gone }) => annexed.has(gone));
  if (repointed.length > 0) await step.run(REPOINT, { moves: repointed });
  // All at once: each that has left its index makes the next portion's search in it slower.
  if (annexes.length > 0) requireAll(await step.run(ANNEX, { moves: annexes }), annexes.length, "component");
  const isMany = moves.length > PART_ROWS;
  const left = isMany ? await moveMany(step, plan, moves) : [];
  await step.run(WRITE, writeParameters(ws, plan, snapshot, isMany ? [] : moves));
  if (own.length > 0) await changeLinks(step, ws, { removes: own, restores: [], links: [] });
  await nameOthers(step, ws, plan, seen);
  await writeTraces(step, ws, plan, seen, names);
  if (!isPlain(plan)) await writeRest(step, ws, plan, layout.staged, names);
  const spread = new Set([...annexed, ...annexes.map(({ into }) => into)]);
  const ids = [...new Set([...spread].map((component) => idAfter(plan, component)))];
  if (left.length > 0) await step.run(DROP, { ids: left });
  if (ids.length > 0) for (const statement of [CATCH_UP, SPREAD]) await step.run(statement, { ids });
  return ids;
}

/** Answers those that are empty and still exist. */
async function moveMany(step: Step, { components }: Plan, moves: readonly Move[]): Promise<readonly Component[]> {
  for (const portion of portions(moves)) await step.run(MOVE, { moves: portion });
  const taken = new Set<Component>(components.map(({ profileId }) => profileId));
  const ids = moves.map(({ gone }) => gone);
  await step.run(DROP, { ids: ids.filter((id) => taken.has(id)) });
  return ids.filter((id) => !taken.has(id));
}

/** The profile that a component becomes. */
function idAfter({ components, splits }: Plan, component: Component): ProfileId {
  const split = splits.find((one) => one.component === component);
  const joined = components.find(({ into, absorbed }) => into === component || absorbed.includes(component));
  return split?.stays.profileId ?? joined?.profileId ?? (component as ProfileId);
}

/** A change may be about identifiers that the step did not read. */
async function nameOthers(step: Step, ws: WorkspaceId, { changes, creates }: Plan, { keys }: Seen): Promise<void> {
  const created = new Set<IdentifierKey>(creates.map(({ key }) => key));
  const isUnseen = (key: IdentifierKey): boolean => !keys.has(key) && !created.has(key);
  const named = changes
    .map((change) => ({ change: change.changeId, keys: namedKeys(ws, change).filter(isUnseen) }))
    .filter(({ keys }) => keys.length > 0);
  if (named.length > 0) await step.run(NAME, { named });
}

/** Apart from the others those of links that the plan writes: they do not stand before. */
function removesOf({ links, removes }: Plan): { readonly own: Plan["removes"]; readonly others: Plan["removes"] } {
  if (removes.length === 0) return { own: removes, others: removes };
  const written = new Set(links.map(({ from, to }) => pairKey(from, to)));
  const isOwn = ({ pair }: Plan["removes"][number]): boolean => written.has(pairKey(...pair));
  return { own: removes.filter(isOwn), others: removes.filter((one) => !isOwn(one)) };
}

/** Before anything moves: what stands in the transaction already slows it down. What the profiles become goes on from their `rev`. */
async function changeLinks(
  step: Step,
  ws: WorkspaceId,
  plan: Pick<Plan, "removes" | "restores" | "links">,
): Promise<void> {
  const removes = plan.removes.map(({ pair, changeId, at }) => ({
    key: linkKey(pairKey(...pair)),
    change: changeId,
    at: whole(at),
  }));
  await inParts(step, REMOVE, removes, (removes) => ({ ws, removes }), "link");
  const restores = plan.restores.map(({ pair, changeId }) => ({ key: linkKey(pairKey(...pair)), change: changeId }));
  await inParts(step, RESTORE, restores, (restores) => ({ ws, restores }), "link");
  for (const [changed, raise] of [
    [removes, REMOVAL_REV],
    [restores, 1],
  ] as const)
    for (const some of portions(changed))
      await step.run(CHANGE_ENDS, { pairs: some.map(({ key }) => key), raise: whole(raise) });
  const revived = plan.links.filter(({ revives }) => revives).map(({ from, to }) => linkKey(pairKey(from, to)));
  await inParts(step, REVIVE, revived, (pairs) => ({ pairs }), "link");
}

async function writeRest(
  step: Step,
  ws: WorkspaceId,
  plan: Plan,
  staged: Staged,
  { hiddenKeys }: Names,
): Promise<void> {
  for (const split of plan.splits) await writeSplit(step, ws, split, staged);
  for (const some of portions(plan.unlinked)) await writeMarks(step, ws, some);
  const hidden = plan.seenWith.map((one) => ({ ...one, seenWith: one.seenWith.map(hiddenKeys.hide) }));
  await inParts(step, NOTE_SEEN_WITH, hidden, (seenWith) => ({ ws, seenWith }), "identifier");
  const forbids = plan.forbids.map(({ forbiddenPairId, from, to, changeId, keyId, at }) => ({
    id: forbiddenPairId,
    from: identifierKey(ws, from),
    to: identifierKey(ws, to),
    change: changeId,
    key_id: keyId,
    at: whole(at),
  }));
  await inParts(step, FORBID, forbids, (forbids) => ({ ws, forbids }), "identifier");
  await inParts(step, ALLOW, plan.allows, (allows) => ({ ws, allows }), "forbidden pair");
}

async function writeMarks(step: Step, ws: WorkspaceId, all: Plan["unlinked"]): Promise<void> {
  const rows = await step.run(UNLINK_MARKS, { ws, keys: [...new Set(all.map(({ key }) => key))] });
  const marks = new Map(rows.map(([key, ...columns]) => [key, marksOf(columns as unknown as MarkColumns)]));
  for (const one of all) marks.set(one.key, marksAfter(marks.get(one.key) ?? [], one));
  const unlinked = [...marks].map(([key, after]) => Object.assign({ key }, markParameters(after)));
  requireAll(await step.run(UNLINK, { ws, unlinked }), unlinked.length, "identifier");
}

async function writeSplit(step: Step, ws: WorkspaceId, split: SplitPlan, staged: Staged): Promise<void> {
  const { component: was, stays, parts } = split;
  const from = stays.profileId;
  await stageLate(step, split, staged);
  await inParts(step, STAY, [{ was, ...profileOf(stays) }], (stays) => ({ stays }), "component");
  const made = parts.flatMap((part) => {
    const own = staged.get(part.profileId);
    return own === undefined ? [] : { from, hub: own.hub, ...profileOf(part) };
  });
  if (made.length > 0) {
    const [row] = await step.run(PART_STAGED, { parts: made });
    if (row?.[0] !== made.length) throw changedMeanwhile();
  }
  const leaving = parts.filter(({ profileId }) => !staged.has(profileId));
  // Its id may now be the name of another.
  const fresh = leaving.map((part) => ({ from, hub: newId(), ...profileOf(part) }));
  await inParts(step, PART, fresh, (parts) => ({ ws, parts }), "component");
  for (const leaves of leavesOf(leaving, () => PART_ROWS)) {
    const uids = leaves.reduce((sum, { uids }) => sum + uids.length, 0);
    const rows = await step.run(LEAVE, { leaves: leaves.map((leave) => Object.assign({ from, was }, leave)) });
    requireAll(rows, uids, "member");
  }
}

function portions<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / PART_ROWS);
  return Array.from({ length: count }, (_, n) => all.slice(n * PART_ROWS, (n + 1) * PART_ROWS));
}

async function inParts<T>(
  step: Step,
  statement: string,
  all: readonly T[],
  parametersOf: (part: readonly T[]) => Readonly<Record<string, unknown>>,
  what: string,
): Promise<void> {
  for (const part of portions(all)) requireAll(await step.run(statement, parametersOf(part)), part.length, what);
}

function requireAll([row]: readonly Row[], expected: number, what: string): void {
  if (row?.[0] !== expected) throw unknown(what);
}
