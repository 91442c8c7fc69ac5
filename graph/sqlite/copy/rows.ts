import type { Database } from "../../../core/database.js";
import { identifierOf } from "../../../core/event/event.js";
import type { ChangeId, ForbiddenPairId, KeyId, ProfileId, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Source } from "../../../core/identity/model.js";
import type { Copied, CopyPage, GraphRows } from "../../../core/ports/copying.js";
import { prepareFindChange } from "../changes.js";
import { copied, prepareErasureDumps } from "./erasures.js";
import { prepareMovementDumps } from "./movements.js";
import { changeIdOf, countsOf, forbiddenOf, keyOf, marksOf, seenWithOf } from "../encoding.js";

type Dump<K extends keyof GraphRows> = (page: CopyPage) => Copied<GraphRows[K]>;

/** Reads the tables, each by its own key. */
export function prepareDumps(database: Database): { readonly [K in keyof GraphRows]: Dump<K> } {
  const findChange = prepareFindChange(database);
  const changes = database.prepare("SELECT id, ws FROM changes WHERE id > ? ORDER BY id LIMIT ?");
  const profiles = database.prepare(
    "SELECT id, ws, profile_id, size, rev, counts, forbidden FROM components WHERE id > ? AND size > 0 ORDER BY id LIMIT ?",
  );
  const identifiers = database.prepare(
    `SELECT i.id, c.ws, i.uid, i.key, c.profile_id, i.unlinked_at, i.unlinked_by, i.unlinked_before, i.shared, i.returned,
       i.seen_with
     FROM identifiers i JOIN components c ON c.id = i.component AND c.size > 0 WHERE i.id > ? ORDER BY i.id LIMIT ?`,
  );
  const links = database.prepare(
    `SELECT l.a, l.b, c.ws, x.uid, y.uid, l.forward, l.change, l.by_change, l.removed_at, c.source, c.key_id, c.at
     FROM links l JOIN identifiers x ON x.id = l.a JOIN identifiers y ON y.id = l.b JOIN changes c ON c.id = l.change
     WHERE (l.a, l.b) > (?, ?) ORDER BY l.a, l.b LIMIT ?`,
  );
  const pairs = database.prepare(
    `SELECT f.ws, f.forbidden_pair_id, x.key, y.key, f.change, f.key_id, f.at
     FROM forbidden_pairs f JOIN identifiers x ON x.id = f.a JOIN identifiers y ON y.id = f.b
     WHERE (f.ws, f.forbidden_pair_id) > (?, ?) ORDER BY f.ws, f.forbidden_pair_id LIMIT ?`,
  );
  const subjects = database.prepare(
    `SELECT s.identifier, s.change, c.ws, i.uid
     FROM change_subjects s JOIN identifiers i ON i.id = s.identifier JOIN changes c ON c.id = s.change
     WHERE (s.identifier, s.change) > (?, ?) ORDER BY s.identifier, s.change LIMIT ?`,
  );
  return {
    changes: ({ after, limit }) =>
      copied(changes.all([Buffer.from(after ?? "", "hex"), limit]), limit, ([id, ws]) => {
        const [bytes, workspace] = [id as Buffer, ws as WorkspaceId];
        const change = findChange(workspace, changeIdOf(bytes.toString("hex")))!;
        return [bytes.toString("hex"), { workspace, change }];
      }),
    profiles: ({ after, limit }) =>
      copied(profiles.all([Number(after ?? 0), limit]), limit, (row) => {
        const [id, workspace, profileId, size, rev, counts, forbidden] = row as ProfileColumns;
        const summary = { counts: sorted(countsOf(counts)), forbidden: forbiddenOf(forbidden) };
        return [`${id}`, { workspace, profileId, size, rev, ...summary }];
      }),
    identifiers: ({ after, limit }) =>
      copied(identifiers.all([Number(after ?? 0), limit]), limit, (row) => {
        const [id, workspace, uid, key, profileId, at, by, before, shared, returned, seenWith] =
          row as IdentifierColumns;
        const identifier = identifierOf(keyOf(key));
        const marks = {
          unlinkMarks: marksOf([at, by, before]),
          isShared: shared !== null,
          isReturned: returned !== null,
          seenWith: seenWithOf(seenWith),
        };
        return [`${id}`, { workspace, uid, identifier, profileId, ...marks }];
      }),
    links: ({ after, limit }) =>
      copied(links.all([...twoNumbers(after), limit]), limit, (row) => {
        const [a, b, workspace, x, y, forward, change, by, removedAt, source, keyId, at] = row as LinkColumns;
        const [from, to] = forward === 1 ? [x, y] : [y, x];
        const evidence = { source, keyId, at };
        const link = { from, to, changeId: changeOf(change), evidence, by: by && changeOf(by), removedAt };
        return [`${a} ${b}`, { workspace, ...link }];
      }),
    forbiddenPairs: ({ after, limit }) =>
      copied(pairs.all([...(after ?? " ").split(" "), limit]), limit, (row) => {
        const [workspace, forbiddenPairId, from, to, change, keyId, at] = row as PairColumns;
        const ends = { from: identifierOf(keyOf(from)), to: identifierOf(keyOf(to)) };
        const pair = { forbiddenPairId, ...ends, changeId: changeOf(change), keyId, at };
        return [`${workspace} ${forbiddenPairId}`, { workspace, pair }];
      }),
    subjects: ({ after, limit }) => {
      const [identifier, change] = (after ?? "0 ").split(" ");
      const rows = subjects.all([Number(identifier), Buffer.from(change!, "hex"), limit]);
      return copied(rows, limit, (row) => {
        const [id, bytes, workspace, uid] = row as readonly [number, Buffer, WorkspaceId, Uid];
        return [`${id} ${bytes.toString("hex")}`, { workspace, changeId: changeOf(bytes), uid }];
      });
    },
    ...prepareErasureDumps(database),
    ...prepareMovementDumps(database),
  };
}

type ProfileColumns = readonly [number, WorkspaceId, ProfileId, number, number, string, string | null];
type IdentifierColumns = readonly [
  id: number,
  ws: WorkspaceId,
  uid: Uid,
  key: Buffer,
  profileId: ProfileId,
  unlinkedAt: number | null,
  unlinkedBy: Buffer | null,
  unlinkedBefore: string | null,
  shared: string | null,
  returned: number | null,
  seenWith: Buffer | null,
];
type LinkColumns = readonly [
  a: number,
  b: number,
  ws: WorkspaceId,
  x: Uid,
  y: Uid,
  forward: number,
  change: Buffer,
  by: Buffer | null,
  removedAt: number | null,
  source: Source,
  keyId: KeyId,
  at: number,
];
type PairColumns = readonly [WorkspaceId, ForbiddenPairId, Buffer, Buffer, Buffer, KeyId, number];

const changeOf = (bytes: Buffer): ChangeId => changeIdOf(bytes.toString("hex"));
const sorted = (counts: ReadonlyMap<string, number>) => [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
const twoNumbers = (after: string | null): readonly number[] => (after ?? "0 0").split(" ").map(Number);
