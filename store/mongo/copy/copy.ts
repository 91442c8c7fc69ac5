import type { Collection, Filter } from "mongodb";
import { decodeMessage } from "../../../core/event/message.js";
import type { TombOf } from "../../../core/identity/tombstone.js";
import type { EventId, Uid } from "../../../core/ids.js";
import {
  DOCUMENT_KINDS,
  type Copied,
  type Copying,
  type CopyPage,
  type DocumentRows,
  type EventRow,
} from "../../../core/ports/copying.js";
import { arrivalText, readArrival } from "../../arrivals.js";
import { PAGE_BYTES_MAX } from "../../copy-pages.js";
import { batchesOf } from "../events/batches.js";
import { toDocument as toLetterDocument, toLetter, type DeadLetterDocument } from "../events/dead-letters.js";
import { positionOf, schemaKey, type EventDocument } from "../events/documents.js";
import { createNamesOf, type NamesOf } from "../events/names.js";
import { duplicatesOf } from "../failure.js";
import type { Mongo } from "../open.js";
import { idIn, ownId, workspaceIn } from "../own-id.js";
import { createSession, type Session } from "../session.js";
import { dumpTallies, loadTallies } from "./tallies.js";

interface FacetDocument {
  readonly _id: string;
  readonly rev: number;
  readonly body: string;
}
interface Documents {
  readonly events: EventDocument;
  readonly facets: FacetDocument;
  readonly deadLetters: DeadLetterDocument;
}
type Kind = keyof Documents;

interface Codec<K extends Kind> {
  readonly filter: Filter<Documents[K]>;
  readonly toRow: (document: Documents[K]) => DocumentRows[K];
  readonly toDocument: (row: DocumentRows[K]) => Documents[K];
  readonly bytesOf: (row: DocumentRows[K]) => number;
}

/** One answer of the server fits in its memory and ours. */
const DOCUMENTS_PER_FIND = 200;

/** Copies the collections of events, with what they count for, of facets and of dead letters. */
export function createMongoCopying({
  mongo,
  tombOf,
}: {
  readonly mongo: Mongo;
  readonly tombOf: TombOf;
}): Copying<DocumentRows> {
  const session = createSession(mongo);
  const codecs = codecsOf(createNamesOf(tombOf));
  const collectionOf = <K extends Kind>(kind: K): Collection<Documents[K]> => mongo.db.collection<Documents[K]>(kind);
  const dumpOf =
    <K extends Kind>(kind: K) =>
    (page: CopyPage) =>
      dump(session, collectionOf(kind), codecs[kind], page);
  const loadOf =
    <K extends Kind>(kind: K) =>
    (rows: readonly DocumentRows[K][]) =>
      load(session, collectionOf(kind), codecs[kind], rows);
  const dumps: Dumps = {
    events: dumpOf("events"),
    tallies: (page) => dumpTallies(session, collectionOf("events"), page),
    facets: dumpOf("facets"),
    deadLetters: dumpOf("deadLetters"),
  };
  const loads: Loads = {
    events: loadOf("events"),
    tallies: (rows) => loadTallies(session, collectionOf("events"), rows),
    facets: loadOf("facets"),
    deadLetters: loadOf("deadLetters"),
  };
  return {
    kinds: DOCUMENT_KINDS,
    dump: (kind, page) => dumps[kind](page),
    load: (kind, rows) => loads[kind](rows),
  };
}

type Dumps = { readonly [K in keyof DocumentRows]: (page: CopyPage) => Promise<Copied<DocumentRows[K]>> };
type Loads = { readonly [K in keyof DocumentRows]: (rows: readonly DocumentRows[K][]) => Promise<void> };

async function dump<K extends Kind>(
  session: Session,
  collection: Collection<Documents[K]>,
  { filter, toRow, bytesOf }: Codec<K>,
  { after, limit }: CopyPage,
): Promise<Copied<DocumentRows[K]>> {
  const most = Math.min(limit, DOCUMENTS_PER_FIND);
  const all = collection as unknown as Collection<Documents[Kind]>;
  const place = { ...filter, _id: { $gt: after ?? "" } } as Filter<Documents[Kind]>;
  return session.call(async () => {
    const rows: DocumentRows[K][] = [];
    let bytes = 0;
    let last: string | null = null;
    // Of the documents that go beyond the page, one answer of the server is held.
    for await (const document of all.find(place, { sort: { _id: 1 }, limit: most })) {
      const row = toRow(document as Documents[K]);
      rows.push(row);
      bytes += bytesOf(row);
      ({ _id: last } = document);
      if (rows.length === most || bytes >= PAGE_BYTES_MAX) return { rows, next: last };
    }
    return { rows, next: null };
  });
}

async function load<K extends Kind>(
  session: Session,
  collection: Collection<Documents[K]>,
  { toDocument, bytesOf }: Codec<K>,
  rows: readonly DocumentRows[K][],
): Promise<void> {
  const all = collection as unknown as Collection<Documents[Kind]>;
  for (const batch of batchesOf(rows, bytesOf))
    try {
      await session.call(() => all.insertMany(batch.map(toDocument), { ordered: false }));
    } catch (error) {
      // What stands already stays.
      if (duplicatesOf(error) === null) throw error;
    }
}

const codecsOf = (names: NamesOf): { readonly [K in Kind]: Codec<K> } => ({
  events: {
    filter: {},
    bytesOf: ({ message }) => message.length,
    toRow: toEventRow,
    toDocument: (row) => toEventDocument(row, names),
  },
  facets: {
    // Without the guard.
    filter: { isGuard: null },
    bytesOf: ({ body }) => body.length,
    toRow: ({ _id, rev, body }) => ({ workspace: workspaceIn(_id), uid: idIn<Uid>(_id), rev, body }),
    toDocument: ({ workspace, uid, rev, body }) => ({ _id: ownId(workspace, uid), rev, body }),
  },
  deadLetters: {
    filter: {},
    bytesOf: ({ letter }) => letter.message.length,
    toRow: (document) => ({ letter: toLetter(document) }),
    toDocument: ({ letter }) => ({ ...toLetterDocument(letter), ...names.ofLetter(letter) }),
  },
});

function toEventRow(document: EventDocument): EventRow {
  const { _id, position, arrival, schemaId, keyId, message, crc, reason, gone, facet, profileId } = document;
  const { dropped = null, folded = false } = document;
  return {
    workspace: workspaceIn(_id),
    eventId: idIn<EventId>(_id),
    // A dropped one has no position.
    effectiveTs: position.slice(0, -idIn(_id).length),
    receivedAt: readArrival(idIn(arrival)).receivedAt,
    schemaId,
    keyId,
    message,
    crc,
    reason: reason ?? null,
    gone: gone ?? null,
    fold: facet && profileId ? { facet: idIn<Uid>(facet), profileId, dropped, isDone: folded } : null,
  };
}

function toEventDocument(row: EventRow, names: NamesOf): EventDocument {
  const { workspace, eventId, schemaId, keyId, message, crc, reason, gone, fold } = row;
  const decoded = decodeMessage(message);
  return {
    _id: ownId(workspace, eventId),
    position: gone === null ? positionOf(row) : "",
    arrival: ownId(workspace, arrivalText(row)),
    schemaId,
    keyId,
    crc,
    message,
    ...(gone === null ? { ofSchema: schemaKey(workspace, schemaId) + arrivalText(row) } : { gone }),
    ...(decoded.kind === "event" && names.ofEvent(decoded.event)),
    ...(reason !== null && { reason }),
    ...(fold !== null && { facet: ownId(workspace, fold.facet), profileId: fold.profileId, dropped: fold.dropped }),
    ...(fold?.isDone === true && { folded: true as const }),
  };
}
