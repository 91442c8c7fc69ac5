import { Type } from "typebox";
import { createAcceptBatch, type ItemResult } from "../../commands/acceptance/batch.js";
import { createAcceptEvent } from "../../commands/acceptance/accept.js";
import { createIdempotency, type Idempotency } from "../../commands/acceptance/idempotency.js";
import { keepRejects, type Rejected } from "../../commands/acceptance/keep-rejects.js";
import { checkEvent, checkItem } from "../../commands/acceptance/check.js";
import type { Services } from "../../commands/services.js";
import { inPortions } from "../../commands/acceptance/portions.js";
import { AppError, bounded, mismatch, type ErrorItem } from "../../core/errors.js";
import { BATCH_EVENTS_MAX, type Batch } from "../body/batch.js";
import { ERROR_ITEM, problemSchema } from "../http/error-response.js";
import { reply, route, type Context, type Reply, type Route } from "../route.js";
import { COOKIE, EMAIL, SCHEMA_ID } from "../shapes/examples.js";
import { FLAG, record, UUID } from "../shapes/fields.js";

const CHECKED_MAX = 60;
const EVENT = {
  schema_id: Type.String(),
  timestamp: Type.String({ description: "ISO 8601 in UTC with a trailing Z" }),
  payload: Type.Object({}, { description: "as its schema says" }),
};

export function collectRoutes(services: Services): readonly Route[] {
  const remember = createIdempotency(services);
  const acceptEvent = createAcceptEvent(services, remember);
  return [
    route({
      method: "post",
      path: "/v1/collect",
      operationId: "collect",
      tag: "Send",
      summary: "Send one event, or only check it (syncValidation=true)",
      description:
        "A 202 means that the event is on disk; it is stored and folded soon after. With `syncValidation=true` nothing is stored: 200 lists all problems at once.",
      example: {
        after: ["registerSchema", "createDataset"],
        body: {
          schema_id: SCHEMA_ID,
          timestamp: "2026-01-31T12:00:00Z",
          payload: { email: EMAIL.value, cookie: COOKIE.value, city: "London" },
        },
      },
      access: { kind: "role", role: "editor", send: "collect" },
      cors: true,
      query: { syncValidation: FLAG },
      body: record(EVENT),
      bodyIs: "event",
      door: "collect",
      inlineLimited: ({ syncValidation }) => syncValidation,
      responses: {
        200: record({ status: Type.Enum(["pass", "fail"]), errors: Type.Array(ERROR_ITEM) }),
        202: record({ event_id: UUID, status: Type.Literal("accepted") }),
      },
      handle: async (context): Promise<Reply> => {
        if (context.query.syncValidation) {
          const errors = await checkEvent(services, context, context.bytes);
          return reply(200, { status: errors.length === 0 ? "pass" : "fail", errors: bounded(errors) });
        }
        try {
          return reply(202, { event_id: await acceptEvent(context, context), status: "accepted" });
        } catch (error) {
          const { bytes, idempotencyKey } = context;
          await keepRejects(services, context, "collect", [{ bytes, idempotencyKey, error }]);
          throw error;
        }
      },
    }),
    batchRoute(services, remember),
  ];
}

const ITEM = record({
  ...EVENT,
  idempotency_key: Type.Optional(Type.String({ description: "a retry with the same key is stored once" })),
});
const ERRORS = Type.Array(ERROR_ITEM);
const REJECTED = record({ status: Type.Literal("rejected"), code: Type.String(), errors: ERRORS });
const RESULTS = Type.Array(Type.Union([record({ status: Type.Literal("accepted"), event_id: UUID }), REJECTED]));
const WITHHELD = record({ status: Type.Literal("withheld") });
const ANSWER = record({ accepted: Type.Integer(), rejected: Type.Integer(), results: RESULTS });

function batchRoute(services: Services, remember: Idempotency): Route {
  const acceptBatch = createAcceptBatch(services, remember);
  return route({
    method: "post",
    path: "/v1/collect/batch",
    operationId: "collectBatch",
    tag: "Send",
    summary: "Send up to 1,000 events at once",
    description:
      "A JSON object, or one event per line (`application/x-ndjson`); both may be gzipped. Up to 4 MiB after decompression. One result for each event, in order: 202 if all are accepted, 207 if any is rejected; accepted events are then on disk. With any other status, nothing is stored. `atomic=true`: all or none. `syncValidation=true`: up to 60 events are checked, and nothing is stored.",
    example: {
      after: ["registerSchema", "createDataset"],
      body: {
        events: [
          {
            schema_id: SCHEMA_ID,
            timestamp: "2026-01-31T12:00:00Z",
            payload: { email: EMAIL.value, cookie: COOKIE.value, city: "London" },
            idempotency_key: "order-1",
          },
          { schema_id: SCHEMA_ID, timestamp: "2026-01-31T12:01:00Z", payload: { email: EMAIL.value } },
        ],
      },
    },
    access: { kind: "role", role: "editor", send: "collect" },
    cors: true,
    query: { syncValidation: FLAG, atomic: FLAG },
    body: record({ events: Type.Array(ITEM, { minItems: 1, maxItems: BATCH_EVENTS_MAX }) }),
    bodyIs: "batch",
    door: "batch",
    inlineLimited: ({ syncValidation }) => syncValidation,
    responses: {
      200: record({ results: Type.Array(record({ status: Type.Enum(["pass", "fail"]), errors: ERRORS })) }),
      202: ANSWER,
      207: ANSWER,
      422: problemSchema(422, {
        results: Type.Optional(
          Type.Array(Type.Union([WITHHELD, REJECTED, record({ status: Type.Literal("accepted"), event_id: UUID })])),
        ),
      }),
    },
    handle: async (context): Promise<Reply> => {
      const { batch, idempotencyKey } = context;
      if (context.query.syncValidation) return reply(200, { results: await checkBatch(services, context) });
      const results = await acceptBatch(context, batch, { idempotencyKey, atomic: context.query.atomic });
      for (const result of results)
        if (result.kind === "rejected")
          services.metrics.rejected(result.error.code, context, result.error.schemaId ?? null);
      for (const { bytes, error } of rejectsIn(results, batch.items, idempotencyKey))
        services.live.refused(context, bytes, error);
      // Its sender was told that nothing of an atomic batch is stored, and a replay would store a part of it.
      if (!context.query.atomic)
        await keepRejects(services, context, "batch", rejectsIn(results, batch.items, idempotencyKey));
      const shown = shownResults(results);
      const rejected = results.filter(({ kind }) => kind === "rejected").length;
      if (rejected > 0 && context.query.atomic) throw notStored(results, shown);
      return reply(rejected === 0 ? 202 : 207, { accepted: results.length - rejected, rejected, results: shown });
    },
  });
}

const rejectsIn = (
  results: readonly ItemResult[],
  items: readonly Buffer[],
  idempotencyKey: string | null,
): readonly Rejected[] =>
  results.flatMap((result, index) =>
    result.kind === "rejected"
      ? [{ bytes: items[index]!, idempotencyKey: idempotencyKey && `${idempotencyKey}/${index}`, error: result.error }]
      : [],
  );

async function checkBatch(services: Services, { batch, countChecks, ...caller }: Context): Promise<readonly unknown[]> {
  const { items } = batch;
  if (items.length > CHECKED_MAX)
    throw mismatch([{ path: "events", message: `must have at most ${CHECKED_MAX} items with syncValidation=true` }]);
  await countChecks(items.length - 1);
  const room = createRoom();
  const errorsOf = errorsIn(batch);
  const found = await inPortions(items, bytesOf, (bytes) => checkItem(services, caller, bytes).catch(errorsOf));
  return found.map((errors) => ({ status: errors.length === 0 ? "pass" : "fail", errors: room(errors) }));
}

const bytesOf = ({ length }: Buffer): number => length;

/** What makes a single check a refusal is here about one of many, unless all of them are one text that is no JSON. */
const errorsIn =
  ({ isOneText }: Batch) =>
  (error: unknown): readonly ErrorItem[] => {
    if (error instanceof AppError && error.errors !== undefined) return error.errors;
    if (error instanceof AppError && error.code === "invalid_json" && !isOneText)
      return [{ path: "", message: "is not valid JSON" }];
    throw error;
  };

function shownResults(results: readonly ItemResult[]): readonly unknown[] {
  const room = createRoom();
  return results.map((result) => {
    if (result.kind === "accepted") return { status: "accepted", event_id: result.eventId };
    if (result.kind === "withheld") return { status: "withheld" };
    const { code, message, errors } = result.error;
    return { status: "rejected", code, errors: room(errors ?? [{ path: "", message }]) };
  });
}

const ERRORS_OF_ITEM_MAX = 10;
const ERRORS_CHARACTERS_MAX = 262_144;

/** Bounds what 1,000 items with 100 problems each would answer: the first ones in full, of the later ones that there are some. */
function createRoom(): (errors: readonly ErrorItem[]) => readonly ErrorItem[] {
  let left = ERRORS_CHARACTERS_MAX;
  return (errors) => {
    const shown = bounded(errors, ERRORS_OF_ITEM_MAX);
    left -= shown.reduce((sum, { path, message }) => sum + path.length + message.length, 0);
    return left >= 0 ? shown : bounded(errors, 0);
  };
}

function notStored(results: readonly ItemResult[], shown: readonly unknown[]): AppError {
  const errors = results.flatMap((result, index): ErrorItem[] =>
    result.kind === "rejected" ? [{ path: `events.${index}`, message: "is rejected" }] : [],
  );
  return new AppError("validation_failed", `${errors[0]!.path}: is rejected, so nothing in the batch is stored.`, {
    errors: bounded(errors),
    members: { results: shown },
  });
}
