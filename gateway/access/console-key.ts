import type { Request } from "express";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import type { KeyId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { createSessions, type Session } from "./session.js";

/** As long as a working day. */
const SESSION_MS = 8 * 3_600_000;

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;
const READS = new Set(["GET", "HEAD"]);

/** Set by our own page, and by no form or link of another one: a script of another origin has to ask first, and is not let. */
const HEADER = "x-onym-console";
export const isFromConsole = (request: Request): boolean => request.headers[HEADER] === "1";
/** The id of the key that the page shows: all tabs of a browser share the cookie, and another one may have logged in with another key. */
const KEY_HEADER = "x-onym-console-key";
const isOfPage = (request: Request, keyId: KeyId): boolean => (request.headers[KEY_HEADER] ?? keyId) === keyId;

/** Who calls. */
export interface SignedIn {
  readonly key: KeyRecord;
  /** When the session ends, in milliseconds since 1970; null: it is none, and ends with its key. */
  readonly until: number | null;
}

export interface ConsoleKeys {
  /** The key that the request's session stands for. Throws `unauthenticated`, also where the page shows another one. */
  caller(request: Request): Promise<SignedIn>;
  /** Whether the request has a session of a right key. */
  has(request: Request): Promise<boolean>;
  /** The header that begins a session of the key. */
  begin(key: KeyRecord): string;
  /** The header that ends the request's session. Throws `unauthenticated` where it is of another key than the page shows, and goes on. */
  end(request: Request): Promise<string>;
  /** Throws `insufficient_scope` unless the request comes from our page over a way that nobody else reads. */
  requireOwnPage(request: Request): void;
}

export interface ConsoleKeysDeps {
  readonly catalog: Pick<CatalogStore, "findKey">;
  /** Of the installation. */
  readonly secret: Buffer;
  /** Where browsers reach the service; empty: on this machine only. */
  readonly publicUrl: string;
  readonly now: () => number;
}

/** Sessions of the console: a cookie that stands for a key as long as the key is right. The cookie alone opens nothing. */
export function createConsoleKeys({ catalog, secret, publicUrl, now }: ConsoleKeysDeps): ConsoleKeys {
  const sessions = createSessions(secret);
  const own = publicUrl === "" ? null : new URL(publicUrl);
  const isSecure = own?.protocol === "https:";
  const cookie = isSecure ? "__Host-onym" : "onym";
  const attributes = `HttpOnly; SameSite=Strict; Path=/${isSecure ? "; Secure" : ""}`;

  const requireOwnPage = (request: Request): void => {
    const { origin, host = "" } = request.headers;
    const isLoopback = LOOPBACK.test(own?.host ?? host);
    const expected = own?.origin ?? `http://${host.toLowerCase()}`;
    if (!isSecure && !isLoopback) throw new AppError("insufficient_scope", NEEDS_TLS);
    if (origin !== expected)
      throw new AppError(
        "insufficient_scope",
        "Only the console's own page may do this, and this request has another Origin.",
      );
  };

  const sessionOf = (request: Request): Session | null => {
    const sealed = cookieOf(request, cookie);
    return sealed === null ? null : sessions.open(sealed);
  };

  /** Null: it has none, or a session that is over. */
  const find = async (request: Request): Promise<SignedIn | null> => {
    const session = sessionOf(request);
    if (session === null || session.until <= now()) return null;
    const record = await catalog.findKey(session.keyId);
    // A rotated key still sends for a while, so that nothing is lost. A person can log in with the new one at once.
    if (record === null || record.hash !== session.keyHash || record.successor !== null) return null;
    return record.expiresAt !== null && record.expiresAt <= now() ? null : { key: record, until: session.until };
  };

  return {
    requireOwnPage,
    has: async (request) => (await find(request)) !== null,
    begin: ({ keyId, hash }) => {
      const sealed = sessions.seal({ keyId, keyHash: hash, until: now() + SESSION_MS });
      return `${cookie}=${sealed}; ${attributes}; Max-Age=${SESSION_MS / 1_000}`;
    },
    end: async (request) => {
      const session = sessionOf(request);
      const isOther = session !== null && !isOfPage(request, session.keyId);
      // One that is over is nobody's to go on with.
      if (isOther && (await find(request)) !== null) throw new AppError("unauthenticated", OTHER_KEY);
      return `${cookie}=; ${attributes}; Max-Age=0`;
    },
    caller: async (request) => {
      if (!READS.has(request.method)) requireOwnPage(request);
      const caller = await find(request);
      if (caller === null) throw new AppError("unauthenticated", "This session has ended. Log in again.");
      if (!isOfPage(request, caller.key.keyId)) throw new AppError("unauthenticated", OTHER_KEY);
      return caller;
    },
  };
}

const NEEDS_TLS =
  "The console accepts keys only over https, or on this machine. Open it at http://localhost, or set PUBLIC_URL to its https address.";

const OTHER_KEY =
  "In another tab, this browser logged in with another key. Log in again with the key of this page, or reload the page to go on with the other one.";

function cookieOf({ headers: { cookie = "" } }: Request, name: string): string | null {
  for (const pair of cookie.split(";")) {
    const [given = "", ...value] = pair.trim().split("=");
    if (given === name) return value.join("=");
  }
  return null;
}
