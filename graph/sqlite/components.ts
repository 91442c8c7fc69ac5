import type { Database } from "../../core/database.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { ComponentPlan, Plan, ProfileRef, SplitPlan, Summary } from "../../core/identity/model.js";
import { REMOVAL_REV } from "../../core/identity/step.js";
import { prepareInsert } from "./insert.js";
import { requireOne, type Locations, type Written } from "./locations.js";
import { countsText, forbiddenText } from "./encoding.js";

/** Members moved in one statement. */
const MOVED_AT_ONCE = 10_000;

/**
 * Writes components. The rev of the component that an identifier is in only ever grows: a joined one is beyond all its parts, and a
 * part goes on from where the whole is.
 */
export function prepareComponentWriter(database: Database) {
  const insertAll = prepareInsert(database, "INTO components (ws, profile_id, size, counts, forbidden)", 5);
  const write = database.prepare(writing("rev + 1"));
  const raise = database.prepare("UPDATE components SET rev = rev + 1 WHERE id = ? AND ws = ?");
  const lose = database.prepare(`UPDATE components SET rev = rev + ${REMOVAL_REV} WHERE id = ? AND ws = ?`);
  const absorb = prepareAbsorb(database);
  const leave = prepareLeave(database);

  const grow = (workspace: WorkspaceId, plan: ComponentPlan): number => {
    const id = Number(plan.into);
    if (plan.absorbed.length > 0) absorb(workspace, id, plan);
    else requireOne(write.run([...columnsOf(plan), id, workspace]), "component");
    return id;
  };

  return {
    joinComponents: (workspace: WorkspaceId, plans: readonly ComponentPlan[]): Written => {
      const fresh = plans.filter(({ into }) => into === null);
      const made = insertAll(fresh.map((plan) => rowOf(workspace, plan))).values();
      const rows = plans.map((plan) => (plan.into === null ? made.next().value! : grow(workspace, plan)));
      const movedTo = new Map(plans.flatMap(({ absorbed }, i) => absorbed.map((one) => [one, rows[i]!] as const)));
      return { rows, movedTo, raised: new Set(rows) };
    },
    /** Before anything leaves: a part goes on from there. */
    raiseForRemovals: (workspace: WorkspaceId, { removes }: Plan, locations: Locations): void => {
      const components = removes.flatMap(({ pair }) => pair.map((key) => locations.require(key).component));
      for (const component of new Set(components)) requireOne(lose.run([component, workspace]), "component");
    },
    splitComponents: (workspace: WorkspaceId, splits: readonly SplitPlan[], { raised }: Written): void => {
      for (const { component, stays, parts } of splits) {
        const id = Number(component);
        requireOne(write.run([...columnsOf(stays), id, workspace]), "component");
        raised.add(id);
        for (const part of leave(workspace, id, parts)) raised.add(part);
      }
    },
    /** Raises the rev of every component whose links the plan changes, unless that is done. */
    raiseRevs: (workspace: WorkspaceId, plan: Plan, locations: Locations, { raised }: Written): void => {
      const changed = [...plan.links.map(({ from, to }) => [from, to]), ...plan.restores.map(({ pair }) => pair)];
      for (const key of changed.flat()) {
        const { component } = locations.require(key);
        if (raised.has(component)) continue;
        raised.add(component);
        requireOne(raise.run([component, workspace]), "component");
      }
    },
  };
}

const writing = (rev: string): string =>
  `UPDATE components SET profile_id = ?, size = ?, counts = ?, forbidden = ?, rev = ${rev} WHERE id = ? AND ws = ?`;

const columnsOf = (plan: Summary & ProfileRef) =>
  [plan.profileId, plan.size, countsText(plan), forbiddenText(plan)] as const;

function prepareAbsorb(database: Database) {
  const outgrow = database.prepare(
    writing(
      "1 + max(rev, coalesce((SELECT max(rev) FROM components WHERE id IN (SELECT value FROM json_each(?))), 0))",
    ),
  );
  const relabel = database.prepare("UPDATE identifiers SET component = ? WHERE component = ?");
  const remove = database.prepare("DELETE FROM components WHERE id = ? AND ws = ?");
  return (workspace: WorkspaceId, into: number, plan: ComponentPlan): void => {
    const gone = plan.absorbed.map(Number);
    const parameters = [...columnsOf(plan), JSON.stringify(gone), into, workspace];
    requireOne(outgrow.run(parameters), "component");
    for (const component of gone) {
      relabel.run([into, component]);
      requireOne(remove.run([component, workspace]), "component");
    }
  };
}

/** Moves each part to a component of its own; answers their rows. */
function prepareLeave(database: Database) {
  const insert = prepareInsert(database, "INTO components (ws, profile_id, size, counts, forbidden, rev)", 6);
  const revOf = database.prepare("SELECT rev FROM components WHERE id = ?");
  const moveTogether = database.prepare(
    "UPDATE identifiers SET component = ? WHERE component = ? AND uid IN (SELECT value FROM json_each(?))",
  );
  // The plus stops the planner from searching by component, which may be large.
  const moveApart = database.prepare(
    `UPDATE identifiers SET component = moved.value ->> 1 FROM json_each(?) moved
     WHERE identifiers.uid = moved.value ->> 0 AND +identifiers.component = ?`,
  );
  return (workspace: WorkspaceId, from: number, parts: SplitPlan["parts"]): readonly number[] => {
    const rev = revOf.get([from])![0] as number;
    const rows = insert(parts.map((part) => [workspace, ...columnsOf(part), rev]));
    const alone = parts.flatMap(({ members }, i) => (members.length === 1 ? [[members[0], rows[i]]] : []));
    for (const some of inChunks(alone)) requireAll(moveApart.run([JSON.stringify(some), from]), some);
    for (const [i, { members }] of parts.entries())
      if (members.length !== 1)
        for (const some of inChunks(members))
          requireAll(moveTogether.run([rows[i]!, from, JSON.stringify(some)]), some);
    return rows;
  };
}

function* inChunks<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let done = 0; done < all.length; done += MOVED_AT_ONCE) yield all.slice(done, done + MOVED_AT_ONCE);
}

const requireAll = ({ changes }: { readonly changes: number }, all: readonly unknown[]): void =>
  requireOne({ changes: changes === all.length ? 1 : 0 }, "member");

const rowOf = (workspace: WorkspaceId, plan: ComponentPlan) => [workspace, ...columnsOf(plan)];
