import type { Database } from "../../../core/database.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type ErasureId, type ProfileId, type Tomb, type Uid, type WorkspaceId } from "../../../core/ids.js";
import { erasuresOf, newErasure, type Found, type LiveProfile } from "../../rules/erasing.js";
import type { Erasure, ErasureRequest, ErasureTarget } from "../../../core/identity/erasure.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import { countsOf, forbiddenOf, forbiddenText, keyBlob } from "../encoding.js";
import type { ErasureRecords } from "./records.js";
import { prepareBury } from "./take-apart.js";
import type { Tombstones } from "./tombstones.js";

/** With the row of its component. */
interface LiveComponent extends LiveProfile {
  readonly component: number;
}

type FoundRow = Found<LiveComponent>;

type ProfileRow = readonly [component: number, ProfileId, rev: number, counts: string, forbidden: string | null];

interface Deps {
  readonly database: Database;
  readonly records: ErasureRecords;
  readonly tombstones: Tombstones;
  readonly tombOf: TombOf;
}

export function prepareFind({ database, records, tombstones }: Deps) {
  const columns = "c.id, c.profile_id, c.rev, c.counts, c.forbidden";
  const byUid = database.prepare(
    `SELECT ${columns} FROM identifiers i JOIN components c ON c.id = i.component WHERE i.uid = ? AND c.ws = ?`,
  );
  const byKey = database.prepare(
    `SELECT ${columns} FROM identifiers i JOIN components c ON c.id = i.component WHERE i.key = ? AND c.ws = ?`,
  );
  const ofDead = [
    "SELECT erasure FROM tombstones WHERE uid = ?",
    "SELECT e.id FROM identifiers i CROSS JOIN erasures e ON e.component = i.component WHERE i.uid = ?",
  ].map((sql) => database.prepare(sql));
  const findDead = (workspace: WorkspaceId, uid: Uid): Erasure | null => {
    for (const statement of ofDead) {
      const row = statement.get([uid]) as readonly [ErasureId] | undefined;
      if (row !== undefined) return records.find(workspace, row[0]);
    }
    return null;
  };

  return (workspace: WorkspaceId, target: ErasureTarget): FoundRow => {
    if ("profileId" in target) {
      const row = byUid.get([target.profileId, workspace]) as ProfileRow | undefined;
      if (row !== undefined) return { kind: "live", profile: profileOf(row), strangers: [] };
      const erasure = findDead(workspace, target.profileId);
      return erasure === null ? { kind: "unknown" } : { kind: "dead", erasures: [erasure], isNamed: false };
    }
    const rows = new Map<number, ProfileRow>();
    const strangers: Identifier[] = [];
    for (const identifier of target.identifiers) {
      const key = identifierKey(workspace, identifier);
      const row = byKey.get([keyBlob(key), workspace]) as ProfileRow | undefined;
      if (row === undefined) strangers.push(identifier);
      else rows.set(row[0], row);
    }
    const [first, ...others] = [...rows.values()].map(profileOf);
    if (first === undefined) return ofStrangers(workspace, strangers);
    if (others.length === 0) return { kind: "live", profile: first, strangers };
    return { kind: "several", profileIds: [first, ...others].map(({ profileId }) => profileId).toSorted() };
  };

  function ofStrangers(workspace: WorkspaceId, strangers: readonly Identifier[]): FoundRow {
    const ids = erasuresOf(strangers.map((one) => tombstones.of(workspace, identifierKey(workspace, one))));
    const [first, ...others] = (ids ?? []).flatMap((id) => records.find(workspace, id) ?? []);
    return first === undefined
      ? { kind: "nobody", strangers }
      : { kind: "dead", erasures: [first, ...others], isNamed: true };
  }
}

const profileOf = ([component, profileId, rev, counts, forbidden]: ProfileRow): LiveComponent => ({
  component,
  profileId,
  rev,
  counts: countsOf(counts),
  forbidden: forbiddenOf(forbidden),
});

/** Writes the record, and seals the profile: the cost does not depend on its size. */
export function prepareSeal({ database, records, tombOf }: Deps) {
  const seal = database.prepare(
    "UPDATE components SET ws = '', size = -size, forbidden = NULL WHERE id = ? AND ws = ?",
  );
  const endPairs = prepareEndPairs(database);
  const bury = prepareBury(database);

  return (
    workspace: WorkspaceId,
    request: ErasureRequest,
    found: Extract<FoundRow, { readonly kind: "live" | "nobody" }>,
  ): ErasureId => {
    const erasureId = newId<ErasureId>();
    const tombs = found.strangers.map((one): Tomb => tombOf(identifierKey(workspace, one)));
    const profile = found.kind === "live" ? found.profile : null;
    records.insert(newErasure(workspace, request, erasureId, found), profile?.component ?? null, tombs);
    for (const tomb of tombs) bury(erasureId, tomb, null);
    if (profile !== null) {
      endPairs(workspace, profile);
      seal.run([profile.component, workspace]);
    }
    return erasureId;
  };
}

/** Its forbidden pairs end, and with them what the profiles on the other side know of them. */
function prepareEndPairs(database: Database) {
  const find = database.prepare(
    `SELECT x.component, y.component
     FROM forbidden_pairs n CROSS JOIN identifiers x ON x.id = n.a CROSS JOIN identifiers y ON y.id = n.b
     WHERE n.ws = ? AND n.forbidden_pair_id = ?`,
  );
  const remove = database.prepare("DELETE FROM forbidden_pairs WHERE ws = ? AND forbidden_pair_id = ?");
  const read = database.prepare("SELECT forbidden FROM components WHERE id = ?");
  const write = database.prepare("UPDATE components SET forbidden = ?, rev = rev + 1 WHERE id = ?");
  return (workspace: WorkspaceId, { component, forbidden }: LiveComponent): void => {
    for (const id of forbidden) {
      const ends = (find.get([workspace, id]) ?? []) as readonly number[];
      for (const other of new Set(ends))
        if (other !== component) {
          const left = forbiddenOf(read.get([other])![0] as string | null).filter((one) => one !== id);
          write.run([forbiddenText({ counts: new Map(), forbidden: left }), other]);
        }
      remove.run([workspace, id]);
    }
  };
}
