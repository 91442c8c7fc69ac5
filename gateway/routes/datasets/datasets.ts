import { Type } from "typebox";
import { changeDataset, createDataset, requireDataset } from "../../../commands/datasets/change.js";
import type { Services } from "../../../commands/services.js";
import type { Dataset } from "../../../core/catalog/catalog.js";
import { retentionWith } from "../../../core/catalog/retention.js";
import { showTime } from "../../../core/event/time.js";
import type { DatasetId, SchemaId } from "../../../core/ids.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Route } from "../../route.js";
import { answered, SCHEMA_ID } from "../../shapes/examples.js";
import { idOf, integerOrNull, record, TIME, UUID } from "../../shapes/fields.js";
import { list } from "../../shapes/page.js";

const NAME = Type.String({ minLength: 1, maxLength: 256 });
const RETENTION_DAYS = integerOrNull(1, 36_500);
/** What an export shows of it. */
export const DATASET_SHOWN = {
  dataset_id: UUID,
  name: NAME,
  schema_id: Type.String(),
  unified_profile: Type.Boolean(),
  retention_days: RETENTION_DAYS,
  created_at: TIME,
};
const DATASET = record(DATASET_SHOWN);
/** Beside its own, what all datasets of its schema come to: another one may keep the events for longer, or for ever. */
const ALONE = record({ ...DATASET_SHOWN, effective_retention_days: RETENTION_DAYS });

/** By audiences. */
export const NEEDED = problemSchema(409, { audience_ids: Type.Optional(Type.Array(UUID)) });

export function datasetRoutes(services: Services): readonly Route[] {
  const { catalog } = services;
  const write = { kind: "role", role: "admin" } as const;
  const read = { kind: "role", role: "viewer" } as const;
  const params = { id: idOf("dataset") };
  return [
    route({
      method: "post",
      path: "/v1/datasets",
      operationId: "createDataset",
      tag: "Schemas",
      summary: "Create a dataset for the events of a schema",
      description:
        "With `unified_profile` its events are folded into profiles. `effective_retention_days` is the longest retention of all datasets of the schema; null: its events are kept for ever.",
      example: { after: ["registerSchema"], body: { name: "Sign-ups", schema_id: SCHEMA_ID, unified_profile: true } },
      access: write,
      body: record({
        name: NAME,
        schema_id: Type.String({ minLength: 1, maxLength: 128 }),
        unified_profile: Type.Optional(Type.Boolean({ default: false })),
        retention_days: Type.Optional(RETENTION_DAYS),
      }),
      responses: { 201: ALONE, 409: NEEDED },
      handle: async (context) => {
        const { name, schema_id: schemaId, unified_profile: isUnified, retention_days: days } = context.body;
        // Not once it is written: who gets 503 asks again, and would make a second one.
        const beside = await catalog.datasetsOf(context.workspace, schemaId as SchemaId);
        const dataset = await createDataset(services, context, {
          name,
          schemaId: schemaId as SchemaId,
          unifiedProfile: isUnified ?? false,
          retentionDays: days ?? null,
        });
        return reply(201, showAlone(dataset, beside));
      },
    }),
    list({
      path: "/v1/datasets",
      operationId: "listDatasets",
      tag: "Schemas",
      summary: "Datasets, oldest first",
      example: {},
      access: read,
      name: "datasets",
      item: DATASET,
      read: ({ workspace }, { limit, after }) =>
        catalog.datasets(workspace, { limit, after: (after?.[0] ?? null) as DatasetId | null }),
      position: ({ datasetId }) => [datasetId],
      show,
    }),
    route({
      method: "get",
      path: "/v1/datasets/:id",
      operationId: "getDataset",
      tag: "Schemas",
      summary: "One dataset",
      example: { params: { id: answered("createDataset", "/dataset_id") } },
      access: read,
      params,
      responses: { 200: ALONE },
      handle: async ({ workspace, params: { id } }) => {
        const dataset = await requireDataset(services, workspace, id as DatasetId);
        return reply(200, showAlone(dataset, await catalog.datasetsOf(workspace, dataset.schemaId)));
      },
    }),
    route({
      method: "patch",
      path: "/v1/datasets/:id",
      operationId: "changeDataset",
      tag: "Schemas",
      summary: "Change a dataset; omitted fields stay as they are",
      example: { params: { id: answered("createDataset", "/dataset_id") }, body: { retention_days: 365 } },
      access: write,
      params,
      body: record({
        name: Type.Optional(NAME),
        unified_profile: Type.Optional(Type.Boolean()),
        retention_days: Type.Optional(RETENTION_DAYS),
      }),
      responses: { 200: ALONE, 409: NEEDED },
      handle: async ({ workspace, params: { id }, body }) => {
        const { schemaId } = await requireDataset(services, workspace, id as DatasetId);
        const beside = await catalog.datasetsOf(workspace, schemaId);
        const changed = await changeDataset(services, workspace, id as DatasetId, {
          ...(body.name !== undefined && { name: body.name }),
          ...(body.unified_profile !== undefined && { unifiedProfile: body.unified_profile }),
          ...(body.retention_days !== undefined && { retentionDays: body.retention_days }),
        });
        return reply(200, showAlone(changed, beside));
      },
    }),
  ];
}

const show = (dataset: Dataset) => ({
  dataset_id: dataset.datasetId,
  name: dataset.name,
  schema_id: dataset.schemaId,
  unified_profile: dataset.unifiedProfile,
  retention_days: dataset.retentionDays,
  created_at: showTime(dataset.createdAt),
});

/** `beside`: those of its schema. */
const showAlone = (dataset: Dataset, beside: readonly Dataset[]) => ({
  ...show(dataset),
  effective_retention_days: retentionWith(beside, dataset) ?? null,
});
