import { Type } from "typebox";
import { readFeed } from "../../../commands/audiences/feed.js";
import type { Services } from "../../../commands/services.js";
import { entryJson } from "../../../core/audience/entry-json.js";
import { ENTRY_TYPES } from "../../../core/audience/feed.js";
import { CAUSES } from "../../../core/audience/seat.js";
import type { AudienceId } from "../../../core/ids.js";
import { problemSchema } from "../../http/error-response.js";
import { reply, route, type Route } from "../../route.js";
import { record, TIME, UUID } from "../../shapes/fields.js";

export const SEQ = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
export const POSITION_REFUSALS = {
  409: problemSchema(409, { head: Type.Optional(SEQ) }),
  410: problemSchema(410, { head: Type.Optional(SEQ), oldest: Type.Optional(SEQ) }),
};
const ENTRY = record({
  seq: SEQ,
  at: TIME,
  type: Type.Enum([...ENTRY_TYPES]),
  audience_id: Type.Optional(UUID),
  profile_id: Type.Optional(UUID),
  cause: Type.Optional(Type.Enum([...CAUSES])),
  into: Type.Optional(UUID),
});
const ENTRY_BYTES = 384;
const WAIT_S_MAX = 25;

export function feedRoutes(services: Services): readonly Route[] {
  return [
    route({
      method: "get",
      path: "/v1/feed",
      operationId: "readFeed",
      tag: "Audiences",
      summary: "Who entered and left audiences, in order",
      description:
        "Entries after the number `after`; send `next` as `after` in the next request. Waits up to `wait` seconds until there is an entry. With `audience_id`, only entries of that audience, and of erasures. 409 `unknown_position`: `after` is greater than `head`. 410 `feed_trimmed`: the next entries are no longer kept; `oldest` is the first that is.",
      example: { query: { after: 0, limit: 100 } },
      access: { kind: "role", role: "viewer" },
      query: {
        after: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
        limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }),
        wait: Type.Integer({ minimum: 0, maximum: WAIT_S_MAX, default: 0 }),
        audience_id: Type.Optional(UUID),
      },
      responses: {
        200: record({ entries: Type.Array(ENTRY), next: SEQ, head: SEQ, oldest: SEQ }),
        ...POSITION_REFUSALS,
      },
      handle: async ({ workspace, query, takeBytes, isGone }) => {
        const { after, limit, wait, audience_id } = query;
        const audienceIds = audience_id === undefined ? null : [audience_id as AudienceId];
        const filter = { audienceIds, types: null };
        const { entries, next, head, oldest } = await readFeed(services, workspace, {
          after,
          limit,
          wait,
          filter,
          isGone,
        });
        await takeBytes(entries.length * ENTRY_BYTES);
        const shown = entries.map(({ seq, entry }) => entryJson(seq, entry));
        return reply(200, { entries: shown, next, head, oldest });
      },
    }),
  ];
}
