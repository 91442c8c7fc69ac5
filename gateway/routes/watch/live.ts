import { Type } from "typebox";
import { VERDICTS, type LiveEntry } from "../../../commands/live/entry.js";
import type { LiveBatch } from "../../../commands/live/live.js";
import type { Services } from "../../../commands/services.js";
import { showTime } from "../../../core/event/time.js";
import { stillRight } from "../../access/still-right.js";
import { ERROR_ITEM } from "../../http/error-response.js";
import { route, type Route } from "../../route.js";
import { FLAG, nullable, record, TIME } from "../../shapes/fields.js";

const ENTRY = record({
  at: TIME,
  verdict: Type.Enum(VERDICTS),
  event_id: nullable(Type.String()),
  schema_id: nullable(Type.String()),
  key_id: Type.String(),
  code: nullable(Type.String()),
  errors: Type.Array(ERROR_ITEM),
  payload: Type.String({ description: "its first 4 KiB, as it was sent" }),
  payload_bytes: Type.Integer({ minimum: 0 }),
});

/** A batch is one object for all who watch, so it becomes text once. */
const texts = new WeakMap<LiveBatch, string>();
function textOf(batch: LiveBatch): string {
  const known = texts.get(batch);
  if (known !== undefined) return known;
  const skipped = batch.skipped === 0 ? "" : eventOf("skipped", { events: batch.skipped });
  const text = batch.entries.map((entry) => eventOf("event", show(entry))).join("") + skipped;
  texts.set(batch, text);
  return text;
}

const eventOf = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

export const liveRoutes = ({ live, catalog, now }: Services): readonly Route[] => [
  route({
    method: "get",
    path: "/v1/live",
    operationId: "watchLive",
    tag: "Read",
    summary: "Incoming events, live",
    description:
      "Server-sent events, from all gateways. `event` is one event that was accepted, marked by the tracking plan, quarantined or refused. " +
      "`skipped` says how many are left out: 60 a second are shown for each verdict. `forget` follows an erasure, or the deletion of a dead letter: delete everything that you show. " +
      "The stream begins with the most recent events, up to 200 and 512 KiB, which are kept while somebody watches and for 5 minutes after. With `follow=true` it continues with new events.",
    example: { query: { follow: false } },
    access: { kind: "role", role: "viewer" },
    query: { follow: FLAG },
    answersEvents: true,
    responses: { 200: ENTRY },
    handle: async ({ workspace, key, until, query: { follow } }) => ({
      begin: async (send) => {
        const { entries, stop } = await live.watch(workspace, (batch) =>
          send(batch === null ? eventOf("forget", {}) : textOf(batch)),
        );
        send(textOf({ entries, skipped: 0 }));
        return stop;
      },
      isOver: async () => {
        if (!follow) return true;
        const record = await stillRight({ catalog, now }, { workspace, key, until });
        return record === null || record.successor !== key.successor;
      },
    }),
  }),
];

const show = (entry: LiveEntry) => ({
  at: showTime(entry.at),
  verdict: entry.verdict,
  event_id: entry.eventId,
  schema_id: entry.schemaId,
  key_id: entry.keyId,
  code: entry.code,
  errors: entry.errors,
  payload: entry.payload,
  payload_bytes: entry.payloadBytes,
});
