import type { Database, Statement } from "../../../core/database.js";
import type { DropReason } from "../../../core/event/event.js";
import { decodeMessage } from "../../../core/event/message.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { EventId, KeyId, SchemaId, Uid, WorkspaceId } from "../../../core/ids.js";
import {
  DOCUMENT_KINDS,
  type Copied,
  type Copying,
  type CopyPage,
  type DocumentRows,
  type TallyRow,
} from "../../../core/ports/copying.js";
import { PAGE_BYTES_MAX } from "../../copy-pages.js";
import { prepareCounts } from "../events/counts.js";
import { INSERT_LETTER, letterValues, type LetterRow } from "../events/dead-letters.js";
import { createNames, type Names } from "../events/names.js";
import { arrivalKey, TIME_BYTES, UUID_BYTES } from "../events/rows.js";
import { messagesOf } from "../messages.js";
import { createSession, nextTurn } from "../session.js";
import { createOwnKeys, readUuid, uuidBytes } from "../uuid.js";

type Dumps = { readonly [K in keyof DocumentRows]: (page: CopyPage) => Copied<DocumentRows[K]> };
type Loads = { readonly [K in keyof DocumentRows]: (row: DocumentRows[K]) => void };

/** Copies the tables of events, tallies, facets and dead letters. */
export function createEmbeddedCopying({
  database,
  tombOf,
}: {
  readonly database: Database;
  readonly tombOf: TombOf;
}): Copying<DocumentRows> {
  const dumps = prepareDumps(database);
  const loads = prepareLoads(database, createNames(database, createSession(database), tombOf));
  return {
    kinds: DOCUMENT_KINDS,
    dump: async (kind, page) => {
      await nextTurn();
      return database.read(() => dumps[kind](page));
    },
    load: (kind, rows) => database.write(() => rows.forEach(loads[kind])),
  };
}

function prepareDumps(database: Database): Dumps {
  const events = database.prepare(
    `SELECT e.seq, e.id, e.effective_ts, e.arrival, e.schema_id, e.key_id, coalesce(m.message, x''), e.crc, e.reason, e.gone,
       f.facet, f.profile_id, f.dropped, length(f.position) > 0
     FROM events e LEFT JOIN messages m USING (seq) LEFT JOIN folds f USING (seq) WHERE e.seq > ? ORDER BY e.seq LIMIT ?`,
  );
  const tallies = database.prepare(
    `SELECT facet, tally, position, amount FROM tallies WHERE (facet, tally, position) > (?, ?, ?)
     ORDER BY facet, tally, position LIMIT ?`,
  );
  const facets = database.prepare("SELECT seq, key, rev, facet FROM facets WHERE seq > ? ORDER BY seq LIMIT ?");
  const letters = database.prepare(
    `SELECT seq, id, ws, event_id, at, kills_event, reason, message, times, replayed, replayed_at FROM dead_letters
     WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  const bytesOf = (table: string, column: string, join = "") =>
    database.prepare(
      `SELECT coalesce(octet_length(${column}), 0) FROM ${table} ${join} WHERE ${table}.seq > ? ORDER BY ${table}.seq LIMIT ?`,
    );
  const sizes = {
    events: bytesOf("events", "messages.message", "LEFT JOIN messages USING (seq)"),
    facets: bytesOf("facets", "facet"),
    letters: bytesOf("dead_letters", "message"),
  };
  return {
    events: (page) =>
      copied(events, sizes.events, page, (row) => {
        const [
          ,
          id,
          effectiveTs,
          arrival,
          schemaId,
          keyId,
          message,
          crc,
          reason,
          gone,
          facet,
          profileId,
          dropped,
          done,
        ] = row as EventColumns;
        return {
          workspace: readUuid<WorkspaceId>(id.subarray(0, UUID_BYTES)),
          eventId: readUuid<EventId>(id.subarray(UUID_BYTES)),
          effectiveTs,
          receivedAt: arrival.readUIntBE(UUID_BYTES, TIME_BYTES),
          schemaId,
          keyId,
          message,
          crc,
          reason: reason?.toString() ?? null,
          gone,
          fold:
            facet === null || profileId === null
              ? null
              : {
                  facet: readUuid<Uid>(facet.subarray(UUID_BYTES)),
                  profileId: readUuid(profileId),
                  dropped,
                  isDone: done === 1,
                },
        };
      }),
    tallies: ({ after, limit }) => {
      const place = after === null ? [EMPTY, EMPTY, EMPTY] : placeOf(Buffer.from(after, "hex"));
      const found = tallies.all([...place, limit]) as unknown as readonly TallyColumns[];
      const last = found.at(-1);
      return {
        rows: found.map(toTallyRow),
        next:
          last === undefined || found.length < limit
            ? null
            : Buffer.concat(last.slice(0, 3) as Buffer[]).toString("hex"),
      };
    },
    facets: (page) =>
      copied(facets, sizes.facets, page, (row) => {
        const [, key, rev, body] = row as readonly [number, Buffer, number, string];
        const [workspace, uid] = [key.subarray(0, UUID_BYTES), key.subarray(UUID_BYTES)];
        return { workspace: readUuid(workspace), uid: readUuid(uid), rev, body };
      }),
    deadLetters: (page) =>
      copied(letters, sizes.letters, page, (row) => {
        const [, deadLetterId, workspace, eventId, at, kills, reason, message, times, replayed, replayedAt] =
          row as LetterColumns;
        const standing = { times, replayed, replayedAt };
        const rest = { reason: reason.toString(), at, message, killsEvent: kills === 1, ...standing };
        return { letter: { deadLetterId, workspace, eventId, ...rest } };
      }),
  };
}

function prepareLoads(database: Database, { ofEvent, ofLetter }: Names): Loads {
  const messages = messagesOf(database);
  const addEvent = database.prepare(
    `INSERT INTO events (seq, id, effective_ts, arrival, schema_id, key_id, crc, reason, gone) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  const addFold = database.prepare(
    `INSERT INTO folds (seq, facet, position, profile_id, dropped)
     SELECT seq, ?, CASE ? WHEN 1 THEN CAST(effective_ts || substr(id, 17) AS BLOB) ELSE X'' END, ?, ? FROM events WHERE id = ? ON CONFLICT (seq) DO NOTHING`,
  );
  const count = prepareCounts(database);
  const addFacet = database.prepare(
    "INSERT INTO facets (key, rev, facet) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
  );
  const addLetter = database.prepare(`${INSERT_LETTER} ON CONFLICT (id) DO NOTHING`);
  return {
    events: (row) => {
      const keyOf = createOwnKeys(row.workspace);
      const key = keyOf(row.eventId);
      const reason = row.reason === null ? null : Buffer.from(row.reason);
      const seq = messages.next();
      const names = [row.schemaId, row.keyId, row.crc, reason, row.gone];
      const { changes } = addEvent.run([seq, key, row.effectiveTs, arrivalKey(key, row), ...names]);
      if (changes > 0) messages.insert([[seq, row.message]]);
      const decoded = decodeMessage(row.message);
      if (decoded.kind === "event") ofEvent(decoded.event)();
      if (row.fold === null) return;
      const { facet, profileId, dropped, isDone } = row.fold;
      addFold.run([keyOf(facet), Number(isDone), uuidBytes(profileId), dropped, key]);
    },
    tallies: ({ workspace, eventId, uid, tallyId, amount }) => {
      const keyOf = createOwnKeys(workspace);
      count([{ key: keyOf(eventId), facet: keyOf(uid), tallyId, amount }]);
    },
    facets: ({ workspace, uid, rev, body }) => void addFacet.run([createOwnKeys(workspace)(uid), rev, body]),
    deadLetters: ({ letter }) => {
      addLetter.run(letterValues(letter));
      ofLetter(letter)();
    },
  };
}

type TallyColumns = readonly [facet: Buffer, tally: Buffer, position: Buffer, amount: number | null];

const EMPTY = Buffer.alloc(0);

/** Facet, tally and position, of which only the last is of another length. */
const placeOf = (key: Buffer): readonly Buffer[] => [
  key.subarray(0, 2 * UUID_BYTES),
  key.subarray(2 * UUID_BYTES, 3 * UUID_BYTES),
  key.subarray(3 * UUID_BYTES),
];

const toTallyRow = ([facet, tally, position, amount]: TallyColumns): TallyRow => ({
  workspace: readUuid(facet.subarray(0, UUID_BYTES)),
  eventId: readUuid(position.subarray(-UUID_BYTES)),
  effectiveTs: position.toString("latin1", 0, position.length - UUID_BYTES),
  uid: readUuid(facet.subarray(UUID_BYTES)),
  tallyId: readUuid(tally),
  amount,
});

type EventColumns = readonly [
  seq: number,
  id: Buffer,
  effectiveTs: string,
  arrival: Buffer,
  schemaId: SchemaId,
  keyId: KeyId,
  message: Buffer,
  crc: number,
  reason: Buffer | null,
  gone: DropReason | null,
  facet: Buffer | null,
  profileId: Buffer | null,
  dropped: string | null,
  isDone: number | null,
];
type LetterColumns = readonly [seq: number, ...LetterRow];

/** `sizes`: of the same rows, which reads none of their texts. */
export function copied<Row>(
  rows: Statement,
  sizes: Statement,
  { after, limit: most }: CopyPage,
  read: (row: readonly unknown[]) => Row,
): Copied<Row> {
  let bytes = 0;
  const place = Number(after ?? 0);
  const last = sizes.all([place, most]).findIndex(([size]) => (bytes += size as number) >= PAGE_BYTES_MAX);
  const limit = last < 0 ? most : last + 1;
  const found = rows.all([place, limit]);
  return { rows: found.map(read), next: found.length < limit ? null : String(found.at(-1)![0]) };
}
