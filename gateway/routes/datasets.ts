import { Type } from "typebox";
import type { Dataset } from "../../core/catalog/catalog.js";
import { AppError } from "../../core/errors.js";
import { isUuid, newId, type DatasetId, type SchemaId } from "../../core/ids.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import { showTime } from "../../core/event/time.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { reply, type Context, type Reply, type Route } from "../route.js";
import { shape } from "../shapes/shape.js";

export interface DatasetsDeps {
  readonly catalog: Pick<CatalogStore, "findSchema" | "putDataset" | "changeDataset" | "findDataset" | "datasets">;
  readonly cursors: Cursors;
}

const NAME = Type.String({ minLength: 1, maxLength: 256 });
/** One type of two names: a union would report one wrong value once for each. */
const RETENTION_DAYS = Type.Unsafe<number | null>({ type: ["integer", "null"], minimum: 1, maximum: 36_500 });

const newBody = shape(
  Type.Object(
    {
      name: NAME,
      schema_id: Type.String({ minLength: 1, maxLength: 128 }),
      unified_profile: Type.Optional(Type.Boolean()),
      retention_days: Type.Optional(RETENTION_DAYS),
    },
    { additionalProperties: false },
  ),
);
const patchBody = shape(
  Type.Object(
    {
      name: Type.Optional(NAME),
      unified_profile: Type.Optional(Type.Boolean()),
      retention_days: Type.Optional(RETENTION_DAYS),
    },
    { additionalProperties: false },
  ),
);

export function datasetRoutes(deps: DatasetsDeps): readonly Route[] {
  const write = { kind: "role", role: "admin" } as const;
  const read = { kind: "role", role: "viewer" } as const;
  return [
    {
      method: "post",
      path: "/v1/datasets",
      access: write,
      body: "json",
      query: [],
      handle: (context) => create(deps, context),
    },
    {
      method: "get",
      path: "/v1/datasets",
      access: read,
      body: "none",
      query: ["limit", "cursor"],
      handle: (context) => list(deps, context),
    },
    {
      method: "get",
      path: "/v1/datasets/:id",
      access: read,
      body: "none",
      query: [],
      handle: async (context) => reply(200, shown(await requireDataset(deps, context))),
    },
    {
      method: "patch",
      path: "/v1/datasets/:id",
      access: write,
      body: "json",
      query: [],
      handle: (context) => change(deps, context),
    },
  ];
}

const shown = (dataset: Dataset) => ({
  dataset_id: dataset.datasetId,
  name: dataset.name,
  schema_id: dataset.schemaId,
  unified_profile: dataset.unifiedProfile,
  retention_days: dataset.retentionDays,
  created_at: showTime(dataset.createdAt),
});

const unknown = (): AppError => new AppError("not_found", "There is no such dataset.");

async function requireDataset(deps: DatasetsDeps, { workspace, params }: Context): Promise<Dataset> {
  const id = params["id"] ?? "";
  const dataset = isUuid(id) ? await deps.catalog.findDataset(workspace, id as DatasetId) : null;
  if (dataset === null) throw unknown();
  return dataset;
}

async function create(deps: DatasetsDeps, { workspace, body, now }: Context): Promise<Reply> {
  const { value } = newBody(body);
  if ((await deps.catalog.findSchema(workspace, value.schema_id as SchemaId, null)) === null)
    throw new AppError("unknown_schema", "schema_id: is not a schema of this workspace.", {
      errors: [{ path: "schema_id", message: "is not a schema of this workspace" }],
    });
  const dataset: Dataset = {
    workspace,
    datasetId: newId(),
    name: value.name,
    schemaId: value.schema_id as SchemaId,
    unifiedProfile: value.unified_profile ?? false,
    retentionDays: value.retention_days ?? null,
    createdAt: now,
  };
  await deps.catalog.putDataset(dataset);
  return reply(201, shown(dataset));
}

async function change(deps: DatasetsDeps, context: Context): Promise<Reply> {
  const { datasetId } = await requireDataset(deps, context);
  const { value } = patchBody(context.body);
  const changed = await deps.catalog.changeDataset(context.workspace, datasetId, {
    ...(value.name !== undefined && { name: value.name }),
    ...(value.unified_profile !== undefined && { unifiedProfile: value.unified_profile }),
    ...(value.retention_days !== undefined && { retentionDays: value.retention_days }),
  });
  if (changed === null) throw unknown();
  return reply(200, shown(changed));
}

async function list(deps: DatasetsDeps, { workspace, query }: Context): Promise<Reply> {
  const after = (deps.cursors.read(workspace, "datasets", query)?.[0] ?? null) as DatasetId | null;
  const limit = readLimit(query);
  const rows = await deps.catalog.datasets(workspace, { limit: limit + 1, after });
  const { items, next_cursor } = pageOf(rows, limit, ({ datasetId }) =>
    deps.cursors.write(workspace, "datasets", [datasetId]),
  );
  return reply(200, { datasets: items.map(shown), next_cursor });
}
