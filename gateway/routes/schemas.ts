import { Type } from "typebox";
import { addSchemaVersion, registerSchema, requireSchema, type Registered } from "../../commands/register-schema.js";
import type { Services } from "../../commands/services.js";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { showTime } from "../../core/event/time.js";
import { SCHEMA_ID_PATTERN, type SchemaId } from "../../core/ids.js";
import { problemSchema } from "../http/error-response.js";
import { route, withRaw, type Reply, type Route } from "../route.js";
import { SCHEMA_ID, SIGNUP } from "../shapes/examples.js";
import { FLAG, nameOf, nullable, record, TIME } from "../shapes/fields.js";
import { list } from "../shapes/page.js";

const COMPATIBILITY = Type.Enum(["backward", "none"]);
const SHOWN = {
  schema_id: Type.String({ pattern: SCHEMA_ID_PATTERN }),
  version: Type.Integer({ minimum: 1 }),
  compatibility: COMPATIBILITY,
  created_at: TIME,
  schema: Type.Unknown(),
};
const SCHEMA = record(SHOWN);
/** Words in the schema that are no keywords. */
const warnings = Type.Array(record({ path: Type.String(), message: Type.String() }));
const REGISTERED = record({ ...SHOWN, warnings });
const TRIED = record({ ...SHOWN, schema_id: nullable(SHOWN.schema_id), warnings, dry_run: Type.Literal(true) });
const NEW_VERSION = {
  schema: Type.Unknown(),
  compatibility: Type.Optional(Type.Enum(["backward", "none"], { default: "backward" })),
};

export function schemaRoutes(services: Services): readonly Route[] {
  const { catalog } = services;
  const write = {
    method: "post",
    access: { kind: "role", role: "admin" },
    // The schema itself is deeper than our other bodies are; its own depth is the command's to judge.
    bodyDepthMax: 80,
    query: { dry_run: FLAG },
    responses: { 200: TRIED, 201: REGISTERED, 409: problemSchema(409) },
  } as const;
  const access = { kind: "role", role: "viewer" } as const;
  const id = nameOf("schema");
  return [
    route({
      ...write,
      path: "/v1/schemas",
      operationId: "registerSchema",
      tag: "Schemas",
      summary: "Register a schema",
      description: "Version 1. With `dry_run=true` it is only checked.",
      example: { body: { schema_id: SCHEMA_ID, schema: SIGNUP } },
      body: record({ ...NEW_VERSION, schema_id: Type.Optional(Type.String({ pattern: SCHEMA_ID_PATTERN })) }),
      handle: async (context) => {
        const { schema_id: schemaId, ...body } = context.body;
        const given = { ...body, text: context.raw("schema"), dryRun: context.query.dry_run };
        const registered = await registerSchema(services, context, schemaId as SchemaId | undefined, given);
        return given.dryRun ? showTrial(registered, schemaId) : showRegistered(registered);
      },
    }),
    list({
      path: "/v1/schemas",
      operationId: "listSchemas",
      tag: "Schemas",
      summary: "The latest version of each schema, by id",
      example: {},
      access,
      name: "schemas",
      item: SCHEMA,
      itemBytes: 65_536,
      read: ({ workspace }, { limit, after }) =>
        catalog.schemas(workspace, { limit, after: (after?.[0] ?? null) as SchemaId | null }),
      position: ({ schemaId }) => [schemaId],
      show,
    }),
    route({
      method: "get",
      path: "/v1/schemas/:id",
      operationId: "getSchema",
      tag: "Schemas",
      summary: "The latest version of a schema",
      example: { params: { id: SCHEMA_ID }, after: ["registerSchema"] },
      access,
      params: { id },
      responses: { 200: SCHEMA },
      handle: async ({ workspace, params }) =>
        showOne(await requireSchema(services, workspace, params.id as SchemaId, null)),
    }),
    route({
      ...write,
      path: "/v1/schemas/:id/versions",
      operationId: "registerSchemaVersion",
      tag: "Schemas",
      summary: "Register the next version of a schema",
      description: "409 if it is not compatible with the previous version. With `dry_run=true` it is only checked.",
      example: {
        params: { id: SCHEMA_ID },
        body: { schema: { ...SIGNUP, properties: { ...SIGNUP.properties, plan: { type: "string" } } } },
        after: ["registerSchema"],
      },
      params: { id },
      body: record(NEW_VERSION),
      handle: async (context) => {
        const schemaId = context.params.id as SchemaId;
        const given = { ...context.body, text: context.raw("schema"), dryRun: context.query.dry_run };
        const registered = await addSchemaVersion(services, context, schemaId, given);
        return given.dryRun ? showTrial(registered, schemaId) : showRegistered(registered);
      },
    }),
    list({
      path: "/v1/schemas/:id/versions",
      operationId: "listSchemaVersions",
      tag: "Schemas",
      summary: "All versions of a schema, oldest first",
      example: { params: { id: SCHEMA_ID }, after: ["registerSchema"] },
      access,
      params: { id },
      name: "schemas",
      item: SCHEMA,
      itemBytes: 65_536,
      read: async ({ workspace, params }, { limit, after }) => {
        const { schemaId } = await requireSchema(services, workspace, params.id as SchemaId, null);
        return catalog.schemaVersions(workspace, schemaId, { limit, after: after === null ? null : Number(after[0]) });
      },
      position: ({ version }) => [String(version)],
      show,
    }),
    route({
      method: "get",
      path: "/v1/schemas/:id/versions/:version",
      operationId: "getSchemaVersion",
      tag: "Schemas",
      summary: "One version of a schema",
      example: { params: { id: SCHEMA_ID, version: "1" }, after: ["registerSchema"] },
      access,
      params: { id, version: Type.String({ pattern: String.raw`^[1-9]\d{0,8}$`, title: "version of this schema" }) },
      responses: { 200: SCHEMA },
      handle: async ({ workspace, params }) =>
        showOne(await requireSchema(services, workspace, params.id as SchemaId, Number(params.version))),
    }),
  ];
}

/** JSON text: it holds the schema exactly as it was sent. */
function show({ schemaId, version, compatibility, createdAt, schema }: SchemaVersion, besides: object = {}): string {
  const shown = { schema_id: schemaId, version, compatibility, created_at: showTime(createdAt), ...besides };
  return withRaw(shown, "schema", schema);
}
const showOne = (schema: SchemaVersion): Reply => ({ status: 200, json: show(schema) });
const showRegistered = ({ version, warnings }: Registered): Reply => ({
  status: 201,
  json: show(version, { warnings }),
});
/** An id that would only be made names nothing, so it is not told. */
const showTrial = ({ version, warnings }: Registered, schemaId: string | null = null): Reply => ({
  status: 200,
  json: show(version, { schema_id: schemaId, warnings, dry_run: true }),
});
