import { mintKey } from "../core/catalog/api-key.js";
import { isOrigin, ORIGIN_RULE } from "../core/catalog/origin.js";
import { KEYS_MAX, type KeyRecord } from "../core/catalog/catalog.js";
import { AppError, mismatch, type ErrorItem } from "../core/errors.js";
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
  readonly send: KeyRecord["send"];
  readonly origins: KeyRecord["origins"];
  readonly perMinute: KeyRecord["perMinute"];
  readonly name: string | null;
  /** ISO 8601, UTC. */
  readonly expiresAt: string | null;
}

/** What a new owner key is, wherever one is made. */
export const OWNER_KEY = {
  role: "owner",
  send: null,
  origins: null,
  perMinute: null,
  name: "owner",
  expiresAt: null,
} as const satisfies GivenKey;

/**
 * No more than `max`: the way back to a workspace whose owner keys are lost must stay open. Throws `validation_failed`. `minted`: by a
 * caller that keeps the key somewhere before it is one.
 */
export async function createKey(
  { catalog }: Pick<Services, "catalog">,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  given: GivenKey,
  max: number = KEYS_MAX,
  minted: ReturnType<typeof mintKey> = mintKey(),
): Promise<NewKey> {
  const errors = sendingProblems(given);
  if (errors.length > 0) throw mismatch(errors);
  const { role, send, origins, perMinute, name, expiresAt } = given;
  const { key, keyId, hash } = minted;
  const record: KeyRecord = {
    keyId,
    workspace,
    role,
    send,
    origins,
    perMinute,
    name,
    hash,
    createdAt: now,
    expiresAt: expiresAt === null ? null : readExpiry(expiresAt, now),
    successor: null,
    sender: keyId,
  };
  if ((await catalog.createKey(record, max)) === "full") throw full();
  return { record, key };
}

const NEEDS_SEND = "needs send: only keys with send have it";

function sendingProblems({ role, send, origins, perMinute }: GivenKey): readonly ErrorItem[] {
  const errors: ErrorItem[] = [];
  if (send !== null && role !== "editor") errors.push({ path: "send", message: "needs the role editor" });
  if (send === null && origins !== null) errors.push({ path: "origins", message: NEEDS_SEND });
  if (send === null && perMinute !== null) errors.push({ path: "per_minute", message: NEEDS_SEND });
  for (const [i, origin] of (origins ?? []).entries())
    if (!isOrigin(origin)) errors.push({ path: `origins.${i}`, message: ORIGIN_RULE });
  return errors;
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
      "This is the last owner key that does not expire. Without it, nobody could manage the workspace.",
    );
}

const full = (): AppError =>
  mismatch([{ path: "", message: `a workspace has at most ${KEYS_MAX} keys that have not expired: revoke one first` }]);

/** A second successor would get the short life that the first rotation left to the old key. */
const rotated = (successor: KeyId | null): AppError =>
  new AppError(
    "conflict",
    `The key has already been rotated${successor === null ? "" : `, to ${successor}`}. If that key is lost, create a new one with POST /v1/keys.`,
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
    throw new AppError("conflict", "The key has expired. Create a new one.");
  if (old.successor !== null) throw rotated(old.successor);
  const { key, keyId: successorId, hash } = mintKey();
  const record: KeyRecord = { ...old, keyId: successorId, hash, createdAt: now };
  const oldExpiresAt = Math.min(now + limits.rotationGraceMs, old.expiresAt ?? Infinity);
  const result = await catalog.rotateKey(workspace, keyId, record, oldExpiresAt, KEYS_MAX);
  if (result === "not_found") throw unknown();
  if (result === "already_rotated") throw rotated(null);
  if (result === "full") throw full();
  return { record, key, oldExpiresAt };
}
