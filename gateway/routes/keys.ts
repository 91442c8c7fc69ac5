import { Type } from "typebox";
import { createKey, OWNER_KEY, revokeKey, rotateKey } from "../../commands/rotate-key.js";
import type { Services } from "../../commands/services.js";
import { ORIGINS_MAX } from "../../core/catalog/origin.js";
import { ROLES, SENDS, type KeyRecord } from "../../core/catalog/catalog.js";
import { showTime } from "../../core/event/time.js";
import { AppError } from "../../core/errors.js";
import type { KeyId, WorkspaceId } from "../../core/ids.js";
import { problemSchema } from "../http/error-response.js";
import { reply, route, type Route } from "../route.js";
import { answered, KEY_ID } from "../shapes/examples.js";
import { enumOrNull, idOf, integerOrNull, nameOf, nullable, record, TIME } from "../shapes/fields.js";
import { list } from "../shapes/page.js";

const KEY = {
  key_id: Type.String(),
  role: Type.Enum(ROLES),
  send: nullable(Type.Enum(SENDS)),
  origins: nullable(Type.Array(Type.String())),
  per_minute: nullable(Type.Integer()),
  name: nullable(Type.String()),
  created_at: TIME,
  expires_at: nullable(TIME),
  rotated_to: nullable(Type.String()),
};
/** An empty list would close the key to every page. */
const ORIGINS = Type.Unsafe<readonly string[] | null>({
  type: ["array", "null"],
  items: { type: "string", maxLength: 300 },
  minItems: 1,
  maxItems: ORIGINS_MAX,
  uniqueItems: true,
});
/** With the secret, which is shown only once. */
const NEW_KEY = { ...KEY, key: Type.String() };

export function keyRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "owner" } as const;
  const params = { id: nameOf("key") };
  return [
    route({
      method: "post",
      path: "/v1/keys",
      operationId: "createKey",
      tag: "Manage",
      summary: "Create an API key",
      description: "Only this response shows the key itself.",
      example: { body: { role: "editor", name: "back end" } },
      access,
      body: record({
        role: Type.Enum(ROLES),
        name: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
        expires_at: Type.Optional(Type.String()),
        send: Type.Optional(enumOrNull(SENDS)),
        origins: Type.Optional(ORIGINS),
        per_minute: Type.Optional(integerOrNull(1, 1_000_000)),
      }),
      responses: { 201: record(NEW_KEY) },
      handle: async (context) => {
        const { role, name, expires_at: expiresAt, send, origins, per_minute: perMinute } = context.body;
        const { record: made, key } = await createKey(services, context, {
          role,
          send: send ?? null,
          origins: origins ?? null,
          perMinute: perMinute ?? null,
          name: name ?? null,
          expiresAt: expiresAt ?? null,
        });
        return reply(201, { ...show(made), key });
      },
    }),
    route({
      method: "post",
      path: "/v1/workspaces/:id/keys",
      operationId: "createOwnerKey",
      tag: "Manage",
      summary: "Create an owner key for a workspace whose owner keys are lost",
      example: { params: { id: answered("createWorkspace", "/workspace_id") } },
      access: { kind: "operator" },
      params: { id: idOf("workspace") },
      responses: { 201: record(NEW_KEY) },
      handle: async ({ params: { id }, now }) => {
        const workspace = await services.catalog.findWorkspace(id as WorkspaceId);
        if (workspace === null) throw new AppError("not_found", "There is no such workspace.");
        const { record: made, key } = await createKey(
          services,
          { workspace: workspace.workspaceId, now },
          OWNER_KEY,
          Infinity,
        );
        return reply(201, { ...show(made), key });
      },
    }),
    list({
      path: "/v1/keys",
      operationId: "listKeys",
      tag: "Manage",
      summary: "API keys, without their secrets",
      example: {},
      access,
      name: "keys",
      item: record(KEY),
      itemBytes: 16_384,
      read: ({ workspace }, { limit, after }) =>
        services.catalog.keys(workspace, { limit, after: (after?.[0] ?? null) as KeyId | null }),
      position: ({ keyId }) => [keyId],
      show,
    }),
    route({
      method: "delete",
      path: "/v1/keys/:id",
      operationId: "deleteKey",
      tag: "Manage",
      summary: "Revoke an API key",
      example: { params: { id: answered("createKey", "/key_id", KEY_ID) } },
      access,
      params,
      responses: { 204: null, 409: problemSchema(409) },
      handle: async (context) => {
        await revokeKey(services, context, context.params.id as KeyId);
        return { status: 204, json: "" };
      },
    }),
    route({
      method: "post",
      path: "/v1/keys/:id/rotate",
      operationId: "rotateKey",
      tag: "Manage",
      summary: "Replace a key with a new one; the old one works for another 24 hours",
      example: { params: { id: answered("createKey", "/key_id", KEY_ID) } },
      access,
      params,
      body: record({}),
      bodyIs: "optional",
      responses: {
        201: record({ ...NEW_KEY, rotated_from: Type.String(), old_expires_at: TIME }),
        409: problemSchema(409),
      },
      handle: async (context) => {
        const { id } = context.params;
        const { record: made, key, oldExpiresAt } = await rotateKey(services, context, id as KeyId);
        return reply(201, { ...show(made), key, rotated_from: id, old_expires_at: showTime(oldExpiresAt) });
      },
    }),
  ];
}

const show = (key: KeyRecord) => ({
  key_id: key.keyId,
  role: key.role,
  send: key.send,
  origins: key.origins,
  per_minute: key.perMinute,
  name: key.name,
  created_at: showTime(key.createdAt),
  expires_at: key.expiresAt === null ? null : showTime(key.expiresAt),
  rotated_to: key.successor,
});
