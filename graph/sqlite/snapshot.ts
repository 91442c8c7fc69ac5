import type { Database } from "../../core/database.js";
import { identifierOf } from "../../core/event/event.js";
import type { IdentifierKey, ProfileId, Uid, WorkspaceId } from "../../core/ids.js";
import { pairKey, type KeyPair, type ProfileRef, type HiddenKey } from "../../core/identity/model.js";
import type {
  PlainSnapshot,
  ReadSet,
  RulesReadSet,
  SeenComponent,
  SeenIdentifier,
} from "../../core/identity/snapshot.js";
import { namespaceOfHidden, type HiddenKeys } from "../rules/hidden-keys.js";
import { hasRules } from "../rules/read-set.js";
import type { ErasureRecords } from "./erasure/records.js";
import type { Tombstones } from "./erasure/tombstones.js";
import {
  changeIdOf,
  countsOf,
  isSealed,
  keyBlob,
  keyPrefix,
  forbiddenOf,
  type RowSnapshot,
  keyOf,
  marksOf,
  seenWithOf,
  type MarkColumns,
} from "./encoding.js";

const location = (i: string, c: string): string =>
  `${i}.id, ${i}.uid, ${i}.component, ${c}.profile_id, ${c}.size, ${i}.shared, ${i}.returned`;
/** What only the rules need. */
const depth = (i: string, c: string): string => `${i}.unlinked_at, ${c}.rev, ${c}.counts, ${c}.forbidden`;

const findOne = (isDeep: boolean): string => `
  SELECT ${location("i", "c")} ${isDeep ? `, ${depth("i", "c")}` : ""}
  FROM identifiers i JOIN components c ON c.id = i.component
  WHERE i.key = ?`;

/**
 * Always one row, with null for what does not exist, and for the second component if it is the first: most pairs are linked already. A
 * third faster than three queries.
 */
const findPair = (isDeep: boolean): string => `
  SELECT ${location("x", "cx")}, ${location("y", "cy")}, l.a
  ${isDeep ? `, l.removed_at, l.by_change, ${depth("x", "cx")}, ${depth("y", "cy")}` : ""}
  FROM (SELECT 1)
  LEFT JOIN identifiers x ON x.key = ?
  LEFT JOIN identifiers y ON y.key = ?
  LEFT JOIN components cx ON cx.id = x.component
  LEFT JOIN components cy ON cy.id = y.component AND y.component IS NOT x.component
  LEFT JOIN links l ON l.a = min(x.id, y.id) AND l.b = max(x.id, y.id) ${isDeep ? "" : "AND l.removed_at IS NULL"}`;

/** Columns where the parts of a row begin. */
const PAIR = { x: 0, y: 7, link: 14, deepX: 17, deepY: 21 } as const;
const ONE = { location: 0, deep: 7 } as const;
const LINK = 0;
/** In each location. */
const COMPONENT = 2;

interface LookDeps {
  readonly erasures: {
    readonly records: Pick<ErasureRecords, "hasAny">;
    readonly tombstones: Pick<Tombstones, "of">;
  };
  readonly hiddenKeys: HiddenKeys;
}

/** What the graph holds of the read set. A pair of keys not seen yet costs one statement; else each key and each pair does. */
export function prepareLook(database: Database, { erasures, hiddenKeys }: LookDeps) {
  const prepareBoth = (sql: (isDeep: boolean) => string) => ({
    shallow: database.prepare(sql(false)),
    deep: database.prepare(sql(true)),
  });
  const [one, pair] = [prepareBoth(findOne), prepareBoth(findPair)];
  const link = database.prepare("SELECT a, removed_at, by_change FROM links WHERE a = ? AND b = ?");
  const addSeenWith = prepareSeenWith(database, hiddenKeys);
  const addMark = prepareMark(database);

  /** Reads both sides and their link at once. */
  const seePair = (snapshot: RowSnapshot, [x, y]: KeyPair, isDeep: boolean): void => {
    const row = (isDeep ? pair.deep : pair.shallow).get([keyBlob(x), keyBlob(y)])!;
    const isOneComponent = row[PAIR.x + COMPONENT] === row[PAIR.y + COMPONENT];
    see(snapshot, x, row, PAIR.x, isDeep ? PAIR.deepX : null);
    see(snapshot, y, row, PAIR.y, isDeep ? PAIR.deepY : null, isOneComponent ? PAIR.x : PAIR.y);
    if (snapshot.rowIds.has(x) && snapshot.rowIds.has(y)) seeLinkRow(snapshot, [x, y], row, PAIR.link, isDeep);
  };
  const seeOne = (snapshot: RowSnapshot, key: IdentifierKey, isDeep: boolean): void => {
    const row = (isDeep ? one.deep : one.shallow).get([keyBlob(key)]);
    if (row !== undefined) see(snapshot, key, row, ONE.location, isDeep ? ONE.deep : null);
  };
  const seeLink = (snapshot: RowSnapshot, keys: KeyPair, isDeep: boolean): void => {
    const [a, b] = [snapshot.rowIds.get(keys[0]), snapshot.rowIds.get(keys[1])];
    if (a === undefined || b === undefined) return;
    const row = link.get(a < b ? [a, b] : [b, a]);
    if (row !== undefined) seeLinkRow(snapshot, keys, row, LINK, isDeep);
  };

  return <Asked extends ReadSet>(workspace: WorkspaceId, want: Asked): RowsOf<Asked> => {
    const snapshot = emptySnapshot();
    const { keys, pairs } = want;
    const isDeep = hasRules(want);
    const own = keyPrefix(workspace);
    const unseen = new Set(keys.filter((key) => key.startsWith(own)));
    const apart: KeyPair[] = [];
    for (const pair of pairs) {
      const [x, y] = pair;
      if (unseen.has(x) && unseen.has(y)) {
        seePair(snapshot, pair, isDeep);
        unseen.delete(x);
        unseen.delete(y);
      } else apart.push(pair);
    }
    for (const key of unseen) seeOne(snapshot, key, isDeep);
    for (const pair of apart) seeLink(snapshot, pair, isDeep);
    if (hasRules(want)) {
      if (want.rules.limited.length > 0) addSeenWith(snapshot, keys, want.rules);
      if (want.rules.mark !== undefined) addMark(snapshot, want.rules.mark);
      snapshot.hasErasures = erasures.records.hasAny(workspace);
      for (const key of snapshot.hasErasures ? keys : []) {
        const tombstone = erasures.tombstones.of(workspace, key);
        if (tombstone !== null) snapshot.tombstones.set(key, tombstone);
      }
    }
    return snapshot;
  };
}

type RowsOf<Asked extends ReadSet> = Asked extends RulesReadSet ? RowSnapshot : PlainSnapshot;
/** While it is read; without rules it stays a `PlainSnapshot`. */
type Reading = RowSnapshot & { hasErasures: boolean };

const emptySnapshot = (): Reading => ({
  rowIds: new Map(),
  identifiers: new Map(),
  components: new Map(),
  linked: new Set(),
  removed: new Map(),
  tombstones: new Map(),
  sealed: new Map(),
  hasErasures: false,
});

type Row = readonly unknown[];
const NONE: readonly IdentifierKey[] = [];

/**
 * What the row says of the identifier from the column `at` on, and what the rules need of it from `deepAt` on. `componentIn`: the location
 * that tells of its component.
 */
function see(
  snapshot: RowSnapshot,
  key: IdentifierKey,
  row: Row,
  at: number,
  deepAt: number | null,
  componentIn = at,
): void {
  const id = row[at] as number | null;
  if (id === null) return;
  const [uid, component, size] = [row[at + 1] as Uid, row[at + COMPONENT] as number, row[componentIn + 4] as number];
  if (isSealed(size)) return void snapshot.sealed.set(key, { row: id, uid, component });
  snapshot.rowIds.set(key, id);
  // Written out, because copying objects showed in the profile of a merge.
  const isShared = row[at + 5] !== null;
  const identifier =
    deepAt === null
      ? { uid, component, isShared }
      : { uid, component, isShared, unlinkedAt: row[deepAt] as number | null, seenWith: NONE };
  const isReturned = row[at + 6] !== null;
  snapshot.identifiers.set(
    key,
    (isReturned ? { ...identifier, isReturned } : identifier) as SeenIdentifier & typeof identifier,
  );
  if (snapshot.components.has(component)) return;
  const profile = { profileId: row[componentIn + 3] as ProfileId, size };
  snapshot.components.set(component, (deepAt === null ? profile : withSummary(profile, row, deepAt)) as SeenComponent);
}

const withSummary = ({ profileId, size }: ProfileRef, row: Row, deepAt: number): SeenComponent => ({
  profileId,
  size,
  rev: row[deepAt + 1] as number,
  counts: countsOf(row[deepAt + 2] as string),
  forbidden: forbiddenOf(row[deepAt + 3] as string | null),
});

function seeLinkRow(snapshot: RowSnapshot, [x, y]: KeyPair, row: Row, at: number, isDeep: boolean): void {
  if (row[at] === null) return;
  const removedAt = (row[at + 1] ?? null) as number | null;
  if (removedAt === null) snapshot.linked.add(pairKey(x, y));
  else if (isDeep)
    snapshot.removed.set(pairKey(x, y), { at: removedAt, by: changeIdOf((row[at + 2] as Buffer).toString("hex")) });
}

/** Only this many of an identifier's newest links are read on each side: a step must not wait for a giant. */
const SCANNED_MAX = 1_000;

/** Neighbours of a row on one side, of the namespaces in a JSON list. */
const neighbours = (own: "a" | "b", other: "a" | "b"): string => `
  SELECT i.key
  FROM (SELECT ${other} AS other, removed_at FROM links WHERE ${own} = ? ORDER BY ${other} DESC LIMIT ${SCANNED_MAX}) l
  JOIN identifiers i ON i.id = l.other
  WHERE l.removed_at IS NULL
    AND CAST(substr(i.key, 38, instr(substr(i.key, 38), X'3A') - 1) AS TEXT) IN (SELECT value FROM json_each(?))
  LIMIT ?`;

/** Adds to each identifier in snapshot the values of limited namespaces that it was sent with. */
function prepareSeenWith(database: Database, { showing }: HiddenKeys) {
  const stored = database.prepare("SELECT seen_with FROM identifiers WHERE id = ? AND seen_with IS NOT NULL");
  const sides = [database.prepare(neighbours("a", "b")), database.prepare(neighbours("b", "a"))];

  return (
    snapshot: RowSnapshot,
    keys: readonly IdentifierKey[],
    { limited, seenWithMax }: RulesReadSet["rules"],
  ): void => {
    const [namespaces, list] = [new Set(limited), JSON.stringify(limited)];
    const show = showing(keys);
    for (const [key, seen] of snapshot.identifiers) {
      const row = snapshot.rowIds.get(key)!;
      let seenWith: readonly (IdentifierKey | HiddenKey)[] = show(
        storedOf(stored.get([row])).filter((one) => namespaces.has(namespaceOfHidden(one))),
      );
      const linkedMax = hasLimited(snapshot, key, namespaces) ? seenWithMax : 0;
      for (const side of sides) {
        if (seenWith.length >= linkedMax) break;
        const linked = side.all([row, list, seenWithMax]).map(([blob]) => keyOf(blob as Buffer));
        // Who is linked by now may be among those that were kept apart once, and counts once.
        if (linked.length > 0) seenWith = show([...seenWith, ...linked]);
      }
      if (seenWith.length > 0) snapshot.identifiers.set(key, { ...seen, seenWith: seenWith.slice(0, seenWithMax) });
    }
  };
}

/** Says of the identifier whether it has the mark. */
function prepareMark(database: Database) {
  const find = database.prepare("SELECT unlinked_at, unlinked_by, unlinked_before FROM identifiers WHERE id = ?");
  return ({ identifiers, rowIds }: RowSnapshot, { key, by }: NonNullable<RulesReadSet["rules"]["mark"]>): void => {
    const seen = identifiers.get(key);
    if (seen === undefined) return;
    const marks = marksOf(find.get([rowIds.get(key)!])! as MarkColumns);
    if (marks.some((mark) => mark.by === by)) identifiers.set(key, { ...seen, hasMark: true });
  };
}

const storedOf = (row: readonly unknown[] | undefined): readonly HiddenKey[] =>
  seenWithOf((row?.[0] ?? null) as Buffer | null);

const namespaceOf = (key: IdentifierKey): string => identifierOf(key).namespace;

/** Whether its profile holds any value of these namespaces beside itself: most hold none, and their links need no look. */
function hasLimited(snapshot: RowSnapshot, key: IdentifierKey, namespaces: ReadonlySet<string>): boolean {
  const { counts } = snapshot.components.get(snapshot.identifiers.get(key)!.component)!;
  let held = namespaces.has(namespaceOf(key)) ? -1 : 0;
  for (const namespace of namespaces) held += counts.get(namespace) ?? 0;
  return held > 0;
}
