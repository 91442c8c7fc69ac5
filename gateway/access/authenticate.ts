import { timingSafeEqual } from "node:crypto";
import type { Request } from "express";
import { LRUCache } from "lru-cache";
import { hashKey, keyIdOf } from "../../core/catalog/api-key.js";
import { atLeast, type KeyRecord } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { Access } from "../route.js";

/** One answer for every way in which a key can be wrong, so that nobody learns anything by trying. */
const unauthenticated = (): AppError =>
  new AppError("unauthenticated", "Send a valid key: Authorization: Bearer <API_KEY>.");

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i;
const bearerOf = (request: Request): string | null => {
  const header = request.headers.authorization;
  if (header === undefined) return null;
  return header.startsWith("Bearer onym_") ? header.slice(7) : (BEARER.exec(header)?.[1] ?? null);
};

const NOBODY = Buffer.from(hashKey("nobody"), "base64");
const sameHash = (actual: Buffer, known: string | null): boolean => {
  const expected = known === null ? NOBODY : Buffer.from(known, "base64");
  return timingSafeEqual(actual, expected) && known !== null;
};
const hashOf = (given: string): Buffer => Buffer.from(hashKey(given), "base64");

const RIGHT_MAX = 1_000;

export interface Authenticator {
  /** The key of the request; throws `unauthenticated`. */
  key(request: Request): Promise<KeyRecord>;
  /** Throws `unauthenticated` unless the request carries the operator key. */
  operator(request: Request): void;
}

export function createAuthenticator(deps: {
  readonly catalog: Pick<CatalogStore, "findKey">;
  readonly operatorKey: string;
  readonly now: () => number;
}): Authenticator {
  const operatorHash = hashKey(deps.operatorKey);
  /** Keys that were right, each with its record: while the catalog answers the same record object, the key is still right. */
  const right = new LRUCache<string, KeyRecord>({ max: RIGHT_MAX });

  return {
    key: async (request) => {
      const given = bearerOf(request);
      const known = given === null ? undefined : right.get(given);
      if (known !== undefined && (await deps.catalog.findKey(known.keyId)) === known)
        return requireLive(known, deps.now());
      const keyId = given === null ? null : keyIdOf(given);
      if (given === null || keyId === null) throw unauthenticated();
      const record = await deps.catalog.findKey(keyId);
      // The comparison runs for an unknown key id too, so that both take the same time.
      if (!sameHash(hashOf(given), record?.hash ?? null) || record === null) throw unauthenticated();
      right.set(given, record);
      return requireLive(record, deps.now());
    },
    operator: (request) => {
      const given = bearerOf(request);
      if (deps.operatorKey === "" || given === null || !sameHash(hashOf(given), operatorHash)) throw unauthenticated();
    },
  };
}

function requireLive(record: KeyRecord, now: number): KeyRecord {
  if (record.expiresAt !== null && record.expiresAt <= now) throw unauthenticated();
  return record;
}

/** Throws `insufficient_scope` if the key's role is too low, or if an ingest-only key does more than send. */
export function authorize(key: KeyRecord, access: Extract<Access, { kind: "role" }>): void {
  if (key.ingestOnly && access.ingest !== true)
    throw new AppError("insufficient_scope", "This key may only collect, identify and alias.");
  if (!atLeast(key.role, access.role))
    throw new AppError(
      "insufficient_scope",
      `This needs a key of role ${access.role} or higher; this one is ${key.role}.`,
    );
}
