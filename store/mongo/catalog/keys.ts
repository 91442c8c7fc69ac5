import type { KeyRecord, Workspace } from "../../../core/catalog/catalog.js";
import { deleteKey, roomForKey, rotateKey } from "../../../core/catalog/decide.js";
import { AppError } from "../../../core/errors.js";
import type { WorkspaceId } from "../../../core/ids.js";
import type { KeyMethods } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps } from "./change.js";
import type { CatalogDocument, KeyRow, Sections } from "./document.js";
import { pageOf } from "./page.js";

type Keys = Sections["keys"];

/** Workspaces and their API keys. */
export function createKeys({ catalog, session, change }: CatalogDeps): KeyMethods {
  const projection = { workspace: 1 };
  return {
    createWorkspace: ({ workspaceId, name, createdAt }, ownerKey) =>
      change(workspaceId, {
        sections: ["workspace", "keys"],
        decide: ({ workspace, keys }) => {
          if (workspace !== null) throw new AppError("conflict", "This workspace id is taken.");
          return {
            change: { workspace: { name, created_at: createdAt }, keys: withNew(keys, ownerKey) },
            result: undefined,
          };
        },
      }),
    findWorkspace: async (workspaceId) => {
      const found = await session.call(() => catalog.findOne<Found>({ _id: workspaceId }, { projection }));
      return found === null || found.workspace === null ? null : toWorkspace(found);
    },
    workspaces: async ({ limit, after }) => {
      const filter = { workspace: { $ne: null }, ...(after !== null && { _id: { $gt: after } }) };
      const found = await session.call(() =>
        catalog.find<Found>(filter, { projection }).sort({ _id: 1 }).limit(limit).toArray(),
      );
      return found.map(toWorkspace);
    },
    createKey: (key, max) =>
      change(key.workspace, {
        sections: ["keys"],
        decide: ({ keys }) => {
          const left = withRoom(keys, key, max);
          return left === "full"
            ? { change: null, result: left }
            : { change: { keys: withNew(left, key) }, result: "created" as const };
        },
      }),
    findKey: async (keyId) => {
      const found = await session.call(() =>
        catalog.findOne<Pick<CatalogDocument, "_id" | "keys">>(
          { key_ids: keyId },
          { projection: { keys: { $elemMatch: { key_id: keyId } } } },
        ),
      );
      if (found === null) return null;
      const { _id: workspace, keys } = found;
      const row = keys?.[0];
      return row === undefined ? null : toKey(workspace, row);
    },
    keys: async (workspaceId, page) => {
      const found = await session.call(() => catalog.findOne({ _id: workspaceId }, { projection: { keys: 1 } }));
      return pageOf(found?.keys ?? [], ({ key_id }) => key_id, page).map((row) => toKey(workspaceId, row));
    },
    deleteKey: (workspaceId, keyId) =>
      change(workspaceId, {
        sections: ["keys"],
        decide: ({ keys }) => {
          const result = deleteKey(
            keys.map((row) => toKey(workspaceId, row)),
            keyId,
          );
          const rest = keys.filter(({ key_id }) => key_id !== keyId);
          return { change: result === "deleted" ? { keys: rest } : null, result };
        },
      }),
    rotateKey: (workspaceId, keyId, successor, oldExpiresAt, max) =>
      change(workspaceId, {
        sections: ["keys"],
        decide: ({ keys }) => {
          const old = keys.find(({ key_id }) => key_id === keyId);
          const retired = rotateKey(old && toKey(workspaceId, old), successor.keyId, oldExpiresAt);
          if (typeof retired === "string") return { change: null, result: retired };
          const others = keys.filter((key) => key !== old);
          const left = withRoom(others, successor, max - 1);
          if (left === "full") return { change: null, result: left };
          return { change: { keys: withNew([...left, toRow(retired)], successor) }, result: "rotated" as const };
        },
      }),
  };
}

/** Those that stay, with a place for the key. */
function withRoom(keys: Keys, { workspace, createdAt }: KeyRecord, max: number): Keys | "full" {
  const records = keys.map((row) => toKey(workspace, row));
  const gone = roomForKey(records, createdAt, max);
  return gone === "full" ? gone : keys.filter(({ key_id }) => !gone.has(key_id));
}

/** The unique index tells whether another workspace has the id. */
function withNew(keys: Keys, key: KeyRecord): Keys {
  if (keys.some(({ key_id }) => key_id === key.keyId)) throw new AppError("conflict", "This key id is taken.");
  return [...keys, toRow(key)];
}

type Found = Pick<CatalogDocument, "_id" | "workspace">;
const toWorkspace = ({ _id, workspace }: Found): Workspace => ({
  workspaceId: _id,
  name: workspace!.name,
  createdAt: workspace!.created_at,
});

const toRow = (key: KeyRecord): KeyRow => ({
  key_id: key.keyId,
  role: key.role,
  send: key.send,
  origins: key.origins,
  per_minute: key.perMinute,
  name: key.name,
  hash: key.hash,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  successor: key.successor,
  sender: key.sender,
});
const toKey = (workspace: WorkspaceId, row: KeyRow): KeyRecord => ({
  keyId: row.key_id,
  workspace,
  role: row.role,
  send: row.send,
  origins: row.origins,
  perMinute: row.per_minute,
  name: row.name,
  hash: row.hash,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  successor: row.successor,
  sender: row.sender,
});
