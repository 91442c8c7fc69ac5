import { invalidParameter } from "../../core/errors.js";
import { isUuid, type DeadLetterId, type EventId } from "../../core/ids.js";
import type { DeadLetter, EventStore } from "../../core/ports/event-store.js";
import { showTime } from "../../core/event/time.js";
import { pageOf, readLimit, type Cursors } from "../shapes/cursor.js";
import { reply, type Route } from "../route.js";

export interface DeadLettersDeps {
  readonly events: Pick<EventStore, "deadLetters">;
  readonly cursors: Cursors;
}

export function deadLetterRoutes({ events, cursors }: DeadLettersDeps): readonly Route[] {
  return [
    {
      method: "get",
      path: "/v1/dead-letters",
      access: { kind: "role", role: "admin" },
      body: "none",
      query: ["limit", "cursor", "event_id", "reason"],
      handle: async ({ workspace, query }) => {
        const eventId = query["event_id"] ?? null;
        const reason = query["reason"] ?? null;
        if (eventId !== null && !isUuid(eventId)) throw invalidParameter("event_id", "must be a UUID");
        const list = JSON.stringify(["dead-letters", eventId, reason]);
        const before = (cursors.read(workspace, list, query)?.[0] ?? null) as DeadLetterId | null;
        const limit = readLimit(query);
        const filter = { before, eventId: eventId as EventId | null, reason };
        const rows = await events.deadLetters(workspace, { limit: limit + 1, ...filter });
        const { items, next_cursor } = pageOf(rows, limit, ({ deadLetterId }) =>
          cursors.write(workspace, list, [deadLetterId]),
        );
        return reply(200, { dead_letters: items.map(showDeadLetter), next_cursor });
      },
    },
  ];
}

const showDeadLetter = ({ deadLetterId, eventId, reason, at }: DeadLetter) => ({
  dead_letter_id: deadLetterId,
  event_id: eventId,
  reason,
  at: showTime(at),
});
