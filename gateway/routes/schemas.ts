import { Type } from "typebox";
import type { Compatibility, Merge, SchemaVersion } from "../../core/catalog/catalog.js";
import { AppError, type ErrorItem } from "../../core/errors.js";
import { newId, SCHEMA_ID_PATTERN, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { showTime } from "../../core/event/time.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { replyWithRaw, withRaw, type Context, type Reply, type Route } from "../route.js";
import { shape } from "../shapes/shape.js";

/** What registration needs of the schema engine. */
export interface SchemaExaminer {
  /** Throws `invalid_schema` with one item per problem. */
  examine(
    workspace: WorkspaceId,
    schema: unknown,
    bytes: number,
  ): Promise<{ readonly linear: boolean; readonly traits: Readonly<Record<string, Merge>> }>;
  /** Empty when every event of the previous version also matches the next one. */
  incompatibilities(previous: object, next: object): readonly ErrorItem[];
}

export interface SchemasDeps {
  readonly catalog: Pick<CatalogStore, "putSchema" | "findSchema" | "schemas" | "schemaVersions">;
  readonly examiner: SchemaExaminer;
  readonly cursors: Cursors;
}

const COMPATIBILITY = Type.Enum(["backward", "none"]);
/** The schema itself is deeper than our other bodies are; its own depth is the examiner's to judge. */
const BODY_DEPTH_MAX = 80;

const newSchemaBody = shape(
  Type.Object(
    {
      schema: Type.Unknown(),
      schema_id: Type.Optional(Type.String({ pattern: SCHEMA_ID_PATTERN })),
      compatibility: Type.Optional(COMPATIBILITY),
    },
    { additionalProperties: false },
  ),
  BODY_DEPTH_MAX,
);
const newVersionBody = shape(
  Type.Object({ schema: Type.Unknown(), compatibility: Type.Optional(COMPATIBILITY) }, { additionalProperties: false }),
  BODY_DEPTH_MAX,
);

export function schemaRoutes(deps: SchemasDeps): readonly Route[] {
  const write = { kind: "role", role: "admin" } as const;
  const read = { kind: "role", role: "viewer" } as const;
  const list = { method: "get", access: read, body: "none", query: ["limit", "cursor"] } as const;
  const one = { method: "get", access: read, body: "none", query: [] } as const;
  return [
    {
      method: "post",
      path: "/v1/schemas",
      access: write,
      body: "json",
      query: [],
      handle: (context) => register(deps, context),
    },
    { ...list, path: "/v1/schemas", handle: (context) => listSchemas(deps, context) },
    { ...one, path: "/v1/schemas/:id", handle: async (context) => showOne(await requireSchema(deps, context, null)) },
    {
      method: "post",
      path: "/v1/schemas/:id/versions",
      access: write,
      body: "json",
      query: [],
      handle: (context) => addVersion(deps, context),
    },
    { ...list, path: "/v1/schemas/:id/versions", handle: (context) => listVersions(deps, context) },
    {
      ...one,
      path: "/v1/schemas/:id/versions/:version",
      handle: async (context) => {
        const given = context.params["version"] ?? "";
        if (!/^[1-9]\d{0,8}$/.test(given)) throw unknown();
        return showOne(await requireSchema(deps, context, Number(given)));
      },
    },
  ];
}

const unknown = (): AppError => new AppError("not_found", "There is no such schema.");

async function requireSchema(
  deps: SchemasDeps,
  { workspace, params }: Context,
  version: number | null,
): Promise<SchemaVersion> {
  const schema = await deps.catalog.findSchema(workspace, params["id"] as SchemaId, version);
  if (schema !== null) return schema;
  throw version === null ? unknown() : new AppError("not_found", "There is no such version of this schema.");
}

const shown = (schema: SchemaVersion) => ({
  schema_id: schema.schemaId,
  version: schema.version,
  compatibility: schema.compatibility,
  created_at: showTime(schema.createdAt),
});
const showOne = (schema: SchemaVersion, status = 200): Reply =>
  replyWithRaw(status, shown(schema), "schema", schema.schema);

async function register(deps: SchemasDeps, { workspace, body, now }: Context): Promise<Reply> {
  const { value, raw } = newSchemaBody(body);
  const text = raw("schema");
  const { linear, traits } = await deps.examiner.examine(workspace, value.schema, text.length);
  const schema: SchemaVersion = {
    workspace,
    schemaId: (value.schema_id ?? newId()) as SchemaId,
    version: 1,
    schema: text.toString("utf8"),
    compatibility: value.compatibility ?? "backward",
    linear,
    traits,
    createdAt: now,
  };
  if ((await put(deps, schema)) === "taken") throw new AppError("conflict", `schema_id: ${schema.schemaId} is taken.`);
  return showOne(schema, 201);
}

const TRIES = 10;

/** The next version. Two at once: the later one is compared with the earlier one and tried again. */
async function addVersion(deps: SchemasDeps, context: Context): Promise<Reply> {
  await requireSchema(deps, context, null);
  const { value, raw } = newVersionBody(context.body);
  const text = raw("schema");
  const { linear, traits } = await deps.examiner.examine(context.workspace, value.schema, text.length);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const previous = await latestStored(deps, context);
    const compatibility: Compatibility = value.compatibility ?? "backward";
    if (compatibility === "backward") requireCompatible(deps, previous, value.schema);
    const schema: SchemaVersion = {
      ...previous,
      version: previous.version + 1,
      schema: text.toString("utf8"),
      compatibility,
      linear,
      traits,
      createdAt: context.now,
    };
    if ((await put(deps, schema)) === "created") return showOne(schema, 201);
  }
  throw new AppError("conflict", "Other versions of this schema were registered at the same time. Try again.");
}

/** From the list of versions, which no cache answers. */
async function latestStored(deps: SchemasDeps, context: Context): Promise<SchemaVersion> {
  const known = await requireSchema(deps, context, null);
  const newer = await deps.catalog.schemaVersions(context.workspace, known.schemaId, {
    limit: 1_000,
    after: known.version,
  });
  return newer.at(-1) ?? known;
}

function requireCompatible(deps: SchemasDeps, previous: SchemaVersion, next: unknown): void {
  const errors = deps.examiner.incompatibilities(JSON.parse(previous.schema) as object, next as object);
  if (errors.length > 0)
    throw new AppError("incompatible_schema", `Events of version ${previous.version} would no longer match.`, {
      errors,
    });
}

async function put(deps: SchemasDeps, schema: SchemaVersion): Promise<"created" | "taken"> {
  const result = await deps.catalog.putSchema(schema);
  if (result.kind === "created") return "created";
  if (result.kind === "version_taken") return "taken";
  const message = `trait ${result.trait} has the merge ${result.merge} in this workspace`;
  throw new AppError("invalid_schema", `schema: ${message}`, { errors: [{ path: "schema", message }] });
}

async function listSchemas(deps: SchemasDeps, { workspace, query }: Context): Promise<Reply> {
  const after = (deps.cursors.read(workspace, "schemas", query)?.[0] ?? null) as SchemaId | null;
  const limit = readLimit(query);
  const rows = await deps.catalog.schemas(workspace, { limit: limit + 1, after });
  return showList(pageOf(rows, limit, ({ schemaId }) => deps.cursors.write(workspace, "schemas", [schemaId])));
}

async function listVersions(deps: SchemasDeps, context: Context): Promise<Reply> {
  const { workspace, query } = context;
  const { schemaId } = await requireSchema(deps, context, null);
  const list = `versions:${schemaId}`;
  const position = deps.cursors.read(workspace, list, query)?.[0];
  const limit = readLimit(query);
  const page = { limit: limit + 1, after: position === undefined ? null : Number(position) };
  const rows = await deps.catalog.schemaVersions(workspace, schemaId, page);
  return showList(pageOf(rows, limit, ({ version }) => deps.cursors.write(workspace, list, [String(version)])));
}

function showList({
  items,
  next_cursor,
}: {
  readonly items: readonly SchemaVersion[];
  readonly next_cursor: string | null;
}): Reply {
  const schemas = items.map((schema) => withRaw(shown(schema), "schema", schema.schema));
  return { status: 200, json: `{"schemas":[${schemas.join(",")}],"next_cursor":${JSON.stringify(next_cursor)}}` };
}
