import { hash } from "node:crypto";
import { invalidParameter } from "../../core/errors.js";
import type { Reply, Route } from "../route.js";

/** A strong ETag: the same for the same JSON text, and for no other. */
export const etagOf = (json: string | Buffer): string => `"${hash("sha256", json, "base64url")}"`;

export const withEtag = (answer: Reply): Reply => ({
  ...answer,
  headers: { ...answer.headers, ETag: etagOf(answer.json) },
});

export const hasEtagAt = ({ hasEtag }: { readonly hasEtag?: boolean }, status: number): boolean =>
  hasEtag === true && (status === 200 || status === 201);

/** Only what can be changed under a condition can fail it. */
export const takesIfMatch = ({ responses }: Pick<Route, "responses">): boolean => 412 in responses;

/** A condition that nobody would check must not seem to hold. Events are taken as long as they can be, and reads change nothing. */
export const refusesIfMatch = (route: Route): boolean =>
  !takesIfMatch(route) && route.method !== "get" && route.isRead !== true && (route.door ?? "link") === "link";

const TAG = String.raw`(?:W/)?"[!\x23-\x7e\x80-\xff]*"`;
const TAGS = new RegExp(TAG, "g");
const LIST_OF_TAGS = new RegExp(`^[ \\t]*${TAG}(?:[ \\t]*,[ \\t]*${TAG})*[ \\t]*$`);

/**
 * Reads If-Match and answers a check: may the resource with this JSON text (null: it does not exist) be changed? Throws
 * `invalid_parameter` for a header that is neither `*` nor a list of ETags, because a typing error must not look like somebody else's
 * change.
 */
export function readIfMatch(header: string | null): (json: string | null) => boolean {
  if (header === null) return () => true;
  if (header.trim() === "*") return (json) => json !== null;
  if (!LIST_OF_TAGS.test(header)) throw invalidParameter("If-Match", "must be * or a list of ETags in double quotes");
  // Compared as strong ones, so that W/"..." matches nothing.
  const tags = new Set(header.match(TAGS));
  return (json) => json !== null && tags.has(etagOf(json));
}
