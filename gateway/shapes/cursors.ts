import { createHmac, timingSafeEqual } from "node:crypto";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { Page } from "../route.js";

/** Opaque, signed, and good only for the list of the workspace that it was made for. */
export interface Cursors {
  /** `list` names the list, including its filter. Throws `invalid_cursor`. */
  page(
    workspace: WorkspaceId,
    list: string,
    asked: { readonly limit: number; readonly cursor?: string | undefined },
    /** The parameter that holds the cursor. */
    name?: string,
  ): Page;
}

const SIGNATURE_BYTES = 16;

export function createCursors(secret: Buffer): Cursors {
  const sign = (workspace: string, list: string, position: string): Buffer =>
    createHmac("sha256", secret)
      .update(JSON.stringify(["cursor", workspace, list, position]))
      .digest()
      .subarray(0, SIGNATURE_BYTES);
  const read = (workspace: string, list: string, cursor: string, name: string): readonly string[] => {
    const bytes = Buffer.from(cursor, "base64url");
    const text = bytes.toString("utf8", SIGNATURE_BYTES);
    const signature = bytes.subarray(0, SIGNATURE_BYTES);
    // Decoding ignores characters that are not base64, so only the exact text that we answered is accepted.
    const isWhole = signature.length === SIGNATURE_BYTES && bytes.toString("base64url") === cursor;
    if (isWhole && timingSafeEqual(signature, sign(workspace, list, text)))
      return JSON.parse(text) as readonly string[];
    const message = "is not a cursor of this list";
    throw new AppError("invalid_cursor", `${name}: ${message}.`, { errors: [{ path: name, message }] });
  };
  return {
    page: (workspace, list, { limit, cursor }, name = "cursor") => ({
      limit,
      after: cursor === undefined ? null : read(workspace, list, cursor, name),
      cursorOf: (position) => {
        const text = JSON.stringify(position);
        return Buffer.concat([sign(workspace, list, text), Buffer.from(text)]).toString("base64url");
      },
    }),
  };
}
