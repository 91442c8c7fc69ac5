import type { ErrorItem } from "../../client/types.js";

export type Role = "viewer" | "editor" | "admin" | "owner";

/** Whose session this is: `GET /v1/me`. */
export interface Me {
  readonly workspace: { readonly workspace_id: string; readonly name: string };
  readonly key: {
    readonly key_id: string;
    readonly role: Role;
    readonly name: string | null;
    readonly expires_at: string | null;
  };
  /** Where senders reach the service. */
  readonly url: string;
}

export type { ErrorItem, Identifier, Problem } from "../../client/types.js";

/** What a page shows of a refusal. */
export interface Refusal {
  readonly title: string;
  readonly detail: string;
  readonly errors: readonly ErrorItem[];
}
