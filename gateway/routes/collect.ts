import { Type } from "typebox";
import { createAcceptEvent } from "../../commands/acceptance/accept.js";
import { checkEvent } from "../../commands/acceptance/check.js";
import type { Services } from "../../commands/services.js";
import { bounded } from "../../core/errors.js";
import { ERROR_ITEM } from "../http/error-response.js";
import { reply, route, type Reply, type Route } from "../route.js";
import { COOKIE, EMAIL, SCHEMA_ID } from "../shapes/examples.js";
import { FLAG, record, UUID } from "../shapes/fields.js";

export function collectRoutes(services: Services): readonly Route[] {
  const acceptEvent = createAcceptEvent(services);
  return [
    route({
      method: "post",
      path: "/v1/collect",
      operationId: "collect",
      tag: "Send",
      summary: "Send one event; with syncValidation=true only check it",
      description:
        "A 202 means that the event is on disk; it is stored and folded soon after. With `syncValidation=true` nothing is stored: 200 tells all problems at once.",
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
      body: record({
        schema_id: Type.String(),
        timestamp: Type.String({ description: "ISO 8601 in UTC with a trailing Z" }),
        payload: Type.Object({}, { description: "as its schema says" }),
      }),
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
        return reply(202, { event_id: await acceptEvent(context, context), status: "accepted" });
      },
    }),
  ];
}
