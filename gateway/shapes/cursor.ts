import { createHmac, timingSafeEqual } from "node:crypto";
import { AppError, invalidParameter } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";

export const LIMIT_DEFAULT = 50;
export const LIMIT_MAX = 100;

/** Opaque, signed, and good only for the list of the workspace that it was made for. */
export interface Cursors {
  /** The position that the request's `cursor` names, or null without one. Throws `invalid_cursor`. */
  read(
    workspace: WorkspaceId | "operator",
    list: string,
    query: Readonly<Record<string, string>>,
  ): readonly string[] | null;
  write(workspace: WorkspaceId | "operator", list: string, position: readonly string[]): string;
}

const SIGNATURE_BYTES = 16;

export function createCursors(secret: Buffer): Cursors {
  const sign = (workspace: string, list: string, position: string): Buffer =>
    createHmac("sha256", secret)
      .update(JSON.stringify(["cursor", workspace, list, position]))
      .digest()
      .subarray(0, SIGNATURE_BYTES);
  return {
    write: (workspace, list, position) => {
      const text = JSON.stringify(position);
      return Buffer.concat([sign(workspace, list, text), Buffer.from(text)]).toString("base64url");
    },
    read: (workspace, list, query) => {
      if (query["cursor"] === undefined) return null;
      const bytes = Buffer.from(query["cursor"], "base64url");
      const text = bytes.toString("utf8", SIGNATURE_BYTES);
      const signature = bytes.subarray(0, SIGNATURE_BYTES);
      // Decoding ignores what is not base64, so only the very text that was answered is taken.
      const isWhole = signature.length === SIGNATURE_BYTES && bytes.toString("base64url") === query["cursor"];
      if (!isWhole || !timingSafeEqual(signature, sign(workspace, list, text)))
        throw new AppError("invalid_cursor", "cursor: is not one that this list answered.", {
          errors: [{ path: "cursor", message: "is not one that this list answered" }],
        });
      return JSON.parse(text) as readonly string[];
    },
  };
}

/** 1-100. Throws `invalid_parameter`. */
export function readLimit(query: Readonly<Record<string, string>>): number {
  const given = query["limit"];
  if (given === undefined) return LIMIT_DEFAULT;
  const limit = /^\d{1,3}$/.test(given) ? Number(given) : 0;
  if (limit < 1 || limit > LIMIT_MAX) throw invalidParameter("limit", `must be a whole number from 1 to ${LIMIT_MAX}`);
  return limit;
}

/** One page: `rows` was asked with one more than the limit, which tells whether there is a next one. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  cursor: (last: Row) => string,
): { readonly items: readonly Row[]; readonly next_cursor: string | null } {
  const items = rows.slice(0, limit);
  return { items, next_cursor: rows.length > limit ? cursor(items.at(-1)!) : null };
}
