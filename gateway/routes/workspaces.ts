import { Type } from "typebox";
import { mintKey } from "../../core/catalog/api-key.js";
import type { KeyRecord, Workspace } from "../../core/catalog/catalog.js";
import { newId, type WorkspaceId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { showTime } from "../../core/event/time.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { reply, type Route } from "../route.js";
import { shape } from "../shapes/shape.js";

export interface WorkspacesDeps {
  readonly catalog: Pick<CatalogStore, "createWorkspace" | "workspaces">;
  readonly cursors: Cursors;
}

const newBody = shape(
  Type.Object({ name: Type.String({ minLength: 1, maxLength: 256 }) }, { additionalProperties: false }),
);

/** Only registered when the operator key is set: without it the routes do not exist. */
export function workspaceRoutes({ catalog, cursors }: WorkspacesDeps): readonly Route[] {
  const access = { kind: "operator" } as const;
  return [
    {
      method: "post",
      path: "/v1/workspaces",
      access,
      body: "json",
      query: [],
      handle: async ({ body, now }) => {
        const { workspace, key } = await createWorkspace(catalog, newBody(body).value.name, now);
        return reply(201, { ...shown(workspace), key });
      },
    },
    {
      method: "get",
      path: "/v1/workspaces",
      access,
      body: "none",
      query: ["limit", "cursor"],
      handle: async ({ query }) => {
        const after = (cursors.read("operator", "workspaces", query)?.[0] ?? null) as WorkspaceId | null;
        const limit = readLimit(query);
        const rows = await catalog.workspaces({ limit: limit + 1, after });
        const { items, next_cursor } = pageOf(rows, limit, ({ workspaceId }) =>
          cursors.write("operator", "workspaces", [workspaceId]),
        );
        return reply(200, { workspaces: items.map(shown), next_cursor });
      },
    },
  ];
}

const shown = ({ workspaceId, name, createdAt }: Workspace) => ({
  workspace_id: workspaceId,
  name,
  created_at: showTime(createdAt),
});

/** Answers the owner key, which nobody can read again. */
export async function createWorkspace(
  catalog: Pick<CatalogStore, "createWorkspace">,
  name: string,
  now: number,
): Promise<{ readonly workspace: Workspace; readonly key: string }> {
  const workspace: Workspace = { workspaceId: newId(), name, createdAt: now };
  const { key, keyId, hash } = mintKey();
  const owner: KeyRecord = {
    keyId,
    workspace: workspace.workspaceId,
    role: "owner",
    ingestOnly: false,
    name: "owner",
    hash,
    createdAt: now,
    expiresAt: null,
    successor: null,
  };
  await catalog.createWorkspace(workspace, owner);
  return { workspace, key };
}
