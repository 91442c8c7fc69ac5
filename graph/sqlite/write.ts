import type { Database } from "../../core/database.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Plan } from "../../core/identity/model.js";
import { namedKeys } from "../rules/subjects.js";
import { prepareChangeWriter } from "./changes.js";
import { prepareComponentWriter } from "./components.js";
import { prepareSubjects } from "./history.js";
import { prepareInsert } from "./insert.js";
import { prepareLinkWriter, prepareMarkWriter } from "./write-links.js";
import { existing, prepareLocations } from "./locations.js";
import { keyBlob, type RowSnapshot } from "./encoding.js";

/**
 * Writes a plan, within a transaction that undoes all of it when a part does not fit what stands there. Joins come before splits, so
 * that a plan may take apart what it joined.
 */
export function preparePlanWriter(database: Database) {
  const writeChanges = prepareChangeWriter(database);
  const { joinComponents, raiseForRemovals, splitComponents, raiseRevs } = prepareComponentWriter(database);
  const locationsOf = prepareLocations(database);
  const writeLinks = prepareLinkWriter(database);
  const writeMarks = prepareMarkWriter(database);
  const writeSubjects = prepareSubjects(database);
  const insertIdentifiers = prepareInsert(database, "INTO identifiers (key, uid, component)", 3);

  return (workspace: WorkspaceId, plan: Plan, snapshot: RowSnapshot): void => {
    const changes = writeChanges(workspace, plan);
    const written = joinComponents(workspace, plan.components);
    const rows = insertIdentifiers(
      plan.creates.map(({ key, uid, component }) => [
        keyBlob(key),
        uid,
        existing(written.rows[component], "component"),
      ]),
    );
    for (const [i, { key }] of plan.creates.entries()) snapshot.rowIds.set(key, rows[i]!);
    const locations = locationsOf(workspace, plan, snapshot, written);
    raiseForRemovals(workspace, plan, locations);
    splitComponents(workspace, plan.splits, written);
    writeLinks(plan, locations, changes);
    raiseRevs(workspace, plan, locations, written);
    writeMarks(workspace, plan, locations, changes);
    writeSubjects(plan.changes, (change) => namedKeys(workspace, change).flatMap((key) => locations.find(key) ?? []));
  };
}
