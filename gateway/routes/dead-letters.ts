import { Type } from "typebox";
import type { Services } from "../../commands/services.js";
import { showTime } from "../../core/event/time.js";
import type { DeadLetterId, EventId } from "../../core/ids.js";
import type { Route } from "../route.js";
import { nullable, record, TIME, UUID } from "../shapes/fields.js";
import { list } from "../shapes/page.js";

export const deadLetterRoutes = ({ events, limits }: Services): readonly Route[] => [
  list({
    path: "/v1/dead-letters",
    operationId: "listDeadLetters",
    tag: "Manage",
    summary: "Events that could not be handled, newest first",
    example: {},
    access: { kind: "role", role: "admin" },
    query: { event_id: Type.Optional(UUID), reason: Type.Optional(Type.String()) },
    name: "dead_letters",
    // Each is read with its message.
    itemBytes: limits.payloadBytesMax,
    item: record({ dead_letter_id: UUID, event_id: nullable(UUID), reason: Type.String(), at: TIME }),
    read: ({ workspace, query: { event_id: eventId, reason } }, { limit, after }) =>
      events.deadLetters(workspace, {
        limit,
        before: (after?.[0] ?? null) as DeadLetterId | null,
        eventId: (eventId ?? null) as EventId | null,
        reason: reason ?? null,
      }),
    position: ({ deadLetterId }) => [deadLetterId],
    show: ({ deadLetterId, eventId, reason, at }) => ({
      dead_letter_id: deadLetterId,
      event_id: eventId,
      reason,
      at: showTime(at),
    }),
  }),
];
