import type { WorkspaceId } from "../../../core/ids.js";
import { eventually } from "../../shared/async.js";
import { createWorkspace, requireAnswer, type Client } from "../../shared/client.js";

/** A workspace that is ready for load. */
export interface Site {
  readonly workspace: WorkspaceId;
  /** Of its owner. */
  readonly key: string;
}

/** Events of this schema fold. */
export const FOLDING = "drill";
/** Events of this schema are stored and do not fold: it has no dataset. */
export const STORED = "drill-stored";

/** One trait of each merge, identifiers of several priorities, and several of one namespace. */
const SCHEMA = {
  type: "object",
  required: ["op"],
  properties: {
    op: { type: "integer", "x-trait": { name: "ops", merge: "count" } },
    amount: { type: "number", "x-trait": { name: "spent", merge: "sum" } },
    user: { type: "string", "x-identity": { namespace: "user_id" } },
    email: { type: "string", "x-identity": { namespace: "email" } },
    crm: { type: "string", "x-identity": { namespace: "crm.id" } },
    cookies: { type: "array", items: { type: "string", "x-identity": { namespace: "cookie_id" } } },
    city: { type: "string", "x-trait": { name: "city" } },
    source: { type: "string", "x-trait": { name: "source", merge: "first" } },
    score: { type: "integer", "x-trait": { name: "score", merge: "max" } },
    floor: { type: "integer", "x-trait": { name: "floor", merge: "min" } },
  },
};

/** Servers that have just started may be slow at first. What was made without an answer stays, and does no harm. */
export const MADE_MS = 60_000;
const BETWEEN_TRIES_MS = 500;

/** Makes a workspace and registers what its events need. */
export const createSite = (client: Client, operatorKey: string, name: string): Promise<Site> =>
  eventually(() => makeSite(client, operatorKey, name), MADE_MS, BETWEEN_TRIES_MS);

async function makeSite(client: Client, operatorKey: string, name: string): Promise<Site> {
  const { workspace_id: workspace, key } = await createWorkspace(client, operatorKey, name);
  for (const [path, body] of [
    ["/v1/schemas", { schema_id: FOLDING, schema: SCHEMA }],
    ["/v1/schemas", { schema_id: STORED, schema: { type: "object" } }],
    ["/v1/datasets", { name: "drill", schema_id: FOLDING, unified_profile: true }],
  ] as const)
    await requireAnswer(client, 201, { method: "POST", path, key, body });
  return { workspace, key };
}
