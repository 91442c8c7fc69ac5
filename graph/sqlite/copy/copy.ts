import type { Database, Statement } from "../../../core/database.js";
import { identifierKey } from "../../../core/event/event.js";
import { AppError } from "../../../core/errors.js";
import type { Uid } from "../../../core/ids.js";
import { GRAPH_KINDS, type GraphRows, type GraphCopying } from "../../../core/ports/copying.js";
import { EMPTY_PLAN } from "../../rules/working-state.js";
import { prepareChangeWriter, prepareFindChange } from "../changes.js";
import { changeBytes, countsText, forbiddenText, keyBlob, markColumns, seenWithBlob } from "../encoding.js";
import { nextTurn } from "../pages.js";
import { prepareErasureLoads } from "./erasures.js";
import { prepareMovementLoads } from "./movements.js";
import { prepareDumps } from "./rows.js";

type Loads = { readonly [K in keyof GraphRows]: (row: GraphRows[K]) => void };

/** Copies the graph's tables. They exist already. */
export function createSqliteGraphCopying({ database }: { readonly database: Database }): GraphCopying {
  const dumps = prepareDumps(database);
  const loads = prepareLoads(database);
  const mend = prepareMend(database);
  return {
    kinds: GRAPH_KINDS,
    dump: async (kind, page) => {
      await nextTurn();
      return database.read(() => dumps[kind](page));
    },
    mend: (row) => database.write(() => mend(row)),
    load: (kind, rows) => database.write(() => rows.forEach(loads[kind])),
  };
}

function prepareMend(database: Database) {
  const update = database.prepare(
    `UPDATE components SET size = ?, counts = ?, forbidden = ?, rev = rev + 1
     WHERE ws = ? AND profile_id = ? AND rev = ? AND size > 0`,
  );
  return ({ workspace, profileId, size, rev, ...row }: GraphRows["profiles"]): boolean => {
    const summary = { counts: new Map(row.counts), forbidden: row.forbidden };
    return update.run([size, countsText(summary), forbiddenText(summary), workspace, profileId, rev]).changes === 1;
  };
}

function prepareLoads(database: Database): Loads {
  const rowOf = prepareRowOf(database);
  const findChange = prepareFindChange(database);
  const writeChanges = prepareChangeWriter(database);
  const componentOf = database.prepare("SELECT id FROM components WHERE ws = ? AND profile_id = ?");
  const addProfile = database.prepare(
    "INSERT INTO components (ws, profile_id, size, rev, counts, forbidden) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const addIdentifier = database.prepare(
    `INSERT INTO identifiers (key, uid, component, unlinked_at, unlinked_by, unlinked_before, shared, seen_with, returned)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const addLink = database.prepare(
    `INSERT INTO links (a, b, forward, change, by_change, removed_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const addPair = database.prepare(
    `INSERT INTO forbidden_pairs (ws, forbidden_pair_id, a, b, change, key_id, at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const addSubject = database.prepare("INSERT OR IGNORE INTO change_subjects (identifier, change) VALUES (?, ?)");

  return {
    changes: ({ workspace, change }) => {
      if (findChange(workspace, change.changeId) === null)
        writeChanges(workspace, { ...EMPTY_PLAN, changes: [change] });
    },
    profiles: (row) => {
      const { workspace, profileId, size, rev } = row;
      if (componentOf.get([workspace, profileId]) !== undefined) return;
      const counts = countsText({ counts: new Map(row.counts), forbidden: [] });
      const forbidden = forbiddenText({ counts: new Map(), forbidden: row.forbidden });
      addProfile.run([workspace, profileId, size, rev, counts, forbidden]);
    },
    identifiers: ({ workspace, uid, identifier, profileId, unlinkMarks, isShared, isReturned, seenWith }) => {
      const component = named(componentOf.get([workspace, profileId]), "profile");
      const key = keyBlob(identifierKey(workspace, identifier));
      const marks = [
        ...markColumns(unlinkMarks),
        isShared ? workspace : null,
        seenWith.length === 0 ? null : seenWithBlob(seenWith as Parameters<typeof seenWithBlob>[0]),
        isReturned ? 1 : null,
      ];
      addIdentifier.run([key, uid, component, ...marks]);
    },
    links: ({ from, to, changeId, by, removedAt }) => {
      const [x, y] = [rowOf(from), rowOf(to)];
      const [a, b] = x < y ? [x, y] : [y, x];
      addLink.run([a, b, x < y ? 1 : 0, changeBytes(changeId), by && changeBytes(by), removedAt]);
    },
    forbiddenPairs: ({ workspace, pair: { forbiddenPairId, from, to, changeId, keyId, at } }) => {
      const ends = [from, to].map((one) => rowOf.byKey(keyBlob(identifierKey(workspace, one))));
      addPair.run([workspace, forbiddenPairId, ...ends, changeBytes(changeId), keyId, at]);
    },
    subjects: ({ changeId, uid }) => void addSubject.run([rowOf(uid), changeBytes(changeId)]),
    ...prepareErasureLoads(database),
    ...prepareMovementLoads(database),
  };
}

function prepareRowOf(database: Database) {
  const ofUid = database.prepare("SELECT id FROM identifiers WHERE uid = ?");
  const ofKey = database.prepare("SELECT id FROM identifiers WHERE key = ?");
  const byUid = (uid: Uid): number => named(ofUid.get([uid]), "identifier");
  return Object.assign(byUid, { byKey: (key: Buffer): number => named(ofKey.get([key]), "identifier") });
}

/** The rows before it in the order of the kinds were not loaded, or are others. */
function named(row: ReturnType<Statement["get"]>, what: string): number {
  if (row === undefined) throw new AppError("conflict", `A row names a ${what} that was not loaded.`);
  return row[0] as number;
}
