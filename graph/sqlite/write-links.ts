import type { Database } from "../../core/database.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import type { KeyPair, Plan, SeenWithPlan } from "../../core/identity/model.js";
import { prepareInsert } from "./insert.js";
import { type Locations, existing, requireOne } from "./locations.js";
import { identifierKey } from "../../core/event/event.js";
import type { HiddenKeys } from "../rules/hidden-keys.js";
import { marksAfter } from "../rules/unlink-marks.js";
import { markColumns, marksOf, seenWithBlob, seenWithOf, type MarkColumns } from "./encoding.js";

/** Writes links. The conditions hold a plan to what it takes for granted: that a link stands, or was taken back. */
export function prepareLinkWriter(database: Database) {
  const insert = prepareInsert(database, "INTO links (forward, change, a, b)", 4);
  const revive = database.prepare(
    `UPDATE links SET forward = ?, change = ?, by_change = NULL, removed_at = NULL
     WHERE a = ? AND b = ? AND removed_at IS NOT NULL`,
  );
  const remove = database.prepare(
    "UPDATE links SET removed_at = ?, by_change = ? WHERE a = ? AND b = ? AND removed_at IS NULL",
  );
  const restore = database.prepare(
    "UPDATE links SET removed_at = NULL, by_change = ? WHERE a = ? AND b = ? AND removed_at IS NOT NULL",
  );

  return ({ links, removes, restores }: Plan, locations: Locations, changes: ReadonlyMap<ChangeId, Buffer>): void => {
    const endsOf = ([x, y]: KeyPair) => {
      const [from, to] = [locations.require(x).row, locations.require(y).row];
      return from < to ? { isForward: 1, ends: [from, to] } : { isForward: 0, ends: [to, from] };
    };
    const changeOf = (changeId: ChangeId): Buffer => existing(changes.get(changeId), "change");
    const rowsOf = (all: Plan["links"]) =>
      all.map(({ from, to, changeId }) => {
        const { isForward, ends } = endsOf([from, to]);
        return [isForward, changeOf(changeId), ...ends];
      });
    insert(rowsOf(links.filter(({ revives }) => !revives)));
    for (const row of rowsOf(links.filter(({ revives }) => revives))) requireOne(revive.run(row), "link");
    for (const { pair, changeId, at } of removes)
      requireOne(remove.run([at, changeOf(changeId), ...endsOf(pair).ends]), "link");
    for (const { pair, changeId } of restores)
      requireOne(restore.run([changeOf(changeId), ...endsOf(pair).ends]), "link");
  };
}

/** Writes the marks of an identifier, and forbidden pairs. */
export function prepareMarkWriter(database: Database, hiddenKeys: HiddenKeys) {
  const findMarks = database.prepare("SELECT unlinked_at, unlinked_by, unlinked_before FROM identifiers WHERE id = ?");
  const writeMarks = database.prepare(
    "UPDATE identifiers SET unlinked_at = ?, unlinked_by = ?, unlinked_before = ? WHERE id = ?",
  );
  const writeSeenWith = prepareSeenWithWriter(database, hiddenKeys);
  const forbid = database.prepare(
    "INSERT INTO forbidden_pairs (ws, forbidden_pair_id, a, b, change, key_id, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const allow = database.prepare("DELETE FROM forbidden_pairs WHERE ws = ? AND forbidden_pair_id = ?");

  return (workspace: WorkspaceId, plan: Plan, locations: Locations, changes: ReadonlyMap<ChangeId, Buffer>): void => {
    const changeOf = (changeId: ChangeId): Buffer => existing(changes.get(changeId), "change");
    for (const unlinked of plan.unlinked) {
      // Its record must stand, as behind all that a plan writes.
      changeOf(unlinked.changeId);
      const { row } = locations.require(unlinked.key);
      const marks = marksOf(findMarks.get([row])! as MarkColumns);
      writeMarks.run([...markColumns(marksAfter(marks, unlinked)), row]);
    }
    for (const noted of plan.seenWith) writeSeenWith(workspace, locations.require(noted.key).row, noted);
    for (const { forbiddenPairId, from, to, changeId, keyId, at } of plan.forbids) {
      const ends = [from, to].map((one) => locations.require(identifierKey(workspace, one)).row);
      forbid.run([workspace, forbiddenPairId, ...ends, changeOf(changeId), keyId, at]);
    }
    for (const forbiddenPairId of plan.allows) requireOne(allow.run([workspace, forbiddenPairId]), "forbidden pair");
  };
}

function prepareSeenWithWriter(database: Database, { hide }: HiddenKeys) {
  const find = database.prepare("SELECT seen_with FROM identifiers WHERE id = ?");
  const write = database.prepare("UPDATE identifiers SET seen_with = ?, shared = ? WHERE id = ?");
  return (workspace: WorkspaceId, row: number, { seenWith, isShared }: SeenWithPlan): void => {
    const stored = find.get([row])![0] as Buffer | null;
    const all = new Set([...seenWithOf(stored), ...seenWith.map(hide)]);
    write.run([all.size === 0 ? null : seenWithBlob(all), isShared ? workspace : null, row]);
  };
}
