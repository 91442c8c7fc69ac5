import type { Database } from "../../core/database.js";
import type { IdentifierKey, KeyId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Change, LinkState, ListedLink, Source } from "../../core/identity/model.js";
import type { TracePage, Traces } from "../../core/identity/pages.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { prepareFindProfile } from "./profiles.js";
import { changeBytes, changeIdOf, keyBlob, keyOf, keyPrefix, marksOf, type MarkColumns } from "./encoding.js";
import { prepareFindLocation } from "./locations.js";
import { ROWS_PER_TURN, type Read, nextTurn } from "./pages.js";
import { identifierKey } from "../../core/event/event.js";
import { isNamed } from "../../core/identity/names.js";

/** How far a reader came: through all members up to `from`; with `to` set, of that one only to the links up to it. */
interface Place {
  readonly from: Uid;
  readonly to: Uid | null;
}

/** What one turn reads, and the place behind it; null when there is nothing more. */
interface Part {
  readonly links: readonly ListedLink[];
  readonly place: Place;
}

/** Each link is read from both of its ends. */
const LOOKED_AT_MAX = 2 * ROWS_PER_TURN;
/** A page of few links must not take one turn for each member without links. */
const MEMBERS_MIN = 250;
/** A member with more links is read by its profile's members in their order; for one with fewer, all its links are sorted. */
const SORTED_MAX = 10_000;

export function createLinks(database: Database, read: Read): IdentityGraph["links"] {
  const findProfile = prepareFindProfile(database);
  const readPart = prepareParts(database);

  return async (workspace, profileId, { limit, after }) => {
    const links: ListedLink[] = [];
    let place: Place = after ?? { from: "" as Uid, to: null };
    while (links.length < limit) {
      const most = Math.min(limit - links.length, ROWS_PER_TURN);
      const part = await read(() => {
        const profile = findProfile(workspace, profileId);
        return profile === null ? null : readPart(profile.component, place, most);
      });
      if (part === null) break;
      links.push(...part.links);
      place = part.place;
      await nextTurn();
    }
    return links.slice(0, limit);
  };
}

function prepareParts(database: Database) {
  const membersAfter = database.prepare(
    "SELECT uid, id FROM identifiers WHERE component = ? AND uid > ? ORDER BY uid LIMIT ?",
  );
  const findMember = database.prepare("SELECT id FROM identifiers WHERE component = ? AND uid = ?");
  const countOfMembers = prepareCount(database, "f.component = ? AND f.uid > ? AND f.uid <= ?");
  const countOfOne = prepareCount(database, "f.id = ?");
  const { ofMembers, ofOne, toMembers } = prepareRows(database);

  const readMembers = (component: number, { from }: Place, most: number): Part | null => {
    const members = membersAfter.all([component, from, Math.max(most, MEMBERS_MIN)]) as readonly (readonly [Uid])[];
    const upTo = (some: number) => [component, from, members[some - 1]![0]] as const;
    let some = members.length;
    if (some === 0) return null;
    while (countOfMembers(upTo(some), LOOKED_AT_MAX) > LOOKED_AT_MAX) {
      if (some === 1) return { links: [], place: { from: members[0]![0], to: "" as Uid } };
      some = Math.ceil(some / 2);
    }
    const links = ofMembers(upTo(some)).toSorted(byEnds);
    return { links, place: { from: members[some - 1]![0], to: null } };
  };

  const readOne = (component: number, from: Uid, to: Uid, most: number): Part => {
    const end: Place = { from, to: null };
    const row = findMember.get([component, from])?.[0] as number | undefined;
    if (row === undefined) return { links: [], place: end };
    if (countOfOne([row], SORTED_MAX) <= SORTED_MAX) {
      const links = ofOne([row, to, most]).toSorted(byEnds).slice(0, most);
      return { links, place: links.length < most ? end : { from, to: links.at(-1)!.to } };
    }
    const last = membersAfter.all([component, to, ROWS_PER_TURN]).at(-1)?.[0] as Uid | undefined;
    if (last === undefined) return { links: [], place: end };
    return { links: toMembers([row, component, to, last]).toSorted(byEnds), place: { from, to: last } };
  };

  return (component: number, place: Place, most: number): Part | null =>
    place.to === null ? readMembers(component, place, most) : readOne(component, place.from, place.to, most);
}

type Parameters = readonly (string | number)[];

/** Counts the links of members on both sides, removed ones too, to no more than one beyond the bound. */
function prepareCount(database: Database, members: string) {
  const sides = ["a", "b"].map((side) =>
    database.prepare(
      `SELECT count(*) FROM (SELECT 1 FROM identifiers f CROSS JOIN links l ON l.${side} = f.id WHERE ${members} LIMIT ?)`,
    ),
  );
  return (parameters: Parameters, max: number): number =>
    sides.reduce((sum, side) => sum + (side.get([...parameters, max + 1])![0] as number), 0);
}

type LinkRow = readonly [from: Uid, to: Uid, changeHex: string, Source, KeyId, at: number, restoredHex: string];

/** As one text: the driver takes several times longer for as many rows. */
const withEvidence = (rows: string): string =>
  `SELECT json_group_array(json_array(from_uid, to_uid, hex(c.id), c.source, c.key_id, c.at, hex(found.by_change)))
   FROM (${rows}) found CROSS JOIN changes c ON c.id = found.change`;

const active = (forward: number): string => `l.forward = ${forward} AND l.removed_at IS NULL`;

/** Active links as they were asserted, from members to members. A link stands once, so each is looked for both ways round. */
function prepareRows(database: Database) {
  const bothWays = (sql: (from: string, to: string, forward: number) => string) => {
    const ways = [database.prepare(sql("a", "b", 1)), database.prepare(sql("b", "a", 0))];
    return (parameters: Parameters): readonly ListedLink[] =>
      ways.flatMap((way) => (JSON.parse(way.get(parameters)![0] as string) as readonly LinkRow[]).map(linkOf));
  };
  const columns = "f.uid AS from_uid, t.uid AS to_uid, l.change, l.by_change";
  return {
    ofMembers: bothWays((from, to, forward) =>
      withEvidence(
        `SELECT ${columns} FROM identifiers f CROSS JOIN links l ON l.${from} = f.id CROSS JOIN identifiers t ON t.id = l.${to}
         WHERE f.component = ? AND f.uid > ? AND f.uid <= ? AND ${active(forward)}`,
      ),
    ),
    ofOne: bothWays((from, to, forward) =>
      withEvidence(
        `SELECT ${columns} FROM identifiers f CROSS JOIN links l ON l.${from} = f.id CROSS JOIN identifiers t ON t.id = l.${to}
         WHERE f.id = ? AND t.uid > ? AND ${active(forward)} ORDER BY to_uid LIMIT ?`,
      ),
    ),
    toMembers: bothWays((from, to, forward) =>
      withEvidence(
        `SELECT ${columns} FROM identifiers f CROSS JOIN identifiers t CROSS JOIN links l ON l.${from} = f.id AND l.${to} = t.id
         WHERE f.id = ? AND t.component = ? AND t.uid > ? AND t.uid <= ? AND ${active(forward)}`,
      ),
    ),
  };
}

const linkOf = ([from, to, hex, source, keyId, at, restoredHex]: LinkRow): ListedLink => ({
  from,
  to,
  changeId: changeIdOf(hex),
  evidence: { source, keyId, at },
  restoredBy: restoredHex === "" ? null : changeIdOf(restoredHex),
});

const byEnds = (x: ListedLink, y: ListedLink): number =>
  x.from === y.from ? Number(x.to > y.to) - Number(x.to < y.to) : x.from > y.from ? 1 : -1;

const STATE = "l.forward, l.removed_at IS NULL, hex(l.change), hex(coalesce(l.by_change, l.change))";
type StateRow = readonly [forward: number, isActive: number, changeHex: string, byHex: string];
/** The far end of a link is given only if the change made the link. */
type IncidentRow = readonly [far: number, key: Buffer | null, ...StateRow];

/** What a change did to links and marks, as they are now. */
export function createChangeTraces(
  database: Database,
  read: Read,
): Pick<IdentityGraph, "linksOfChange" | "linksRemovedBy" | "markedAt"> {
  const find = prepareFindLocation(database);
  const marks = database.prepare(
    `SELECT i.unlinked_at, i.unlinked_by, i.unlinked_before FROM identifiers i JOIN components c ON c.id = i.component
     WHERE i.key = ? AND i.unlinked_at IS NOT NULL AND c.size > 0`,
  );
  const linkOfPair = prepareLinkOfPair(database);
  const incident = createIncident(database, read);

  const endsOf = (workspace: WorkspaceId, { identifiers }: Change): readonly End[] =>
    identifiers.filter(isNamed).flatMap((identifier) => {
      const key = identifierKey(workspace, identifier);
      const found = find(workspace, key);
      return found === undefined ? [] : { key, row: found.row };
    });

  const tracesOf = async (workspace: WorkspaceId, change: Change, page: TracePage): Promise<Traces> => {
    const bytes = changeBytes(change.changeId);
    const ends = await read(() => endsOf(workspace, change));
    const [only] = ends;
    if (only === undefined) return { links: [], next: null };
    // A change that names two or more identifiers has its links between them; a change that names one has links of that one.
    if (change.identifiers.length === 1) return incident(only, bytes, page);
    return { links: await read(() => pairsOf(ends).flatMap(([x, y]) => linkOfPair(x, y, bytes))), next: null };
  };

  return {
    linksOfChange: async (workspace, change) => (await tracesOf(workspace, change, ALL)).links,
    linksRemovedBy: async (workspace, change, page) => {
      const { links, next } = await tracesOf(workspace, change, page);
      return { links: links.filter(({ isActive, by }) => !isActive && by === change.changeId), next };
    },
    markedAt: (workspace, key, changeId) =>
      read(() => {
        const found = key.startsWith(keyPrefix(workspace)) ? marks.get([keyBlob(key)]) : undefined;
        if (found === undefined) return null;
        return marksOf(found as MarkColumns).find(({ by }) => by === changeId)?.at ?? null;
      }),
  };
}

const ALL: TracePage = { limit: Infinity, after: null };

interface End {
  readonly key: IdentifierKey;
  readonly row: number;
}

const pairsOf = (ends: readonly End[]): readonly (readonly [End, End])[] =>
  ends.flatMap((x) => ends.filter((y) => x.row < y.row).map((y) => [x, y] as const));

function prepareLinkOfPair(database: Database) {
  const find = database.prepare(
    `SELECT ${STATE} FROM links l WHERE l.a = ?1 AND l.b = ?2 AND (l.change = ?3 OR l.by_change = ?3)`,
  );
  return (a: End, b: End, change: Buffer): readonly LinkState[] => {
    const row = find.get([a.row, b.row, change]) as StateRow | undefined;
    return row === undefined ? [] : [stateOf(a.key, b.key, row)];
  };
}

/** Links of one identifier that the change is behind, on both sides, in turns: it may have any number of others. */
function createIncident(database: Database, read: Read) {
  const sides = (["a", "b"] as const).map((own) => {
    const far = own === "a" ? "b" : "a";
    const statement = database.prepare(
      `SELECT l.far, i.key, ${STATE}
       FROM (SELECT ${far} AS far, forward, change, by_change, removed_at FROM links
             WHERE ${own} = ?1 AND ${far} > ?2 ORDER BY ${far} LIMIT ?4) l
       LEFT JOIN identifiers i ON i.id = l.far AND (l.change = ?3 OR l.by_change = ?3)
         AND (SELECT size FROM components WHERE id = i.component) > 0
       ORDER BY l.far`,
    );
    return { own, statement };
  });
  return async (end: End, change: Buffer, { limit, after }: TracePage): Promise<Traces> => {
    const links: LinkState[] = [];
    const [from = 0, first = 0] = after?.split(" ").map(Number) ?? [];
    for (const [n, { own, statement }] of sides.entries())
      for (let last = n === from ? first : 0, isDone = n < from; !isDone;) {
        if (links.length >= limit) return { links, next: `${n} ${last}` };
        const parameters = [end.row, last, change, ROWS_PER_TURN];
        const rows = (await read(() => statement.all(parameters))) as readonly IncidentRow[];
        for (const [, key, ...row] of rows) {
          if (key === null) continue;
          const far = keyOf(key);
          links.push(own === "a" ? stateOf(end.key, far, row) : stateOf(far, end.key, row));
        }
        last = rows.at(-1)?.[0] ?? last;
        isDone = rows.length < ROWS_PER_TURN;
        if (!isDone) await nextTurn();
      }
    return { links, next: null };
  };
}

const stateOf = (a: IdentifierKey, b: IdentifierKey, [forward, isActive, change, by]: StateRow): LinkState => ({
  pair: forward === 1 ? [a, b] : [b, a],
  changeId: changeIdOf(change),
  by: changeIdOf(by),
  isActive: isActive === 1,
});
