import { Type } from "typebox";
import { mintKey } from "../../core/catalog/api-key.js";
import { ROLES, type KeyRecord } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import type { KeyId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { parseTimestamp, showTime } from "../../core/event/time.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { mismatch, shape } from "../shapes/shape.js";

export interface KeysDeps {
  readonly catalog: Pick<CatalogStore, "createKey" | "keys" | "findKey" | "deleteKey" | "rotateKey">;
  readonly cursors: Cursors;
  /** Life of the old key after a rotation. */
  readonly rotationGraceS: number;
}

const newKeyBody = shape(
  Type.Object(
    {
      role: Type.Enum(ROLES),
      name: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      expires_at: Type.Optional(Type.String()),
      ingest_only: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  ),
);

export function keyRoutes(deps: KeysDeps): readonly Route[] {
  const access = { kind: "role", role: "owner" } as const;
  return [
    { method: "post", path: "/v1/keys", access, body: "json", query: [], handle: (context) => create(deps, context) },
    {
      method: "get",
      path: "/v1/keys",
      access,
      body: "none",
      query: ["limit", "cursor"],
      handle: (context) => list(deps, context),
    },
    {
      method: "delete",
      path: "/v1/keys/:id",
      access,
      body: "none",
      query: [],
      handle: (context) => revoke(deps, context),
    },
    {
      method: "post",
      path: "/v1/keys/:id/rotate",
      access,
      body: "empty",
      query: [],
      handle: (context) => rotate(deps, context),
    },
  ];
}

const shown = (key: KeyRecord) => ({
  key_id: key.keyId,
  role: key.role,
  ingest_only: key.ingestOnly,
  name: key.name,
  created_at: showTime(key.createdAt),
  expires_at: key.expiresAt === null ? null : showTime(key.expiresAt),
  rotated_to: key.successor,
});

const unknown = (): AppError => new AppError("not_found", "There is no such key.");

async function create(deps: KeysDeps, { workspace, body, now }: Context): Promise<Reply> {
  const { value } = newKeyBody(body);
  if (value.ingest_only === true && value.role !== "editor")
    throw mismatch([{ path: "ingest_only", message: "goes with the role editor" }]);
  const { key, keyId, hash } = mintKey();
  const record: KeyRecord = {
    keyId,
    workspace,
    role: value.role,
    ingestOnly: value.ingest_only ?? false,
    name: value.name ?? null,
    hash,
    createdAt: now,
    expiresAt: value.expires_at === undefined ? null : readExpiry(value.expires_at, now),
    successor: null,
  };
  await deps.catalog.createKey(record);
  return reply(201, { ...shown(record), key });
}

function readExpiry(given: string, now: number): number {
  const instant = parseTimestamp(given);
  const ms = instant === null ? Number.NaN : Date.parse(given);
  if (Number.isNaN(ms))
    throw mismatch([{ path: "expires_at", message: "must be an ISO 8601 date-time in UTC with a trailing Z" }]);
  if (ms <= now) throw mismatch([{ path: "expires_at", message: "must lie in the future" }]);
  return ms;
}

async function list(deps: KeysDeps, { workspace, query }: Context): Promise<Reply> {
  const after = (deps.cursors.read(workspace, "keys", query)?.[0] ?? null) as KeyId | null;
  const limit = readLimit(query);
  const rows = await deps.catalog.keys(workspace, { limit: limit + 1, after });
  const { items, next_cursor } = pageOf(rows, limit, ({ keyId }) => deps.cursors.write(workspace, "keys", [keyId]));
  return reply(200, { keys: items.map(shown), next_cursor });
}

async function revoke(deps: KeysDeps, { workspace, params }: Context): Promise<Reply> {
  const result = await deps.catalog.deleteKey(workspace, params["id"] as KeyId);
  if (result === "not_found") throw unknown();
  if (result === "last_owner")
    throw new AppError(
      "conflict",
      "This is the last owner key without an expiry: nobody could manage the workspace without it.",
    );
  return { status: 204, json: "" };
}

/** A second successor would get the short life that the first rotation left to the old key. */
const rotated = (successor: KeyId | null): AppError =>
  new AppError(
    "conflict",
    `The key was rotated already${successor === null ? "" : `, to ${successor}`}. If that key is lost, make a new one with POST /v1/keys.`,
  );

/** A new key of the same kind; the old one lives on for the grace time, so that both work while it is being replaced. */
async function rotate(deps: KeysDeps, { workspace, params, now }: Context): Promise<Reply> {
  const keyId = params["id"] as KeyId;
  const old = await deps.catalog.findKey(keyId);
  if (old === null || old.workspace !== workspace) throw unknown();
  if (old.expiresAt !== null && old.expiresAt <= now)
    throw new AppError("conflict", "The key has expired. Make a new one.");
  if (old.successor !== null) throw rotated(old.successor);
  const { key, keyId: successorId, hash } = mintKey();
  const successor: KeyRecord = { ...old, keyId: successorId, hash, createdAt: now };
  const oldExpiresAt = Math.min(now + deps.rotationGraceS * 1_000, old.expiresAt ?? Infinity);
  const result = await deps.catalog.rotateKey(workspace, keyId, successor, oldExpiresAt);
  if (result === "not_found") throw unknown();
  if (result === "already_rotated") throw rotated(null);
  return reply(201, { ...shown(successor), key, rotated_from: keyId, old_expires_at: showTime(oldExpiresAt) });
}
