import { Type } from "typebox";
import { readLetter, type ReadLetter } from "../../commands/letters/read.js";
import { replayLetters, type ReplayResult } from "../../commands/letters/replay.js";
import type { Services } from "../../commands/services.js";
import { violationsOf } from "../../core/event/notes.js";
import { showTime } from "../../core/event/time.js";
import { UUID_PATTERN, type DeadLetterId, type EventId } from "../../core/ids.js";
import type { DeadLetter, DeadLetterPage } from "../../core/ports/event-store.js";
import { ERROR_ITEM } from "../http/error-response.js";
import { reply, route, withRaw, type Route } from "../route.js";
import { answered } from "../shapes/examples.js";
import { idOf, nullable, record, TIME, UUID, WAIT } from "../shapes/fields.js";
import { list } from "../shapes/page.js";

const LETTER = {
  dead_letter_id: UUID,
  event_id: nullable(UUID),
  reason: Type.String(),
  at: TIME,
  replayed_at: nullable(TIME),
  outcome: nullable(Type.Enum(["accepted", "refused", "queued", "died_again"])),
};

/** Beside what the list shows: all that the message says. Null where it is none of ours. */
const WHOLE = record({
  ...LETTER,
  schema_id: nullable(Type.String()),
  key_id: nullable(Type.String()),
  timestamp: nullable(Type.String()),
  received_at: nullable(TIME),
  errors: Type.Array(ERROR_ITEM),
  payload: Type.Unknown(),
});

const REPLAYED = record({
  dead_letter_id: UUID,
  outcome: Type.Enum(["accepted", "refused", "queued", "not_found"]),
  event_id: nullable(UUID),
  errors: Type.Array(ERROR_ITEM),
});

const IDS_MAX = 100;

export function deadLetterRoutes(services: Services): readonly Route[] {
  const { events, limits, waiting } = services;
  const access = { kind: "role", role: "admin" } as const;
  return [
    list({
      path: "/v1/dead-letters",
      operationId: "listDeadLetters",
      tag: "Manage",
      summary: "What could not be handled or was quarantined, newest first; wait: until there is one",
      example: { query: { wait: 10 }, after: ["sendSdkBatch"] },
      access,
      query: { event_id: Type.Optional(UUID), reason: Type.Optional(Type.String()), wait: WAIT },
      name: "dead_letters",
      // Each is read with its message.
      itemBytes: limits.payloadBytesMax,
      item: record(LETTER),
      read: async ({ workspace, query }, { limit, after }) => {
        const page: DeadLetterPage = {
          limit,
          before: (after?.[0] ?? null) as DeadLetterId | null,
          eventId: (query.event_id ?? null) as EventId | null,
          reason: query.reason ?? null,
        };
        const first = () => events.deadLetters(workspace, { ...page, limit: 1 });
        if (query.wait > 0) await waiting.until(workspace, first, ({ length }) => length > 0, query.wait);
        return events.deadLetters(workspace, page);
      },
      position: ({ deadLetterId }) => [deadLetterId],
      show,
    }),
    // Before the route with an id: a path is its first route's.
    route({
      method: "post",
      path: "/v1/dead-letters/replay",
      operationId: "replayDeadLetters",
      tag: "Manage",
      summary: "Judge quarantined events and rejects again, and queue the others again",
      description:
        "What was quarantined or refused is judged by the schema of now, with its original `received_at`; its event id makes it one event, however often it is replayed.",
      example: { body: { ids: ["0197a000-0000-7000-8000-000000000001"] } },
      access,
      body: record({
        ids: Type.Array(Type.String({ pattern: UUID_PATTERN }), { minItems: 1, maxItems: IDS_MAX }),
      }),
      responses: { 200: record({ results: Type.Array(REPLAYED) }) },
      handle: async (context) => {
        const results = await replayLetters(services, context, context.body.ids as DeadLetterId[]);
        return reply(200, { results: results.map(showReplayed) });
      },
    }),
    route({
      method: "get",
      path: "/v1/dead-letters/:id",
      operationId: "getDeadLetter",
      tag: "Manage",
      summary: "One dead letter, with what is wrong with it and its payload",
      example: { params: { id: answered("listDeadLetters", "/dead_letters/0/dead_letter_id") } },
      access,
      params: { id: idOf("dead letter") },
      responses: { 200: WHOLE },
      handle: async ({ workspace, params, takeBytes }) => {
        await takeBytes(limits.payloadBytesMax);
        return { status: 200, json: showWhole(await readLetter(services, workspace, params.id as DeadLetterId)) };
      },
    }),
  ];
}

const show = ({ deadLetterId, eventId, reason, at, replay }: DeadLetter) => ({
  dead_letter_id: deadLetterId,
  event_id: eventId,
  reason,
  at: showTime(at),
  replayed_at: replay && showTime(replay.at),
  outcome: replay && replay.outcome,
});

function showWhole({ letter, event }: ReadLetter): string {
  const whole = {
    ...show(letter),
    schema_id: event?.schemaId ?? null,
    key_id: event?.keyId ?? null,
    timestamp: event?.timestamp ?? null,
    received_at: event && showTime(event.receivedAt),
    errors: violationsOf(event?.notes ?? null),
  };
  return withRaw(whole, "payload", jsonIn(event?.payload ?? null));
}

/** A message that nobody checked may hold anything, but the answer must be JSON. */
function jsonIn(payload: Buffer | null): string {
  const text = payload?.toString("utf8") ?? "null";
  try {
    JSON.parse(text);
    return text;
  } catch {
    return "null";
  }
}

const showReplayed = ({ deadLetterId, outcome, eventId, errors }: ReplayResult) => ({
  dead_letter_id: deadLetterId,
  outcome,
  event_id: eventId,
  errors,
});
