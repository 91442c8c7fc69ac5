import type { Database } from "../../core/database.js";
import { identifierKey } from "../../core/event/event.js";
import type { ChangeId, WorkspaceId } from "../../core/ids.js";
import type { Plan, TouchPlan } from "../../core/identity/model.js";
import { existing, requireOne, type Seats } from "./locations.js";
import { touchedBlob, touchedOf } from "./encoding.js";

/** Writes the marks of an identifier, and forbidden pairs. */
export function prepareMarkWriter(database: Database) {
  const unlink = database.prepare("UPDATE identifiers SET unlinked_at = ?, unlinked_by = ? WHERE id = ?");
  const writeTouch = prepareTouch(database);
  const forbid = database.prepare(
    "INSERT INTO forbidden_pairs (ws, forbidden_pair_id, a, b, change, key_id, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const allow = database.prepare("DELETE FROM forbidden_pairs WHERE ws = ? AND forbidden_pair_id = ?");

  return (workspace: WorkspaceId, plan: Plan, seats: Seats, changes: ReadonlyMap<ChangeId, Buffer>): void => {
    const changeOf = (changeId: ChangeId): Buffer => existing(changes.get(changeId), "change");
    for (const { key, at, changeId } of plan.unlinked) {
      const by = changeOf(changeId);
      unlink.run([at, at === null ? null : by, seats.require(key).row]);
    }
    for (const touch of plan.touches) writeTouch(workspace, seats.require(touch.key).row, touch);
    for (const { forbiddenPairId, from, to, changeId, keyId, at } of plan.forbids) {
      const ends = [from, to].map((one) => seats.require(identifierKey(workspace, one)).row);
      forbid.run([workspace, forbiddenPairId, ...ends, changeOf(changeId), keyId, at]);
    }
    for (const forbiddenPairId of plan.allows) requireOne(allow.run([workspace, forbiddenPairId]), "forbidden pair");
  };
}

function prepareTouch(database: Database) {
  const find = database.prepare("SELECT seen_with FROM identifiers WHERE id = ?");
  const write = database.prepare("UPDATE identifiers SET seen_with = ?, shared = ? WHERE id = ?");
  return (workspace: WorkspaceId, row: number, { touched, isShared }: TouchPlan): void => {
    const stored = find.get([row])![0] as Buffer | null;
    const all = new Set([...touchedOf(stored), ...touched]);
    write.run([all.size === 0 ? null : touchedBlob(all), isShared ? workspace : null, row]);
  };
}
