import type { Backends } from "./backends.js";
import { createWorkspace } from "../commands/create-workspace.js";

/** With an empty store: makes the workspace `default` and answers its owner key, which exists nowhere else. Else null. */
export async function firstStart(catalog: Backends["catalog"], now: number): Promise<string | null> {
  const [existing] = await catalog.workspaces({ limit: 1, after: null });
  if (existing !== undefined) return null;
  return (await createWorkspace({ catalog }, "default", now)).key;
}

const SCHEMA = {
  type: "object",
  required: ["email"],
  properties: {
    email: { type: "string", format: "email", "x-identity": { namespace: "email" } },
    cookie: { type: "string", "x-identity": { namespace: "cookie_id" } },
    city: { type: "string", "x-trait": { name: "city" } },
  },
};

/** What a newcomer reads at the first start: four commands that work as they stand. */
export function welcome(url: string, key: string, now: string): string {
  const curl = (path: string, body: unknown): string =>
    [
      `curl -sS '${url}${path}' \\`,
      `  -H 'Authorization: Bearer ${key}' \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d '${JSON.stringify(body)}'`,
    ].join("\n");
  return [
    "workspace: default",
    `owner key: ${key}`,
    "This key is shown once. Four commands to try it, in this order:",
    "",
    "# 1. a schema: what an event looks like, and what identifies the person",
    curl("/v1/schemas", { schema_id: "signup", schema: SCHEMA }),
    "",
    "# 2. a dataset: its events are folded into profiles",
    curl("/v1/datasets", { name: "signups", schema_id: "signup", unified_profile: true }),
    "",
    "# 3. an event",
    curl("/v1/collect", {
      schema_id: "signup",
      timestamp: now,
      payload: { email: "ada@example.com", cookie: "c-1815", city: "London" },
    }),
    "",
    "# 4. the profile",
    curl("/v1/profiles/lookup?wait=5", { identifiers: [{ namespace: "cookie_id", value: "c-1815" }] }),
    "",
    "",
  ].join("\n");
}
