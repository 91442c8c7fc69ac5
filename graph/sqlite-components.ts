import type { Database } from "../core/database.js";
import type { Uid, WorkspaceId } from "../core/ids.js";
import type { Component, ComponentPlan, Plan, ProfileRef, SplitPlan, Summary } from "../core/identity.js";
import { prepareInsert } from "./sqlite-insert.js";
import { requireOne, type Seats, type Written } from "./sqlite-seats.js";
import { countsText, neverText } from "./sqlite-sight.js";

/** Uids that move in one statement. */
const MOVED_AT_ONCE = 10_000;

/**
 * Writes components. The rev of the component that an identifier is in only ever grows: a joined one is beyond all its parts, and a
 * part goes on from where the whole is.
 */
export function prepareComponentWriter(database: Database) {
  const insertAll = prepareInsert(database, "INTO components (ws, profile_id, size, counts, never)", 5);
  const write = database.prepare(
    "UPDATE components SET profile_id = ?, size = ?, counts = ?, never = ?, rev = rev + 1 WHERE id = ? AND ws = ?",
  );
  const raise = database.prepare("UPDATE components SET rev = rev + 1 WHERE id = ? AND ws = ?");
  const absorb = prepareAbsorb(database);
  const leave = prepareLeave(database);

  const grow = (workspace: WorkspaceId, id: number, plan: ComponentPlan): number => {
    for (const component of plan.absorbed) absorb(workspace, id, component);
    requireOne(write.run([...columnsOf(plan), id, workspace]), "component");
    return id;
  };

  return {
    joinComponents: (workspace: WorkspaceId, plans: readonly ComponentPlan[]): Written => {
      const fresh = plans.filter(({ into }) => into === null);
      const made = insertAll(fresh.map((plan) => [workspace, ...columnsOf(plan)])).values();
      const rows = plans.map((plan) =>
        plan.into === null ? made.next().value! : grow(workspace, Number(plan.into), plan),
      );
      const movedTo = new Map(plans.flatMap(({ absorbed }, i) => absorbed.map((one) => [one, rows[i]!] as const)));
      return { rows, movedTo, raised: new Set(rows) };
    },
    splitComponents: (workspace: WorkspaceId, splits: readonly SplitPlan[], { raised }: Written): void => {
      for (const { component, stays, parts } of splits) {
        const id = Number(component);
        requireOne(write.run([...columnsOf(stays), id, workspace]), "component");
        raised.add(id);
        for (const part of parts) raised.add(leave(workspace, id, part));
      }
    },
    /** Of all whose links the plan changes, unless it has been done. */
    raiseRevs: (workspace: WorkspaceId, plan: Plan, seats: Seats, { raised }: Written): void => {
      const changed = [...plan.links.map(({ from, to }) => [from, to]), ...plan.removes.map(({ pair }) => pair)];
      for (const key of [...changed, ...plan.restores.map(({ pair }) => pair)].flat()) {
        const { component } = seats.require(key);
        if (raised.has(component)) continue;
        raised.add(component);
        requireOne(raise.run([component, workspace]), "component");
      }
    },
  };
}

const columnsOf = (plan: Summary & ProfileRef) =>
  [plan.profileId, plan.size, countsText(plan), neverText(plan)] as const;

function prepareAbsorb(database: Database) {
  const outdo = database.prepare(
    "UPDATE components SET rev = max(rev, coalesce((SELECT rev FROM components WHERE id = ?), 0)) WHERE id = ?",
  );
  const relabel = database.prepare("UPDATE identifiers SET component = ? WHERE component = ?");
  const remove = database.prepare("DELETE FROM components WHERE id = ? AND ws = ?");
  return (workspace: WorkspaceId, into: number, component: Component): void => {
    const gone = Number(component);
    outdo.run([gone, into]);
    relabel.run([into, gone]);
    requireOne(remove.run([gone, workspace]), "component");
  };
}

/** A part leaves for a component of its own, whose row it answers. */
function prepareLeave(database: Database) {
  const insert = database.prepare(
    `INSERT INTO components (ws, profile_id, size, counts, never, rev)
     SELECT ws, ?, ?, ?, ?, rev FROM components WHERE id = ? AND ws = ?`,
  );
  const moveOne = database.prepare("UPDATE identifiers SET component = ? WHERE component = ? AND uid = ?");
  const moveMany = database.prepare(
    "UPDATE identifiers SET component = ? WHERE component = ? AND uid IN (SELECT value FROM json_each(?))",
  );
  const move = (from: number, to: number, uids: readonly Uid[]): number =>
    uids.length === 1
      ? moveOne.run([to, from, uids[0]!]).changes
      : moveMany.run([to, from, JSON.stringify(uids)]).changes;

  return (workspace: WorkspaceId, from: number, part: SplitPlan["parts"][number]): number => {
    const to = insert.run([...columnsOf(part), from, workspace]).lastInsertRowid;
    let moved = 0;
    for (let i = 0; i < part.members.length; i += MOVED_AT_ONCE)
      moved += move(from, to, part.members.slice(i, i + MOVED_AT_ONCE));
    requireOne({ changes: moved === part.members.length ? 1 : 0 }, "member");
    return to;
  };
}
