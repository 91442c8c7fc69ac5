import type { Request, RequestHandler, Response } from "express";
import type { KeyRecord } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import { sendReply } from "./respond.js";

/** So that a browser which was refused reads why, and when to come again; and what its key may still send. Never credentials: a page has its key, and no cookie of ours. */
const ALLOW_ORIGIN = "Access-Control-Allow-Origin";
const EXPOSE = "Access-Control-Expose-Headers";
const EXPOSED = "Retry-After, RateLimit, RateLimit-Policy";

/** What the browsers' SDKs and other pages send. `*` would not cover `Authorization`. */
const HEADERS = [
  "authorization",
  "content-type",
  "content-encoding",
  "anonymousid",
  "sentat",
  "x-retry-count",
  "idempotency-key",
  "rsa-retry-attempt",
  "rsa-retry-reason",
  "rsa-since-first-attempt",
  "rsa-since-last-attempt",
  "rsa-recovered",
].join(", ");

const PREFLIGHT = {
  [ALLOW_ORIGIN]: "*",
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": HEADERS,
  // Two hours are the most that Chromium keeps it.
  "Access-Control-Max-Age": "7200",
} as const;

/** A browser asks before it sends, without the key: so every page may ask, and the request itself is judged. */
export const answerPreflight: RequestHandler = (request, response, next) => {
  const { origin, "access-control-request-method": method } = request.headers;
  if (origin === undefined || method === undefined) return next();
  sendReply(response, { status: 204, json: "", headers: PREFLIGHT });
};

/** Before anything else of a route for pages: whatever is refused from here on, a page may read. Else its SDK would send again. */
export function openToPages(request: Request, response: Response): void {
  if (request.headers.origin !== undefined) response.setHeader(ALLOW_ORIGIN, "*").setHeader(EXPOSE, EXPOSED);
}

/**
 * To be called once the key is known. Only a page of the key's origins may use it: throws `insufficient_scope`, which every page may
 * read. Who is no browser sends no Origin, or any: this keeps pages out, not programs. What a key that is not for pages is answered is
 * closed to them.
 */
export function requireOrigin(request: Request, response: Response, { send, origins }: KeyRecord): void {
  const { origin } = request.headers;
  if (origin === undefined) return;
  if (send !== "collect") {
    response.removeHeader(ALLOW_ORIGIN);
    response.removeHeader(EXPOSE);
  }
  if (origins === null) return;
  response.setHeader("Vary", "Origin");
  if (!origins.includes(origin))
    throw new AppError(
      "insufficient_scope",
      "Pages of this origin may not use this key: it is not in the key's origins.",
    );
  if (response.hasHeader(ALLOW_ORIGIN)) response.setHeader(ALLOW_ORIGIN, origin);
}
