import type { GraphRows } from "../../../core/ports/copying.js";
import type {
  ChangeId,
  ErasureId,
  ForbiddenPairId,
  KeyId,
  MovedId,
  ProfileId,
  Tomb,
  Uid,
  WorkspaceId,
} from "../../../core/ids.js";
import type { MovedCause } from "../../../core/ports/movements.js";
import type { Source } from "../../../core/identity/model.js";
import { changesOf } from "../changes.js";
import type { Row } from "../client.js";
import { erasureOf } from "../erasure/rows.js";
import * as cypher from "../cypher/copy.js";
import { marksOf } from "../marks.js";

type Dumps = {
  readonly [K in keyof GraphRows]: {
    readonly statement: string;
    /** So many columns, from the first on, hold something in each row that stands. */
    readonly filled: number;
    readonly read: (row: Row) => readonly GraphRows[K][];
  };
};

/** The first column of each row is its place. */
export const DUMPS: Dumps = {
  changes: {
    statement: cypher.DUMP_CHANGES,
    filled: 2,
    read: ([, ws, change]) => [{ workspace: ws as WorkspaceId, change: changesOf([change as Row])[0]! }],
  },
  profiles: {
    statement: cypher.DUMP_PROFILES,
    filled: 5,
    read: (row) => {
      const [profileId, workspace, size, rev, counts, forbidden] = row as ProfileColumns;
      const sorted = Object.entries(JSON.parse(counts) as Record<string, number>).toSorted(([a], [b]) =>
        a < b ? -1 : 1,
      );
      return [{ workspace, profileId, size, rev, counts: sorted, forbidden: forbidden ?? [] }];
    },
  },
  identifiers: {
    statement: cypher.DUMP_IDENTIFIERS,
    filled: 4,
    read: (row) => {
      const [uid, workspace, namespace, value, profileId, at, by, before, isShared, isReturned, seenWith, isSealed] =
        row as IdentifierColumns;
      if (isSealed) return [];
      const unlinkMarks = marksOf([at, by, before]);
      const identifier = { namespace, value };
      return [{ workspace, uid, identifier, profileId, unlinkMarks, isShared, isReturned, seenWith: seenWith ?? [] }];
    },
  },
  links: {
    statement: cypher.DUMP_LINKS,
    filled: 8,
    read: (row) => {
      const [, workspace, from, to, changeId, source, keyId, at, by, removedAt] = row as LinkColumns;
      return [{ workspace, from, to, changeId, evidence: { source, keyId, at }, by, removedAt }];
    },
  },
  forbiddenPairs: {
    statement: cypher.DUMP_FORBIDDEN_PAIRS,
    filled: 9,
    read: (row) => {
      const [forbiddenPairId, workspace, ...rest] = row as PairColumns;
      const [fromNamespace, fromValue, toNamespace, toValue, changeId, keyId, at] = rest;
      const from = { namespace: fromNamespace, value: fromValue };
      const to = { namespace: toNamespace, value: toValue };
      return [{ workspace, pair: { forbiddenPairId, from, to, changeId, keyId, at } }];
    },
  },
  subjects: {
    statement: cypher.DUMP_SUBJECTS,
    filled: 3,
    read: (row) => {
      const [changeId, workspace, uids] = row as readonly [ChangeId, WorkspaceId, readonly Uid[]];
      return uids.map((uid) => ({ workspace, changeId, uid }));
    },
  },
  erasures: {
    statement: cypher.DUMP_ERASURES,
    filled: 1,
    read: ([, columns]) => {
      const { identifiers, ...erasure } = erasureOf([columns]);
      const counts = [...identifiers].toSorted(([a], [b]) => (a < b ? -1 : 1));
      return [{ workspace: erasure.workspace, erasure, counts }];
    },
  },
  tombstones: {
    statement: cypher.DUMP_TOMBSTONES,
    filled: 4,
    read: (row) => {
      const [, workspace, erasureId, tomb, uid] = row as readonly [string, WorkspaceId, ErasureId, Tomb, Uid | null];
      return [{ workspace, erasureId, tomb, uid }];
    },
  },
  mentions: {
    statement: cypher.DUMP_MENTIONS,
    filled: 3,
    read: (row) => {
      const [changeId, workspace, tombs] = row as readonly [ChangeId, WorkspaceId, readonly Tomb[]];
      return tombs.map((tomb) => ({ workspace, changeId, tomb }));
    },
  },
  watched: {
    statement: cypher.DUMP_WATCHED,
    filled: 1,
    read: ([ws]) => [{ workspace: ws as WorkspaceId }],
  },
  moved: {
    statement: cypher.DUMP_MOVED,
    filled: 5,
    read: (row) => {
      const [, workspace, movedId, cause, profileIds] = row as MovedColumns;
      return [{ workspace, moved: { movedId, cause, profileIds } }];
    },
  },
};

type ProfileColumns = readonly [
  id: ProfileId,
  ws: WorkspaceId,
  size: number,
  rev: number,
  counts: string,
  forbidden: readonly ForbiddenPairId[] | null,
];
type IdentifierColumns = readonly [
  uid: Uid,
  ws: WorkspaceId,
  namespace: string,
  value: string,
  profileId: ProfileId,
  unlinkedAt: number | null,
  unlinkedBy: ChangeId | null,
  unlinkedBefore: readonly string[] | null,
  isShared: boolean,
  isReturned: boolean,
  seenWith: readonly string[] | null,
  isSealed: boolean,
];
type LinkColumns = readonly [
  key: string,
  ws: WorkspaceId,
  from: Uid,
  to: Uid,
  change: ChangeId,
  source: Source,
  keyId: KeyId,
  at: number,
  by: ChangeId | null,
  removedAt: number | null,
];
type PairColumns = readonly [ForbiddenPairId, WorkspaceId, string, string, string, string, ChangeId, KeyId, number];

type MovedColumns = readonly [
  place: string,
  ws: WorkspaceId,
  id: MovedId,
  cause: MovedCause,
  profiles: readonly ProfileId[],
];
