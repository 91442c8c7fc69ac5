import type { Database } from "../../core/database.js";
import { identifierKey } from "../../core/event/event.js";
import type { WorkspaceId } from "../../core/ids.js";
import { namesOf } from "../../core/identity/names.js";
import { idsTaken } from "../../core/identity/taken.js";
import type { Change, Plan } from "../../core/identity/model.js";
import { movementsOf } from "../rules/movements.js";
import { namedKeys } from "../rules/subjects.js";
import { prepareChangeWriter } from "./changes.js";
import { prepareComponentWriter } from "./components.js";
import { prepareSubjects } from "./history.js";
import { prepareInsert } from "./insert.js";
import { prepareLinkWriter, prepareMarkWriter } from "./write-links.js";
import { existing, prepareFindLocation, prepareLocations, type Locations } from "./locations.js";
import { changeBytes, keyBlob, type RowSnapshot, type SealedRow } from "./encoding.js";
import type { MovementNotes } from "./movements/movements.js";
import type { Hiding } from "./erasure/hiding.js";
import { prepareBury } from "./erasure/take-apart.js";
import type { ErasureId, IdentifierKey } from "../../core/ids.js";
import type { TombOf } from "../../core/identity/tombstone.js";
import type { HiddenKeys } from "../rules/hidden-keys.js";

interface WriterDeps {
  readonly hiding: Pick<Hiding, "written">;
  readonly hiddenKeys: HiddenKeys;
  readonly tombOf: TombOf;
  readonly movements: Pick<MovementNotes, "write">;
}

/**
 * Writes a plan, within a transaction that undoes all of it when a part does not fit what stands there. Joins come before splits, so
 * that a plan may take apart what it joined.
 */
export function preparePlanWriter(database: Database, { hiding, hiddenKeys, tombOf, movements }: WriterDeps) {
  const writeChanges = prepareChangeWriter(database);
  const { joinComponents, raiseForRemovals, splitComponents, raiseRevs } = prepareComponentWriter(database);
  const findLocation = prepareFindLocation(database);
  const locationsOf = prepareLocations(findLocation);
  const writeLinks = prepareLinkWriter(database);
  const writeMarks = prepareMarkWriter(database, hiddenKeys);
  const writeMentions = prepareMentions(database, tombOf);
  const takeOut = prepareTakeOut(database, tombOf);
  const writeSubjects = prepareSubjects(database);
  const insertIdentifiers = prepareInsert(database, "INTO identifiers (key, uid, component, returned)", 4);

  return (workspace: WorkspaceId, given: Plan, snapshot: RowSnapshot): void => {
    const created = new Set(given.creates.map(({ key }) => key));
    const isLive = (key: IdentifierKey): boolean =>
      created.has(key) || snapshot.identifiers.has(key) || findLocation(workspace, key) !== undefined;
    const plan = { ...given, changes: hiding.written(workspace, given.changes, isLive, snapshot.hasErasures) };
    for (const { key } of plan.creates) {
      const sealed = snapshot.sealed.get(key);
      if (sealed !== undefined) takeOut(key, sealed);
    }
    const changes = writeChanges(workspace, plan);
    const written = joinComponents(workspace, plan.components);
    const rows = insertIdentifiers(
      plan.creates.map(({ key, uid, component, isReturned }) => [
        keyBlob(key),
        uid,
        existing(written.rows[component], "component"),
        isReturned === true ? 1 : null,
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
    writeMentions(workspace, plan.changes, locations);
    movements.write(workspace, () => movementsOf(plan, snapshot));
  };
}

/** Ids that come with what is written; SQLite names no value. */
const TAKEN = /UNIQUE constraint failed: (identifiers\.uid|changes\.id)$/;

/** What a caller sees of an error of a write. */
export const refusedStep = (error: unknown): unknown =>
  error instanceof Error && TAKEN.test(error.message) ? idsTaken() : error;

/** A member of a sealed component leaves its key to whoever comes now. */
function prepareTakeOut(database: Database, tombOf: TombOf) {
  const erasureOf = database.prepare("SELECT id FROM erasures WHERE component = ?");
  const release = database.prepare("UPDATE identifiers SET key = NULL WHERE id = ?");
  const bury = prepareBury(database);
  return (key: IdentifierKey, { row, uid, component }: SealedRow): void => {
    bury(erasureOf.get([component])![0] as ErasureId, tombOf(key), uid);
    release.run([row]);
  };
}

/** Names by which a record could not be found when the identifier is erased: it did not exist, or the change is not about it. */
function prepareMentions(database: Database, tombOf: TombOf) {
  const insert = database.prepare("INSERT OR IGNORE INTO mentions (tomb, change) VALUES (?, ?)");
  return (workspace: WorkspaceId, changes: readonly Change[], locations: Locations): void => {
    for (const change of changes) {
      const subjects = new Set(namedKeys(workspace, change).filter((key) => locations.find(key) !== undefined));
      if (change.dropped.length === 0 && subjects.size === change.identifiers.length) continue;
      for (const key of new Set(namesOf(change).map((one) => identifierKey(workspace, one))))
        if (!subjects.has(key)) insert.run([tombOf(key), changeBytes(change.changeId)]);
    }
  };
}
