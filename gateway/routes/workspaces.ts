import { Type } from "typebox";
import { createWorkspace } from "../../commands/create-workspace.js";
import type { Services } from "../../commands/services.js";
import type { Workspace } from "../../core/catalog/catalog.js";
import { showTime } from "../../core/event/time.js";
import type { WorkspaceId } from "../../core/ids.js";
import { reply, route, type Route } from "../route.js";
import { record, TIME, UUID } from "../shapes/fields.js";
import { list } from "../shapes/page.js";

const NAME = Type.String({ minLength: 1, maxLength: 256 });
const WORKSPACE = { workspace_id: UUID, name: NAME, created_at: TIME };

/** Only there when the operator key is set. */
export function workspaceRoutes(services: Services): readonly Route[] {
  const access = { kind: "operator" } as const;
  return [
    route({
      method: "post",
      path: "/v1/workspaces",
      operationId: "createWorkspace",
      tag: "Manage",
      summary: "Create a workspace and its owner key",
      description: "Only this response shows the owner key.",
      example: { body: { name: "Shop" } },
      access,
      body: record({ name: NAME }),
      responses: { 201: record({ ...WORKSPACE, key: Type.String() }) },
      handle: async ({ body, now }) => {
        const { workspace, key } = await createWorkspace(services, body.name, now);
        return reply(201, { ...show(workspace), key });
      },
    }),
    list({
      path: "/v1/workspaces",
      operationId: "listWorkspaces",
      tag: "Manage",
      summary: "Workspaces, oldest first",
      example: {},
      access,
      name: "workspaces",
      item: record(WORKSPACE),
      read: (_context, { limit, after }) =>
        services.catalog.workspaces({ limit, after: (after?.[0] ?? null) as WorkspaceId | null }),
      position: ({ workspaceId }) => [workspaceId],
      show,
    }),
  ];
}

const show = ({ workspaceId, name, createdAt }: Workspace) => ({
  workspace_id: workspaceId,
  name,
  created_at: showTime(createdAt),
});
