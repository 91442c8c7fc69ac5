import { Type } from "typebox";
import { audienceIn } from "../../../commands/audiences/change.js";
import { listMembers } from "../../../commands/audiences/members.js";
import { previewAudience } from "../../../commands/audiences/preview.js";
import type { Services } from "../../../commands/services.js";
import { countingAudiences } from "../../../core/audience/tallies.js";
import { showTime } from "../../../core/event/time.js";
import type { AudienceId, ProfileId } from "../../../core/ids.js";
import { createAtOnce, readsAtOnce } from "../../access/at-once.js";
import { reply, route, type Route } from "../../route.js";
import { answered } from "../../shapes/examples.js";
import { idOf, record, TIME, UUID } from "../../shapes/fields.js";
import { NEXT_CURSOR, PAGE } from "../../shapes/page.js";
import { PROFILE, showProfiles } from "../profiles.js";
import { STATE, stateOf } from "./audiences.js";

const COUNT = Type.Integer({ minimum: 0 });
const SAMPLE_MAX = 20;
/** One may take ten seconds after it has read the ids of all profiles, and takes a part of each turn of the event loop. */
const PREVIEWS_AT_ONCE = 4;

/** Who is in an audience, and who would be in one of a rule. */
export function memberRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  const inTurn = createAtOnce(readsAtOnce(PREVIEWS_AT_ONCE, "previews"));
  return [
    route({
      method: "get",
      path: "/v1/audiences/:id/members",
      operationId: "listMembers",
      tag: "Audiences",
      summary: "The profiles in an audience, by id",
      description:
        "The stored members, up to date within about a second. To stay up to date, read the feed after the `as_of_seq` of the first page. " +
        "A page may be short or even empty: continue until `next_cursor` is null.",
      example: { params: { id: answered("createAudience", "/audience_id") } },
      access,
      params: { id: idOf("audience") },
      query: PAGE,
      responses: {
        200: record({
          members: Type.Array(record({ profile_id: UUID, since: TIME })),
          next_cursor: NEXT_CURSOR,
          as_of_seq: COUNT,
          state: STATE,
        }),
      },
      handle: async ({ workspace, params: { id }, page: { limit, after, cursorOf } }) => {
        const set = await services.audiences.audiences(workspace);
        const audience = audienceIn(set, id as AudienceId);
        // The feed first: what changes meanwhile stands behind this number.
        const { head } = await services.seats.sizes(workspace);
        const from = (after?.[0] ?? null) as ProfileId | null;
        const { members, next } = await listMembers(services, workspace, audience.audienceId, { limit, after: from });
        return reply(200, {
          members: members.map(({ profileId, since }) => ({ profile_id: profileId, since: showTime(since) })),
          next_cursor: next === null ? null : cursorOf([next]),
          as_of_seq: head,
          state: stateOf(audience, countingAudiences(set)),
        });
      },
    }),
    route({
      method: "post",
      path: "/v1/audiences/preview",
      operationId: "previewAudience",
      tag: "Audiences",
      summary: "How many members an audience with this rule would have",
      description:
        "Checks every profile if there are at most 20,000, otherwise a random sample of 2,000. A rule that is not allowed for an audience gets the same error here, whatever room the other audiences leave. `exact`: `count` " +
        "is counted. Otherwise it is an estimate, and `low` to `high` is its 95 % confidence interval.",
      example: { after: ["registerSchema"], body: { rule: { "traits.city": "Paris" }, sample: 3 } },
      access,
      body: record({
        rule: Type.Object({}),
        sample: Type.Optional(Type.Integer({ minimum: 0, maximum: SAMPLE_MAX })),
      }),
      isRead: true,
      responses: {
        200: record({
          count: COUNT,
          exact: Type.Boolean(),
          low: COUNT,
          high: COUNT,
          profiles: COUNT,
          looked_at: COUNT,
          as_of: TIME,
          sample: Type.Array(record(PROFILE)),
        }),
      },
      handle: async ({ workspace, now, body: { rule, sample = 0 }, takeBytesForLong, isGone }) => {
        const preview = await inTurn({ workspace, isGone }, () =>
          previewAudience(services, workspace, { rule, sample, now, isGone }, takeBytesForLong),
        );
        const { count, low, high, isExact, profiles, lookedAt } = preview;
        return reply(200, {
          count,
          exact: isExact,
          low,
          high,
          profiles,
          looked_at: lookedAt,
          as_of: showTime(now),
          sample: await showProfiles(services, { workspace, now }, preview.sample),
        });
      },
    }),
  ];
}
