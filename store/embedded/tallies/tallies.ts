import type { Database } from "../../../core/database.js";
import type { Instant } from "../../../core/event/event.js";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import type { TallyMark } from "../../../core/ports/event-store.js";
import type { AnonymousRow, TallyAsk, TallyPage, TallyRow, TallyStore } from "../../../core/ports/tally-store.js";
import { prepareCounts } from "../events/counts.js";
import { prepareJson } from "../rows.js";
import { createSession, nextTurn } from "../session.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";

type Row = readonly [position: Buffer, amount: number | null];

export const INSTANT_BYTES = "1970-01-01T00:00:00.000000000Z".length;
const FACETS_PER_TURN = 200;
/** At most, of what is asked in one statement or a few; and what a turn has read before it ends. */
const ROWS_PER_READ = 1_600;
const ROWS_PER_TURN = 1_000;
const ENTRIES_PER_TURN = 500;
/** Above every position: those begin with a year. */
const NEWEST = Buffer.from(":");
const OLDEST = Buffer.alloc(0);
const UUID_BYTES = 16;
const LAST_ID = Buffer.alloc(UUID_BYTES, 0xff);

/** Rows under facet, tally and position. Those of a tally stand apart, one place for each facet: it is forgotten facet by facet. */
export function createEmbeddedTallyStore({ database }: { readonly database: Database }): TallyStore {
  const session = createSession(database);
  const countAll = prepareCounts(database);
  const newest = database.prepare(
    "SELECT position, amount FROM tallies WHERE facet = ? AND tally = ? AND position < ? AND position > ? ORDER BY position DESC LIMIT ?",
  );
  const find = database.prepare("SELECT amount FROM tallies WHERE facet = ? AND tally = ? AND position = ?");
  const newestOfEach = prepareNewestOfEach(database);
  const uncount = database.prepare("DELETE FROM tallies WHERE facet = ? AND tally = ? AND substr(position, ?) = ?");
  const nextFacet = database.prepare("SELECT facet FROM tallies WHERE facet > ? ORDER BY facet LIMIT 1");
  const forget = database.prepare("DELETE FROM tallies WHERE facet = ? AND tally = ?");

  return {
    count: (workspace, tallied) => {
      const keyOf = createOwnKeys(workspace);
      const counts = tallied.flatMap(({ eventId, uid, tallies }) => {
        const [key, facet] = [keyOf(eventId), keyOf(uid)];
        return tallies.map((mark) => ({ key, facet, ...mark }));
      });
      return session.write(() => countAll(counts));
    },
    newest: async (workspace, tallyId, uids, page) => {
      session.requireOpen();
      const [tally, keys] = [uuidBytes(tallyId), [...new Set(uids)].map(createOwnKeys(workspace))];
      const upper = page.before === null ? NEWEST : positionOf(page.before.effectiveTs, uuidBytes(page.before.eventId));
      const since = page.since === null ? OLDEST : positionOf(page.since, LAST_ID);
      let best: readonly Row[] = [];
      for (let next = 0; next < keys.length; next += FACETS_PER_TURN) {
        if (next > 0) await nextTurn();
        best = await session.read(() =>
          keys.slice(next, next + FACETS_PER_TURN).reduce((some, key) => {
            const lower = some.length === page.limit ? some.at(-1)![0] : since;
            return merge(some, newest.all([key, tally, upper, lower, page.limit]) as unknown as readonly Row[], page);
          }, best),
        );
      }
      return best.map((row) => toRow(row, page));
    },
    find: async (workspace, entries) => {
      session.requireOpen();
      const keyOf = createOwnKeys(workspace);
      const found: (Pick<TallyMark, "amount"> | null)[] = [];
      for (let next = 0; next < entries.length; next += ENTRIES_PER_TURN) {
        if (next > 0) await nextTurn();
        await session.read(() => {
          for (const { uid, tallyId, effectiveTs, eventId } of entries.slice(next, next + ENTRIES_PER_TURN)) {
            const row = find.get([keyOf(uid), uuidBytes(tallyId), positionOf(effectiveTs, uuidBytes(eventId))]);
            found.push(row === undefined ? null : { amount: row[0] as number | null });
          }
        });
      }
      return found;
    },
    newestOfEach: async (workspace, asks) => {
      session.requireOpen();
      const found = asks.map(({ limit }) => createBest(limit));
      let [facets, rows] = [0, 0];
      for (const { probes, limit, hasAmounts } of groupsOf(workspace, asks)) {
        const perRead = Math.min(FACETS_PER_TURN, Math.max(1, Math.floor(ROWS_PER_READ / limit)));
        for (let next = 0; next < probes.length; next += perRead) {
          const some = probes.slice(next, next + perRead);
          if (facets + some.length > FACETS_PER_TURN || rows >= ROWS_PER_TURN) {
            await nextTurn();
            [facets, rows] = [0, 0];
          }
          for (const [n, its] of await session.read(() => newestOfEach(some, limit, hasAmounts))) {
            rows += its.length;
            found[n]!.add(its);
          }
          facets += some.length;
          for (const [i, [, , , n]] of some.entries()) if (probes[next + i + 1]?.[3] !== n) found[n]!.end();
        }
      }
      return found.map(({ rows }) => rows());
    },
    uncount: (workspace, tallied) =>
      session.write(() => {
        const keyOf = createOwnKeys(workspace);
        for (const { eventId, uid, tallies } of tallied)
          for (const { tallyId } of tallies)
            uncount.run([keyOf(uid), uuidBytes(tallyId), INSTANT_BYTES + 1, uuidBytes(eventId)]);
      }),
    forget: (workspace, tallyId, { limit, after }) =>
      session.write(() => {
        const [ws, tally] = [uuidBytes(workspace), uuidBytes(tallyId)];
        let facet = after === null ? ws : Buffer.from(after, "hex");
        for (let n = 0; n < limit; n += 1) {
          const next = nextFacet.get([facet])?.[0] as Buffer | undefined;
          if (next === undefined || !next.subarray(0, UUID_BYTES).equals(ws)) return null;
          facet = next;
          forget.run([facet, tally]);
        }
        return facet.toString("hex");
      }),
    ready: session.ready,
    close: session.close,
  };
}

/** Facet, tally, above which position, and of which ask. */
type Probe = readonly [Buffer, Buffer, Buffer, n: number];
type AskedRow = readonly [at: Instant, amount: number | null];
type FoundRows = readonly [n: number, rows: readonly AskedRow[]];

interface Group extends Pick<TallyAsk, "limit" | "hasAmounts"> {
  readonly probes: Probe[];
}

/** A probe for each facet, by what one statement may ask of many. Those of an ask follow each other. */
function groupsOf(workspace: WorkspaceId, asks: readonly TallyAsk[]): readonly Group[] {
  // The same few come in very many asks.
  const keyOf = once(createOwnKeys(workspace));
  const tallyOf = once(uuidBytes);
  const lowerOf = once((since: Instant) => positionOf(since, LAST_ID));
  const groups = new Map<string, Group>();
  for (const [n, { tallyId, uids, limit, since, hasAmounts }] of asks.entries()) {
    const [tally, lower] = [tallyOf(tallyId), since === null ? OLDEST : lowerOf(since)];
    const group = groups.get(`${limit},${hasAmounts}`) ?? { limit, hasAmounts, probes: [] };
    groups.set(`${limit},${hasAmounts}`, group);
    for (const uid of new Set(uids)) group.probes.push([keyOf(uid), tally, lower, n]);
  }
  return [...groups.values()];
}

/** The newest rows of an ask. Never many more than are asked for, and put in order while its probes come. */
function createBest(limit: number) {
  let best: AnonymousRow[] = [];
  const end = (): void => {
    if (best.length > 1) best = best.toSorted(newestFirst).slice(0, limit);
  };
  return {
    add: (rows: readonly AskedRow[]): void => {
      for (const [effectiveTs, amount] of rows) best.push({ effectiveTs, amount });
      if (best.length >= 2 * limit) end();
    },
    end,
    rows: (): readonly AnonymousRow[] => best,
  };
}

/** Of each probe that finds any, the ask and the rows. */
function prepareNewestOfEach(database: Database) {
  const over = (amount: string) =>
    prepareJson(
      database,
      4,
      (values) =>
        `SELECT group_concat('[' || asked.column4 || ',[' || (
           SELECT group_concat('["' || at || '",' || amount || ']') FROM (
             SELECT CAST(substr(position, 1, ${INSTANT_BYTES}) AS TEXT) AS at, ${amount} AS amount FROM tallies
             WHERE facet = asked.column1 AND tally = asked.column2 AND position > asked.column3
             ORDER BY position DESC LIMIT ?
           )) || ']]') FROM (VALUES ${values}) AS asked`,
    );
  // 17 digits are a double's: the number that is read is the one that was stored.
  const [bare, withAmounts] = [over("'null'"), over("iif(amount IS NULL, 'null', printf('%!.17g', amount))")];
  return (probes: readonly Probe[], limit: number, hasAmounts: boolean): readonly FoundRows[] =>
    (hasAmounts ? withAmounts : bare)(probes, [limit]) as readonly FoundRows[];
}

function once(make: (text: string) => Buffer): (text: string) => Buffer {
  const made = new Map<string, Buffer>();
  return (text) => {
    const known = made.get(text) ?? make(text);
    made.set(text, known);
    return known;
  };
}

const newestFirst = (a: AnonymousRow, b: AnonymousRow): number =>
  a.effectiveTs < b.effectiveTs ? 1 : a.effectiveTs > b.effectiveTs ? -1 : 0;

const positionOf = (instant: Instant, id: Buffer): Buffer => Buffer.concat([Buffer.from(instant), id]);

function merge(best: readonly Row[], more: readonly Row[], { limit }: TallyPage): readonly Row[] {
  if (more.length === 0) return best;
  if (best.length === 0) return more;
  return [...best, ...more].toSorted(([a], [b]) => b.compare(a)).slice(0, limit);
}

const toRow = ([position, amount]: Row, { hasAmounts }: TallyPage): TallyRow => ({
  effectiveTs: position.toString("latin1", 0, INSTANT_BYTES),
  eventId: readUuid<EventId>(position.subarray(INSTANT_BYTES)),
  amount: hasAmounts ? amount : null,
});
