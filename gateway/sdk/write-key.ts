import type { Request } from "express";
import { AppError } from "../../core/errors.js";

/** A key and where it stood. */
export interface FoundKey {
  readonly place: string;
  readonly key: unknown;
}

const BASIC = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i;

/** The key in the parts of a request that are there before its body, in the order in which they count. */
export function keysInHead(request: Request): readonly FoundKey[] {
  const found: FoundKey[] = [];
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const encoded = BASIC.exec(authorization)?.[1];
    if (encoded === undefined)
      throw unauthenticated("Send the key as the user name of Authorization: Basic, with an empty password.");
    const [user = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":", 1);
    found.push({ place: "Authorization", key: user });
  }
  if (request.url.includes("?")) found.push({ place: "the parameter writeKey", key: request.query["writeKey"] });
  found.push({ place: "the path", key: request.params["key"] });
  return found.filter(({ key }) => isThere(key));
}

export const keysInBody = (writeKeys: readonly unknown[]): readonly FoundKey[] =>
  writeKeys.filter(isThere).map((key) => ({ place: "the body's writeKey", key }));

/** The first of them; null: there is none. Two that differ are refused, because nobody can say who sends. */
export function agreed(found: readonly FoundKey[]): string | null {
  const [first] = found;
  if (first === undefined) return null;
  const other = found.find(({ key }) => key !== first.key);
  if (other !== undefined) throw unauthenticated(`The keys in ${other.place} and ${first.place} differ.`);
  if (typeof first.key !== "string") throw unauthenticated(`The key in ${first.place} must be one string.`);
  return first.key;
}

/** SDKs send "" and null for "none". */
const isThere = (key: unknown): boolean => key !== undefined && key !== null && key !== "";

export const unauthenticated = (detail: string): AppError => new AppError("unauthenticated", detail);
