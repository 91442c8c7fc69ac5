import type { Request } from "express";
import { AppError, invalidParameter } from "../../core/errors.js";

const SINGLE_HEADERS = new Set(["host", "authorization", "idempotency-key", "content-type", "content-encoding"]);
const SINGLE_LENGTHS = new Set([...SINGLE_HEADERS].map((name) => name.length));

/**
 * Node keeps the first of a repeated header, and a proxy may keep the last. That difference is an attack, so repeated headers are
 * refused.
 */
export function requireSingleHeaders(request: Request): void {
  const raw = request.rawHeaders;
  let seen = "";
  for (let i = 0; i < raw.length; i += 2) {
    const given = raw[i]!;
    if (!SINGLE_LENGTHS.has(given.length)) continue;
    const name = given.toLowerCase();
    if (!SINGLE_HEADERS.has(name)) continue;
    if (seen.includes(`|${name}|`)) throw new AppError("bad_request", `The header ${name} must be sent only once.`);
    seen += `|${name}|`;
  }
  if (request.headers.host === undefined && request.httpVersion === "1.1")
    throw new AppError("bad_request", "The header host is missing.");
}

/** 100-continue is answered once the key was accepted. */
export function requireExpected({ headers: { expect } }: Request): void {
  if (expect !== undefined && !/^100-continue$/i.test(expect))
    throw new AppError("expectation_failed", "Only Expect: 100-continue is supported.");
}

export function requireAccepted(request: Request, type: string): void {
  const accept = request.headers.accept;
  if (accept === undefined || accept === "*/*" || accept === type) return;
  if (request.accepts([type, "application/json", "application/problem+json"]) === false)
    throw new AppError("not_acceptable", `Accept must allow ${type}.`);
}

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

export function readIdempotencyKey(request: Request): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key !== "string" || !PRINTABLE.test(key))
    throw invalidParameter("Idempotency-Key", "must have 1-255 printable ASCII characters");
  return key;
}
