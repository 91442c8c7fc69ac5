import type { Database, Statement } from "../../core/database.js";
import { identifierOf } from "../../core/event/event.js";
import type { ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Member, ProfileRef } from "../../core/identity/model.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { keyOf } from "./encoding.js";
import { inTurns, type Read } from "./pages.js";

/** A profile with the row of its component. */
export interface Profile extends ProfileRef {
  readonly component: number;
}
export type FindProfile = (workspace: WorkspaceId, profileId: ProfileId) => Profile | null;

/** The live profile that the uid of any identifier names. Long reads find it anew in each turn: it may have merged since. */
export function prepareFindProfile(database: Database): FindProfile {
  const find = database.prepare(
    `SELECT c.id, c.profile_id, c.size FROM identifiers i JOIN components c ON c.id = i.component
     WHERE i.uid = ? AND c.ws = ?`,
  );
  return (workspace, uid) => {
    const row = find.get([uid, workspace]) as readonly [number, ProfileId, number] | undefined;
    return row === undefined ? null : { component: row[0], profileId: row[1], size: row[2] };
  };
}

export function createProfileReads(
  database: Database,
  read: Read,
): Pick<IdentityGraph, "resolve" | "members" | "sharedIdentifiers" | "hasIdentifiers"> {
  const findProfile = prepareFindProfile(database);
  const membersOf = database.prepare(
    "SELECT uid, key, shared FROM identifiers WHERE component = ? AND uid > ? ORDER BY uid LIMIT ?",
  );
  const sharedIdentifiers = database.prepare(
    "SELECT uid, key, shared FROM identifiers WHERE shared = ? AND uid > ? ORDER BY uid LIMIT ?",
  );
  const anyBetween = database.prepare("SELECT 1 FROM identifiers WHERE key > ? AND key < ? LIMIT 1");

  return {
    resolve: (workspace, uid) =>
      read(() => {
        const profile = findProfile(workspace, uid);
        return profile === null ? null : { profileId: profile.profileId, size: profile.size };
      }),
    members: (workspace, profileId, { limit, after }) =>
      inTurns(read, limit, (last: Member | undefined, most) => {
        const profile = findProfile(workspace, profileId);
        return profile === null ? [] : readMembers(membersOf, profile.component, last?.uid ?? after, most);
      }),
    sharedIdentifiers: (workspace, { limit, after }) =>
      inTurns(read, limit, (last: Member | undefined, most) =>
        readMembers(sharedIdentifiers, workspace, last?.uid ?? after, most),
      ),
    // A semicolon comes right behind the colon that ends a namespace.
    hasIdentifiers: (workspace, namespace) =>
      read(() => {
        const bounds = [":", ";"].map((end) => Buffer.from(`${workspace}:${namespace}${end}`));
        return anyBetween.get(bounds) !== undefined;
      }),
  };
}

type MemberRow = readonly [uid: Uid, key: Buffer, shared: WorkspaceId | null];

function readMembers(from: Statement, of: number | WorkspaceId, after: Uid | null, most: number): readonly Member[] {
  const rows = from.all([of, after ?? "", most]) as readonly MemberRow[];
  return rows.map(([uid, key, shared]) => ({
    uid,
    identifier: identifierOf(keyOf(key)),
    isShared: shared !== null,
  }));
}
