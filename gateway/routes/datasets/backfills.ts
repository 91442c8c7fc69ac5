import { Type } from "typebox";
import { createBackfill, planBackfill, requireBackfill, stopBackfill } from "../../../commands/datasets/backfill.js";
import type { Services } from "../../../commands/services.js";
import { BACKFILL_STATES, type Backfill } from "../../../core/catalog/backfill.js";
import { showTime } from "../../../core/event/time.js";
import type { BackfillId, DatasetId } from "../../../core/ids.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Route } from "../../route.js";
import { answered } from "../../shapes/examples.js";
import { FLAG, idOf, INSTANT, msInBody as msOf, nullable, record, TIME, UUID } from "../../shapes/fields.js";
import { list } from "../../shapes/page.js";

const COUNT = Type.Integer({ minimum: 0 });
const SHOWN = {
  dataset_id: UUID,
  schema_id: Type.String(),
  since: nullable(TIME),
  until: nullable(TIME),
  total: nullable(COUNT),
};
const BACKFILL = record({
  backfill_id: UUID,
  state: Type.Enum([...BACKFILL_STATES]),
  ...SHOWN,
  done: COUNT,
  skipped: COUNT,
  created_at: TIME,
  ended_at: nullable(TIME),
});
const TRIED = record({ ...SHOWN, dry_run: Type.Literal(true) });

export function backfillRoutes(services: Services): readonly Route[] {
  const write = { kind: "role", role: "admin" } as const;
  const read = { kind: "role", role: "viewer" } as const;
  const params = { id: idOf("backfill") };
  return [
    route({
      method: "post",
      path: "/v1/datasets/:id/backfill",
      operationId: "createBackfill",
      tag: "Schemas",
      summary: "Fold the events that were stored before the dataset was enabled",
      description:
        "Folds events received at `since` or later, and before `until`. With `dry_run=true` nothing is written. `total`: events that are not folded; null if there are too many to count. 409 if `unified_profile` of the dataset is false.",
      example: {
        params: { id: answered("createDataset", "/dataset_id") },
        body: { since: "2026-01-24T09:00:00Z" },
      },
      access: write,
      params: { id: idOf("dataset") },
      query: { dry_run: FLAG },
      body: record({ since: Type.Optional(INSTANT), until: Type.Optional(INSTANT) }),
      bodyIs: "optional",
      responses: { 200: TRIED, 202: BACKFILL, 409: problemSchema(409) },
      handle: async (context) => {
        const { query } = context;
        const { since, until } = context.body ?? {};
        const datasetId = context.params.id as DatasetId;
        const wanted = { since: msOf("since", since), until: msOf("until", until) };
        if (query.dry_run)
          return reply(200, { ...shown(await planBackfill(services, context, datasetId, wanted)), dry_run: true });
        return reply(202, show(await createBackfill(services, context, datasetId, wanted)));
      },
    }),
    list({
      path: "/v1/backfills",
      operationId: "listBackfills",
      tag: "Schemas",
      summary: "Backfills, newest first",
      example: {},
      access: read,
      name: "backfills",
      item: BACKFILL,
      read: ({ workspace }, { limit, after }) =>
        services.catalog.backfills(workspace, { limit, after: (after?.[0] ?? null) as BackfillId | null }),
      position: ({ backfillId }) => [backfillId],
      show,
    }),
    route({
      method: "get",
      path: "/v1/backfills/:id",
      operationId: "getBackfill",
      tag: "Schemas",
      summary: "One backfill and its progress",
      description: "`done`: events that it folded; `skipped`: events that it does not fold.",
      example: { params: { id: answered("createBackfill", "/backfill_id") } },
      access: read,
      params,
      responses: { 200: BACKFILL },
      handle: async ({ workspace, params: { id } }) =>
        reply(200, show(await requireBackfill(services, workspace, id as BackfillId))),
    }),
    route({
      method: "delete",
      path: "/v1/backfills/:id",
      operationId: "stopBackfill",
      tag: "Schemas",
      summary: "Stop a backfill; folded events stay folded",
      example: { params: { id: answered("createBackfill", "/backfill_id") } },
      access: write,
      params,
      responses: { 200: BACKFILL },
      handle: async (context) =>
        reply(200, show(await stopBackfill(services, context, context.params.id as BackfillId))),
    }),
  ];
}

const timeOf = (ms: number | null): string | null => (ms === null ? null : showTime(ms));

const shown = ({ datasetId, schemaId, since, until, total }: Backfill) => ({
  dataset_id: datasetId,
  schema_id: schemaId,
  since: timeOf(since),
  until: timeOf(until),
  total,
});

const show = (backfill: Backfill) => ({
  backfill_id: backfill.backfillId,
  state: backfill.state,
  ...shown(backfill),
  done: backfill.done,
  skipped: backfill.skipped,
  created_at: showTime(backfill.createdAt),
  ended_at: timeOf(backfill.endedAt),
});
