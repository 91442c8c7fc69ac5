import { setMaxListeners } from "node:events";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isMetadataAddress, isPublicAddress } from "../../core/webhook/address.js";
import type { Message, Outbound, Posted } from "../../core/webhook/outbound.js";
import { createNames, type Address, type Resolve } from "./names.js";

export interface OutboundOptions {
  /** Also http, and addresses of this machine and its network; never link-local ones, nor the metadata of clouds. */
  readonly allowsPrivate: boolean;
  /** From the connection to the end of the answer. */
  readonly timeoutMs?: number;
  readonly isPublic?: (address: string) => boolean;
  readonly resolve?: Resolve;
}

const TIMEOUT_MS = 15_000;
/** So much of an answer is read and thrown away. */
const ANSWER_BYTES_MAX = 65_536;
const URL_LENGTH_MAX = 2_048;
/** Codes of the system and of TLS, which tell nothing of ours. */
const CODE = /^[A-Z][A-Z0-9_]{2,63}$/;

class Refused extends Error {}
const NOT_PUBLIC = "the address is not a public one";
const METADATA = "the address is link-local, or the metadata of a cloud";

/** Follows no redirect, keeps no connection, and connects to the very addresses that it has checked. */
export function createOutbound(options: OutboundOptions): Outbound {
  const { allowsPrivate, timeoutMs = TIMEOUT_MS, isPublic = isPublicAddress, resolve = createNames() } = options;
  const isAllowed = (address: string): boolean => (allowsPrivate ? !isMetadataAddress(address) : isPublic(address));
  const notAllowed = allowsPrivate ? METADATA : NOT_PUBLIC;

  const check = (text: string): string | null => {
    if (text.length > URL_LENGTH_MAX) return `must have at most ${URL_LENGTH_MAX} characters`;
    const url = URL.canParse(text) ? new URL(text) : null;
    if (url === null) return "must be a URL";
    if (url.protocol !== "https:" && !(allowsPrivate && url.protocol === "http:")) return "must be an https URL";
    if (url.username !== "" || url.password !== "") return "must not hold a user or a password";
    const host = hostOf(url);
    return isIP(host) !== 0 && !isAllowed(host) ? notAllowed : null;
  };

  /** The only time that somebody asks what the name says: the connection goes to these, whatever it says a moment later. */
  const addressesOf = async (host: string, signal: AbortSignal): Promise<readonly Address[]> => {
    const family = isIP(host);
    const found = family === 0 ? await resolve(host, signal) : [{ address: host, family }];
    // All of them: which one the connection takes is not ours to say.
    if (found.length === 0 || !found.every(({ address }) => isAllowed(address))) throw new Refused(notAllowed);
    return found;
  };

  const post = async (message: Message, signal: AbortSignal): Promise<Posted> => {
    const wrong = check(message.url);
    if (wrong !== null) return noAnswer(`The url was refused: ${wrong}.`);
    const url = new URL(message.url);
    const limit = createLimit(signal, timeoutMs);
    try {
      const addresses = await Promise.race([addressesOf(hostOf(url), limit.signal), rejectionOf(limit.signal)]);
      return await exchange(url, connectionTo(addresses, timeoutMs), message, limit.signal);
    } catch (error) {
      return noAnswer(whyOf(error, limit.isOverdue(), timeoutMs));
    } finally {
      limit.end();
    }
  };
  return { check, post };
}

/** Of one try. `AbortSignal.any` would leave something of each try in a signal that lives for as long as the process. */
function createLimit(ends: AbortSignal, timeoutMs: number) {
  const controller = new AbortController();
  let isOverdue = false;
  const abort = (): void => controller.abort();
  const timer = setTimeout(() => {
    isOverdue = true;
    abort();
  }, timeoutMs);
  if (ends.aborted) abort();
  else {
    // Otherwise Node warns of eleven tries at once as of a leak.
    setMaxListeners(0, ends);
    ends.addEventListener("abort", abort);
  }
  return {
    signal: controller.signal,
    isOverdue: (): boolean => isOverdue,
    end: (): void => {
      clearTimeout(timer);
      ends.removeEventListener("abort", abort);
    },
  };
}

const rejectionOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void => reject(new Error("aborted"));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });

/** Settings of a request. */
function connectionTo(addresses: readonly Address[], timeoutMs: number) {
  const lookup: LookupFunction = (_name, { all }, callback) => {
    const [first] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, first!.address, first!.family);
  };
  // Node leaves each address but the last one after 250 ms, before the system has sent a lost packet again.
  const autoSelectFamilyAttemptTimeout = Math.ceil(timeoutMs / (addresses.length + 1));
  return { agent: false, lookup, autoSelectFamilyAttemptTimeout } as const;
}

/** Rejects where no status came. */
function exchange(
  url: URL,
  connection: ReturnType<typeof connectionTo>,
  { headers, body }: Message,
  signal: AbortSignal,
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).request(url, {
      ...connection,
      method: "POST",
      signal,
      headers: {
        ...headers,
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
        "User-Agent": "onym-webhooks",
        Connection: "close",
      },
    });
    const closed = (): void => reject(new Error("closed"));
    request.on("error", reject);
    request.on("close", closed);
    // Without a listener an answer of 101 would end it with no event but `close`.
    request.on("upgrade", ({ statusCode: status = 0 }, socket) => {
      socket.destroy();
      resolve({ status, error: errorOf(status), retryAfter: null });
    });
    request.on("response", (response) => {
      const { statusCode: status = 0, headers: answered } = response;
      const end = (): void => {
        response.destroy();
        resolve({ status, error: errorOf(status), retryAfter: answered["retry-after"] ?? null });
      };
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) end();
      });
      // The status has come: what becomes of the rest does not matter.
      request.off("error", reject).off("close", closed).on("error", end);
      response.on("error", end);
      response.on("close", end);
      response.on("end", end);
    });
    request.end(body);
  });
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1");

const noAnswer = (error: string): Posted => ({ status: null, error, retryAfter: null });

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return `It answered ${status}: redirects are not followed.`;
  return `It answered ${status}.`;
}

function whyOf(error: unknown, isOverdue: boolean, timeoutMs: number): string {
  if (isOverdue) return `It did not answer within ${timeoutMs / 1_000} seconds.`;
  if (error instanceof Refused) return `The url was refused: ${error.message}.`;
  const { code = "", syscall = "" } = error as NodeJS.ErrnoException;
  if (code === "ENOTFOUND" || syscall.startsWith("query")) return `The name of the host is not known (${code}).`;
  return CODE.test(code) ? `The connection failed (${code}).` : "The connection failed.";
}
