import { Type } from "typebox";
import type { Services } from "../../../commands/services.js";
import { ROLES } from "../../../core/catalog/catalog.js";
import { showTime } from "../../../core/event/time.js";
import { AppError } from "../../../core/errors.js";
import { reply, route, type Route } from "../../route.js";
import { nullable, record, TIME, UUID } from "../../shapes/fields.js";

export const meRoutes = ({ catalog, publicUrl }: Services): readonly Route[] => [
  route({
    method: "get",
    path: "/v1/me",
    operationId: "readMe",
    tag: "Read",
    summary: "The workspace and role of this key",
    description: "The workspace, what the key may do, and the address under which senders reach this service.",
    example: {},
    access: { kind: "role", role: "viewer" },
    responses: {
      200: record({
        workspace: record({ workspace_id: UUID, name: Type.String() }),
        key: record({
          key_id: Type.String(),
          role: Type.Enum(ROLES),
          name: nullable(Type.String()),
          expires_at: nullable(TIME),
        }),
        url: Type.String(),
      }),
    },
    handle: async ({ key, workspace }) => {
      const found = await catalog.findWorkspace(workspace);
      if (found === null) throw new AppError("not_found", "There is no such workspace.");
      return reply(200, {
        workspace: { workspace_id: workspace, name: found.name },
        key: {
          key_id: key.keyId,
          role: key.role,
          name: key.name,
          expires_at: key.expiresAt === null ? null : showTime(key.expiresAt),
        },
        url: publicUrl(),
      });
    },
  }),
];
