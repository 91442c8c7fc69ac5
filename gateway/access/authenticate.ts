import { timingSafeEqual } from "node:crypto";
import type { Request, Response } from "express";
import { LRUCache } from "lru-cache";
import { hashKey, keyIdOf } from "../../core/catalog/api-key.js";
import { atLeast, type KeyRecord, type Send } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import type { KeyId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { Access } from "../route.js";
import { isFromConsole, type ConsoleKeys, type SignedIn } from "./console-key.js";
import type { FailedLogins } from "./failed-logins.js";
import { addressOf } from "./rate-limit.js";

/** One answer for every way in which a key can be wrong, so that nobody learns anything by trying. */
const unauthenticated = (detail = "Send a valid key: Authorization: Bearer <API_KEY>."): AppError =>
  new AppError("unauthenticated", detail);

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

const RIGHT_MAX = 5_000;
/** Addresses kept of one key: a table of its own, so that no other key's senders push one out. */
const ADDRESSES_MAX = 32;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The addresses from which one secret was right. */
function createSenders() {
  const lastAt = new Map<string, number>();
  return {
    /** Within the last hour. */
    has: (address: string, now: number): boolean => now - (lastAt.get(address) ?? -Infinity) < HOUR_MS,
    note: (address: string, now: number): void => {
      if (now - (lastAt.get(address) ?? -Infinity) < MINUTE_MS) return;
      // Again at the end, because the first is the one that goes.
      lastAt.delete(address);
      lastAt.set(address, now);
      if (lastAt.size > ADDRESSES_MAX) lastAt.delete(lastAt.keys().next().value!);
    },
  };
}

type Senders = ReturnType<typeof createSenders>;

interface Right {
  /** While the catalog answers the same record object, the key is still right. */
  readonly record: KeyRecord;
  readonly senders: Senders;
}

export interface Authenticator {
  /** Who sent the request; throws `unauthenticated`, or `rate_limited` after too many wrong secrets for its key from its address. */
  caller(request: Request, response: Response): Promise<SignedIn>;
  /** The same for a key that stood elsewhere; null: nowhere. `detail` says where it is to stand. */
  secret(request: Request, response: Response, given: string | null, detail: string): Promise<KeyRecord>;
  /** Counts a key as wrong that another one refuses, and throws as `secret` does. `keyId`: of a key that exists. */
  refuse(request: Request, response: Response, keyId: KeyId | null, detail: string): Promise<never>;
  /** Throws unless the request carries the operator key, as `caller` does. */
  operator(request: Request, response: Response): Promise<void>;
  /** The same for the key that reads the metrics. */
  metrics(request: Request, response: Response): Promise<void>;
}

const loginOf = (address: string, keyId: KeyId | null): string => `${address} ${keyId ?? NOTHING}`;

/** Names what a secret is tried for. No key id holds a dot; what is no key at all is tried for nothing. */
const OPERATOR = ".operator";
const METRICS = ".metrics";
const NOTHING = ".nothing";

export function createAuthenticator(deps: {
  readonly catalog: Pick<CatalogStore, "findKey">;
  /** Empty: no key is right. */
  readonly operatorKey: string;
  readonly metricsKey: string;
  /** Absent: no request of a console has a key. */
  readonly consoleKeys?: Pick<ConsoleKeys, "caller">;
  readonly failures: FailedLogins;
  readonly now: () => number;
}): Authenticator {
  const { catalog, consoleKeys, failures, now } = deps;
  const rights = new LRUCache<string, Right>({ max: RIGHT_MAX });

  /** The record of a right key, without computing a hash if it was right before. */
  const find = async (given: string, keyId: KeyId): Promise<KeyRecord | null> => {
    const record = await catalog.findKey(keyId);
    const known = rights.get(given);
    if (record !== null && known?.record === record) return record;
    // The comparison runs for an unknown key id too, so that both take the same time.
    if (!sameHash(hashOf(given), record?.hash ?? null) || record === null) return null;
    rights.set(given, { record, senders: known?.senders ?? createSenders() });
    return record;
  };
  const refuse = async (request: Request, response: Response, login: string, detail?: string): Promise<never> => {
    await failures.count(request, response, login);
    throw unauthenticated(detail);
  };
  const requireKey = async (
    request: Request,
    response: Response,
    given: string | null,
    detail?: string,
  ): Promise<KeyRecord> => {
    const address = addressOf(request);
    const known = given === null ? undefined : rights.get(given);
    const keyId = known?.record.keyId ?? (given === null ? null : keyIdOf(given));
    const login = loginOf(address, keyId);
    const at = now();
    if (known?.senders.has(address, at) !== true) await failures.requireFew(request, response, login);
    const record = given === null || keyId === null ? null : await find(given, keyId);
    if (record === null || isExpired(record, at)) return refuse(request, response, login, detail);
    rights.get(given!)?.senders.note(address, at);
    return record;
  };
  /** A secret of this process's settings. */
  const requireSecret = (name: string, secret: string): Authenticator["operator"] => {
    const hash = hashKey(secret);
    const senders = createSenders();
    return async (request, response) => {
      const given = bearerOf(request);
      const address = addressOf(request);
      const login = `${address} ${name}`;
      const isRight = secret !== "" && given !== null && sameHash(hashOf(given), hash);
      if (!(isRight && senders.has(address, now()))) await failures.requireFew(request, response, login);
      if (!isRight) await refuse(request, response, login);
      senders.note(address, now());
    };
  };

  return {
    caller: async (request, response) => {
      const given = bearerOf(request);
      if (given === null && consoleKeys !== undefined && isFromConsole(request)) return consoleKeys.caller(request);
      return { key: await requireKey(request, response, given), until: null };
    },
    secret: requireKey,
    refuse: (request, response, keyId, detail) => refuse(request, response, loginOf(addressOf(request), keyId), detail),
    operator: requireSecret(OPERATOR, deps.operatorKey),
    metrics: requireSecret(METRICS, deps.metricsKey),
  };
}

const MAY_SEND = {
  collect: "This key has send: collect, so it can only send events.",
  all: "This key has send: all, so it can only send events and call identify and alias.",
} as const satisfies Record<Send, string>;

/** With the kind of key that may. */
function beyondSend(send: Send, access: Extract<Access, { kind: "role" }>): string {
  const other = access.send === "all" ? "send: all, or " : "";
  return `${MAY_SEND[send]} This needs a key with ${other}role ${access.role} or higher and no send.`;
}

const isExpired = ({ expiresAt }: KeyRecord, now: number): boolean => expiresAt !== null && expiresAt <= now;

/** Throws `insufficient_scope` if the key's role is too low, or if a sending key does more than its `send` says. */
export function authorize(key: KeyRecord, access: Extract<Access, { kind: "role" }>): void {
  if (key.send !== null && access.send !== key.send && access.send !== "collect")
    throw new AppError("insufficient_scope", beyondSend(key.send, access));
  if (!atLeast(key.role, access.role))
    throw new AppError(
      "insufficient_scope",
      `This needs a key of role ${access.role} or higher; this one is ${key.role}.`,
    );
}
