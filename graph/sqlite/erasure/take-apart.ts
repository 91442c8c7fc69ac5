import type { Database } from "../../../core/database.js";
import type { ErasureId, Tomb, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { keyOf } from "../encoding.js";
import { prepareRedact, type Redaction } from "./hiding.js";
import type { ErasureRecords } from "./records.js";

type MemberRow = readonly [id: number, key: Buffer | null, uid: Uid];

/** How much one call may still take, and what it took. */
interface Work {
  room: number;
  links: number;
  changes: number;
}

/** Takes a sealed component apart, member by member; what is half done is gone on with by the next call. */
export function prepareTakeApart(database: Database, records: ErasureRecords, tombOf: TombOf) {
  const first = database.prepare("SELECT id, key, uid FROM identifiers WHERE component = ? ORDER BY uid LIMIT 1");
  const sides = [
    "DELETE FROM links WHERE a = ?1 AND b IN (SELECT b FROM links WHERE a = ?1 LIMIT ?2)",
    "DELETE FROM links WHERE b = ?1 AND a IN (SELECT a FROM links WHERE b = ?1 LIMIT ?2)",
  ].map((sql) => database.prepare(sql));
  // Ended with the seal, but for one that the profile does not name: see `PairToForbid`.
  const pairs = ["a", "b"].map((side) => database.prepare(`DELETE FROM forbidden_pairs WHERE ${side} = ?`));
  const tombOfUid = database.prepare("SELECT tomb FROM tombstones WHERE uid = ?");
  const bury = prepareBury(database);
  const removeMember = database.prepare("DELETE FROM identifiers WHERE id = ?");
  const removeComponent = database.prepare("DELETE FROM components WHERE id = ?");
  const redact = prepareRedact(database);

  const redactMentions = (asked: Redaction, work: Work): void => {
    if (work.room <= 0) return;
    const { looked, changes } = redact.mentions(asked, work.room);
    work.room -= looked;
    work.changes += changes;
  };
  /** One that came back meanwhile has no key any more, but a tombstone. */
  const redactionOf = (workspace: WorkspaceId, key: Buffer | null, uid: Uid): Redaction => {
    if (key !== null) {
      const own = keyOf(key);
      return { workspace, tomb: tombOf(own), isIt: (one) => one === own };
    }
    const tomb = tombOfUid.get([uid])![0] as Tomb;
    return { workspace, tomb, isIt: (one) => tombOf(one) === tomb };
  };
  const takeMember = (workspace: WorkspaceId, erasureId: ErasureId, [id, key, uid]: MemberRow, work: Work): void => {
    work.room -= 1;
    for (const side of sides) {
      if (work.room <= 0) return;
      const { changes: links } = side.run([id, work.room]);
      work.room -= links;
      work.links += links;
    }
    if (work.room <= 0) return;
    const asked = redactionOf(workspace, key, uid);
    const { looked, changes } = redact.subjects(asked, id, work.room);
    work.room -= looked;
    work.changes += changes;
    redactMentions(asked, work);
    if (work.room <= 0) return;
    bury(erasureId, asked.tomb, uid);
    for (const side of pairs) side.run([id]);
    removeMember.run([id]);
  };

  /** A restore may bring thousands: those that are done are not gone through again. */
  const redactStrangers = (workspace: WorkspaceId, erasureId: ErasureId, all: readonly Tomb[], work: Work): void => {
    let done = 0;
    for (const tomb of all) {
      if (work.room <= 0) break;
      work.room -= 1;
      redactMentions({ workspace, tomb, isIt: (one) => tombOf(one) === tomb }, work);
      if (work.room > 0) done += 1;
    }
    if (done > 0) records.leave(erasureId, all.slice(done));
  };

  return (workspace: WorkspaceId, erasureId: ErasureId, max: number): Erasure | null => {
    const found = records.underWay(workspace, erasureId);
    if (found === null || found.erasure.isGone) return found?.erasure ?? null;
    // A member alone takes more than one.
    const work: Work = { room: Math.max(max, 2), links: 0, changes: 0 };
    for (let { component } = found; component !== null && work.room > 0;) {
      const row = first.get([component]) as MemberRow | undefined;
      if (row !== undefined) {
        takeMember(workspace, erasureId, row, work);
        continue;
      }
      removeComponent.run([component]);
      records.empty(erasureId);
      component = null;
    }
    redactStrangers(workspace, erasureId, found.strangers, work);
    records.took(erasureId, work);
    if (work.room > 0) records.end(erasureId);
    return records.find(workspace, erasureId);
  };
}

/** Leaves a tombstone; once is enough. Answers whether it is new. */
export function prepareBury(database: Database) {
  const insert = database.prepare("INSERT OR IGNORE INTO tombstones (erasure, tomb, uid) VALUES (?, ?, ?)");
  return (erasureId: ErasureId, tomb: Tomb, uid: Uid | null): boolean =>
    insert.run([erasureId, tomb, uid]).changes === 1;
}
