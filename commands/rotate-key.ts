import { mintKey } from "../core/catalog/api-key.js";
import type { KeyRecord } from "../core/catalog/catalog.js";
import { AppError, mismatch } from "../core/errors.js";
import { parseTimestamp } from "../core/event/time.js";
import type { KeyId } from "../core/ids.js";
import type { Caller, Services } from "./services.js";

/** A new key. `key` holds the secret, which can be read only now. */
export interface NewKey {
  readonly record: KeyRecord;
  readonly key: string;
}

export interface GivenKey {
  readonly role: KeyRecord["role"];
  readonly ingestOnly: boolean;
  readonly name: string | null;
  /** ISO 8601, UTC. */
  readonly expiresAt: string | null;
}

export async function createKey(
  { catalog }: Pick<Services, "catalog">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  { role, ingestOnly, name, expiresAt }: GivenKey,
): Promise<NewKey> {
  if (ingestOnly && role !== "editor") throw mismatch([{ path: "ingest_only", message: "needs the role editor" }]);
  const { key, keyId, hash } = mintKey();
  const record: KeyRecord = {
    keyId,
    workspace,
    role,
    ingestOnly,
    name,
    hash,
    createdAt: now,
    expiresAt: expiresAt === null ? null : readExpiry(expiresAt, now),
    successor: null,
    sender: keyId,
  };
  await catalog.createKey(record);
  return { record, key };
}

function readExpiry(given: string, now: number): number {
  const instant = parseTimestamp(given);
  const ms = instant === null ? Number.NaN : Date.parse(given);
  if (Number.isNaN(ms))
    throw mismatch([{ path: "expires_at", message: "must be an ISO 8601 date-time in UTC with a trailing Z" }]);
  if (ms <= now) throw mismatch([{ path: "expires_at", message: "must be in the future" }]);
  return ms;
}

const unknown = (): AppError => new AppError("not_found", "There is no such key.");

/** Throws `conflict` for the last owner key that does not expire. */
export async function revokeKey(
  { catalog }: Pick<Services, "catalog">,
  { workspace }: Pick<Caller, "workspace">,
  keyId: KeyId,
): Promise<void> {
  const result = await catalog.deleteKey(workspace, keyId);
  if (result === "not_found") throw unknown();
  if (result === "last_owner")
    throw new AppError(
      "conflict",
      "This is the last owner key without an expiry: nobody could manage the workspace without it.",
    );
}

/** A second successor would get the short life that the first rotation left to the old key. */
const rotated = (successor: KeyId | null): AppError =>
  new AppError(
    "conflict",
    `The key was rotated already${successor === null ? "" : `, to ${successor}`}. If that key is lost, make a new one with POST /v1/keys.`,
  );

/** A new key of the same kind; the old one lives on for the grace time, so that both work while it is being replaced. */
export async function rotateKey(
  { catalog, limits }: Pick<Services, "catalog" | "limits">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  keyId: KeyId,
): Promise<NewKey & { readonly oldExpiresAt: number }> {
  const old = await catalog.findKey(keyId);
  if (old === null || old.workspace !== workspace) throw unknown();
  if (old.expiresAt !== null && old.expiresAt <= now)
    throw new AppError("conflict", "The key has expired. Make a new one.");
  if (old.successor !== null) throw rotated(old.successor);
  const { key, keyId: successorId, hash } = mintKey();
  const record: KeyRecord = { ...old, keyId: successorId, hash, createdAt: now };
  const oldExpiresAt = Math.min(now + limits.rotationGraceMs, old.expiresAt ?? Infinity);
  const result = await catalog.rotateKey(workspace, keyId, record, oldExpiresAt);
  if (result === "not_found") throw unknown();
  if (result === "already_rotated") throw rotated(null);
  return { record, key, oldExpiresAt };
}
