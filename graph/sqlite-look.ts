import type { Database } from "../core/database.js";
import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../core/ids.js";
import { pairKey, type Component, type PairKey, type Picture, type Want } from "../core/identity.js";

/** The rows of the identifiers that a step saw; those that it creates join them as they are written. */
export type RowIds = Map<IdentifierKey, number>;

/** A key holds what a client chose. */
export const keyBlob = (key: IdentifierKey): Buffer => Buffer.from(key);

/** An identifier and its profile as one row tells them; all null when it does not exist. */
type Seat = readonly [id: number | null, uid: Uid, component: number, profileId: ProfileId, size: number];

type PairRow = readonly [...Seat, ...Seat, change: number | null];

/** A picture with the rows behind it. */
export interface Sight extends Picture {
  readonly rowIds: RowIds;
  readonly identifiers: Map<IdentifierKey, { readonly uid: Uid; readonly component: number }>;
  readonly components: Map<Component, { readonly profileId: ProfileId; readonly size: number }>;
  readonly linked: Set<PairKey>;
}

const FIND_ONE = `
  SELECT i.id, i.uid, i.component, c.profile_id, c.size
  FROM identifiers i JOIN components c ON c.id = i.component
  WHERE i.key = ?`;

/** Always one row: what is not there is null. A third faster than asking for the three one by one. */
const FIND_PAIR = `
  SELECT x.id, x.uid, x.component, cx.profile_id, cx.size, y.id, y.uid, y.component, cy.profile_id, cy.size, l.change
  FROM (SELECT 1)
  LEFT JOIN identifiers x ON x.key = ?
  LEFT JOIN identifiers y ON y.key = ?
  LEFT JOIN components cx ON cx.id = x.component
  LEFT JOIN components cy ON cy.id = y.component
  LEFT JOIN links l ON l.a = min(x.id, y.id) AND l.b = max(x.id, y.id)`;

/** What stands there of all that is wanted. A pair of keys not seen yet costs one statement; else each key and each pair does. */
export function prepareLook(database: Database) {
  const findOne = database.prepare(FIND_ONE);
  const findPair = database.prepare(FIND_PAIR);
  const findLink = database.prepare("SELECT 1 FROM links WHERE a = ? AND b = ?");

  /** Sees both sides and their link at once. */
  const seePair = (sight: Sight, one: IdentifierKey, other: IdentifierKey): void => {
    const row = findPair.get([keyBlob(one), keyBlob(other)]) as PairRow;
    see(sight, one, row[0], row[1], row[2], row[3], row[4]);
    see(sight, other, row[5], row[6], row[7], row[8], row[9]);
    if (row[10] !== null) sight.linked.add(pairKey(one, other));
  };
  const seeOne = (sight: Sight, key: IdentifierKey): void => {
    const row = findOne.get([keyBlob(key)]) as Seat | undefined;
    if (row !== undefined) see(sight, key, ...row);
  };
  const seeLink = ({ rowIds, linked }: Sight, one: IdentifierKey, other: IdentifierKey): void => {
    const [a, b] = [rowIds.get(one), rowIds.get(other)];
    if (a === undefined || b === undefined) return;
    if (findLink.get(a < b ? [a, b] : [b, a]) !== undefined) linked.add(pairKey(one, other));
  };

  return (workspace: WorkspaceId, { keys, pairs }: Want): Sight => {
    const sight: Sight = { rowIds: new Map(), identifiers: new Map(), components: new Map(), linked: new Set() };
    const own = `${workspace}:`;
    const unseen = new Set(keys.filter((key) => key.startsWith(own)));
    const apart: Want["pairs"][number][] = [];
    for (const pair of pairs) {
      const [one, other] = pair;
      if (unseen.has(one) && unseen.has(other)) {
        seePair(sight, one, other);
        unseen.delete(one);
        unseen.delete(other);
      } else apart.push(pair);
    }
    for (const key of unseen) seeOne(sight, key);
    for (const [one, other] of apart) seeLink(sight, one, other);
    return sight;
  };
}

function see(sight: Sight, key: IdentifierKey, ...[id, uid, component, profileId, size]: Seat): void {
  if (id === null) return;
  sight.rowIds.set(key, id);
  sight.identifiers.set(key, { uid, component });
  sight.components.set(component, { profileId, size });
}
