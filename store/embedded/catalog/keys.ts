import type { Database, SqlValue } from "../../../core/database.js";
import type { KeyRecord, Role, Send, Workspace } from "../../../core/catalog/catalog.js";
import { deleteKey, roomForKey, rotateKey } from "../../../core/catalog/decide.js";
import { AppError } from "../../../core/errors.js";
import type { KeyId, WorkspaceId } from "../../../core/ids.js";
import type { KeyMethods } from "../../../core/ports/catalog-store.js";
import type { Session } from "../session.js";

/** Workspaces and their API keys. */
export function createKeys(database: Database, session: Session): KeyMethods {
  const insertWorkspace = database.prepare(
    "INSERT INTO workspaces (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
  );
  const workspace = database.prepare("SELECT id, name, created_at FROM workspaces WHERE id = ?");
  const workspaces = database.prepare("SELECT id, name, created_at FROM workspaces WHERE id > ? ORDER BY id LIMIT ?");
  const insertKey = database.prepare(
    `INSERT INTO keys (${KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  const key = database.prepare(`${SELECT_KEY} WHERE id = ?`);
  const keys = database.prepare(`${SELECT_KEY} WHERE ws = ? AND id > ? ORDER BY id LIMIT ?`);
  const allKeys = database.prepare(`${SELECT_KEY} WHERE ws = ?`);
  const keyAndOwners = database.prepare(`${SELECT_KEY} WHERE ws = ? AND (id = ? OR role = 'owner')`);
  const removeKey = database.prepare("DELETE FROM keys WHERE id = ?");
  const retireKey = database.prepare("UPDATE keys SET expires_at = ?, successor = ? WHERE id = ?");

  const withOwners = (workspaceId: WorkspaceId, keyId: KeyId): readonly KeyRecord[] =>
    keyAndOwners.all([workspaceId, keyId]).map((row) => toKey(row as KeyRow));
  const keysOf = (workspaceId: WorkspaceId): readonly KeyRecord[] =>
    allKeys.all([workspaceId]).map((row) => toKey(row as KeyRow));
  const makeRoom = (keys: readonly KeyRecord[], now: number, max: number): boolean => {
    const gone = roomForKey(keys, now, max);
    if (gone === "full") return false;
    for (const keyId of gone) removeKey.run([keyId]);
    return true;
  };
  const putKey = (record: KeyRecord): void => requireNew(insertKey.run(keyParameters(record)).changes, "key");

  return {
    createWorkspace: (created, ownerKey) =>
      session.write(() => {
        const { workspaceId, name, createdAt } = created;
        requireNew(insertWorkspace.run([workspaceId, Buffer.from(name), createdAt]).changes, "workspace");
        putKey(ownerKey);
      }),
    findWorkspace: async (workspaceId) => {
      const row = await session.read(() => workspace.get([workspaceId]));
      return row ? toWorkspace(row as WorkspaceRow) : null;
    },
    workspaces: async ({ limit, after }) => {
      const rows = await session.read(() => workspaces.all([after ?? "", limit]));
      return rows.map((row) => toWorkspace(row as WorkspaceRow));
    },
    createKey: (record, max) =>
      session.write(() => {
        if (!makeRoom(keysOf(record.workspace), record.createdAt, max)) return "full";
        putKey(record);
        return "created";
      }),
    findKey: async (keyId) => {
      const row = await session.read(() => key.get([keyId]));
      return row ? toKey(row as KeyRow) : null;
    },
    keys: async (workspaceId, { limit, after }) => {
      const rows = await session.read(() => keys.all([workspaceId, after ?? "", limit]));
      return rows.map((row) => toKey(row as KeyRow));
    },
    deleteKey: (workspaceId, keyId) =>
      session.write(() => {
        const result = deleteKey(withOwners(workspaceId, keyId), keyId);
        if (result === "deleted") removeKey.run([keyId]);
        return result;
      }),
    rotateKey: (workspaceId, keyId, successor, oldExpiresAt, max) =>
      session.write(() => {
        const keys = keysOf(workspaceId);
        const old = keys.find((found) => found.keyId === keyId);
        const retired = rotateKey(old, successor.keyId, oldExpiresAt);
        if (typeof retired === "string") return retired;
        const others = keys.filter((found) => found !== old);
        if (!makeRoom(others, successor.createdAt, max - 1)) return "full";
        putKey(successor);
        retireKey.run([retired.expiresAt, retired.successor, keyId]);
        return "rotated";
      }),
  };
}

type WorkspaceRow = readonly [WorkspaceId, Buffer, number];
const toWorkspace = ([workspaceId, name, createdAt]: WorkspaceRow): Workspace => ({
  workspaceId,
  name: name.toString(),
  createdAt,
});

const KEY_COLUMNS = "id, ws, role, send, origins, per_minute, name, hash, created_at, expires_at, successor, sender";
const SELECT_KEY = `SELECT ${KEY_COLUMNS} FROM keys`;
type KeyRow = readonly [
  KeyId,
  WorkspaceId,
  Role,
  Send | null,
  string | null,
  number | null,
  Buffer | null,
  string,
  number,
  number | null,
  KeyId | null,
  KeyId,
];
function toKey(row: KeyRow): KeyRecord {
  const [keyId, workspace, role, send, origins, perMinute, name, hash, createdAt, expiresAt, successor, sender] = row;
  return {
    keyId,
    workspace,
    role,
    send,
    origins: origins === null ? null : (JSON.parse(origins) as readonly string[]),
    perMinute,
    name: name?.toString() ?? null,
    hash,
    createdAt,
    expiresAt,
    successor,
    sender,
  };
}
const keyParameters = (key: KeyRecord): readonly SqlValue[] => [
  key.keyId,
  key.workspace,
  key.role,
  key.send,
  key.origins === null ? null : JSON.stringify(key.origins),
  key.perMinute,
  key.name === null ? null : Buffer.from(key.name),
  key.hash,
  key.createdAt,
  key.expiresAt,
  key.successor,
  key.sender,
];

function requireNew(changes: number, what: string): void {
  if (changes === 0) throw new AppError("conflict", `This ${what} id is taken.`);
}
