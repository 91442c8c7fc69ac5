import type { Database } from "../../../core/database.js";
import type { ErasureId, Tomb, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Copied, CopyPage, GraphRows } from "../../../core/ports/copying.js";
import { changeBytes, changeIdOf } from "../encoding.js";
import { prepareRecords } from "../erasure/records.js";
import { prepareBury } from "../erasure/take-apart.js";

type OfErasures = "erasures" | "tombstones" | "mentions";

export function prepareErasureDumps(database: Database): {
  readonly [K in OfErasures]: (page: CopyPage) => Copied<GraphRows[K]>;
} {
  const records = prepareRecords(database);
  const erasures = database.prepare("SELECT id, ws FROM erasures WHERE id > ? ORDER BY id LIMIT ?");
  const tombstones = database.prepare(
    `SELECT t.erasure, t.tomb, t.uid, e.ws FROM tombstones t JOIN erasures e ON e.id = t.erasure
     WHERE (t.erasure, t.tomb) > (?, ?) ORDER BY t.erasure, t.tomb LIMIT ?`,
  );
  const mentions = database.prepare(
    `SELECT m.tomb, m.change, c.ws FROM mentions m JOIN changes c ON c.id = m.change
     WHERE (m.tomb, m.change) > (?, ?) ORDER BY m.tomb, m.change LIMIT ?`,
  );
  return {
    erasures: ({ after, limit }) =>
      copied(erasures.all([after ?? "", limit]), limit, (row) => {
        const [id, workspace] = row as readonly [ErasureId, WorkspaceId];
        const { identifiers, ...erasure } = records.find(workspace, id)!;
        const counts = [...identifiers].toSorted(([a], [b]) => (a < b ? -1 : 1));
        return [id, { workspace, erasure, counts }];
      }),
    tombstones: ({ after, limit }) =>
      copied(tombstones.all([...(after ?? " ").split(" "), limit]), limit, (row) => {
        const [erasureId, tomb, uid, workspace] = row as readonly [ErasureId, Tomb, Uid | null, WorkspaceId];
        return [`${erasureId} ${tomb}`, { workspace, erasureId, tomb, uid }];
      }),
    mentions: ({ after, limit }) => {
      const [tomb, change] = (after ?? " ").split(" ");
      return copied(mentions.all([tomb!, Buffer.from(change!, "hex"), limit]), limit, (row) => {
        const [name, bytes, workspace] = row as readonly [Tomb, Buffer, WorkspaceId];
        const hex = bytes.toString("hex");
        return [`${name} ${hex}`, { workspace, changeId: changeIdOf(hex), tomb: name }];
      });
    },
  };
}

export function prepareErasureLoads(database: Database): {
  readonly [K in OfErasures]: (row: GraphRows[K]) => void;
} {
  const records = prepareRecords(database);
  const bury = prepareBury(database);
  const mention = database.prepare("INSERT OR IGNORE INTO mentions (tomb, change) VALUES (?, ?)");
  return {
    erasures: ({ erasure, counts }) => records.insert({ ...erasure, identifiers: new Map(counts) }, null, []),
    tombstones: ({ erasureId, tomb, uid }) => bury(erasureId, tomb, uid),
    mentions: ({ tomb, changeId }) => void mention.run([tomb, changeBytes(changeId)]),
  };
}

export function copied<Row>(
  found: readonly (readonly unknown[])[],
  limit: number,
  read: (row: readonly unknown[]) => readonly [place: string, row: Row],
): Copied<Row> {
  const rows = found.map(read);
  return { rows: rows.map(([, row]) => row), next: found.length < limit ? null : rows.at(-1)![0] };
}
