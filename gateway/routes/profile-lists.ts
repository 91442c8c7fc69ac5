import { Type } from "typebox";
import { listProfiles } from "../../commands/search/list.js";
import { searchProfiles } from "../../commands/search/search.js";
import { topProfiles } from "../../commands/search/top.js";
import type { Services } from "../../commands/services.js";
import type { ProfileId } from "../../core/ids.js";
import { reply, route, type Route } from "../route.js";
import { EMAIL } from "../shapes/examples.js";
import { record } from "../shapes/fields.js";
import { NEXT_CURSOR, PAGE, PAGE_IN_BODY } from "../shapes/page.js";
import { PROFILE, showProfile } from "./profiles.js";

const LIST = { profiles: Type.Array(record(PROFILE)), next_cursor: NEXT_CURSOR };
const LOOKED_AT = Type.Integer({ minimum: 0 });

export function profileListRoutes(services: Services): readonly Route[] {
  const access = { kind: "role", role: "viewer" } as const;
  return [
    route({
      method: "get",
      path: "/v1/profiles",
      operationId: "listProfiles",
      tag: "Read",
      summary: "All profiles, by age",
      description: "A page of large profiles may have fewer than `limit`.",
      example: { after: ["identify"], query: { limit: 10 } },
      access,
      query: PAGE,
      responses: { 200: record(LIST) },
      handle: async ({ workspace, page: { limit, after, cursorOf }, takeBytes }) => {
        const page = { limit, after: (after?.[0] ?? null) as ProfileId | null };
        const { profiles, next } = await listProfiles(services, workspace, page, takeBytes);
        return reply(200, {
          profiles: profiles.map(showProfile),
          next_cursor: next === null ? null : cursorOf([next]),
        });
      },
    }),
    route({
      method: "post",
      path: "/v1/profiles/search",
      operationId: "searchProfiles",
      tag: "Read",
      summary: "The profiles that a rule holds for",
      description:
        "Looks at up to 5,000 profiles, or for a quarter of a second, and says at how many. So a page may be short or empty: " +
        "there are more as long as `next_cursor` is not null.",
      example: { after: ["identify"], body: { rule: { [`identifiers.${EMAIL.namespace}`]: EMAIL.value }, limit: 10 } },
      access,
      body: record({ rule: Type.Object({}), ...PAGE_IN_BODY }),
      isRead: true,
      responses: { 200: record({ ...LIST, looked_at: LOOKED_AT, partial: Type.Optional(Type.Literal(true)) }) },
      handle: async ({ workspace, now, body: { rule }, page: { limit, after, cursorOf }, takeBytes }) => {
        const asked = { rule, limit, after: (after?.[0] ?? null) as ProfileId | null, now };
        const { profiles, next, lookedAt, isPartial } = await searchProfiles(services, workspace, asked, takeBytes);
        return reply(200, {
          profiles: profiles.map(showProfile),
          next_cursor: next === null ? null : cursorOf([next]),
          looked_at: lookedAt,
          ...(isPartial && { partial: true }),
        });
      },
    }),
    route({
      method: "post",
      path: "/v1/profiles/top",
      operationId: "topProfiles",
      tag: "Read",
      summary: "The profiles with the greatest values of a trait",
      description:
        "Walks all profiles, a part at each call: the answer has the first ones so far, and is `exact` once `next_cursor` is null.",
      example: { after: ["collect", "registerSchema"], body: { trait: "city", limit: 10 } },
      access,
      body: record({ trait: Type.String({ minLength: 1, maxLength: 64 }), ...PAGE_IN_BODY }),
      isRead: true,
      responses: { 200: record({ ...LIST, exact: Type.Boolean(), looked_at: LOOKED_AT }) },
      handle: async ({ workspace, body: { trait }, page: { limit, after, cursorOf }, takeBytes }) => {
        const [last = null, ...best] = (after ?? []) as readonly ProfileId[];
        const asked = { trait, limit, after: last, best };
        const { profiles, next, lookedAt } = await topProfiles(services, workspace, asked, takeBytes);
        return reply(200, {
          profiles: profiles.map(showProfile),
          next_cursor: next === null ? null : cursorOf([next.last, ...next.best]),
          exact: next === null,
          looked_at: lookedAt,
        });
      },
    }),
  ];
}
