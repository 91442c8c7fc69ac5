import type { Database, Statement } from "../../core/database.js";
import { identifierOf } from "../../core/event/event.js";
import type { ForbiddenPairId, KeyId, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import type { ForbiddenPair, Member, ProfileRef } from "../../core/identity/model.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { changeIdOf, keyOf, keyPrefix } from "./encoding.js";
import { type Read, eachInTurns, inTurns, nextTurn, ROWS_PER_TURN } from "./pages.js";

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
): Pick<
  IdentityGraph,
  "resolve" | "resolveAll" | "walk" | "members" | "sharedIdentifiers" | "identifiersOf" | "hasIdentifiers"
> {
  const findProfile = prepareFindProfile(database);
  const membersOf = database.prepare(
    "SELECT uid, key, shared FROM identifiers WHERE component = ? AND uid > ? ORDER BY uid LIMIT ?",
  );
  const resolveAll = prepareResolveAll(database);
  const profilesAfter = database.prepare(
    "SELECT id, profile_id, size FROM components WHERE ws = ? AND profile_id > ? ORDER BY profile_id LIMIT ?",
  );
  const sharedIdentifiers = database.prepare(
    `SELECT i.uid, i.key, i.shared FROM identifiers i CROSS JOIN components c ON c.id = i.component AND c.size > 0
     WHERE i.shared = ? AND i.uid > ? ORDER BY i.uid LIMIT ?`,
  );
  const anyBetween = database.prepare(
    `SELECT 1 FROM identifiers i CROSS JOIN components c ON c.id = i.component AND c.size > 0
     WHERE i.key > ? AND i.key < ? LIMIT 1`,
  );
  const keyOfUid = database.prepare(
    "SELECT i.key FROM identifiers i JOIN components c ON c.id = i.component AND c.size > 0 WHERE i.uid = ?",
  );

  return {
    resolve: (workspace, uid) =>
      read(() => {
        const profile = findProfile(workspace, uid);
        return profile === null ? null : { profileId: profile.profileId, size: profile.size };
      }),
    resolveAll: async (workspace, profileIds, membersMax) => {
      const each = Math.max(1, Math.floor(ROWS_PER_TURN / Math.max(1, membersMax)));
      const found: (WalkedProfile | null)[] = [];
      while (found.length < profileIds.length) {
        if (found.length > 0) await nextTurn();
        const some = profileIds.slice(found.length, found.length + each);
        found.push(...(await read(() => resolveAll(workspace, some, membersMax))));
      }
      return found;
    },
    walk: (workspace, { limit, after, membersMax }) =>
      inTurns(
        read,
        limit,
        (last: WalkedProfile | undefined, most) => {
          const rows = profilesAfter.all([workspace, last?.profileId ?? after ?? "", most]) as readonly ProfileRow[];
          return rows.map(([component, profileId, size]) => ({
            profileId,
            size,
            members: size > membersMax ? null : readMembers(membersOf, component, null, size),
          }));
        },
        1 + membersMax,
      ),
    members: (workspace, profileId, { limit, after }) =>
      inTurns(read, limit, (last: Member | undefined, most) => {
        const profile = findProfile(workspace, profileId);
        return profile === null ? [] : readMembers(membersOf, profile.component, last?.uid ?? after, most);
      }),
    sharedIdentifiers: (workspace, { limit, after }) =>
      inTurns(read, limit, (last: Member | undefined, most) =>
        readMembers(sharedIdentifiers, workspace, last?.uid ?? after, most),
      ),
    identifiersOf: async (workspace, uids) => {
      const own = keyPrefix(workspace);
      const found = await eachInTurns(read, uids, (uid) => {
        const blob = keyOfUid.get([uid])?.[0] as Buffer | undefined;
        const key = blob === undefined ? null : keyOf(blob);
        return key?.startsWith(own) === true ? ([uid, identifierOf(key)] as const) : null;
      });
      return new Map(found.filter((one) => one !== null));
    },
    // A semicolon comes right behind the colon that ends a namespace.
    hasIdentifiers: (workspace, namespace) =>
      read(() => {
        const bounds = [":", ";"].map((end) => Buffer.from(`${workspace}:${namespace}${end}`));
        return anyBetween.get(bounds) !== undefined;
      }),
  };
}

type FoundProfile = readonly [n: number, ProfileId, size: number, members: readonly FoundMember[]];
type FoundMember = readonly [uid: Uid | null, keyHex: string, isShared: 0 | 1];

/** One text for all of them: the driver takes longer to hand out a row than SQLite to find it. */
function prepareResolveAll(database: Database) {
  const find = database.prepare(
    `SELECT '[' || group_concat(found) || ']' FROM (
       SELECT json_array(asked.key, c.profile_id, c.size,
         json_group_array(json_array(m.uid, hex(m.key), m.shared IS NOT NULL))) AS found
       FROM json_each(?) AS asked CROSS JOIN identifiers i ON i.uid = asked.value
         CROSS JOIN components c ON c.id = i.component AND c.ws = ?
         LEFT JOIN identifiers m ON m.component = c.id AND c.size <= ?
       GROUP BY asked.key)`,
  );
  return (
    workspace: WorkspaceId,
    profileIds: readonly ProfileId[],
    membersMax: number,
  ): readonly (WalkedProfile | null)[] => {
    const text = find.get([JSON.stringify(profileIds), workspace, membersMax])?.[0] as string | null;
    const rows = JSON.parse(text ?? "[]") as readonly FoundProfile[];
    const byPosition = new Map(rows.map((row) => [row[0], row]));
    return profileIds.map((_, n): WalkedProfile | null => {
      const row = byPosition.get(n);
      return row === undefined ? null : { profileId: row[1], size: row[2], members: membersOfFound(row, membersMax) };
    });
  };
}

const membersOfFound = ([, , size, members]: FoundProfile, membersMax: number): readonly Member[] | null =>
  size > membersMax
    ? null
    : members
        .map(([uid, hex, isShared]): Member => ({
          uid: uid!,
          identifier: identifierOf(keyOf(Buffer.from(hex, "hex"))),
          isShared: isShared === 1,
        }))
        .toSorted((a, b) => (a.uid < b.uid ? -1 : 1));

type ProfileRow = readonly [component: number, ProfileId, size: number];

type MemberRow = readonly [uid: Uid, key: Buffer, shared: WorkspaceId | null];

function readMembers(from: Statement, of: number | WorkspaceId, after: Uid | null, most: number): readonly Member[] {
  const rows = from.all([of, after ?? "", most]) as readonly MemberRow[];
  return rows.map(([uid, key, shared]) => ({
    uid,
    identifier: identifierOf(keyOf(key)),
    isShared: shared !== null,
  }));
}

type ForbiddenPairRow = readonly [ForbiddenPairId, from: Buffer, to: Buffer, changeHex: string, KeyId, at: number];

const SELECT = `
  SELECT n.forbidden_pair_id, x.key, y.key, hex(n.change), n.key_id, n.at
  FROM forbidden_pairs n CROSS JOIN identifiers x ON x.id = n.a CROSS JOIN identifiers y ON y.id = n.b
  WHERE n.ws = ?`;

export function createForbiddenPairReads(
  database: Database,
  read: Read,
): Pick<IdentityGraph, "findForbiddenPairs" | "forbiddenPairs"> {
  const findOne = database.prepare(`${SELECT} AND n.forbidden_pair_id = ?`);
  const page = database.prepare(`${SELECT} AND n.forbidden_pair_id > ? ORDER BY n.forbidden_pair_id LIMIT ?`);
  const find = (workspace: WorkspaceId, forbiddenPairId: ForbiddenPairId): ForbiddenPair | null => {
    const row = findOne.get([workspace, forbiddenPairId]);
    return row === undefined ? null : forbiddenOf(row as ForbiddenPairRow);
  };
  return {
    findForbiddenPairs: async (workspace, forbiddenPairIds) => {
      const found = await eachInTurns(read, forbiddenPairIds, (forbiddenPairId) => find(workspace, forbiddenPairId));
      return found.filter((pair) => pair !== null);
    },
    forbiddenPairs: (workspace, { limit, after }) =>
      inTurns(read, limit, (last: ForbiddenPair | undefined, most) =>
        (page.all([workspace, last?.forbiddenPairId ?? after ?? "", most]) as readonly ForbiddenPairRow[]).map(
          forbiddenOf,
        ),
      ),
  };
}

const forbiddenOf = ([forbiddenPairId, from, to, hex, keyId, at]: ForbiddenPairRow): ForbiddenPair => ({
  forbiddenPairId,
  from: identifierOf(keyOf(from)),
  to: identifierOf(keyOf(to)),
  changeId: changeIdOf(hex),
  keyId,
  at,
});
