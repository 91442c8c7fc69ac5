import type { Database, Statement } from "../core/database.js";
import type { ChangeId, WorkspaceId } from "../core/ids.js";
import type { ComponentPlan, LinkPlan, Plan } from "../core/identity.js";
import { keyBlob, type RowIds } from "./sqlite-look.js";

/** Writes a plan, within a transaction that undoes all of it when a part does not fit what stands there. */
export function preparePlanWriter(database: Database) {
  const writeChanges = prepareChanges(database);
  const writeComponent = prepareComponents(database);
  const insertIdentifier = database.prepare("INSERT INTO identifiers (key, uid, component) VALUES (?, ?, ?)");
  const insertLink = database.prepare("INSERT INTO links (a, b, forward, change) VALUES (?, ?, ?, ?)");

  return (workspace: WorkspaceId, plan: Plan, rowIds: RowIds): void => {
    const changes = writeChanges(workspace, plan);
    const components = plan.components.map((component) => writeComponent(workspace, component));
    for (const { key, uid, component } of plan.creates) {
      const seat = existing(components[component], "component");
      rowIds.set(key, insertIdentifier.run([keyBlob(key), uid, seat]).lastInsertRowid);
    }
    for (const link of plan.links) writeLink(insertLink, link, rowIds, changes);
  };
}

function prepareChanges(database: Database) {
  const insert = database.prepare("INSERT INTO changes (change_id, ws, record) VALUES (?, ?, ?)");
  return (workspace: WorkspaceId, plan: Plan): ReadonlyMap<ChangeId, number> => {
    const rows = new Map<ChangeId, number>();
    for (const { changeId, ...record } of plan.changes) {
      const parameters = [changeId, workspace, Buffer.from(JSON.stringify(record))];
      rows.set(changeId, insert.run(parameters).lastInsertRowid);
    }
    return rows;
  };
}

function prepareComponents(database: Database) {
  const insert = database.prepare("INSERT INTO components (ws, profile_id, size) VALUES (?, ?, ?)");
  const update = database.prepare("UPDATE components SET profile_id = ?, size = ? WHERE id = ? AND ws = ?");
  const relabel = database.prepare("UPDATE identifiers SET component = ? WHERE component = ?");
  const remove = database.prepare("DELETE FROM components WHERE id = ? AND ws = ?");
  return (workspace: WorkspaceId, { into, absorbed, size, profileId }: ComponentPlan): number => {
    if (into === null) return insert.run([workspace, profileId, size]).lastInsertRowid;
    const id = Number(into);
    requireOne(update.run([profileId, size, id, workspace]), "component");
    for (const component of absorbed) {
      relabel.run([id, component]);
      requireOne(remove.run([component, workspace]), "component");
    }
    return id;
  };
}

function writeLink(
  insert: Statement,
  { from, to, changeId }: LinkPlan,
  rowIds: RowIds,
  changes: ReadonlyMap<ChangeId, number>,
): void {
  const [a, b] = [existing(rowIds.get(from), "identifier"), existing(rowIds.get(to), "identifier")];
  const change = existing(changes.get(changeId), "change");
  insert.run(a < b ? [a, b, 1, change] : [b, a, 0, change]);
}

/** A plan that names what is not there is a fault of its maker: the step ends, and with it all that it wrote. */
function existing<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw new Error(`The plan names a ${what} that does not exist.`);
  return found;
}

const requireOne = ({ changes }: { readonly changes: number }, what: string): void =>
  void existing(changes === 1 ? true : undefined, what);
