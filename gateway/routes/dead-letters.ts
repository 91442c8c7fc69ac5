import { Type } from "typebox";
import { deleteLetter } from "../../commands/letters/delete.js";
import { listedBytesMax, listLetters, opened, readLetter, type ReadLetter } from "../../commands/letters/read.js";
import {
  LETTERS_MAX,
  REMAINING_MAX,
  replayLetters,
  SKIP_REASONS,
  type Skipped,
} from "../../commands/letters/replay.js";
import type { Services } from "../../commands/services.js";
import type { ErrorItem } from "../../core/errors.js";
import { violationsOf } from "../../core/event/notes.js";
import { showTime } from "../../core/event/time.js";
import { UUID_PATTERN, type DeadLetterId, type EventId, type KeyId } from "../../core/ids.js";
import { isOpen, type DeadLetterPage, type LetterPosition, type LetterState } from "../../core/ports/event-store.js";
import { createAtOnce, readsAtOnce } from "../access/at-once.js";
import { ERROR_ITEM, problemSchema } from "../http/error-response.js";
import { reply, route, withRaw, type Route } from "../route.js";
import { answered } from "../shapes/examples.js";
import { FLAG, idOf, INSTANT, msInBody as msOf, nullable, record, TIME, UUID, WAIT } from "../shapes/fields.js";
import { NEXT_CURSOR, PAGE, PAGE_IN_BODY } from "../shapes/page.js";

const STATES = ["open", "replayed"] as const satisfies readonly LetterState[];
const LETTER = {
  dead_letter_id: UUID,
  event_id: nullable(UUID),
  reason: Type.String(),
  at: TIME,
  state: Type.Enum([...STATES]),
  times: Type.Integer({ minimum: 1 }),
  replayed: Type.Integer({ minimum: 0 }),
  replayed_at: nullable(TIME),
  outcome: nullable(Type.Enum(["queued", "died_again"])),
  // Of its message; null where that is none of ours.
  schema_id: nullable(Type.String()),
  key_id: nullable(Type.String()),
};
const LISTED = record({ ...LETTER, error: nullable(ERROR_ITEM) });

/** Beside what the list shows: all that the message says. Null where it is none of ours. */
const WHOLE = record({
  ...LETTER,
  timestamp: nullable(Type.String()),
  received_at: nullable(TIME),
  errors: Type.Array(ERROR_ITEM),
  payload: Type.Unknown(),
});

const REPLAYED = record({
  replayed: Type.Integer({ minimum: 0 }),
  skipped: Type.Array(
    record({ dead_letter_id: UUID, why: Type.Enum([...SKIP_REASONS]), errors: Type.Array(ERROR_ITEM) }),
  ),
  remaining: Type.Integer({ minimum: 0, maximum: REMAINING_MAX }),
  next_cursor: NEXT_CURSOR,
  dry_run: Type.Optional(Type.Literal(true)),
});

/** What waits for its bytes is in the way of all reads of the workspace. */
const REPLAYS_AT_ONCE = 2;

export function deadLetterRoutes(services: Services): readonly Route[] {
  const { limits, waiting } = services;
  const inTurn = createAtOnce(readsAtOnce(REPLAYS_AT_ONCE, "replays"));
  const access = { kind: "role", role: "admin" } as const;
  return [
    route({
      method: "get",
      path: "/v1/dead-letters",
      operationId: "listDeadLetters",
      tag: "Manage",
      summary: "Dead letters: events that failed, were quarantined or were refused, newest first",
      description:
        "A page of large ones may be short, and with several filters, or `state=replayed`, even empty, also with `wait`: continue until `next_cursor` is null.",
      example: { query: { wait: 10 }, after: ["sendSdkBatch"] },
      access,
      query: {
        ...PAGE,
        event_id: Type.Optional(UUID),
        reason: Type.Optional(Type.String()),
        key_id: Type.Optional(Type.String({ maxLength: 64 })),
        state: Type.Optional(Type.Enum([...STATES])),
        wait: WAIT,
      },
      responses: { 200: record({ dead_letters: Type.Array(LISTED), next_cursor: NEXT_CURSOR }) },
      handle: async ({ workspace, query, page: { limit, after, cursorOf }, takeBytes, lookWithBytes }) => {
        const page: DeadLetterPage = {
          limit,
          before: positionIn(after),
          eventId: (query.event_id ?? null) as EventId | null,
          reason: query.reason ?? null,
          ...(query.key_id !== undefined && { keyId: query.key_id as KeyId }),
          ...(query.state !== undefined && { state: query.state }),
        };
        const look = async (): Promise<boolean> => {
          const { letters, next } = await listLetters(services, workspace, { ...page, limit: 1 });
          return letters.length > 0 || next !== null;
        };
        const isThere = (left: () => number): Promise<boolean> =>
          lookWithBytes(listedBytesMax(limits, 1), look, left());
        // Before it takes the bytes of the page: one that waits for seconds would hold them.
        if (query.wait > 0) await waiting.until(workspace, isThere, (isDone) => isDone, query.wait);
        await takeBytes(listedBytesMax(limits, limit));
        const { letters, next } = await listLetters(services, workspace, page);
        return reply(200, {
          dead_letters: letters.map((letter) => showListed(opened(letter))),
          // Not the id alone: the letter may be gone by then, or have died again and be the newest.
          next_cursor: next && cursorOf([String(next.at), next.deadLetterId]),
        });
      },
    }),
    // Before the route with an id: a path is its first route's.
    route({
      method: "post",
      path: "/v1/dead-letters/replay",
      operationId: "replayDeadLetters",
      tag: "Manage",
      summary: "Queue dead letters again, after a new check of those that were quarantined or refused",
      description:
        "Replays the given ids, or all open dead letters, oldest first; `reason` and `before` (the time when they died) filter. One call handles up to 1,000 dead letters: continue with `next_cursor` until it is null. Quarantined and refused events are checked against the current schema, and keep their id and `received_at`, so they count once. With `dry_run=true` nothing is queued, and `next_cursor` is only for further dry runs.",
      example: { body: { reason: "quarantined" } },
      access,
      query: { dry_run: FLAG },
      body: record({
        dead_letter_ids: Type.Optional(
          Type.Array(Type.String({ pattern: UUID_PATTERN }), { minItems: 1, maxItems: LETTERS_MAX }),
        ),
        reason: Type.Optional(Type.String()),
        before: Type.Optional(INSTANT),
        cursor: PAGE_IN_BODY.cursor,
      }),
      takesBytes: true,
      responses: { 200: REPLAYED },
      handle: async (context) => {
        const { body, query, page, now } = context;
        const deadLetterIds = (body.dead_letter_ids ?? null) as readonly DeadLetterId[] | null;
        // What dies again meanwhile, or later, is left to another replay: else one of all would never come to its end.
        const latest = deadLetterIds === null ? now + 1 : null;
        const before = page.after === null ? (msOf("before", body.before) ?? latest) : Number(page.after[2]);
        const selection = {
          deadLetterIds,
          reason: body.reason ?? null,
          before,
          after: positionIn(page.after),
        };
        const { takeBytesForLong: takeBytes, giveBack } = context;
        const answer = await inTurn(context, () =>
          replayLetters(services, context, selection, { dryRun: query.dry_run, takeBytes, giveBack }),
        );
        return reply(200, {
          replayed: answer.replayed,
          skipped: answer.skipped.map(showSkipped),
          remaining: answer.remaining,
          next_cursor: answer.last && page.cursorOf([String(answer.last.at), answer.last.deadLetterId, String(before)]),
          ...(query.dry_run && { dry_run: true }),
        });
      },
    }),
    route({
      method: "get",
      path: "/v1/dead-letters/:id",
      operationId: "getDeadLetter",
      tag: "Manage",
      summary: "One dead letter, with its errors and payload",
      example: { params: { id: answered("listDeadLetters", "/dead_letters/0/dead_letter_id") } },
      access,
      params: { id: idOf("dead letter") },
      responses: { 200: WHOLE },
      handle: async ({ workspace, params, takeBytes }) => {
        await takeBytes(limits.payloadBytesMax);
        return { status: 200, json: showWhole(await readLetter(services, workspace, params.id as DeadLetterId)) };
      },
    }),
    route({
      method: "delete",
      path: "/v1/dead-letters/:id",
      operationId: "deleteDeadLetter",
      tag: "Manage",
      summary: "Delete a quarantined call, a kept reject or a second body",
      description:
        "409 for any other dead letter, and for one whose event is stored, as by a replay: only retention or an erasure deletes it.",
      example: { params: { id: answered("listDeadLetters", "/dead_letters/0/dead_letter_id") } },
      access,
      params: { id: idOf("dead letter") },
      takesBytes: true,
      responses: { 204: null, 409: problemSchema(409) },
      handle: async (context) => {
        await context.takeBytes(limits.payloadBytesMax);
        await deleteLetter(services, context, context.params.id as DeadLetterId);
        return { status: 204, json: "" };
      },
    }),
  ];
}

const positionIn = (after: readonly string[] | null): LetterPosition | null =>
  after && { at: Number(after[0]), deadLetterId: after[1] as DeadLetterId };

const show = ({ letter, event }: ReadLetter) => ({
  dead_letter_id: letter.deadLetterId,
  event_id: letter.eventId,
  reason: letter.reason,
  at: showTime(letter.at),
  state: isOpen(letter) ? "open" : "replayed",
  times: letter.times,
  replayed: letter.replayed,
  replayed_at: letter.replayedAt === null ? null : showTime(letter.replayedAt),
  // What its last replay did, as far as it is known.
  outcome: letter.replayed === 0 ? null : isOpen(letter) ? "died_again" : "queued",
  schema_id: event?.schemaId ?? null,
  key_id: event?.keyId ?? null,
});

/** With the first of its errors: the cause, as far as one line can tell it. */
const showListed = (read: ReadLetter) => ({ ...show(read), error: errorsOf(read)[0] ?? null });
const errorsOf = ({ event }: ReadLetter): readonly ErrorItem[] => violationsOf(event?.notes ?? null);

function showWhole(read: ReadLetter): string {
  const { event } = read;
  const whole = {
    ...show(read),
    timestamp: event?.timestamp ?? null,
    received_at: event && showTime(event.receivedAt),
    errors: errorsOf(read),
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

const showSkipped = ({ deadLetterId, why, errors }: Skipped) => ({ dead_letter_id: deadLetterId, why, errors });
