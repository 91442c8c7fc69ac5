import { isUtf8 } from "node:buffer";
import { Type } from "typebox";
import { findEvent, isSettled, listEvents, whyOnlyStored } from "../../commands/read-event.js";
import type { Services } from "../../commands/services.js";
import { AppError, invalidParameter } from "../../core/errors.js";
import { EVENT_STATUSES, type StoredEvent } from "../../core/event/event.js";
import { violationsOf } from "../../core/event/notes.js";
import { firstMsFrom, parseTimestamp, showTime } from "../../core/event/time.js";
import type { EventId, KeyId, ProfileId, SchemaId } from "../../core/ids.js";
import { ERROR_ITEM } from "../http/error-response.js";
import { route, type Route } from "../route.js";
import { answered, SCHEMA_ID } from "../shapes/examples.js";
import { idOf, INSTANT, nullable, record, TIME, UUID, WAIT } from "../shapes/fields.js";
import { NEXT_CURSOR, PAGE } from "../shapes/page.js";
import { DROPPED_IDENTIFIER } from "../shapes/records.js";

export const STATUS = Type.Enum([...EVENT_STATUSES]);

export const EVENT = record({
  event_id: UUID,
  status: STATUS,
  schema_id: Type.String(),
  schema_version: Type.Integer({ minimum: 0 }),
  timestamp: nullable(Type.String()),
  received_at: TIME,
  profile_id: nullable(UUID),
  profile_id_then: nullable(UUID),
  dropped: Type.Array(DROPPED_IDENTIFIER),
  violations: Type.Array(ERROR_ITEM),
  reason: nullable(Type.String()),
  payload: Type.Unknown(),
});

const END = Buffer.from("}");
const EVENTS = Buffer.from('{"events":[');
const COMMA = Buffer.from(",");

const EVENT_NAME = "event, or it is not stored yet";

export const eventRoutes = (services: Services): readonly Route[] => [
  route({
    method: "get",
    path: "/v1/events",
    operationId: "listEvents",
    tag: "Read",
    summary: "The events of the workspace, by time of receipt",
    description:
      "From `since` (inclusive) to `until` (exclusive). With `schema_id`, `status` or `key_id`, a page may be short or empty: continue until `next_cursor` is null.",
    example: { after: ["collect"], query: { schema_id: SCHEMA_ID, limit: 10 } },
    access: { kind: "role", role: "viewer" },
    query: {
      ...PAGE,
      schema_id: Type.Optional(Type.String()),
      status: Type.Optional(STATUS),
      key_id: Type.Optional(Type.String()),
      since: Type.Optional(INSTANT),
      until: Type.Optional(INSTANT),
      order: Type.Enum(["newest", "oldest"], { default: "newest" }),
    },
    responses: { 200: record({ events: Type.Array(EVENT), next_cursor: NEXT_CURSOR }) },
    handle: async ({ workspace, query, page: { limit, after, cursorOf }, takeBytes }) => {
      const filter = {
        schemaId: (query.schema_id ?? null) as SchemaId | null,
        keyId: (query.key_id ?? null) as KeyId | null,
        status: query.status ?? null,
        since: msOf("since", query.since),
        until: msOf("until", query.until),
      };
      const { order } = query;
      const position = after === null ? null : { receivedAt: Number(after[0]), eventId: after[1] as EventId };
      const { placed, next } = await listEvents(
        services,
        workspace,
        { filter, order, after: position, limit },
        takeBytes,
      );
      const shown = placed.map(({ event, profileId }) => showEvent(event, profileId));
      const next_cursor = next && cursorOf([String(next.receivedAt), next.eventId]);
      return { status: 200, json: showEvents(shown, { next_cursor }) };
    },
  }),
  route({
    method: "get",
    path: "/v1/events/:id",
    operationId: "getEvent",
    tag: "Read",
    summary: "One event and its status",
    description:
      "Waits up to `wait` seconds until the event is folded, dead or dropped, or will not be folded. A quarantined call or kept reject of this id is shown as dead and does not end the wait, because an event with the same id may have been accepted since; nor does a dead event that is replayed. Of a dropped event only the id, the schema, `received_at` and the reason (`erased` or `expired`) are left.",
    example: { params: { id: answered("collect", "/event_id") }, query: { wait: 5 } },
    access: { kind: "role", role: "viewer" },
    params: { id: idOf(EVENT_NAME) },
    query: { wait: WAIT },
    responses: { 200: EVENT },
    handle: async ({ workspace, params, query, takeBytes, lookWithBytes }) => {
      const bytes = services.limits.payloadBytesMax;
      const read = () => findEvent(services, workspace, params.id as EventId);
      const look = async (): Promise<boolean> => {
        const event = await read();
        return event !== null && isSettled(services, workspace, event);
      };
      const isFinished = (left: () => number): Promise<boolean> => lookWithBytes(bytes, look, left());
      if (query.wait > 0) await services.waiting.until(workspace, isFinished, (isDone) => isDone, query.wait);
      await takeBytes(bytes);
      const event = await read();
      if (event === null) throw new AppError("not_found", `There is no such ${EVENT_NAME}.`);
      const facet = event.status === "folded" ? event.facet : null;
      const profile = facet === null ? null : await services.identity.resolve(workspace, facet);
      return { status: 200, json: showEvent(event, profile?.profileId ?? null) };
    },
  }),
];

function msOf(name: string, time: string | undefined): number | null {
  if (time === undefined) return null;
  const instant = parseTimestamp(time);
  if (instant === null) throw invalidParameter(name, "must be a valid time");
  return firstMsFrom(instant);
}

/** The answer with these events, each JSON text, and its other members. */
export const showEvents = (events: readonly Buffer[], others: object): Buffer =>
  Buffer.concat([
    EVENTS,
    ...events.flatMap((event) => [COMMA, event]).slice(1),
    Buffer.from(`],${JSON.stringify(others).slice(1)}`),
  ]);

/** JSON text with the payload exactly as it was sent, as bytes: as texts, large events would be copied several times. */
export function showEvent(event: StoredEvent, profileId: ProfileId | null): Buffer {
  const shown = {
    event_id: event.eventId,
    status: event.status,
    schema_id: event.schemaId,
    schema_version: event.schemaVersion,
    timestamp: event.status === "dropped" ? null : event.timestamp,
    received_at: showTime(event.receivedAt),
    profile_id: profileId,
    profile_id_then: event.profileIdThen,
    dropped: event.dropped,
    violations: violationsOf(event.notes),
    reason: event.reason ?? whyOnlyStored(event),
  };
  // A message that nobody checked may hold any bytes.
  const payload = isUtf8(event.payload) ? event.payload : Buffer.from(event.payload.toString("utf8"));
  return Buffer.concat([Buffer.from(`${JSON.stringify(shown).slice(0, -1)},"payload":`), payload, END]);
}
