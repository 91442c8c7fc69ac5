import type { Request } from "express";
import type { KeyRecord, Role } from "../core/catalog/catalog.js";
import type { WorkspaceId } from "../core/ids.js";

/** Who may call. A route without it does not compile. `ingest`: also keys that may only send. */
export type Access =
  | { readonly kind: "role"; readonly role: Role; readonly ingest?: true }
  | { readonly kind: "operator" }
  | { readonly kind: "open" };

/** `none`: a body is neither needed nor read. `empty`: neither needed nor taken, so that a wish put there is never passed over. */
export type BodyRule = "none" | "empty" | "json" | "event";

export interface Context {
  readonly workspace: WorkspaceId;
  readonly key: KeyRecord;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** Raw bytes; empty where the route reads none. */
  readonly body: Buffer;
  /** Milliseconds since 1970 at which the request was taken. */
  readonly now: number;
  readonly idempotencyKey: string | null;
  /** As sent; null where it was not. */
  readonly ifMatch: string | null;
}

/** `json` is complete JSON text. */
export interface Reply {
  readonly status: number;
  readonly json: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route {
  readonly method: "get" | "post" | "patch" | "put" | "delete";
  /** Express path, with `:name` parameters. */
  readonly path: string;
  readonly access: Access;
  readonly body: BodyRule;
  /** Allowed query parameters; any other is 400, so that a typing error never changes what a call does. */
  readonly query: readonly string[];
  /** Counts against the inline limit before the body is read. */
  readonly inlineLimited?: (request: Request) => boolean;
  readonly handle: (context: Context) => Promise<Reply>;
}

export const reply = (status: number, value: unknown): Reply => ({ status, json: JSON.stringify(value) });

/** An object whose last member is JSON text that came from a client: kept as it was sent. */
export function replyWithRaw(status: number, value: object, name: string, raw: string): Reply {
  return { status, json: withRaw(value, name, raw) };
}

export function withRaw(value: object, name: string, raw: string): string {
  const head = JSON.stringify(value).slice(0, -1);
  return `${head}${head.length > 1 ? "," : ""}${JSON.stringify(name)}:${raw}}`;
}
