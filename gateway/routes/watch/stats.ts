import { Type } from "typebox";
import { readStats } from "../../../commands/read-stats.js";
import type { Services } from "../../../commands/services.js";
import { showTime } from "../../../core/event/time.js";
import { MINUTE_MS, type SenderStats } from "../../../core/stats.js";
import { reply, route, type Route } from "../../route.js";
import { createQueueReading, type QueueReading } from "./queue-reading.js";
import { nullable, record, TIME } from "../../shapes/fields.js";

const EVENTS = Type.Integer({ minimum: 0 });
const TALLY = { accepted: EVENTS, quarantined: EVENTS, rejected: EVENTS };
const SENDER = record({
  key_id: nullable(Type.String()),
  schema_id: nullable(Type.String()),
  ...TALLY,
  codes: Type.Record(Type.String(), EVENTS),
  last_accepted_at: nullable(TIME),
  last_rejected_at: nullable(TIME),
});

/** Of one answer: those with the most refusals. */
const SENDERS_MAX = 200;

export const statsRoutes = (services: Services): readonly Route[] => [
  readStatsRoute(services, createQueueReading(services.queue)),
];

const readStatsRoute = (services: Services, readQueue: () => Promise<QueueReading>): Route =>
  route({
    method: "get",
    path: "/v1/stats",
    operationId: "readStats",
    tag: "Read",
    summary: "What was sent in the last hour, by key and schema",
    description:
      "Accepted, quarantined and rejected events, with the code of each refusal, of all gateways; another gateway's " +
      "last two seconds may be missing. `key_id` and `schema_id` are null if an event was refused before they were known, " +
      "or if a minute (on the embedded store, an hour) has more than 500 combinations. A request without a valid key belongs to no workspace. `queue` is about the whole installation: how many events wait, and since when the oldest waits; null if that is unknown. It is at most a second old.",
    example: {},
    access: { kind: "role", role: "viewer" },
    responses: {
      200: record({
        ...TALLY,
        senders: Type.Array(SENDER, { description: `the ${SENDERS_MAX} with the most refusals` }),
        queue: record({ waiting: nullable(EVENTS), oldest_at: nullable(TIME) }),
        minutes: Type.Array(record({ at: TIME, ...TALLY }), { description: "60, the oldest first" }),
      }),
    },
    handle: async (context) => {
      const [{ accepted, quarantined, rejected, senders, minutes }, queue] = await Promise.all([
        readStats(services, context),
        // What the queue tells must not keep back what was counted.
        readQueue(),
      ]);
      return reply(200, {
        accepted,
        quarantined,
        rejected,
        senders: senders.slice(0, SENDERS_MAX).map(showSender),
        queue: { waiting: queue.waiting, oldest_at: queue.oldest === null ? null : showTime(queue.oldest) },
        minutes: minutes.map((one) => ({
          at: timeOf(one.minute),
          accepted: one.accepted,
          quarantined: one.quarantined,
          rejected: one.rejected,
        })),
      });
    },
  });

const timeOf = (minute: number): string => showTime(minute * MINUTE_MS);
const timeOrNull = (minute: number | null): string | null => (minute === null ? null : timeOf(minute));

const showSender = ({ keyId, schemaId, lastAcceptedMinute, lastRejectedMinute, ...tally }: SenderStats) => ({
  key_id: keyId,
  schema_id: schemaId,
  ...tally,
  last_accepted_at: timeOrNull(lastAcceptedMinute),
  last_rejected_at: timeOrNull(lastRejectedMinute),
});
