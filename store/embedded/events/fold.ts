import type { Database, SqlValue } from "../../../core/database.js";
import type { EventId, Uid } from "../../../core/ids.js";
import { facetFromJson, facetToJson } from "../../../core/profile/facet-json.js";
import { foldEvents, NOTHING_FOLDED } from "../../../core/profile/fold-events.js";
import type { EventStore, Fold } from "../../../core/ports/event-store.js";
import { droppedToJson } from "../../stored-event.js";
import { prepareRows, prepareSum } from "../rows.js";
import { nextTurn, type Session } from "../session.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";
import { prepareCounts, type Count } from "./counts.js";

/** effective_ts and event id in one: comparing it compares them in turn, because the first has a fixed length. */
const POSITION = "CAST(events.effective_ts || substr(events.id, 17) AS BLOB)";

/** Of the text of facets, any of which may hold megabytes: more would hold up everybody. */
const BYTES_PER_TURN = 1_048_576;

/** Facet and mark are written in one transaction, so what is marked is in its facet, and nothing else is. */
export function createFold(database: Database, session: Session): Pick<EventStore, "fold"> {
  const markAll = prepareRows(
    database,
    4,
    (values) =>
      `INSERT INTO folds (seq, facet, position, profile_id, dropped)
       SELECT events.seq, mark.column2, ${POSITION}, mark.column3, mark.column4
       FROM (VALUES ${values}) AS mark CROSS JOIN events ON events.id = mark.column1
       WHERE true ON CONFLICT (seq) DO UPDATE SET position = excluded.position`,
  );
  const countNew = prepareSum(
    database,
    1,
    (values) =>
      `SELECT count(*) FROM (VALUES ${values}) AS asked CROSS JOIN events ON events.id = asked.column1
       LEFT JOIN folds USING (seq) WHERE gone IS NULL AND folds.seq IS NULL`,
  );
  // One that came from servers may have its facet, and no mark yet.
  const standing = database.prepare(
    `SELECT substr(folds.facet, 17), folds.seq IS NULL OR position = X'' FROM events LEFT JOIN folds USING (seq)
     WHERE events.id = ? AND gone IS NULL`,
  );
  /** The event with the facet that it is in, or goes into; null if it is dropped, or not stored. */
  const placed = (key: Buffer, one: Fold): Placed | null => {
    const row = standing.get([key]);
    if (row === undefined) return null;
    const own = row[0] === null ? one : { ...one, facet: readUuid<Uid>(row[0] as Buffer) };
    return { key, one: own, isWaiting: row[1] === 1 };
  };
  const countAll = prepareCounts(database);
  const find = database.prepare("SELECT seq, facet FROM facets WHERE key = ?");
  const create = database.prepare("INSERT INTO facets (key, rev, facet) VALUES (?, 1, ?)");
  const update = database.prepare("UPDATE facets SET facet = ?, rev = rev + 1 WHERE seq = ?");

  /** Answers the length of the text. */
  const addTo = (key: Buffer, folds: readonly Fold[]): number => {
    const row = find.get([key]);
    const before = row === undefined ? NOTHING_FOLDED : facetFromJson(row[1] as string);
    const gains = new Map(folds.map(({ eventId, gain }) => [eventId, gain]));
    const { facet, pending } = foldEvents(before, gains, () => false);
    // None of its own is left to be marked: their marks come with this.
    const text = facetToJson({ facet, pending: pending.filter((eventId) => !gains.has(eventId)) });
    if (row === undefined) create.run([key, text]);
    else update.run([text, row[0] as number]);
    return text.length;
  };

  /** In one transaction; the first facets alone where all are too large for one. */
  const foldFirst = (keyOf: (id: string) => Buffer, all: readonly Keyed[]): Part => {
    // All at once: that one of them is folded, dropped or not stored is rare.
    const areNew = countNew(all.map(({ key }) => [key])) === all.length;
    const known = areNew ? null : all.flatMap(({ key, one }) => placed(key, one) ?? []);
    const own = known?.filter(({ isWaiting }) => isWaiting) ?? all;
    const left = new Set<EventId>();
    let bytes = 0;
    for (const [uid, some] of byFacet(own)) {
      if (bytes < BYTES_PER_TURN) bytes += addTo(keyOf(uid), some);
      else for (const { eventId } of some) left.add(eventId);
    }
    markAll(without(left, own).map(({ one }) => markOf(keyOf, one)));
    const counts = countsOf(without(left, all));
    if (counts.length > 0) countAll(counts);
    return { known: without(left, known ?? all), left };
  };

  return {
    fold: async (workspace, folds) => {
      const keyOf = createOwnKeys(workspace);
      const first = new Map<EventId, Fold>();
      for (const one of folds) if (!first.has(one.eventId)) first.set(one.eventId, one);
      const all = [...first.values()].map((one) => ({ key: keyOf(one.eventId), one }));
      const facets = new Map<EventId, Uid>();
      const fold = async (some: readonly Keyed[]): Promise<readonly Keyed[]> => {
        const { known, left } = await session.write(() => foldFirst(keyOf, some));
        for (const { one } of known) facets.set(one.eventId, one.facet);
        return left.size === 0 ? [] : some.filter(({ one }) => left.has(one.eventId));
      };
      for (let left = await fold(all); left.length > 0; left = await fold(left)) await nextTurn();
      return folds.map(({ eventId }) => facets.get(eventId) ?? null);
    },
  };
}

/** A fold with the key of its event. */
interface Keyed {
  readonly key: Buffer;
  readonly one: Fold;
}

interface Placed extends Keyed {
  /** It is still to be added. */
  readonly isWaiting: boolean;
}

/** What came of one transaction. */
interface Part {
  /** Those that are stored, each with the facet that it is in. */
  readonly known: readonly Keyed[];
  /** Those that the next one begins with. */
  readonly left: ReadonlySet<EventId>;
}

const without = (left: ReadonlySet<EventId>, all: readonly Keyed[]): readonly Keyed[] =>
  left.size === 0 ? all : all.filter(({ one }) => !left.has(one.eventId));

const countsOf = (all: readonly Keyed[]): readonly Count[] =>
  all.flatMap(({ key, one: { tallies = [] } }) => tallies.map((mark): Count => ({ key, facet: null, ...mark })));

const markOf = (keyOf: (id: string) => Buffer, one: Fold): readonly SqlValue[] => [
  keyOf(one.eventId),
  keyOf(one.facet),
  uuidBytes(one.profileIdThen),
  droppedToJson(one.dropped),
];

/** With the events of each. */
function byFacet(all: readonly Keyed[]): ReadonlyMap<Uid, readonly Fold[]> {
  const groups = new Map<Uid, Fold[]>();
  for (const { one } of all) {
    const group = groups.get(one.facet);
    if (group === undefined) groups.set(one.facet, [one]);
    else group.push(one);
  }
  return groups;
}
