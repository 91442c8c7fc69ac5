import type { Database } from "../../core/database.js";
import type { ChangeId, KeyId, WorkspaceId } from "../../core/ids.js";
import { OUTCOMES, type Change, type Plan, type Source } from "../../core/identity/model.js";
import { isNamed } from "../../core/identity/names.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { prepareInsert } from "./insert.js";
import { bytesBefore, changeBytes, changeIdOf } from "./encoding.js";
import { eachInTurns, inTurns, type Read } from "./pages.js";

/** Without a value: it was erased. */
type Named = readonly [namespace: string, value?: string];

/** The part of a record that has no column of its own: short, because each step writes one, and without fields that are mostly empty. */
interface ChangeRecord {
  readonly identifiers: readonly Named[];
  readonly before?: Change["before"];
  readonly after: Change["after"];
  readonly dropped?: Change["dropped"];
  readonly rule?: NonNullable<Change["rule"]>;
  readonly reverts?: ChangeId;
  readonly forbids?: true;
  /** Only if it differs from the evidence's time. */
  readonly at?: number;
}

const recordOf = ({
  at,
  evidence,
  identifiers,
  before,
  after,
  dropped,
  rule,
  reverts,
  isForbidding,
}: Change): Buffer => {
  const record: ChangeRecord = {
    identifiers: identifiers.map((one): Named => (isNamed(one) ? [one.namespace, one.value] : [one.namespace])),
    ...(before.length > 0 && { before }),
    after,
    ...(dropped.length > 0 && { dropped }),
    ...(rule !== null && { rule }),
    ...(reverts !== null && { reverts }),
    ...(isForbidding && { forbids: true }),
    ...(at !== evidence.at && { at }),
  };
  return Buffer.from(JSON.stringify(record));
};

/** Writes the records, and answers the keys of their rows, by id; and of those that stand already and are behind what it writes. */
export function prepareChangeWriter(database: Database) {
  const insert = prepareInsert(database, "INTO changes (id, ws, outcome, source, key_id, at, record)", 7);
  const exists = database.prepare("SELECT 1 FROM changes WHERE id = ? AND ws = ?");
  return (workspace: WorkspaceId, plan: Plan): ReadonlyMap<ChangeId, Buffer> => {
    const { changes, links, removes, restores, unlinked, forbids } = plan;
    const keys = new Map(changes.map(({ changeId }) => [changeId, changeBytes(changeId)]));
    insert(
      changes.map((change) => {
        const { outcome, evidence } = change;
        const key = keys.get(change.changeId)!;
        return [key, workspace, outcome, evidence.source, evidence.keyId, evidence.at, recordOf(change)];
      }),
    );
    for (const all of [links, removes, restores, unlinked, forbids])
      for (const { changeId } of all) {
        if (keys.has(changeId)) continue;
        const key = changeBytes(changeId);
        if (exists.get([key, workspace]) !== undefined) keys.set(changeId, key);
      }
    return keys;
  };
}

const COLUMNS = "id, outcome, source, key_id, at, record";
type ChangeRow = readonly [id: Buffer, Change["outcome"], Source, KeyId, number, Buffer];

const changeOf = ([id, outcome, source, keyId, at, blob]: ChangeRow): Change => {
  const record = JSON.parse(blob.toString()) as ChangeRecord;
  return {
    changeId: changeIdOf(id.toString("hex")),
    at: record.at ?? at,
    evidence: { source, keyId, at },
    identifiers: record.identifiers.map(([namespace, value]) =>
      value === undefined ? { namespace, erased: true } : { namespace, value },
    ),
    outcome,
    before: record.before ?? [],
    after: record.after,
    dropped: record.dropped ?? [],
    rule: record.rule ?? null,
    reverts: record.reverts ?? null,
    isForbidding: record.forbids ?? false,
  };
};

export type FindChange = (workspace: WorkspaceId, changeId: ChangeId) => Change | null;

export function prepareFindChange(database: Database): FindChange {
  const find = database.prepare(`SELECT ${COLUMNS} FROM changes WHERE id = ? AND ws = ?`);
  return (workspace, changeId) => {
    const row = find.get([changeBytes(changeId), workspace]);
    return row === undefined ? null : changeOf(row as ChangeRow);
  };
}

export function createFindChanges(database: Database, read: Read): IdentityGraph["findChanges"] {
  const find = prepareFindChange(database);
  return async (workspace, changeIds) =>
    (await eachInTurns(read, changeIds, (changeId) => find(workspace, changeId))).filter((change) => change !== null);
}

/** Rewrites the part of a record that names identifiers. */
export function prepareRewriteChange(database: Database) {
  const find = prepareFindChange(database);
  const write = database.prepare("UPDATE changes SET record = ? WHERE id = ?");
  return (workspace: WorkspaceId, changeId: ChangeId, rewrite: (change: Change) => Change): void => {
    const change = find(workspace, changeId);
    if (change === null) return;
    const after = rewrite(change);
    if (after !== change) write.run([recordOf(after), changeBytes(changeId)]);
  };
}

const ofOutcome = (outcome: string): string =>
  `SELECT ${COLUMNS} FROM changes WHERE ws = ?1 AND outcome = ${outcome} AND id < ?2`;
/** One index serves both: those of any outcome are the lists of all outcomes, merged. */
const OF_ONE = `${ofOutcome("?3")} ORDER BY id DESC LIMIT ?4`;
const OF_ANY = `${OUTCOMES.map((outcome) => ofOutcome(`'${outcome}'`)).join(" UNION ALL ")} ORDER BY id DESC LIMIT ?3`;

export function createChangeList(database: Database, read: Read): IdentityGraph["changes"] {
  const [ofOne, ofAny] = [database.prepare(OF_ONE), database.prepare(OF_ANY)];
  return (workspace, outcome, { limit, before }) =>
    inTurns(read, limit, (last: Change | undefined, most) => {
      const below = bytesBefore(last?.changeId ?? before);
      const rows =
        outcome === null ? ofAny.all([workspace, below, most]) : ofOne.all([workspace, below, outcome, most]);
      return (rows as readonly ChangeRow[]).map(changeOf);
    });
}
